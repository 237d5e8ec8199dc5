//! Ingest: one batch, one transaction, run again until it is known to have landed or known not to.

mod applied;
mod build;
mod copies;
pub(crate) mod events;
mod feed;
mod hold;
mod joined;
mod land;
pub(crate) mod marks;
mod notices;
mod options;
mod preview;
mod repeats;
mod rounds;
mod tally;
mod turn;
mod weigh;

use std::sync::Arc;
use std::time::{Duration, Instant};

use landonce_core::pipeline::{OnBad, Pipeline, Whole};
use landonce_core::plan::{self, Absent, TablePlan, WriteMode};
use landonce_core::retry::{Advice, Code};
use landonce_store::held::{Hold, State};
use landonce_store::inbox::{Claim, Settled};
use landonce_store::position::Advanced;
use landonce_store::seam::{Access, Connection, Work as _};
use uuid::Uuid;

use crate::archive;
use crate::batch::Batch;
use crate::decode::{Format, Limits};
use crate::error::{Error, Repr};
use crate::failpoint;
use crate::receipt::{Commit, Notes, Receipt, Status};
use crate::retry::RetryPolicy;
use copies::Copies;
use feed::Withhold;
pub(crate) use joined::ingest_in;
use land::Landed;
pub use options::{Options, Progress, Release};
pub use preview::Preview;
pub(crate) use preview::preview;
use turn::{Next, Turn};
use weigh::Nulls;
pub(crate) use weigh::{EARLIER, median};

/// A batch on its way in: everything an attempt needs, cheap to clone.
#[derive(Clone)]
pub(crate) struct Job {
    pipeline: Arc<Pipeline>,
    plan: Arc<TablePlan>,
    batch: Batch,
    format: Format,
    limits: Limits,
    claim: Claim,
    turn: Option<Turn>,
    copies: Option<Arc<Copies>>,
    nulls: Option<Arc<Nulls>>,
    /// How many records earlier loads had, the newest first ([`weigh`]).
    earlier: Vec<u64>,
    /// A person has rejected the payload.
    is_rejected: bool,
    release: Option<Release>,
    is_preview: bool,
    /// The pipeline's notifications are told.
    notifies: bool,
    /// The longest wait for a twin.
    claim_wait: Option<Duration>,
    progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Job {
    fn new(
        pipeline: &Arc<Pipeline>,
        plan: TablePlan,
        batch: &Batch,
        claim: Claim,
        turn: Option<Turn>,
    ) -> Result<Self, Error> {
        Ok(Self {
            nulls: Nulls::new(pipeline.whole(), &plan).map(Arc::new),
            earlier: Vec::new(),
            is_rejected: false,
            release: None,
            format: batch.format(pipeline)?,
            limits: batch.limits(pipeline),
            pipeline: Arc::clone(pipeline),
            plan: Arc::new(plan),
            batch: batch.clone(),
            claim,
            turn,
            copies: pipeline.identity().keeps_repeats.then(Arc::default),
            is_preview: false,
            notifies: false,
            claim_wait: None,
            progress: None,
        })
    }

    fn allows_empty(&self) -> bool {
        matches!(self.pipeline.whole(), Some(Whole::Period(of)) if of.allows_empty)
    }

    fn keeps_bad(&self) -> bool {
        matches!(self.pipeline.on_bad(), OnBad::Quarantine(_))
    }

    /// What of an identity's records can't be folded, so that their order must be kept.
    fn withholds(&self) -> Option<Withhold> {
        if self.plan.absent == Absent::Keep && self.plan.mode == WriteMode::Upsert {
            return Some(Withhold::Repeats); // each is a change
        }
        let retires = self.plan.has_deletes && self.plan.tombstone.is_some();
        retires.then_some(Withhold::Turns)
    }

    fn is_lexical(&self) -> bool {
        matches!(self.format, Format::Csv(_))
            || self.batch.entries().is_some_and(|entries| entries.is_lexical)
    }

    fn progress(&self, progress: Progress) {
        if let Some(told) = &self.progress {
            told(progress);
        }
    }
}

/// A place to connect to, again for every attempt.
pub(crate) trait Connect {
    type Connection: Connection;

