//! What became of a batch: the stable JSON object, and the same for people.

mod backfill;

use std::time::Duration;

use landonce::receipt::{Notes, OfPeriod};
use landonce::{Outcome, Receipt, Status};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use uuid::Uuid;

use super::failed::RecordReport;
use super::{ErrorReport, counts, plain, short};
use crate::failure::Failure;

pub(crate) use backfill::{BackfillReport, LoadReport};

/// How many kept records are shown to people; JSON has all that the library tells.
const SHOWN: usize = 10;

/// What became of a batch. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Debug, Serialize)]
pub(crate) struct BatchReport {
    status: &'static str,
    batch_id: Option<String>,
    run_id: Uuid,
    pipeline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<PeriodReport>,
    source: String,
    target: String,
    store: String,
    #[serde(flatten)]
    outcome: Outcome,
    attempts: u32,
    commit: Option<&'static str>,
    elapsed_ms: u64,
    kept: Vec<RecordReport>,
    kept_new: u64,
    withheld: u64,
    enqueued: u64,
    reasons: Vec<String>,
    same_content: SameContent,
    error: Option<ErrorReport>,
    #[serde(skip)]
    is_payload_kept: bool,
}

/// Which load of which period it is.
#[derive(Debug, Serialize)]
pub(crate) struct PeriodReport {
    label: String,
    /// `complete`, or `partial` when the run began before the period was over.
    state: &'static str,
    loads: u64,
}

impl PeriodReport {
    fn new(of: &OfPeriod) -> Self {
        Self {
            label: of.label.clone(),
            state: if of.is_complete { "complete" } else { "partial" },
            loads: of.loads,
        }
    }
}

/// Equal content under several sender's ids (G3).
#[derive(Debug, Default, Serialize)]
pub(super) struct SameContent {
    count: u64,
    samples: Vec<SameContentSample>,
}

#[derive(Debug, Serialize)]
struct SameContentSample {
    record: u64,
    key: String,
}

impl SameContent {
    pub(super) fn new(notes: &Notes) -> Self {
        let samples = notes.same_content_samples.iter();
        Self {
            count: notes.same_content,
            samples: samples
                .map(|(record, key)| SameContentSample { record: *record, key: key.clone() })
                .collect(),
        }
    }
}

/// Where a batch comes from and goes to.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// The pipeline's name.
    pub(crate) pipeline: String,
    /// The file's name.
    pub(crate) source: String,
    /// The table.
    pub(crate) target: String,
    /// The database, without secrets.
    pub(crate) store: String,
}

impl BatchReport {
    /// A batch that landed, or had landed.
    pub(crate) fn landed(way: Way, receipt: &Receipt, elapsed: Duration) -> Self {
        let notes = &receipt.notes;
        Self {
            status: receipt.status.as_str(),
            batch_id: Some(receipt.batch_id.clone()),
            run_id: receipt.run_id,
            pipeline: way.pipeline,
            period: receipt.period.as_ref().map(PeriodReport::new),
            source: way.source,
            target: way.target,
            store: way.store,
            outcome: receipt.outcome,
            attempts: receipt.attempts,
            commit: (receipt.status != Status::Held).then(|| receipt.commit.as_str()),
            elapsed_ms: elapsed.as_millis() as u64,
            kept: notes.kept.iter().map(RecordReport::new).collect(),
            kept_new: notes.kept_new,
            withheld: notes.withheld,
            enqueued: notes.enqueued,
            reasons: notes.reasons.clone(),
            same_content: SameContent::new(notes),
            error: None,
            is_payload_kept: notes.is_payload_kept,
        }
    }

    /// A batch that failed; without an id if it could not even be read.
    pub(crate) fn failed(
        way: Way,
        batch_id: Option<String>,
        run_id: Uuid,
        failure: &Failure,
        elapsed: Duration,
    ) -> Self {
        Self {
            status: "failed",
            batch_id,
            run_id,
            pipeline: way.pipeline,
            period: None,
            source: way.source,
            target: way.target,
            store: way.store,
            outcome: Outcome::default(),
            attempts: 0,
            commit: None,
            elapsed_ms: elapsed.as_millis() as u64,
            kept: Vec::new(),
            kept_new: 0,
            withheld: 0,
            enqueued: 0,
            reasons: Vec::new(),
            same_content: SameContent::default(),
            error: Some(ErrorReport::new(failure)),
            is_payload_kept: false,
        }
    }

