//! The batch transaction (F3), step by step. There is no second write path.
//!
//! The order must hold. The claim comes first, so that a concurrent twin waits before it does any work; the outcome is
//! settled last, so that whoever finds the inbox row finds the counts in it; and both are in the transaction of the rows,
//! so that a crash takes the claim with it.

use std::sync::Arc;

use landonce_core::outcome::Outcome;
use landonce_core::pipeline::Whole;
use landonce_core::plan::WriteMode;
use landonce_core::retry::Code;
use landonce_store::held::{Hold, State};
use landonce_store::inbox::{Claimed, Settled};
use landonce_store::position::Advanced;
use landonce_store::seam::{Class, Classified, Place, Refused, Todo, Work, Written};

use super::build::{self, Built};
use super::feed::{self, Fed, Input};
use super::notices::Notices;
use super::tally::Tally;
use super::{Job, Progress, marks, rounds, weigh};
use crate::decode::Texts;
use crate::error::{Error, Repr};
use crate::failpoint;
use crate::receipt::Notes;

/// Records whose rows are asked for at a time.
const TODO: usize = 16_384;

/// What a transaction found or did, before its COMMIT.
pub(super) enum Landed {
    /// The batch is in, when the COMMIT says so.
    New(Outcome, Notes),
    /// It had landed before; the transaction has written nothing.
    Found(Settled),
    /// Another load of the same period has come in between; the transaction is to be rolled back.
    Overtaken,
}

/// Steps 1 to 6. Step 7, COMMIT, is the connection's. `is_claimed` becomes true once the claim is ours, also when a later
/// step fails.
pub(super) async fn land<W: Work>(work: &mut W, job: &Job, is_claimed: &mut bool) -> Result<Landed, Error> {
    // 1. claim: insert-or-skip. A twin that is under way makes this wait for its end.
    if let Claimed::Found(settled) = claim(work, job).await? {
        return Ok(Landed::Found(settled));
    }
    *is_claimed = true;
    failpoint::at("claimed");
    let mut tally = Tally::new(job);
    marks::begin(work, job, &mut tally.touched).await?;
    tally.notices = Notices::of(job)?;

    // 2. stage: what identifies each record and tells that it changed. Bad records are listed, or kept.
    work.open_stage(&job.plan).await?;
    tracing::debug!(run_id = %job.claim.run_id, "claimed");
    failpoint::at("stage_opened");
    let input = Input { again: None, withholds: job.withholds() };
    let Staged { texts, later } = stage(work, job, &mut tally, input).await?;
    let texts = Arc::new(texts.ok_or_else(|| Error::internal("the payload was read without an end"))?);
    tally.judge(&texts)?;
    failpoint::at("staged");
    tally.check()?;

    // 3. fold: one staged row per identity. 4. write: only what is new or changed, in key order; then the deletes; and what has
    // really happened goes into the outbox, where the pipeline tells it.
    let refused = rounds::all(work, job, &mut tally, &texts, later).await?;
    failpoint::at("written");
    tally.refused(work, &texts, &refused).await?;
    tally.check()?;
    failpoint::at("bad_kept");

    // 5. marks: the periods that derived tables are due for.
    marks::leave(work, job, &tally.touched).await?;
    // 6. settle: the outcome goes into the claimed row.
    let resolved = tally.resolved();
    weigh::after(work, job, &tally).await?;
    let moved = tally.moved();
    let (outcome, mut notes) = tally.close()?;
    notes.moved = moved;
    if !resolved.is_empty() {
        let must_land = job.batch.entries().is_some_and(|entries| entries.must_land);
        if must_land && outcome.conflicts > 0 {
            let source_name = job.batch.source().to_owned();
            return Err(Repr::BadRecords { source_name, found: notes.kept, total: outcome.conflicts }.into());
        }
        let marked = work.resolve_bad(&resolved, job.claim.run_id).await?;
        if must_land && marked < resolved.len() as u64 {
            return Err(crate::quarantine::resolved_already());
        }
    }
    if let Some(turn) = &job.turn {
        let rows = outcome.inserted + outcome.updated + outcome.unchanged + notes.withheld;
        if !turn.enter(work, &job.claim, rows, notes.moved == 0).await? {
            return Ok(Landed::Overtaken);
        }
    }
    if job.plan.history.is_some()
        && (outcome.is_change() || job.turn.as_ref().is_some_and(|turn| turn.loads == 0))
    {
        work.keep_history().await?;
    }
    if let Some(Whole::Snapshot(_)) = job.pipeline.whole() {
        let state = if job.release.is_some() { State::Released } else { State::Landed };
        let key = Hold::key_of(&job.claim.pipeline, &job.claim.digest);
        let is_decided = work.decide(&key, state, job.claim.run_id).await?;
        if !is_decided && job.release.as_ref().is_some_and(|release| release.must_be_held) {
            return Err(Error::declaration(
                "the payload isn't held any more: somebody has released or rejected it meanwhile (`landonce held list --all`)",
            ));
        }
    }
    // Late, so that whoever takes the part over waits for a COMMIT at the most, and not for a batch.
    if let Some(advance) = job.batch.advance() {
        match work.advance(advance, job.claim.run_id).await? {
            Advanced::Moved => failpoint::at("advanced"),
            lost => {
                return Err(Repr::Fenced { advance: Box::new(advance.clone()), lost: Box::new(lost) }.into());
            }
        }
    }
    work.settle(&job.claim, &outcome).await?;
    failpoint::at("settled");
    work.close_stage().await?;
    // The digest in the inbox must be that of the bytes that were read.
    job.batch.payload().check_unchanged()?;
    failpoint::at("checked");
    Ok(Landed::New(outcome, notes))
}

