//! One transaction of events, from its begin to its COMMIT, and the receipts that it earns.

use landonce_core::notice::{Change, Occasion, Teller};
use landonce_core::outcome::Outcome;
use landonce_core::pipeline::Pipeline;
use landonce_core::plan::{Match, TablePlan};
use landonce_core::retry::{self, Phase};
use landonce_core::spec::ChangeKind;
use landonce_store::inbox::{InboxKey, Settled};
use landonce_store::seam::{Arrival, Arrived, Connection, Events, Fate, Told, Work};

use super::read::Ready;
use super::{Ended, is_stale};
use crate::error::{Error, Repr};
use crate::failpoint;
use crate::ingest::applied::Applied;
use crate::ingest::{Tries, found_as, notices};
use crate::receipt::{Commit, Notes, Receipt, Status};

/// What follows for rows that come new.
pub(super) struct Then {
    applied: Applied,
    teller: Option<Teller>,
}

impl Then {
    pub(super) fn new(pipeline: &Pipeline, plan: &TablePlan) -> Result<Self, Error> {
        let is_told = !pipeline.notifications().is_empty();
        Ok(Self {
            applied: Applied::new(pipeline, plan)?,
            teller: if is_told { Some(notices::teller(pipeline, plan)?) } else { None },
        })
    }

    pub(super) fn wants_rows(&self) -> bool {
        !self.applied.is_empty() || self.teller.is_some()
    }
}

/// The transaction, from its begin to its COMMIT. An error leaves the connection in an unknown state.
pub(super) async fn inside<C: Events>(
    session: &mut C,
    way: &mut C::Way,
    plan: &TablePlan,
    then: &Then,
    group: &[Ready],
    tries: &mut Tries,
) -> Result<Ended, Error> {
    let arrivals: Vec<Arrival<'_>> =
        group.iter().map(|ready| Arrival { claim: &ready.claim, values: &ready.values }).collect();
    failpoint::at("events_begun");
    if let ([arrival], false) = (arrivals.as_slice(), then.wants_rows())
        && let Some(told) = session.arrive_at_once(way, arrival).await?
    {
        let is_claimed = told.fate != Fate::Found;
        tries.is_unanswered &= !is_claimed;
        return receipts(session, group, vec![told], vec![0], tries).await;
    }
    // 1. claim, and 3. write: one statement.
    let told = match session.arrive(way, &arrivals).await {
        Ok(Arrived::All(told)) => told,
        Ok(Arrived::But(these)) => return rolled_back(session, Ended::But(these)).await,
        Err(error) if retry::blames_row(&error.code) => return rolled_back(session, Ended::Refused).await,
        Err(error) if is_stale(&error) => return rolled_back(session, Ended::Stale(error.into())).await,
        Err(error) => return Err(error.into()),
    };
    failpoint::at("events_written");
    // A claim that finds no row has waited for the end of whoever held it: an unanswered COMMIT before has not happened.
    let is_claimed = told.iter().any(|told| told.fate != Fate::Found);
    tries.is_unanswered &= !is_claimed;
    // 4. apply and tell, for the rows that came new.
    let enqueued = match follow(session, plan, then, group, &told).await? {
        Followed::Done(enqueued) => enqueued,
        Followed::Not(ended) => return rolled_back(session, ended).await,
    };
    failpoint::at("events_applied");
    // 6. settle: the outcomes that weren't expected.
    let others: Vec<(InboxKey, Outcome)> = group
        .iter()
        .zip(&told)
        .filter(|(_, told)| !matches!(told.fate, Fate::Found | Fate::Inserted))
        .map(|(ready, told)| (ready.claim.key(), outcome(told.fate)))
        .collect();
    if !others.is_empty() {
        session.restate(&others).await?;
    }
    // 7. COMMIT; of nothing but duplicates there is nothing to commit.
    if is_claimed {
        match session.commit().await {
            Ok(()) => {}
            // A rule that is looked at only now (a deferred foreign key): one of the events has broken it, and nobody knows which.
            Err(error) if error.phase == Phase::CommitRefused && retry::blames_row(&error.code) => {
                return rolled_back(session, Ended::Refused).await;
            }
            Err(error) => return Err(error.into()),
        }
        failpoint::at("events_committed");
    } else {
        session.rollback().await;
    }
    receipts(session, group, told, enqueued, tries).await
}

/// The receipts, behind the end of the transaction.
async fn receipts<C: Events>(
    session: &mut C,
    group: &[Ready],
    told: Vec<Told>,
    enqueued: Vec<u64>,
    tries: &Tries,
) -> Result<Ended, Error> {
    let is_claimed = told.iter().any(|told| told.fate != Fate::Found);
    let keys: Vec<InboxKey> = group
        .iter()
        .zip(&told)
        .filter(|(_, told)| told.fate == Fate::Found)
        .map(|(ready, _)| ready.claim.key())
        .collect();
    let settled = if keys.is_empty() { Vec::new() } else { found_all(session, &keys, is_claimed).await? };
    let receipts = group.iter().zip(told).zip(enqueued);
    Ok(Ended::Landed(
        receipts.map(|((ready, told), enqueued)| receipt(ready, told, enqueued, &settled, tries)).collect(),
    ))
}

