//! What the write modes decide about one identity, batch after batch: the rules of the store's statements, over one row.
//!
//! Where the inbox's counts leave one answer only, that is the answer, and the walk goes on from there.

use std::cmp::Ordering;

use landonce_core::outcome::Outcome;
use landonce_core::pipeline::{Pipeline as Declared, Whole};
use landonce_core::plan::{Absent, TablePlan, WriteMode};
use landonce_store::inbox::Settled;

use super::archived::{Archived, Brought, Good, Record};
use super::content::{Content, Version};
use super::{Decision, Delivery, KnownBy, Standing};

/// The row as the walk knows it.
#[derive(Debug, Clone)]
enum State {
    Unknown,
    Gone,
    There { content: Content, version: Option<Version>, period: Option<String>, is_retired: bool },
}

/// A walk along the deliveries.
pub(super) struct Walk<'p> {
    plan: &'p TablePlan,
    whole: Option<&'p Whole>,
    state: State,
    /// The walk began where the row was not there yet.
    is_from_the_beginning: bool,
}

impl<'p> Walk<'p> {
    pub(super) fn new(declared: &'p Declared, plan: &'p TablePlan) -> Self {
        Self { plan, whole: declared.whole(), state: State::Unknown, is_from_the_beginning: false }
    }

    /// What every delivery decided, in the order in which they landed.
    pub(super) fn over(&mut self, archived: &Archived, events: &[Settled]) -> Vec<Delivery> {
        if archived.is_whole {
            self.state = State::Gone;
            self.is_from_the_beginning = true;
        }
        let mut deliveries = Vec::new();
        let is_event = |settled: &Settled| events.iter().any(|event| event.batch_id == settled.batch_id);
        let mut all: Vec<(&Settled, Option<&Brought>)> =
            archived.batches.iter().map(|brought| (&brought.settled, Some(brought))).collect();
        let in_archive = |event: &&Settled| {
            archived.batches.iter().all(|brought| brought.settled.batch_id != event.batch_id)
        };
        all.extend(events.iter().filter(in_archive).map(|event| (event, None)));
        all.sort_by(|(one, _), (other, _)| {
            (&one.settled_at, one.run_id).cmp(&(&other.settled_at, other.run_id))
        });
        for (settled, brought) in all {
            let Some(brought) = brought else {
                deliveries.push(self.event(settled));
                continue;
            };
            let decided = self.batch(brought);
            let is_event = is_event(settled);
            for (record, decided, is_counted) in decided {
                let known_by = if is_event || is_counted { KnownBy::Inbox } else { KnownBy::Archive };
                deliveries.push(Delivery { record, decided, ..Delivery::of(settled, known_by) });
            }
        }
        deliveries
    }

    /// An event of which only the inbox tells.
    fn event(&mut self, settled: &Settled) -> Delivery {
        let decided = Decision::of_all(&settled.outcome);
        match decided {
            Some(Decision::Deleted) => self.state = State::Gone,
            Some(Decision::Retired) if self.retire(None) => {}
            Some(decided) if !decided.is_change() => {}
            _ => self.state = State::Unknown,
        }
        Delivery { decided, ..Delivery::of(settled, KnownBy::Inbox) }
    }

    /// The records of a batch, each with what was decided and whether the inbox's counts say so.
    fn batch(&mut self, brought: &Brought) -> Vec<(Option<u64>, Option<Decision>, bool)> {
        let Some(records) = &brought.records else {
            self.state = State::Unknown;
            return Vec::new();
        };
        let outcome = &brought.settled.outcome;
        if records.iter().all(|record| record.good.is_none()) {
            let mut told: Vec<_> = records
                .iter()
                .map(|record| (Some(record.number), Some(Decision::Quarantined), false))
                .collect();
            if records.is_empty() {
                told.extend(self.vanish(brought).map(|decided| (None, Some(decided), false)));
            }
            return told;
        }
        let counts = self.counts(records);
        let mut told = Vec::new();
        for (at, record) in records.iter().enumerate() {
            let Some(good) = &record.good else {
                told.push((Some(record.number), Some(Decision::Quarantined), false));
                continue;
            };
            if let Some((chosen, conflicts)) = &counts
                && !chosen.contains(&at)
            {
                let decided =
                    if conflicts.contains(&at) { Decision::Conflict } else { Decision::DuplicateInBatch };
                told.push((Some(record.number), Some(decided), false));
                continue;
            }
            let all = Decision::of_all(outcome).filter(|_| outcome.duplicates == 0);
            let decided = self.decide(good, brought.period.as_ref()).filter(|one| is_possible(*one, outcome));
            let decided_at_all = all.or(decided);
            self.apply(good, decided_at_all, brought.period.as_ref());
            told.push((Some(record.number), decided_at_all, all.is_some()));
        }
        told
    }