async fn claim<W: Work>(work: &mut W, job: &Job) -> Result<Claimed, Error> {
    let Some(wait) = job.claim_wait else { return Ok(work.claim(&job.claim).await?) };
    work.claim_within(&job.claim, wait).await.map_err(|error| match &error.code {
        // lock_not_available: the twin's transaction is still open.
        Code::SqlState(state) if state == "55P03" => Repr::InProgress {
            pipeline: job.claim.pipeline.clone(),
            batch_id: job.claim.batch_id.clone(),
            waited_ms: wait.as_millis(),
        }
        .into(),
        _ => error.into(),
    })
}

/// Steps 2 and 3 without a claim, for a plan. Returns the counts as they would be and what would be written first.
pub(super) async fn preview<W: Work>(
    work: &mut W,
    job: &Job,
    samples: usize,
) -> Result<(Outcome, Notes, Vec<(Todo, Vec<u8>)>), Error> {
    let mut tally = Tally::new(job);
    work.open_stage(&job.plan).await?;
    let input = Input { again: None, withholds: job.withholds() };
    let Staged { texts, later } = stage(work, job, &mut tally, input).await?;
    let texts = texts.ok_or_else(|| Error::internal("the payload was read without an end"))?;
    tally.judge(&texts)?;
    tally.check()?;
    let classified = tell_apart(work, job, &mut tally, &texts).await?;
    tally.outcome.inserted = classified.new;
    tally.outcome.updated = classified.changed;
    // As in a run, where a record in conflict is met after the others were missed: its row is out of the run's reach.
    if job.plan.scope.is_some() {
        rounds::vanish(work, job, &mut tally, classified).await?;
    }
    tally.foresee_conflicts(classified.conflicts);
    tally.check()?;
    tally.outcome.deleted = classified.deletes;
    if job.plan.scope.is_none() && job.plan.tombstone.is_some() {
        tally.outcome.retired = classified.deletes;
        tally.outcome.restored = if classified.changed > 0 { work.survey().await?.returning } else { 0 };
    }
    // What a later record of an identity changes can't be told before the earlier one is written.
    tally.outcome.duplicates += later.len() as u64;
    let mut shown = Vec::new();
    for todo in work.next_rows(samples).await? {
        let mut text = Vec::new();
        texts.read(todo.place.offset, todo.place.len, &mut text).map_err(|error| {
            Error::internal(format!("record {} can't be read again: {error}", todo.place.number))
        })?;
        shown.push((todo, text));
    }
    work.close_stage().await?;
    let (outcome, notes) = tally.close()?;
    Ok((outcome, notes, shown))
}

/// What has been staged.
pub(super) struct Staged {
    /// Where the records' texts can be read again, after a whole payload.
    pub(super) texts: Option<Texts>,
    /// Records that wait for a round of their own, in order.
    pub(super) later: Vec<Place>,
}