    async fn connect(&self) -> Result<Self::Connection, landonce_store::Error>;

    /// A connection of its own that may do so much, where the database can tell; it isn't given back.
    fn open(
        &self,
        access: Access,
    ) -> impl Future<Output = Result<Self::Connection, landonce_store::Error>> + Send;

    /// Takes a connection back on which all has gone well.
    fn give_back(&self, _connection: Self::Connection) {}
}

/// A database that is a server: connections to it are kept, and end by themselves.
pub(crate) trait Server: Connect {
    /// The connection is gone; a new one is needed.
    fn is_gone(connection: &Self::Connection) -> bool;
}

/// Runs a batch's transaction until it has landed, is known to have landed before, or can't land.
pub(crate) async fn ingest<D: Connect>(
    database: &D,
    pipeline: &Arc<Pipeline>,
    batch: &Batch,
    options: &Options,
) -> Result<Receipt, Error> {
    turn::check(pipeline, batch)?;
    let claim = claim(pipeline, batch, options.run_id.unwrap_or_else(Uuid::now_v7));
    // One run has one beginning, however often it is tried.
    let started_at = options.started_at.unwrap_or_else(jiff::Timestamp::now);
    let options = &Options { started_at: Some(started_at), ..options.clone() };
    let ended = until_it_lands(database, pipeline, batch, options, &claim).await;
    if let (Err(error), Some(period)) = (&ended, pipeline.period())
        // A table that isn't there is no failure of the period: noted, it would make the next run load the period anew, alone.
        && !matches!(error.kind(), crate::error::Kind::Interrupted | crate::error::Kind::Target)
        && let Ok(mut connection) = database.connect().await
        && let Err(failed) = turn::note_failure(&mut connection, period, &claim, error).await
    {
        tracing::warn!(%failed, "the ledger doesn't know of the failed run");
    }
    ended
}

async fn until_it_lands<D: Connect>(
    database: &D,
    pipeline: &Arc<Pipeline>,
    batch: &Batch,
    options: &Options,
    claim: &Claim,
) -> Result<Receipt, Error> {
    let started = Instant::now();
    let mut tries = Tries { attempts: 0, was_connected: false, ..Tries::once() };
    loop {
        tries.attempts += 1;
        let failed = match attempt(database, pipeline, batch, options, claim, &mut tries).await {
            Ok(Some(receipt)) => return Ok(receipt),
            Ok(None) => {
                // Another load of the period has landed meanwhile: each such turn is somebody's progress.
                tries.attempts -= 1;
                continue;
            }
            Err(error) => error,
        };
        let Some(wait) = again(&failed, &options.retry, &mut tries, started) else {
            return Err(give_up(failed, &tries, started));
        };
        tracing::info!(attempt = tries.attempts, error = %failed, "again after {} ms", wait.as_millis());
        if let Some(told) = &options.progress {
            told(Progress::Retry { attempt: tries.attempts });
        }
        tokio::time::sleep(wait).await;
    }
}

/// How long to wait before the next attempt; `None` when there is to be none.
fn again(failed: &Error, policy: &RetryPolicy, tries: &mut Tries, started: Instant) -> Option<Duration> {
    let Repr::Store(error) = failed.repr() else { return None };
    let advice = error.advice();
    tries.is_unanswered |= advice == Advice::Resolve;
    let is_again = match advice {
        Advice::Again | Advice::Resolve => true,
        Advice::Once => !std::mem::replace(&mut tries.was_internal, true),
        Advice::IfTimeoutsRetried => policy.timeouts,
        // A wrong password while looking for the outcome doesn't tell the outcome.
        Advice::Never | Advice::NoSpace => false,
    };
    let wait = policy.wait(tries.attempts);
    tries.was_connected |= !error.is_connect;
    // A place at which nobody has answered yet is more likely written wrongly than gone for a moment (C25).
    let patience = if !tries.was_connected && is_unreachable(error) { NOBODY_THERE } else { policy.deadline };
    let is_over =
        tries.attempts >= policy.attempts || started.elapsed() + wait > patience.min(policy.deadline);
    (is_again && !is_over).then_some(wait)
}

/// How long a place is tried at which nobody has answered yet.
const NOBODY_THERE: Duration = Duration::from_secs(3);

/// No server answered, not even to say that it is starting or full.
fn is_unreachable(error: &landonce_store::Error) -> bool {
    error.is_connect && matches!(&error.code, Code::SqlState(state) if state.starts_with("08"))
}

/// What the attempts so far have shown.
struct Tries {
    attempts: u32,
    /// One of them got as far as a connection.
    was_connected: bool,
    /// A COMMIT was sent and not answered: a batch found in the inbox under our run id is ours.
    is_unanswered: bool,
    was_internal: bool,
    /// What the last attempt was to land as.
    claimed: Option<Claim>,
    /// The batch's bytes are in the archive under this id.
    archived: Option<String>,
    /// The load of the period that another run had landed as when we came.
    taken: Option<String>,
}

impl Tries {
    /// For what is tried once.
    fn once() -> Self {
        Self {
            attempts: 1,
            was_connected: true,
            is_unanswered: false,
            was_internal: false,
            claimed: None,
            archived: None,
            taken: None,
        }
    }
}

fn give_up(failed: Error, tries: &Tries, started: Instant) -> Error {
    let Error(repr) = failed;
    match *repr {
        mismatch @ Repr::Mismatch { .. } => mismatch.into(), // the inbox has answered
        last if tries.is_unanswered => Repr::Unresolved { last: last.to_string() }.into(),
        // Once is enough where what is in the way goes away: the same again, later, may land.
        Repr::Store(last) if tries.attempts > 1 || (last.advice() == Advice::Again && !last.is_connect) => {
            Repr::Exhausted { attempts: tries.attempts, elapsed_ms: started.elapsed().as_millis(), last }
                .into()
        }
        other => other.into(),
    }
}

fn claim(pipeline: &Pipeline, batch: &Batch, run_id: Uuid) -> Claim {
    Claim {
        pipeline: pipeline.name().to_owned(),
        batch_id: batch.id(),
        digest: batch.event().and_then(|event| event.digest).unwrap_or_else(|| batch.digest()),
        run_id,
        source: batch.source().to_owned(),
        subject: batch.event().and_then(|event| event.subject),
    }
}

/// One attempt: look, prepare, begin, land, commit. `None` when another load of the same period came in between.
async fn attempt<D: Connect>(
    database: &D,
    pipeline: &Arc<Pipeline>,
    batch: &Batch,
    options: &Options,
    claim: &Claim,
    tries: &mut Tries,
) -> Result<Option<Receipt>, Error> {
    let mut connection = database.connect().await?;
    failpoint::at("connected");
    let ended = attempt_on(&mut connection, pipeline, batch, options, claim, tries).await;
    if ended.is_ok() {
        database.give_back(connection);
    }
    ended
}

async fn attempt_on<C: Connection>(
    connection: &mut C,
    pipeline: &Arc<Pipeline>,
    batch: &Batch,
    options: &Options,
    claim: &Claim,
    tries: &mut Tries,
) -> Result<Option<Receipt>, Error> {
    let (claim, turn) = match turn::of(pipeline, batch) {
        None => (claim.clone(), None),
        Some(of) => match turn::next(connection, &of, claim, options, tries).await? {
            Next::Landed(receipt) => {
                let receipt = still_there(connection, pipeline, *receipt).await?;
                past(connection, batch, claim.run_id).await?;
                return Ok(Some(receipt));
            }
            Next::Turn(turn) => (turn.claim(claim), Some(turn)),
        },
    };
    // One look without a lock, so that a redelivery writes nothing anywhere. The claim below is what decides.
    if let Some(settled) = connection.look_up(&claim.key()).await? {
        if let Some(turn) = turn.as_ref().filter(|turn| turn.is_numbered) {
            // Once, that is a load which has landed since the look into the ledger; then the ledger knows of it by now.
            if tries.taken.as_ref() == Some(&claim.batch_id) {
                return Err(turn.unknown_to_the_ledger(&claim));
            }
            tries.taken = Some(claim.batch_id);
            return Ok(None);
        }
        let receipt = found_as(settled, &claim, batch.event().map(|_| batch.digest()), tries)?;
        let receipt = still_there(connection, pipeline, receipt).await?;
        past(connection, batch, claim.run_id).await?;
        return Ok(Some(receipt));
    }
    tracing::debug!(batch_id = claim.batch_id, attempt = tries.attempts, "not landed yet");
    connection.migrate().await?;
    let plan = plan_for(connection, pipeline).await?;
    if plan.create {
        connection.create_target(&plan).await?;
    }
    if plan.history.is_some() {
        connection.create_history(&plan).await?;
    }
    let mut job = Job {
        progress: options.progress.clone(),
        release: options.release.clone(),
        notifies: options.notify,
        claim_wait: options.claim_wait,
        ..Job::new(pipeline, plan, batch, claim.clone(), turn)?
    };
    know_earlier(connection, &mut job).await?;
    tracing::debug!(table = %job.plan.table, mode = job.pipeline.write().mode_name(), matching = ?job.plan.matching, "planned");
    // Before the transaction: it isn't held open for an upload, and no batch lands without its bytes.
    archive::keep(pipeline, batch, &claim, &mut tries.archived).await?;
    connection.begin(Access::Write).await?;
    failpoint::at("begun");
    let mut is_claimed = false;
    tries.claimed = Some(claim.clone());
    let landed = land::land(&mut connection.work(), &job, &mut is_claimed).await;
    // A claim that finds no row has waited for the end of whoever held it: an unanswered COMMIT before has not happened.
    tries.is_unanswered &= !is_claimed;
    match landed {
        Ok(Landed::New(outcome, notes)) => {
            // 7. COMMIT.
            if let Some(told) = &options.progress {
                told(Progress::Committing);
            }
            connection.commit().await?;
            tracing::debug!(?outcome, "committed");
            failpoint::at("committed");
            Ok(Some(Receipt {
                status: Status::Processed,
                batch_id: claim.batch_id,
                run_id: claim.run_id,
                outcome,
                attempts: tries.attempts,
                commit: Commit::Clean,
                period: job.turn.as_ref().and_then(Turn::told).map(|told| told.unless_moved(&notes)),
                notes,
            }))
        }
        Ok(Landed::Found(_)) if job.turn.as_ref().is_some_and(|turn| turn.is_numbered) => {
            connection.rollback().await;
            Ok(None)
        }
        Ok(Landed::Found(settled)) => {
            connection.rollback().await;
            let receipt = found_as(settled, &claim, batch.event().map(|_| batch.digest()), tries)?;
            past(connection, batch, claim.run_id).await?;
            Ok(Some(receipt))
        }
        Ok(Landed::Overtaken) => {
            connection.rollback().await;
            Ok(None)
        }
        Err(error) => {
            connection.rollback().await;
            match *error.0 {
                Repr::Held(hold) => hold::keep(connection, &job, *hold, tries).await.map(Some),
                other => Err(other.into()),
            }
        }
    }
}

/// What a snapshot is weighed against, beside what is there.
async fn know_earlier<C: Connection>(connection: &mut C, job: &mut Job) -> Result<(), Error> {
    if let Some(Whole::Snapshot(_)) = job.pipeline.whole() {
        let earlier = connection.earlier(&job.claim.pipeline, weigh::EARLIER).await?;
        job.earlier = earlier.iter().map(|settled| settled.outcome.read).collect();
        let key = Hold::key_of(&job.claim.pipeline, &job.claim.digest);
        job.is_rejected = connection.held_as(&key).await? == Some(State::Rejected);
        // The turn was read before: whoever lands from here on takes its number, and this is looked at again.
        let since = job.release.as_ref().and_then(|release| release.none_since.as_ref());
        if let (Some(since), Some(newest)) = (since, earlier.first())
            && newest.settled_at > *since
        {
            return Err(crate::held::set_back(&job.claim.digest, newest));
        }
    }
    Ok(())
}

/// The inbox has the batch: it is a duplicate, or ours after a lost answer, or another batch under the same id.
fn found(settled: Settled, claim: &Claim, tries: &Tries) -> Result<Receipt, Error> {
    found_as(settled, claim, None, tries)
}

/// [`found`], where the batch may also have landed as these bytes: an event is claimed by its content, but by its bytes while it was
/// bad, and out of the archive.
fn found_as(
    settled: Settled,
    claim: &Claim,
    bytes: Option<[u8; 32]>,
    tries: &Tries,
) -> Result<Receipt, Error> {
    if settled.digest != claim.digest && Some(settled.digest) != bytes {
        return Err(Repr::Mismatch {
            pipeline: claim.pipeline.clone(),
            batch_id: claim.batch_id.clone(),
            then: hex::encode(settled.digest),
            now: hex::encode(claim.digest),
        }
        .into());
    }
    let is_ours = tries.is_unanswered && settled.run_id == claim.run_id;
    let (status, commit) = if is_ours {
        (Status::Processed, Commit::Recovered)
    } else {
        (Status::SkippedDuplicate, Commit::Clean)
    };
    Ok(Receipt {
        status,
        batch_id: settled.batch_id,
        run_id: settled.run_id,
        outcome: settled.outcome,
        attempts: tries.attempts,
        commit,
        period: None,
        notes: Notes::default(),
    })
}

/// Moves the source's part behind a batch that had landed already. Where it is there, nothing is written.
async fn past<C: Connection>(connection: &mut C, batch: &Batch, run_id: Uuid) -> Result<(), Error> {
    let Some(advance) = batch.advance().filter(|advance| advance.from.as_ref() != Some(&advance.to)) else {
        return Ok(());
    };
    connection.begin(Access::Write).await?;
    let moved = connection.work().advance(advance, run_id).await;
    match moved {
        Ok(Advanced::Moved) => Ok(connection.commit().await?),
        Ok(Advanced::Already) => {
            connection.rollback().await;
            Ok(())
        }
        Ok(lost) => {
            connection.rollback().await;
            Err(Repr::Fenced { advance: Box::new(advance.clone()), lost: Box::new(lost) }.into())
        }
        Err(error) => {
            connection.rollback().await;
            Err(error.into())
        }
    }
}

/// A skip is only right while what it stands for is there: a table that was dropped, or another one named since, isn't
/// filled by saying that the batch has landed.
async fn still_there<C: Connection>(
    connection: &mut C,
    pipeline: &Pipeline,
    receipt: Receipt,
) -> Result<Receipt, Error> {
    let table = &pipeline.target().table;
    if connection.is_there(table).await? {
        return Ok(receipt);
    }
    Err(plan::PlanError {
        table: table.to_string(),
        message: format!(
            "isn't there, though batch `{}` has landed (run {}); bring it back, correct `target.table`, or, to load it anew, \
             give the pipeline another name or the batch another id",
            receipt.batch_id, receipt.run_id
        ),
    }
    .into())
}

/// How the pipeline's records become rows of its table, as the table is now.
pub(crate) async fn plan_for<C: Connection>(
    connection: &mut C,
    pipeline: &Pipeline,
) -> Result<TablePlan, Error> {
    let shape = connection.shape(&pipeline.target().table).await?;
    Ok(plan::resolve(pipeline, shape.as_ref())?)
}
