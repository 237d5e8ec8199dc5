//! Weighing a snapshot before it lands: is it complete, and is it plausible (J5)? If not, the run is held.
//!
//! A payload can be whole and still be wrong: half of the rows because a filter slipped in, another county's file under this
//! one's name. What tells is what is there and what has come before. Nothing here decides what is right; it only tells when
//! a person should look. A person's release is a word on one payload, and skips the weighing of that one.

use std::sync::atomic::{AtomicU64, Ordering};

use landonce_core::outcome::Outcome;
use landonce_core::pipeline::{AbsentRow, Plausible, SnapshotOf, Whole};
use landonce_core::plan::{From, TablePlan};
use landonce_core::value::Value;
use landonce_store::held::Hold;
use landonce_store::seam::{Classified, Work};

use super::tally::Tally;
use super::{Job, Release};
use crate::complete::Completeness;
use crate::error::{Error, Repr};

/// How many earlier loads the median is taken of.
pub(crate) const EARLIER: usize = 7;

/// How many of a payload's records have NULL where the pipeline asks.
#[derive(Debug)]
pub(super) struct Nulls(Vec<Watched>);

#[derive(Debug)]
struct Watched {
    column: usize,
    field: String,
    share: f64,
    count: AtomicU64,
}

impl Nulls {
    /// `None` when nothing is asked for.
    pub(super) fn new(whole: Option<&Whole>, plan: &TablePlan) -> Option<Self> {
        let Some(Whole::Snapshot(of)) = whole else { return None };
        let watched = of.plausible.nulls.iter().filter_map(|(field, share)| {
            let is_its = |column: &landonce_core::plan::PlanColumn| column.from == From::Field(field.clone());
            let column = plan.columns.iter().position(is_its)?;
            Some(Watched { column, field: field.clone(), share: *share, count: AtomicU64::new(0) })
        });
        let watched: Vec<Watched> = watched.collect();
        (!watched.is_empty()).then_some(Self(watched))
    }

    /// Counts a record.
    pub(super) fn see(&self, values: &[Value<'_>]) {
        for watched in &self.0 {
            if values[watched.column] == Value::Null {
                watched.count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// What is there of what the payload speaks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct There {
    pub(super) standing: u64,
    pub(super) returning: u64,
    pub(super) missing: u64,
}

/// Weighs a snapshot against what is there: what is to be held, and why; `None` when it may land.
pub(super) fn before(
    job: &Job,
    of: &SnapshotOf,
    tally: &Tally<'_>,
    classified: Classified,
    there: There,
) -> Option<Hold> {
    let mut reasons = Vec::new();
    let is_complete = match tally.completeness() {
        Some(Completeness::Refuted(why)) => {
            reasons.push(format!("incomplete: {why}"));
            false
        }
        Some(Completeness::Unproven(why)) if of.absent != AbsentRow::Keep && there.missing > 0 => {
            reasons.push(format!("not shown to be complete: {why}"));
            false
        }
        _ => true,
    };
    implausible(job, of, tally, classified, there, &mut reasons);
    if job.is_rejected {
        reasons.push("a person has rejected this payload".to_owned());
    }
    let is_released = match &job.release {
        Some(Release { is_incomplete, .. }) => is_complete || *is_incomplete,
        None => false,
    };
    if reasons.is_empty() || is_released {
        return None;
    }
    let outcome = Outcome {
        inserted: classified.new,
        updated: classified.changed,
        unchanged: classified.unchanged,
        quarantined: tally.bad_so_far() + classified.conflicts,
        retired: if of.absent == AbsentRow::Retire { there.missing } else { 0 },
        removed: if of.absent == AbsentRow::Delete { there.missing } else { 0 },
        restored: there.returning,
        ..tally.outcome
    };
    Some(hold(job, reasons, outcome, is_complete))
}

/// Asks the pipeline's own assertions, once the rows are written.
pub(super) async fn after<W: Work>(work: &mut W, job: &Job, tally: &Tally<'_>) -> Result<(), Error> {
    let Some(Whole::Snapshot(of)) = job.pipeline.whole() else { return Ok(()) };
    if job.release.is_some() {
        return Ok(());
    }
    let mut reasons = Vec::new();
    for assertion in &of.plausible.assertions {
        if !work.holds(assertion).await? {
            reasons.push(format!("the assertion isn't true of it: {}", assertion.trim()));
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Repr::Held(Box::new(hold(job, reasons, tally.outcome, true))).into())
}

fn hold(job: &Job, reasons: Vec<String>, outcome: Outcome, is_complete: bool) -> Hold {
    Hold {
        pipeline: job.claim.pipeline.clone(),
        digest: job.claim.digest,
        batch_id: job.batch.has_own_id().then(|| job.batch.id()),
        run_id: job.claim.run_id,
        source: job.claim.source.clone(),
        reasons,
        outcome,
        is_complete,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn implausible(
    job: &Job,
    of: &SnapshotOf,
    tally: &Tally<'_>,
    classified: Classified,
    there: There,
    reasons: &mut Vec<String>,
) {
    let Plausible { rows, changed, retired, .. } = &of.plausible;
    let read = tally.outcome.read;
    // Whatever else is allowed: an empty answer is how a broken source looks (C32).
    if read == 0 && there.standing > 0 && of.absent != AbsentRow::Keep {
        reasons.push(format!("it has no records, and {} rows are there", there.standing));
    }
    if let (Some(share), Some(usual)) = (rows, median(&job.earlier))
        && (read as f64 - usual as f64).abs() > share * usual as f64
    {
        reasons.push(format!(
            "{read} records, and the median of the last {} is {usual}: more than {} away (`write.plausible.rows`)",
            loads(job.earlier.len()),
            percent(*share)
        ));
    }
    let mut share = |key: &str, what: &str, count: u64, most: &Option<f64>| {
        let Some(most) = most else { return };
        if count as f64 > most * there.standing as f64 {
            reasons.push(format!(
                "{what} {count} of the {} rows that are there: more than {} (`write.plausible.{key}`)",
                there.standing,
                percent(*most)
            ));
        }
    };
    if there.standing > 0 {
        share("changed", "it changes", classified.changed.saturating_sub(there.returning), changed);
        if of.absent != AbsentRow::Keep {
            share("retired", "it doesn't have", there.missing, retired);
        }
    }
    for watched in job.nulls.iter().flat_map(|nulls| &nulls.0) {
        let count = watched.count.load(Ordering::Relaxed);
        if count as f64 > watched.share * read as f64 {
            reasons.push(format!(
                "`{}` is null or absent in {count} of {read} records: more than {} (`write.plausible.nulls`)",
                watched.field,
                percent(watched.share)
            ));
        }
    }
}

fn loads(count: usize) -> String {
    if count == 1 { "load".to_owned() } else { format!("{count} loads") }
}

fn percent(share: f64) -> String {
    let percent = (share * 1000.0).round() / 10.0;
    format!("{percent} %")
}

/// The middle one; of an even number the lower of the two, which is a number of records that has really come.
pub(crate) fn median(reads: &[u64]) -> Option<u64> {
    let mut sorted = reads.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_number_that_has_come() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[5]), Some(5));
        assert_eq!(median(&[9, 1]), Some(1));
        assert_eq!(median(&[100, 1, 100, 100, 2]), Some(100));
    }

    #[test]
    fn shares_are_told_as_people_write_them() {
        assert_eq!(percent(0.2), "20 %");
        assert_eq!(percent(0.005), "0.5 %");
    }
}