pub(super) async fn stage<W: Work>(
    work: &mut W,
    job: &Job,
    tally: &mut Tally<'_>,
    input: Input,
) -> Result<Staged, Error> {
    let is_first = input.again.is_none();
    let encoder = work.encoder(&job.plan, &job.plan.stage_columns());
    let mut feed = feed::start(job, encoder, input);
    let (mut refused, mut withheld) = (Vec::new(), Vec::new());
    while let Some(fed) = feed.recv().await {
        match fed {
            Fed::Chunk { read, offset, rows, bad, later } => {
                if is_first {
                    job.progress(Progress::Read { records: read, offset });
                }
                tally.bad(work, bad).await?;
                withheld.extend(later);
                if !tally.is_lost() && !landonce_store::seam::Rows::is_empty(&rows) {
                    refused.extend(work.stage(rows).await?);
                }
                failpoint::at("staged_some");
            }
            Fed::Done { read, texts } => {
                if is_first {
                    tally.outcome.read = read;
                }
                if let Some(texts) = &texts {
                    tally.refused(work, texts, &refused).await?;
                } else if let Some(first) = refused.first() {
                    return Err(Error::internal(format!(
                        "record {} was staged once and now is refused",
                        first.place.number
                    )));
                }
                return Ok(Staged { texts, later: withheld });
            }
            Fed::Failed(source) => {
                return Err(Repr::Decode { name: job.batch.source().to_owned(), source }.into());
            }
        }
    }
    Err(Error::internal("the decoding thread ended without a word"))
}

pub(super) async fn tell_apart<W: Work>(
    work: &mut W,
    job: &Job,
    tally: &mut Tally<'_>,
    texts: &Texts,
) -> Result<Classified, Error> {
    let folded = work.fold().await?;
    tally.outcome.duplicates += folded.duplicates;
    tally.conflicts(work, texts, &folded.conflicts).await?;
    failpoint::at("folded");
    let classified = work.classify().await?;
    tracing::debug!(?classified, duplicates = folded.duplicates, "told apart");
    job.progress(Progress::ToWrite { rows: classified.new + classified.changed });
    tally.outcome.unchanged += classified.unchanged;
    tally.outcome.stale += classified.stale;
    failpoint::at("classified");
    Ok(classified)
}

/// Writes what was told apart, and returns the rows that the database refuses.
pub(super) async fn write<W: Work>(
    work: &mut W,
    job: &Job,
    tally: &mut Tally<'_>,
    texts: &Arc<Texts>,
    classified: Classified,
) -> Result<Vec<Refused>, Error> {
    let mut refused = Vec::new();
    if classified.new + classified.changed + classified.conflicts == 0 {
        return Ok(refused);
    }
    let encoder = work.encoder(&job.plan, &job.plan.row_columns());
    let mut builder = build::start(job, Arc::clone(texts), encoder);
    let mut is_last = false;
    let mut ahead = 0;
    let mut done = 0;
    loop {
        // One chunk ahead: the builder reads and encodes it while the database writes the one before.
        while !is_last && ahead < 2 {
            let todo = work.next_rows(TODO).await?;
            is_last = todo.is_empty();
            let (conflicts, rows): (Vec<Todo>, Vec<Todo>) =
                todo.into_iter().partition(|todo| todo.class == Class::Conflict);
            let places = |todo: Vec<Todo>| todo.into_iter().map(|todo| todo.place).collect::<Vec<Place>>();
            tally.conflicts(work, texts, &places(conflicts)).await?;
            if !rows.is_empty() {
                ahead += 1;
                if builder.wants.send(places(rows)).await.is_err() {
                    break; // it has failed; its last word is waiting below
                }
            }
        }
        if ahead == 0 {
            return Ok(refused);
        }
        match builder.built.recv().await {
            Some(Built::Rows(rows)) => {
                let written = work.write(rows, job.claim.run_id).await?;
                done += written.inserted + written.updated;
                refused.extend(count(work, tally, texts, job, written).await?);
                job.progress(Progress::Written { rows: done });
                failpoint::at("written_some");
            }
            Some(Built::ChunkDone) => ahead -= 1,
            Some(Built::Failed(told)) => {
                job.batch.payload().check_unchanged()?;
                return Err(Error::internal(told));
            }
            None => return Err(Error::internal("the encoding thread ended without a word")),
        }
    }
}

async fn count<W: Work>(
    work: &mut W,
    tally: &mut Tally<'_>,
    texts: &Texts,
    job: &Job,
    written: Written,
) -> Result<Vec<Refused>, Error> {
    debug_assert!(job.plan.mode == WriteMode::Upsert || written.updated == 0, "insert-once never updates");
    tally.outcome.inserted += written.inserted;
    tally.outcome.updated += written.updated;
    tally.outcome.unchanged += written.unchanged;
    tally.outcome.stale += written.stale;
    tally.conflicts(work, texts, &written.conflicts).await?;
    Ok(written.refused)
}