    /// The records that count, and those in conflict with them; `None` where all do. Records of changes are applied one after the
    /// other, and so are puts and deletes that retire; whole rows are folded into one before anything is written.
    fn counts(&self, records: &[Record]) -> Option<(Vec<usize>, Vec<usize>)> {
        if self.plan.absent == Absent::Keep && self.plan.mode == WriteMode::Upsert {
            return None;
        }
        let is_delete = |record: &Record| record.good.as_ref().is_some_and(|good| good.is_delete);
        let takes_turns = self.plan.has_deletes && self.plan.tombstone.is_some();
        let is_one_turn = |a: &Record, b: &Record| !takes_turns || (!is_delete(a) && !is_delete(b));
        let (mut chosen, mut conflicts, mut from) = (Vec::new(), Vec::new(), 0);
        for turn in records.chunk_by(is_one_turn) {
            let (one, rivals) = self.fold(turn);
            chosen.push(from + one);
            conflicts.extend(rivals.into_iter().map(|at| from + at));
            from += turn.len();
        }
        Some((chosen, conflicts))
    }

    /// The record that counts, and those in conflict with it.
    fn fold(&self, records: &[Record]) -> (usize, Vec<usize>) {
        let good: Vec<(usize, &Good)> =
            records.iter().enumerate().filter_map(|(at, record)| Some((at, record.good.as_ref()?))).collect();
        let first = good.first().map_or(0, |(at, _)| *at);
        if self.plan.mode == WriteMode::InsertOnce {
            return (first, Vec::new());
        }
        let mut chosen = first;
        for (at, one) in &good {
            let best = records[chosen].good.as_ref().and_then(|good| good.version.as_ref());
            let is_older = match (&one.version, best) {
                (Some(version), Some(best)) => version.order(best) == Some(Ordering::Less),
                _ => false,
            };
            if !is_older {
                chosen = *at;
            }
        }
        let Some(kept) = records[chosen].good.as_ref() else { return (chosen, Vec::new()) };
        let is_conflict = |one: &Good| {
            kept.version.is_some()
                && one.version == kept.version
                && !one.content.is_in(&kept.content, self.plan.absent)
        };
        let conflicts =
            good.iter().filter(|(at, one)| *at != chosen && is_conflict(one)).map(|(at, _)| *at).collect();
        (chosen, conflicts)
    }

    /// What a record that counts does to the row; `None` where the row before it isn't known.
    fn decide(&self, good: &Good, period: Option<&String>) -> Option<Decision> {
        let (content, version, of, is_retired) = match &self.state {
            State::Unknown => return None,
            State::Gone => {
                return Some(if good.is_delete { Decision::Unchanged } else { Decision::Inserted });
            }
            State::There { content, version, period, is_retired } => (content, version, period, *is_retired),
        };
        if matches!(self.whole, Some(Whole::Period(_))) && of.as_ref() != period {
            return Some(Decision::Conflict);
        }
        if self.plan.mode == WriteMode::InsertOnce {
            return Some(Decision::Unchanged);
        }
        let is_equal = good.content.is_in(content, self.plan.absent);
        let order = good.version.as_ref().zip(version.as_ref()).and_then(|(one, other)| one.order(other));
        if is_retired && order != Some(Ordering::Less) {
            return Some(if good.is_delete { Decision::Unchanged } else { Decision::Restored });
        }
        match order {
            Some(Ordering::Less) => return Some(Decision::Stale),
            Some(Ordering::Equal) if !is_equal && !good.is_delete => return Some(Decision::Conflict),
            _ => {}
        }
        Some(match (good.is_delete, is_equal) {
            (true, _) if self.plan.tombstone.is_some() => Decision::Retired,
            (true, _) => Decision::Deleted,
            (false, true) => Decision::Unchanged,
            (false, false) => Decision::Updated,
        })
    }

