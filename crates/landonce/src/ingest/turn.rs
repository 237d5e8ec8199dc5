//! A load's turn: which load of its period (or of its source's snapshot) a batch is, told by the ledger, before anything is
//! claimed.
//!
//! A batch of a period is known by the period and how many loads it has had (`2026-03-01#2`), never by its bytes alone: a
//! restated day may be followed by the first version again, and both are to land. So it is with snapshots (`snapshot#7`), unless
//! the sender gives each an id. The number is taken from the ledger without a lock; two runs that take the same one meet at
//! the inbox, and the second goes again with what it finds. Snapshots under the sender's ids don't meet there: they do at the
//! ledger, so that of two at once the second takes the first one's rows into account.

use jiff::Timestamp;
use landonce_core::period::Period;
use landonce_core::pipeline::{Pipeline, Whole};
use landonce_store::inbox::{Claim, Claimed, Settled};
use landonce_store::ledger::{Entry, Failure, Load, Loaded};
use landonce_store::seam::{Connection, Work};

use super::{Options, Tries, found};
use crate::error::Error;
use crate::receipt::{OfPeriod, Receipt};

/// What the ledger says of a run's period.
pub(super) enum Next {
    /// The payload is what the period holds, by a load that counts as complete: a skipped duplicate, or ours after all.
    Landed(Box<Receipt>),
    /// The load is this one.
    Turn(Turn),
}

/// What has turns: a period, or the source's state.
#[derive(Debug, Clone)]
pub(super) struct Of {
    label: String,
    start: i64,
    end: i64,
    period: Option<Period>,
    is_numbered: bool,
}

/// A load of it.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(super) label: String,
    start: i64,
    end: i64,
    is_of_period: bool,
    /// The batch is known by the load; otherwise by the sender's id.
    pub(super) is_numbered: bool,
    /// How many loads there have been.
    pub(super) loads: u64,
    /// The period was over when the run began, so that the payload can be all of it (C34).
    pub(super) is_complete: bool,
}

impl Turn {
    fn of(of: &Of, loads: u64, options: &Options) -> Self {
        let began = options.started_at.unwrap_or_else(Timestamp::now);
        Self {
            label: of.label.clone(),
            start: of.start,
            end: of.end,
            is_of_period: of.period.is_some(),
            is_numbered: of.is_numbered,
            loads,
            is_complete: of.period.as_ref().is_none_or(|period| period.is_over_at(began)),
        }
    }

    /// The load that the period holds, if this payload is that one and needs no other load.
    fn same<'e>(&self, entry: &'e Entry, base: &Claim, options: &Options) -> Option<&'e Loaded> {
        if !self.is_numbered {
            return None; // another id is another batch, whatever its bytes
        }
        let loaded = entry.loaded.as_ref()?;
        // A partial load is due again once the period is over, also with the same bytes: then it is complete.
        let is_due = self.is_complete && !loaded.is_complete;
        // So it is after a failure: the ledger is to say that it is over.
        let is_due = is_due || entry.failed.is_some();
        // Under another declared zone the same label is other hours.
        let is_same = (entry.start, entry.end) == (self.start, self.end);
        (loaded.digest == base.digest && is_same && !is_due && !options.is_forced).then_some(loaded)
    }

    /// The claim of this load.
    pub(super) fn claim(&self, base: &Claim) -> Claim {
        if !self.is_numbered {
            return base.clone();
        }
        Claim { batch_id: format!("{}#{}", self.label, self.loads + 1), ..base.clone() }
    }

    /// The ledger's entry, in the transaction of the rows. False when another load has come in between.
    pub(super) async fn enter<W: Work>(
        &self,
        work: &mut W,
        claim: &Claim,
        rows: u64,
        is_whole: bool,
    ) -> Result<bool, Error> {
        let load = Load {
            pipeline: &claim.pipeline,
            label: &self.label,
            start: self.start,
            end: self.end,
            digest: claim.digest,
            is_complete: self.is_complete && is_whole,
            batch_id: &claim.batch_id,
            run_id: claim.run_id,
            rows,
        };
        Ok(work.enter(&load, self.loads).await?)
    }

    /// The inbox has the load that would be the next, and the ledger has not.
    pub(super) fn unknown_to_the_ledger(&self, claim: &Claim) -> Error {
        Error::declaration(format!(
            "the inbox has batch `{}` of pipeline `{}`, and the ledger knows of {} loads of `{}`: rows of the ledger were \
             deleted or put back from a backup without the inbox's; bring them back together, or give the pipeline another name",
            claim.batch_id, claim.pipeline, self.loads, self.label
        ))
    }

    /// What the receipt says of it; nothing of a snapshot.
    pub(super) fn told(&self) -> Option<OfPeriod> {
        let loads = self.loads + 1;
        self.is_of_period.then(|| OfPeriod {
            label: self.label.clone(),
            is_complete: self.is_complete,
            loads,
        })
    }
}

/// What the batch is a load of; `None` when its records speak for themselves.
pub(super) fn of(pipeline: &Pipeline, batch: &crate::Batch) -> Option<Of> {
    if let Some(period) = pipeline.period() {
        return Some(Of {
            label: period.label().to_owned(),
            start: period.start().as_microsecond(),
            end: period.end().as_microsecond(),
            period: Some(period.clone()),
            is_numbered: true,
        });
    }
    let is_snapshot = matches!(pipeline.whole(), Some(Whole::Snapshot(_)));
    is_snapshot.then(|| Of {
        label: "snapshot".to_owned(),
        start: 0,
        end: 0,
        period: None,
        is_numbered: !batch.has_own_id(),
    })
}

