//! One quarantine entry: the stable JSON object, and the same for people.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landonce::Entry;
use owo_colors::OwoColorize as _;
use serde::Serialize;
use uuid::Uuid;

use crate::report;

/// How many digits of an id are shown in a list.
const ID: usize = 12;

/// One entry. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Debug, Serialize)]
pub(super) struct EntryReport {
    id: String,
    kept_at: String,
    pipeline: String,
    batch_id: String,
    run_id: Uuid,
    source: String,
    number: u64,
    kind: String,
    field: String,
    detail: String,
    resolved_by: Option<Uuid>,
    /// The record's bytes, if they are UTF-8.
    raw: Option<String>,
    /// Otherwise in base64.
    raw_base64: Option<String>,
}

impl EntryReport {
    pub(super) fn new(entry: Entry) -> Self {
        let (raw, raw_base64) = match String::from_utf8(entry.raw) {
            Ok(text) => (Some(text), None),
            Err(bytes) => (None, Some(STANDARD.encode(bytes.as_bytes()))),
        };
        Self {
            id: hex::encode(entry.id),
            kept_at: entry.kept_at,
            pipeline: entry.pipeline,
            batch_id: entry.batch_id,
            run_id: entry.run_id,
            source: entry.source,
            number: entry.number,
            kind: entry.kind,
            field: entry.field,
            detail: entry.detail,
            resolved_by: entry.resolved_by,
            raw,
            raw_base64,
        }
    }

    /// For people: the cells of a list.
    pub(super) fn cells(&self) -> Vec<String> {
        vec![
            self.id[..ID].to_owned(),
            report::moment(&self.kept_at),
            report::line(&self.pipeline).into_owned(),
            self.place(),
            self.why(),
        ]
    }

    /// For people: everything, and the record itself at the end.
    pub(super) fn paragraph(&self) -> String {
        let mut out = format!("{}\n", self.id.bold());
        let mut row = |name: &str, text: &str| out.push_str(&format!("  {name:<8}  {text}\n"));
        row("kept at", &report::moment(&self.kept_at));
        row("pipeline", &report::line(&self.pipeline));
        row("from", &self.place());
        row("batch", &report::line(&self.batch_id));
        row("run", &self.run_id.to_string());
        row("why", &self.why());
        match self.resolved_by {
            Some(run) => row("landed", &format!("later, by run {run}")),
            None => row("landed", "not yet"),
        }
        match (&self.raw, &self.raw_base64) {
            (Some(text), _) => row("record", &report::line(text)),
            (None, base64) => {
                row("record", &format!("not UTF-8, in base64: {}", base64.as_deref().unwrap_or_default()));
            }
        }
        out
    }

    fn place(&self) -> String {
        format!("{}, record {}", report::line(&self.source), self.number)
    }

    fn why(&self) -> String {
        let field = if self.field.is_empty() { String::new() } else { format!("`{}`: ", self.field) };
        report::line(&format!("{}: {field}{}", self.kind, self.detail)).into_owned()
    }
}