async fn rolled_back<C: Connection>(session: &mut C, ended: Ended) -> Result<Ended, Error> {
    session.rollback().await;
    Ok(ended)
}

/// What the inbox has of the duplicates. Behind a COMMIT, a failure here is no failure of what has landed: then the next delivery tells.
async fn found_all<C: Events>(
    session: &mut C,
    keys: &[InboxKey],
    is_committed: bool,
) -> Result<Vec<Settled>, Error> {
    match session.look_up_all(keys).await {
        Ok(settled) => Ok(settled),
        Err(error) if is_committed => {
            tracing::warn!(%error, "what duplicates have become isn't known");
            Ok(Vec::new())
        }
        Err(error) => Err(error.into()),
    }
}

/// What has followed for new rows.
enum Followed {
    /// How many messages each event has enqueued.
    Done(Vec<u64>),
    Not(Ended),
}

/// Step 4: the statements of `apply:` in the order of the records' keys, then the messages.
async fn follow<C: Events>(
    session: &mut C,
    plan: &TablePlan,
    then: &Then,
    group: &[Ready],
    told: &[Told],
) -> Result<Followed, Error> {
    let mut enqueued = vec![0; group.len()];
    if !then.wants_rows() {
        return Ok(Followed::Done(enqueued));
    }
    // What a changed row was before isn't known here.
    let changed = told.iter().enumerate().filter(|(_, told)| told.fate == Fate::Updated);
    let changed: Vec<usize> = changed.map(|(at, _)| at).collect();
    if then.teller.is_some() && !changed.is_empty() {
        return Ok(Followed::Not(Ended::But(changed)));
    }
    let mut new: Vec<(usize, &str)> = told
        .iter()
        .enumerate()
        .filter(|(_, told)| told.fate == Fate::Inserted)
        .filter_map(|(at, told)| Some((at, told.row.as_deref()?)))
        .collect();
    if new.is_empty() {
        return Ok(Followed::Done(enqueued));
    }
    new.sort_by_key(|(at, _)| group[*at].key.0);
    let rows: Vec<&str> = new.iter().map(|(_, row)| *row).collect();
    let mut work = session.work();
    if let Err(fault) = then.applied.run(&mut work, plan, &rows).await? {
        if fault.blames_row() {
            return Ok(Followed::Not(Ended::But(vec![new[fault.at].0])));
        }
        let source = &group[new[fault.at].0].claim.source;
        return Err(fault.into_error(source, String::new()));
    }
    let Some(teller) = &then.teller else { return Ok(Followed::Done(enqueued)) };
    let mut messages = Vec::new();
    new.sort_by_key(|(at, _)| *at);
    for (at, row) in new {
        let Ready { claim, key, .. } = &group[at];
        let key = match plan.matching {
            Match::Key { form, .. } => key.to_text(form),
            Match::Columns(_) => String::new(),
        };
        let change =
            Change { kind: ChangeKind::Inserted, key, revision: 1, old: None, new: Some(row.to_owned()) };
        let batch = claim.key();
        let notices =
            teller.tell(&change, Occasion { batch: &batch.0, round: 1 }).map_err(Error::internal)?;
        enqueued[at] = notices.len() as u64;
        let kind = change.kind.as_str();
        messages.extend(notices.into_iter().map(|notice| notices::message(notice, kind, claim)));
    }
    if !messages.is_empty() {
        work.enqueue(&messages).await?;
    }
    Ok(Followed::Done(enqueued))
}

fn outcome(fate: Fate) -> Outcome {
    let mut outcome = Outcome { read: 1, ..Outcome::default() };
    match fate {
        Fate::Inserted => outcome.inserted = 1,
        Fate::Updated => outcome.updated = 1,
        Fate::Unchanged | Fate::Found => outcome.unchanged = 1,
        Fate::Stale => outcome.stale = 1,
    }
    outcome
}

fn receipt(
    ready: &Ready,
    told: Told,
    enqueued: u64,
    settled: &[Settled],
    tries: &Tries,
) -> Result<Receipt, Error> {
    let claim = &ready.claim;
    if told.fate != Fate::Found {
        let same: Vec<(u64, String)> = told.same_content.into_iter().map(|key| (1, key)).collect();
        return Ok(Receipt {
            status: Status::Processed,
            batch_id: claim.batch_id.clone(),
            run_id: claim.run_id,
            outcome: outcome(told.fate),
            attempts: tries.attempts,
            commit: Commit::Clean,
            period: None,
            notes: Notes {
                enqueued,
                same_content: same.len() as u64,
                same_content_samples: same,
                ..Notes::default()
            },
        });
    }
    let Some(there) = settled.iter().find(|settled| settled.batch_id == claim.batch_id) else {
        return Err(Repr::Unasked.into());
    };
    let receipt = found_as(there.clone(), claim, Some(ready.bytes), tries)?;
    // The run is named by us, once for each event: whatever landed under it is ours (X4).
    let is_ours = there.run_id == claim.run_id;
    Ok(if is_ours {
        Receipt { status: Status::Processed, commit: Commit::Recovered, ..receipt }
    } else {
        receipt
    })
}