/// Which load the batch is.
pub(super) async fn next<C: Connection>(
    connection: &mut C,
    of: &Of,
    base: &Claim,
    options: &Options,
    tries: &Tries,
) -> Result<Next, Error> {
    let entry = connection.period(&base.pipeline, &of.label).await?;
    let turn = Turn::of(of, entry.as_ref().map_or(0, |entry| entry.loads), options);
    // A COMMIT without an answer is asked after by what it was to land as: another load may have come behind it.
    let ours = tries.claimed.as_ref().filter(|_| tries.is_unanswered && turn.is_numbered);
    let same = entry.as_ref().and_then(|entry| turn.same(entry, base, options));
    for (batch_id, is_ours) in [
        (ours.map(|claim| claim.batch_id.as_str()), true),
        (same.map(|loaded| loaded.batch_id.as_str()), false),
    ] {
        let Some(batch_id) = batch_id else { continue };
        let claim = Claim { batch_id: batch_id.to_owned(), ..base.clone() };
        let Some(settled) = connection.look_up(&claim.key()).await? else { continue };
        if is_ours && settled.run_id != base.run_id {
            continue;
        }
        let is_complete = same.map_or(turn.is_complete, |loaded| loaded.is_complete);
        let told = turn.told().map(|told| OfPeriod { is_complete, loads: turn.loads, ..told });
        return Ok(Next::Landed(Box::new(Receipt { period: told, ..found(settled, &claim, tries)? })));
    }
    Ok(Next::Turn(turn))
}

/// What a run would find, for a plan: its turn, and the load whose payload it has.
pub(super) async fn foresee<C: Connection>(
    connection: &mut C,
    of: &Of,
    base: &Claim,
) -> Result<(Turn, Option<Settled>), Error> {
    let options = Options::default();
    let entry = connection.period(&base.pipeline, &of.label).await?;
    let turn = Turn::of(of, entry.as_ref().map_or(0, |entry| entry.loads), &options);
    let batch_id = if turn.is_numbered {
        entry.as_ref().and_then(|entry| turn.same(entry, base, &options)).map(|loaded| &loaded.batch_id)
    } else {
        Some(&base.batch_id)
    };
    let Some(batch_id) = batch_id else { return Ok((turn, None)) };
    let claim = Claim { batch_id: batch_id.clone(), ..base.clone() };
    let settled = connection.look_up(&claim.key()).await?;
    Ok((turn, settled))
}

/// [`next`] inside a caller's transaction.
pub(super) async fn inside<W: Work>(
    work: &mut W,
    of: &Of,
    base: &Claim,
    options: &Options,
) -> Result<(Turn, Option<Receipt>), Error> {
    let entry = work.period(&base.pipeline, &of.label).await?;
    let turn = Turn::of(of, entry.as_ref().map_or(0, |entry| entry.loads), options);
    let Some(loaded) = entry.as_ref().and_then(|entry| turn.same(entry, base, options)) else {
        return Ok((turn, None));
    };
    // What has landed is claimed by itself: the claim finds it.
    let claim = Claim { batch_id: loaded.batch_id.clone(), ..base.clone() };
    let Claimed::Found(settled) = work.claim(&claim).await? else {
        return Err(Error::overtaken(&claim.batch_id));
    };
    let told = turn.told();
    let told = told.map(|told| OfPeriod { is_complete: loaded.is_complete, loads: turn.loads, ..told });
    let receipt = Receipt { period: told, ..found(settled, &claim, &Tries::once())? };
    Ok((turn, Some(receipt)))
}

/// Notes that a run of a period has failed, beside what is loaded. Makes no tables for it: a run that came as far as to fail at
/// a period has made them, or may not. What can't be noted doesn't hide the failure itself.
pub(super) async fn note_failure<C: Connection>(
    connection: &mut C,
    period: &Period,
    base: &Claim,
    error: &Error,
) -> Result<(), Error> {
    let message: String = error.to_string().lines().next().unwrap_or_default().chars().take(500).collect();
    let failure = Failure {
        pipeline: &base.pipeline,
        label: period.label(),
        start: period.start().as_microsecond(),
        end: period.end().as_microsecond(),
        run_id: base.run_id,
        code: error.code().as_str(),
        message: &message,
    };
    Ok(connection.fail_period(&failure).await?)
}

/// A run of a pipeline that is loaded by periods has one, and its batch is known by it.
pub(super) fn check(pipeline: &Pipeline, batch: &crate::Batch) -> Result<(), Error> {
    refuse_entries(pipeline, batch)?;
    let Some(calendar) = pipeline.calendar() else { return Ok(()) };
    if pipeline.period().is_none() {
        let every = calendar.every();
        return Err(Error::declaration(format!(
            "`{}` is loaded by periods of a {every}, and none was given; it never reads the clock to choose one: say which \
             (`--period {}`, or `Pipeline::in_period`)",
            pipeline.name(),
            every.example()
        )));
    }
    if batch.has_own_id() {
        return Err(Error::declaration(
            "a batch id and a period: a batch that is a period's is known by the period; leave the batch id out",
        ));
    }
    Ok(())
}

/// Where a payload is all there is, a few records of it can't be delivered by themselves.
fn refuse_entries(pipeline: &Pipeline, batch: &crate::Batch) -> Result<(), Error> {
    if batch.entries().is_none() || pipeline.whole().is_none() {
        return Ok(());
    }
    Err(Error::declaration(format!(
        "`{}` takes whole payloads (`mode: {}`), so records of the quarantine can't be delivered by themselves: deliver the payload \
         again, with the fix, and its good records land",
        pipeline.name(),
        pipeline.write().mode_name()
    )))
}