    fn apply(&mut self, good: &Good, decided: Option<Decision>, period: Option<&String>) {
        match decided {
            Some(Decision::Deleted) => self.state = State::Gone,
            Some(Decision::Retired) if self.retire(good.version.as_ref()) => {}
            Some(Decision::Retired) => self.state = State::Unknown,
            // A newer delete of a row that is retired already moves its version.
            Some(Decision::Unchanged) if good.is_delete && self.plan.tombstone.is_some() => {
                self.retire(good.version.as_ref());
            }
            Some(Decision::Inserted | Decision::Updated | Decision::Restored) => {
                let content = match &self.state {
                    State::There { content, .. } if self.plan.absent == Absent::Keep => {
                        good.content.over(content)
                    }
                    _ => good.content.clone(),
                };
                self.state = State::There {
                    content,
                    version: good.version.clone(),
                    period: period.cloned(),
                    is_retired: false,
                };
            }
            // Equal content is there: so it is known what the row is.
            Some(Decision::Unchanged)
                if matches!(self.state, State::Unknown)
                    && self.plan.mode == WriteMode::Upsert
                    && self.plan.absent == Absent::Replace
                    && !good.is_delete =>
            {
                self.state = State::There {
                    content: good.content.clone(),
                    version: good.version.clone(),
                    period: period.cloned(),
                    is_retired: false,
                };
            }
            Some(_) => {}
            None => self.state = State::Unknown,
        }
    }

    /// A delete record marks the row, which keeps its content and takes the record's version. False where the row isn't known.
    fn retire(&mut self, by: Option<&Version>) -> bool {
        let State::There { version, is_retired, .. } = &mut self.state else { return false };
        *is_retired = true;
        if let Some(by) = by {
            *version = Some(by.clone());
        }
        true
    }

    /// What a payload without the identity does to the row.
    fn vanish(&mut self, brought: &Brought) -> Option<Decision> {
        let State::There { period, is_retired, .. } = &mut self.state else { return None };
        let outcome = &brought.settled.outcome;
        match self.whole? {
            Whole::Period(_) if *period == brought.period && outcome.removed > 0 => {
                self.state = State::Gone;
                Some(Decision::Removed)
            }
            Whole::Snapshot(_) if outcome.retired > 0 && !*is_retired => {
                *is_retired = true;
                Some(Decision::Retired)
            }
            Whole::Snapshot(_) if outcome.removed > 0 => {
                self.state = State::Gone;
                Some(Decision::Removed)
            }
            _ => None,
        }
    }

    /// Holds what the walk has come to against the row as it is.
    pub(super) fn check(
        &self,
        row: Option<&Standing>,
        digest: Option<&str>,
        deliveries: &[Delivery],
        unknown: &mut Vec<String>,
    ) {
        let changes = deliveries.iter().filter(|one| one.decided.is_some_and(Decision::is_change)).count();
        match (&self.state, row) {
            (State::There { .. }, None) => unknown.push(
                "By these deliveries the row should be there, and it isn't: something else has deleted it.".to_owned(),
            ),
            (State::There { content, .. }, Some(_)) => {
                let is_other = content.digest.zip(digest).is_some_and(|(ours, its)| hex::encode(ours) != its);
                if is_other && self.plan.absent == Absent::Replace {
                    unknown.push(
                        "The row's content isn't what these deliveries leave: something else has written it.".to_owned(),
                    );
                }
            }
            (State::Gone, Some(_)) if self.is_from_the_beginning || changes > 0 => unknown.push(
                "By these deliveries the row shouldn't be there, and it is: something else has written it, or a batch that isn't in the \
                 archive."
                    .to_owned(),
            ),
            _ => {}
        }
        if let Some(revision) = row.and_then(|row| row.revision)
            && usize::try_from(revision).is_ok_and(|revision| revision > changes)
        {
            unknown.push(format!(
                "The row has really changed {revision} times since it was put there; {changes} of these changes are known here."
            ));
        }
    }
}

/// A decision of which the batch's counts have at least one.
fn is_possible(decided: Decision, outcome: &Outcome) -> bool {
    let count = match decided {
        Decision::Inserted => outcome.inserted,
        Decision::Updated => outcome.updated,
        Decision::Restored => outcome.restored,
        Decision::Unchanged => outcome.unchanged,
        Decision::Stale => outcome.stale,
        // One whose row is another period's is kept as a bad record.
        Decision::Conflict => outcome.conflicts + outcome.quarantined,
        Decision::DuplicateInBatch => outcome.duplicates,
        Decision::Quarantined => outcome.quarantined,
        Decision::Deleted => outcome.deleted,
        Decision::Removed => outcome.removed,
        Decision::Retired => outcome.retired,
    };
    count > 0
}
