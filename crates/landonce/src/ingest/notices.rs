//! Notices: what a batch really changes, told in its own transaction (J7).
//!
//! A pipeline without `notify:` and without `apply:` (`applied.rs`) does nothing here. What a row was is remembered before it is written; what has happened to it is
//! asked of the target afterwards, chunk by chunk, and becomes messages at once: they stand or fall with the rows. A record that
//! is unchanged, stale, in conflict or refused has changed nothing, and a change that was told before is told by the same id,
//! which the outbox doesn't take twice.

use landonce_core::notice::{Change, Notice, Occasion, Teller};
use landonce_core::pipeline::Pipeline;
use landonce_core::plan::{PlanError, TablePlan};
use landonce_core::retry::Code;
use landonce_core::spec::ChangeKind;
use landonce_store::inbox::{Claim, InboxKey};
use landonce_store::outbox::Message;
use landonce_store::seam::{Classified, Look, Work};

use super::Job;
use super::applied::{self, Applied, New};
use super::tally::Tally;
use crate::error::{Error, Repr};
use crate::failpoint;

/// How many changes are held at a time.
const CHANGES: usize = 500;

/// What is to be told, and how far it is.
#[derive(Debug, Default)]
pub(super) struct Notices {
    /// `None` when nothing is.
    told: Option<Telling>,
}

#[derive(Debug)]
struct Telling {
    /// Nobody is told where there is none.
    teller: Option<Teller>,
    applied: Applied,
    batch: InboxKey,
    round: u64,
    /// Rows that the round takes away have been remembered.
    has_vanished: bool,
    /// Rows that the round has deleted.
    deleted: u64,
}

impl Notices {
    /// What a batch is to tell.
    pub(super) fn of(job: &Job) -> Result<Self, Error> {
        let is_told = job.notifies && !job.pipeline.notifications().is_empty();
        let applied = Applied::new(&job.pipeline, &job.plan)?;
        if job.is_preview || (!is_told && applied.is_empty()) {
            return Ok(Self::default());
        }
        let teller = if is_told { Some(teller(&job.pipeline, &job.plan)?) } else { None };
        let batch = job.claim.key();
        Ok(Self { told: Some(Telling { teller, applied, batch, round: 0, has_vanished: false, deleted: 0 }) })
    }
}

/// The notifications over a plan.
pub(super) fn teller(pipeline: &Pipeline, plan: &TablePlan) -> Result<Teller, Error> {
    Ok(Teller::new(pipeline, plan).map_err(|message| PlanError { table: plan.table.to_string(), message })?)
}

/// Remembers what is to be changed, behind the telling apart and before any write.
pub(super) async fn before<W: Work>(
    work: &mut W,
    notices: &mut Notices,
    classified: Classified,
) -> Result<(), Error> {
    let Some(told) = &mut notices.told else { return Ok(()) };
    told.round += 1;
    told.has_vanished = false;
    told.deleted = 0;
    if classified.changed + classified.deletes > 0 {
        work.remember(Look::Before).await?;
    }
    Ok(())
}

/// Remembers the rows that the payload doesn't have, before they go. Returns how many.
pub(super) async fn vanishing<W: Work>(work: &mut W, notices: &mut Notices) -> Result<u64, Error> {
    let Some(told) = &mut notices.told else { return Ok(0) };
    told.has_vanished = true;
    Ok(work.remember(Look::Missing).await?)
}

/// Fails when more rows went than were seen before: another writer has put one in between, and nobody would tell that it was
/// there. The batch is run again, and sees it.
pub(super) fn all_seen(notices: &Notices, gone: u64, seen: u64) -> Result<(), Error> {
    if notices.told.is_none() || gone <= seen {
        return Ok(());
    }
    Err(unseen())
}

/// So many rows were deleted or retired: each of them is to be told.
pub(super) fn deleted(notices: &mut Notices, rows: u64) {
    if let Some(told) = &mut notices.told {
        told.deleted += rows;
    }
}

/// To be run again, as after a serialization failure.
fn unseen() -> Error {
    let message = "another writer has put a row between the look and the delete";
    let error = landonce_store::Error {
        code: Code::SqlState("40001".to_owned()),
        ..landonce_store::Error::refused(message)
    };
    Repr::Store(error).into()
}

/// Enqueues what has happened in the round, behind its last write.
pub(super) async fn after<W: Work>(
    work: &mut W,
    job: &Job,
    tally: &mut Tally<'_>,
    classified: Classified,
) -> Result<(), Error> {
    let Some(told) = &tally.notices.told else { return Ok(()) };
    if classified.new + classified.changed + classified.deletes == 0 && !told.has_vanished {
        return Ok(());
    }
    let on = Occasion { batch: &told.batch.0, round: told.round };
    let (mut enqueued, mut deleted) = (0, 0);
    loop {
        let changes = work.changes(job.claim.run_id, CHANGES).await?;
        let is_gone = |change: &&Change| matches!(change.kind, ChangeKind::Deleted | ChangeKind::Retired);
        deleted += changes.iter().filter(is_gone).count() as u64;
        let inserted = changes.iter().filter(|change| change.kind == ChangeKind::Inserted);
        let inserted = inserted.map(|change| New { key: &change.key, row: change.new.as_deref() });
        applied::all(work, &told.applied, &job.plan, job.batch.source(), inserted).await?;
        let mut messages = Vec::new();
        for change in &changes {
            let Some(teller) = &told.teller else { break };
            let notices = teller.tell(change, on).map_err(Error::internal)?;
            let kind = change.kind.as_str();
            messages.extend(notices.into_iter().map(|notice| message(notice, kind, &job.claim)));
        }
        if !messages.is_empty() {
            enqueued += work.enqueue(&messages).await?;
        }
        if changes.len() < CHANGES {
            break;
        }
    }
    // One that is gone and wasn't remembered: a rival had deleted it before it was looked at, and another put it again.
    if deleted < told.deleted {
        return Err(unseen());
    }
    tracing::debug!(enqueued, round = told.round, "told");
    tally.notes.enqueued += enqueued;
    failpoint::at("enqueued");
    Ok(())
}

pub(super) fn message(notice: Notice, kind: &str, claim: &Claim) -> Message {
    Message {
        id: notice.id,
        producer: claim.pipeline.clone(),
        topic: notice.topic,
        lane: notice.lane,
        ordering: notice.ordering,
        entity: notice.entity,
        kind: kind.to_owned(),
        payload: notice.payload,
        run_id: Some(claim.run_id),
    }
}