    /// Whether it failed.
    pub(crate) fn is_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Whether it is held for a person to look.
    pub(crate) fn is_held(&self) -> bool {
        self.status == Status::Held.as_str()
    }

    fn is_skipped(&self) -> bool {
        self.status == Status::SkippedDuplicate.as_str()
    }

    /// For people: a few aligned lines.
    pub(crate) fn paragraph(&self) -> String {
        let mut out = format!("{}  {}\n", self.status().bold(), plain::line(&self.source));
        let mut row = |name: &str, text: &str| out.push_str(&format!("  {name:<8}  {text}\n"));
        if self.is_held() {
            row("counts", &format!("{}, if it had landed; the target is as it was", counts(&self.outcome)));
        } else if self.is_skipped() {
            row("counts", &format!("{}, when it landed; nothing was written now", counts(&self.outcome)));
        } else {
            row("counts", &counts(&self.outcome));
        }
        if let Some(period) = &self.period {
            let due = if period.state == "partial" {
                ": it wasn't over when the run began, or records wait for their rows to leave another period; it is due again"
            } else {
                ""
            };
            row("period", &format!("{}, {}{due}", period.label, period.state));
        }
        row("target", &format!("{} in {}", plain::line(&self.target), plain::line(&self.store)));
        row("batch", plain::line(short(self.batch_id.as_deref().unwrap_or("?"))).as_ref());
        row(
            "run",
            &format!("{}{}", self.run_id, if self.is_skipped() { " (the one that landed it)" } else { "" }),
        );
        row("took", &self.took());
        out.push_str(&self.notes());
        out
    }

    /// For people: one line, in columns.
    pub(crate) fn one_line(&self, name_width: usize) -> String {
        let told = match &self.error {
            Some(error) => error.headline(&self.source),
            None => counts(&self.outcome),
        };
        let status = format!("{:<17}", self.status);
        format!("{}  {:<name_width$}  {told}\n", coloured(&status, self.status), plain::line(&self.source))
    }

    /// What a person should know beyond the counts.
    pub(crate) fn notes(&self) -> String {
        let mut out = String::new();
        let kept = self.outcome.quarantined + self.outcome.conflicts;
        for reason in &self.reasons {
            out.push_str(&format!("  why       {}\n", plain::line(reason)));
        }
        if self.is_payload_kept {
            let id = short(self.batch_id.as_deref().unwrap_or_default());
            out.push_str(&format!(
                "  next      its payload is kept: `landonce held show PIPELINE.yaml {id}`, then `held release` or `held reject`\n"
            ));
        }
        if !self.is_skipped() && !self.is_held() {
            let already = match self.kept_new {
                new if new == kept => String::new(),
                0 => ", already there".to_owned(),
                new => format!(", {new} of them new"),
            };
            let what = format!("in the quarantine{already}; see `landonce quarantine list`");
            out.push_str(&kept_lines(&self.kept, kept, &what));
        }
        if self.withheld > 0 {
            let (rows, theirs) = if self.withheld == 1 {
                ("row", "was left: a bad record may be its")
            } else {
                ("rows", "were left: a bad record may be theirs")
            };
            out.push_str(&format!(
                "  note      {} {rows} that the payload doesn't have {theirs}. Mend the bad records, and run again\n",
                self.withheld
            ));
        }
        if self.enqueued > 0 {
            let noun = if self.enqueued == 1 { "message" } else { "messages" };
            out.push_str(&format!("  told      {} {noun} put into the outbox\n", self.enqueued));
        }
        out.push_str(&same_content_lines(&self.same_content));
        out
    }

    fn status(&self) -> String {
        coloured(self.status, self.status)
    }

