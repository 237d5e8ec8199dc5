//! What a run would do: the stable JSON object, and the same for people.

use landonce::{Class, Outcome, Preview};
use landonce_core::pipeline::{IdentityFrom, Pipeline as Declared};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use uuid::Uuid;

use super::batch::{SameContent, Way, kept_lines, same_content_lines};
use super::failed::RecordReport;
use super::{ErrorReport, counts, plain, short};
use crate::failure::Failure;

/// How many characters of a record's text are shown to people; JSON has it whole.
const SHOWN: usize = 100;

/// What a run would do with a batch. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Debug, Serialize)]
pub(crate) struct PlanReport {
    status: &'static str,
    batch_id: Option<String>,
    pipeline: String,
    source: String,
    target: String,
    store: String,
    creates_table: bool,
    identity: Vec<String>,
    landed_before: Option<LandedBefore>,
    #[serde(flatten)]
    outcome: Outcome,
    samples: Vec<Sample>,
    kept: Vec<RecordReport>,
    reasons: Vec<String>,
    same_content: SameContent,
    warnings: Vec<String>,
    error: Option<ErrorReport>,
}

#[derive(Debug, Serialize)]
struct LandedBefore {
    run_id: Uuid,
    settled_at: String,
    source: String,
}

#[derive(Debug, Serialize)]
struct Sample {
    class: &'static str,
    record: u64,
    text: String,
}

impl PlanReport {
    /// A batch that a run would take, or skip.
    pub(crate) fn new(
        way: Way,
        batch_id: String,
        declared: &Declared,
        found: Preview,
        warnings: Vec<String>,
    ) -> Self {
        let landed_before = found.landed_before.map(|settled| LandedBefore {
            run_id: settled.run_id,
            settled_at: settled.settled_at,
            source: settled.source,
        });
        let samples = found.samples.into_iter().map(|(todo, text)| Sample {
            class: match todo.class {
                Class::New => "new",
                Class::Changed => "changed",
                Class::Conflict => "conflict",
            },
            record: todo.place.number,
            text,
        });
        let mut samples: Vec<Sample> = samples.collect();
        samples.sort_by_key(|sample| sample.record);
        Self {
            status: match (&landed_before, found.notes.reasons.is_empty()) {
                (Some(_), _) => "would_skip",
                (None, true) => "would_process",
                (None, false) => "would_hold",
            },
            batch_id: Some(batch_id),
            pipeline: way.pipeline,
            source: way.source,
            target: way.target,
            store: way.store,
            creates_table: found.creates_table,
            identity: identity(declared),
            landed_before,
            outcome: found.outcome,
            samples,
            reasons: found.notes.reasons.clone(),
            kept: found.notes.kept.iter().map(RecordReport::new).collect(),
            same_content: SameContent::new(&found.notes),
            warnings,
            error: None,
        }
    }

    /// A batch with which a run would fail.
    pub(crate) fn failed(way: Way, batch_id: Option<String>, declared: &Declared, failure: &Failure) -> Self {
        Self {
            status: "would_fail",
            batch_id,
            pipeline: way.pipeline,
            source: way.source,
            target: way.target,
            store: way.store,
            creates_table: false,
            identity: identity(declared),
            landed_before: None,
            outcome: Outcome::default(),
            samples: Vec::new(),
            kept: Vec::new(),
            reasons: Vec::new(),
            same_content: SameContent::default(),
            warnings: Vec::new(),
            error: Some(ErrorReport::new(failure)),
        }
    }

    /// Whether a run would be held.
    pub(crate) fn is_held(&self) -> bool {
        self.status == "would_hold"
    }

    /// Whether a run would fail.
    pub(crate) fn is_failed(&self) -> bool {
        self.error.is_some()
    }

    /// For people: a few aligned lines.
    pub(crate) fn paragraph(&self) -> String {
        let status = self.status.replace('_', " ");
        let mut out = format!("{}  {}\n", status.bold(), plain::line(&self.source));
        let mut row = |name: &str, text: &str| out.push_str(&format!("  {name:<8}  {text}\n"));
        if let Some(error) = &self.error {
            row("why", &error.headline(&self.source));
            return out;
        }
        match &self.landed_before {
            Some(before) => {
                let (at, run) = (plain::line(&before.settled_at), before.run_id);
                row("landed", &format!("{at}, by run {run}"));
                row("counts", &format!("{} (if it came under another batch id)", counts(&self.outcome)));
            }
            None => row("counts", &counts(&self.outcome)),
        }
        let made = if self.creates_table { ", which a run would make" } else { "" };
        row("target", &format!("{} in {}{made}", plain::line(&self.target), plain::line(&self.store)));
        row("identity", &plain::line(&self.identity.join(", ")));
        row("batch", &plain::line(short(self.batch_id.as_deref().unwrap_or("?"))));
        let width = self.samples.iter().map(|sample| sample.record.to_string().len()).max().unwrap_or(0);
        for sample in &self.samples {
            let text = shortened(&plain::line(sample.text.trim()));
            row(sample.class, &format!("record {:<width$}  {}", sample.record, text.dimmed()));
        }
        let written = self.outcome.inserted + self.outcome.updated + self.outcome.conflicts;
        let more = written.saturating_sub(self.samples.len() as u64);
        if more > 0 && !self.samples.is_empty() {
            row("", &format!("… and {more} more"));
        }
        for reason in &self.reasons {
            out.push_str(&format!("  why       {}\n", plain::line(reason)));
        }
        out.push_str(&kept_lines(&self.kept, self.outcome.quarantined, "would go to the quarantine"));
        out.push_str(&same_content_lines(&self.same_content));
        for warning in &self.warnings {
            out.push_str(&format!("  {}   {}\n", "warning".yellow(), plain::line(warning)));
        }
        out
    }
}

/// Several batches of one command.
#[derive(Debug, Serialize)]
pub(crate) struct Plans<'a> {
    status: &'static str,
    batches: &'a [PlanReport],
}

impl<'a> Plans<'a> {
    /// Their worst status: `would_fail`, else `would_hold`, else `would_process`, else `would_skip`.
    pub(crate) fn new(batches: &'a [PlanReport]) -> Self {
        let has = |status: &str| batches.iter().any(|batch| batch.status == status);
        let status = ["would_fail", "would_hold", "would_process"]
            .into_iter()
            .find(|status| has(status))
            .unwrap_or("would_skip");
        Self { status, batches }
    }
}

/// The identity's parts, each with the type that decides which spellings are one value.
fn identity(declared: &Declared) -> Vec<String> {
    let typed = |field: &String| {
        let column = declared.target().columns.iter().find(|column| &column.field == field);
        column.map_or_else(|| format!("{field} (as written)"), |column| format!("{field} ({})", column.ty))
    };
    match &declared.identity().from {
        IdentityFrom::Fields { names, .. } => names.iter().map(typed).collect(),
        IdentityFrom::SenderId(field) => vec![format!("{}, the sender's id", typed(field))],
        IdentityFrom::Content(None) => vec!["the whole content".to_owned()],
        IdentityFrom::Content(Some(names)) => names.iter().map(typed).collect(),
    }
}

fn shortened(text: &str) -> String {
    let mut out: String = text.chars().take(SHOWN).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}
