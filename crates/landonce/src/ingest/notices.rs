//! Notices: what a batch really changes, told in its own transaction (J7).
//!
//! A pipeline without `notify:` does nothing here. What a row was is remembered before it is written; what has happened to it is
//! asked of the target afterwards, chunk by chunk, and becomes messages at once: they stand or fall with the rows. A record that
//! is unchanged, stale, in conflict or refused has changed nothing, and a change that was told before is told by the same id,
//! which the outbox doesn't take twice.

use landonce_core::notice::{Notice, Occasion, Teller};
use landonce_core::plan::PlanError;
use landonce_core::retry::Code;
use landonce_core::spec::ChangeKind;
use landonce_store::inbox::InboxKey;
use landonce_store::outbox::Message;
use landonce_store::seam::{Classified, Look, Work};

use super::Job;
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
    teller: Teller,
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
        if !job.notifies || job.is_preview || job.pipeline.notifications().is_empty() {
            return Ok(Self::default());
        }
        let teller = Teller::new(&job.pipeline, &job.plan)
            .map_err(|message| PlanError { table: job.plan.table.to_string(), message })?;
        Ok(Self {
            told: Some(Telling { teller, batch: job.claim.key(), round: 0, has_vanished: false, deleted: 0 }),
        })
    }
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

/// So many rows were deleted: each of them is to be told.
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
        deleted += changes.iter().filter(|change| change.kind == ChangeKind::Deleted).count() as u64;
        let mut messages = Vec::new();
        for change in &changes {
            let notices = told.teller.tell(change, on).map_err(Error::internal)?;
            messages.extend(notices.into_iter().map(|notice| message(notice, change.kind.as_str(), job)));
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

fn message(notice: Notice, kind: &str, job: &Job) -> Message {
    Message {
        id: notice.id,
        producer: job.pipeline.name().to_owned(),
        topic: notice.topic,
        lane: notice.lane,
        ordering: notice.ordering,
        entity: notice.entity,
        kind: kind.to_owned(),
        payload: notice.payload,
        run_id: Some(job.claim.run_id),
    }
}