    fn took(&self) -> String {
        let mut took = seconds(self.elapsed_ms);
        if self.attempts > 1 {
            took.push_str(&format!(", {} attempts", self.attempts));
        }
        if self.commit == Some("recovered") {
            took.push_str(", commit recovered: its answer was lost, the inbox told that it had landed");
        }
        took
    }
}

/// Several batches of one command.
#[derive(Debug, Serialize)]
pub(crate) struct Batches<'a> {
    status: &'static str,
    batches: &'a [BatchReport],
}

impl<'a> Batches<'a> {
    /// Their worst status: `failed`, else `held`, else `processed`, else `skipped_duplicate`.
    pub(crate) fn new(batches: &'a [BatchReport]) -> Self {
        let has = |status: &str| batches.iter().any(|batch| batch.status == status);
        let status = ["failed", "held", "processed"]
            .into_iter()
            .find(|status| has(status))
            .unwrap_or("skipped_duplicate");
        Self { status, batches }
    }

    /// For people: one line over all of them.
    pub(crate) fn total(&self, not_begun: usize) -> String {
        let count = |status: &str| self.batches.iter().filter(|batch| batch.status == status).count();
        let mut sum = Outcome::default();
        for batch in self.batches.iter().filter(|batch| batch.status == "processed") {
            sum += batch.outcome;
        }
        let mut parts: Vec<String> = ["processed", "skipped_duplicate", "held", "failed"]
            .into_iter()
            .filter_map(|status| Some((status, count(status))).filter(|(_, count)| *count > 0))
            .map(|(status, count)| format!("{count} {status}"))
            .collect();
        if not_begun > 0 {
            parts.push(format!("{not_begun} not begun"));
        }
        let all = self.batches.len() + not_begun;
        let noun = if all == 1 { "batch" } else { "batches" };
        let mut out = format!("{all} {noun}: {}\n", parts.join(", "));
        if let Some(batch) = self.batches.first() {
            let elapsed = self.batches.iter().map(|batch| batch.elapsed_ms).sum();
            if sum.read > 0 {
                out.push_str(&format!("  counts    {}\n", counts(&sum)));
            }
            out.push_str(&format!(
                "  target    {} in {}\n",
                plain::line(&batch.target),
                plain::line(&batch.store)
            ));
            out.push_str(&format!("  took      {}\n", seconds(elapsed)));
        }
        out
    }
}

/// Records kept aside: how many, what about them, and the first ones.
pub(super) fn kept_lines(kept: &[RecordReport], count: u64, what: &str) -> String {
    if count == 0 {
        return String::new();
    }
    let noun = if count == 1 { "record" } else { "records" };
    let mut out = format!("  kept      {count} {noun} {what}\n");
    for record in kept.iter().take(SHOWN) {
        out.push_str(&format!("              {}\n", record.line()));
    }
    let more = count.saturating_sub(kept.len().min(SHOWN) as u64);
    if more > 0 {
        out.push_str(&format!("              … and {more} more\n"));
    }
    out
}

/// Equal content under several sender's ids, and what to do about it.
pub(super) fn same_content_lines(same: &SameContent) -> String {
    let rows = match same.count {
        0 => return String::new(),
        1 => "1 new row has".to_owned(),
        count => format!("{count} new rows have"),
    };
    let example = same.samples.first().map_or_else(String::new, |sample| {
        format!(" (record {} has that of row {})", sample.record, plain::line(&sample.key))
    });
    format!(
        "  note      {rows} the content of another row under another sender's id{example}.\n            \
         So the id isn't the same on every retry: take the identity from the fields instead;\n            \
         `landonce init FIRST SECOND` compares two deliveries and proposes one.\n"
    )
}

/// The word carries the meaning; the colour only helps to find it.
fn coloured(text: &str, status: &str) -> String {
    match status {
        "processed" => text.green().to_string(),
        "failed" => text.red().to_string(),
        "held" => text.yellow().to_string(),
        _ => text.cyan().to_string(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds, shown with two decimal places")]
fn seconds(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{:.2} s", ms as f64 / 1000.0) }
}
