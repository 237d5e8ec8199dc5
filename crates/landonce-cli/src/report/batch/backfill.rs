//! What became of many periods: one line each for people, and the stable JSON object.

use std::time::Duration;

use landonce::Outcome;
use landonce_core::period::{Calendar, Every, Period};
use serde::Serialize;

use super::{BatchReport, Way, coloured, counts, plain, seconds};
use crate::window::Window;

/// What became of a period: its label, and all that is told of a batch.
#[derive(Debug, Serialize)]
pub(crate) struct LoadReport {
    label: String,
    #[serde(skip)]
    is_partial: bool,
    #[serde(flatten)]
    batch: BatchReport,
}

impl LoadReport {
    /// A period's load, or the failure of one.
    pub(crate) fn new(period: &Period, is_complete: bool, batch: BatchReport) -> Self {
        let is_partial = !is_complete && !batch.is_failed();
        Self { label: period.label().to_owned(), is_partial, batch }
    }

    /// Whether it failed.
    pub(crate) fn is_failed(&self) -> bool {
        self.batch.is_failed()
    }

    /// For people: one line, in columns, and what they should know beyond it.
    pub(crate) fn line(&self, width: usize) -> String {
        let told = match &self.batch.error {
            Some(error) => error.headline(&self.batch.source),
            None if self.is_partial => format!("{}; partial: it isn't over", counts(&self.batch.outcome)),
            None => counts(&self.batch.outcome),
        };
        let status = format!("{:<17}", self.batch.status);
        let label = &self.label;
        let line = format!("{}  {label:<width$}  {told}\n", coloured(&status, self.batch.status));
        line + &self.batch.notes()
    }
}

/// What a backfill did. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Debug, Serialize)]
pub(crate) struct BackfillReport<'a> {
    status: &'static str,
    pipeline: String,
    target: String,
    store: String,
    every: Every,
    tz: String,
    from: String,
    to: String,
    counts: Counts,
    #[serde(flatten)]
    outcome: Outcome,
    elapsed_ms: u64,
    periods: &'a [LoadReport],
}

/// How many periods of the window came to what.
#[derive(Debug, Default, Serialize)]
struct Counts {
    processed: usize,
    skipped_duplicate: usize,
    failed: usize,
    not_due: usize,
    not_begun: usize,
}

impl<'a> BackfillReport<'a> {
    /// What became of the periods that were begun.
    pub(crate) fn new(
        way: Way,
        calendar: &Calendar,
        window: &Window,
        periods: &'a [LoadReport],
        elapsed: Duration,
    ) -> Self {
        let count = |status: &str| periods.iter().filter(|one| one.batch.status == status).count();
        let counts = Counts {
            processed: count("processed"),
            skipped_duplicate: count("skipped_duplicate"),
            failed: count("failed"),
            ..Counts::default()
        };
        let status = match &counts {
            Counts { failed: 1.., .. } => "failed",
            Counts { processed: 1.., .. } => "processed",
            Counts { skipped_duplicate: 1.., .. } => "skipped_duplicate",
            _ => "nothing_due",
        };
        let mut outcome = Outcome::default();
        for one in periods.iter().filter(|one| one.batch.status == "processed") {
            outcome += one.batch.outcome;
        }
        let label = |period: Option<&Period>| period.map(|one| one.label().to_owned()).unwrap_or_default();
        Self {
            status,
            pipeline: way.pipeline,
            target: way.target,
            store: way.store,
            every: calendar.every(),
            tz: calendar.zone().to_owned(),
            from: label(window.periods.first()),
            to: label(window.periods.last()),
            counts,
            outcome,
            elapsed_ms: elapsed.as_millis() as u64,
            periods,
        }
    }

    /// With how many were left, because they weren't due and because something stopped the command.
    #[must_use]
    pub(crate) fn left(mut self, not_due: usize, not_begun: usize) -> Self {
        self.counts.not_due = not_due;
        self.counts.not_begun = not_begun;
        self
    }

    /// For people: a few lines over all of them.
    pub(crate) fn total(&self) -> String {
        let Counts { processed, skipped_duplicate, failed, not_due, not_begun } = self.counts;
        let all = processed + skipped_duplicate + failed + not_due + not_begun;
        let parts: Vec<String> = [
            (processed, "processed"),
            (skipped_duplicate, "skipped_duplicate"),
            (failed, "failed"),
            (not_due, "not due"),
            (not_begun, "not begun"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
        let noun = if all == 1 { "period" } else { "periods" };
        let mut out = format!("{all} {noun}: {}\n", parts.join(", "));
        let mut row = |name: &str, text: &str| out.push_str(&format!("  {name:<8}  {text}\n"));
        if self.outcome.read > 0 {
            row("counts", &counts(&self.outcome));
        }
        row("target", &format!("{} in {}", plain::line(&self.target), plain::line(&self.store)));
        row("took", &seconds(self.elapsed_ms));
        if failed + not_begun > 0 {
            row(
                "next",
                "mend what failed and give the same command again, with --missing: it goes on from here",
            );
        }
        out
    }
}
