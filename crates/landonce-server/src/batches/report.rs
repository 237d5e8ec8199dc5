//! What is answered of a batch: the fields of `landonce run --output json`, without what only the server's machine knows.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use landonce::receipt::OfPeriod;
use landonce::{Batch, Outcome, Pipeline, Preview, Settled, Status};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::landing::Landed;
use crate::problem::Record;

/// An answer in JSON.
pub(super) fn json(told: &impl Serialize) -> Response {
    // Structures of plain fields always serialise.
    let mut response = serde_json::to_string(told).unwrap_or_default().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// What became of a batch.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    status: &'static str,
    batch_id: String,
    run_id: Uuid,
    pipeline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<PeriodReport>,
    source: String,
    target: String,
    #[serde(flatten)]
    outcome: Outcome,
    attempts: u32,
    commit: Option<&'static str>,
    elapsed_ms: u64,
    kept: Vec<Record>,
    kept_new: u64,
    withheld: u64,
    enqueued: u64,
    reasons: Vec<String>,
    same_content: SameContent,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PeriodReport {
    label: String,
    state: &'static str,
    loads: u64,
}

impl PeriodReport {
    fn new(of: &OfPeriod) -> Self {
        let state = if of.is_complete { "complete" } else { "partial" };
        Self { label: of.label.clone(), state, loads: of.loads }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct SameContent {
    count: u64,
    samples: Vec<SameContentSample>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SameContentSample {
    record: u64,
    key: String,
}

impl Report {
    pub(super) fn landed(pipeline: &Pipeline, batch: &Batch, landed: &Landed) -> Self {
        let receipt = &landed.receipt;
        let notes = &receipt.notes;
        let samples = notes.same_content_samples.iter();
        Self {
            status: receipt.status.as_str(),
            batch_id: receipt.batch_id.clone(),
            run_id: receipt.run_id,
            pipeline: pipeline.name().to_owned(),
            period: receipt.period.as_ref().map(PeriodReport::new),
            source: batch.source().to_owned(),
            target: pipeline.declared().target().table.to_string(),
            outcome: receipt.outcome,
            attempts: receipt.attempts,
            commit: (receipt.status != Status::Held).then(|| receipt.commit.as_str()),
            elapsed_ms: landed.took.as_millis() as u64,
            kept: notes.kept.iter().map(Record::new).collect(),
            kept_new: notes.kept_new,
            withheld: notes.withheld,
            enqueued: notes.enqueued,
            reasons: notes.reasons.clone(),
            same_content: SameContent {
                count: notes.same_content,
                samples: samples
                    .map(|(record, key)| SameContentSample { record: *record, key: key.clone() })
                    .collect(),
            },
        }
    }
}

/// What would become of a batch (`dry_run=true`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Planned {
    status: &'static str,
    batch_id: String,
    pipeline: String,
    source: String,
    target: String,
    creates_table: bool,
    landed_before: Option<LandedBefore>,
    #[serde(flatten)]
    outcome: Outcome,
    kept: Vec<Record>,
    reasons: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LandedBefore {
    run_id: Uuid,
    settled_at: String,
    source: String,
}

impl Planned {
    pub(super) fn new(pipeline: &Pipeline, batch: &Batch, found: Preview) -> Self {
        Self {
            status: match (&found.landed_before, found.notes.reasons.is_empty()) {
                (Some(_), _) => "would_skip",
                (None, true) => "would_process",
                (None, false) => "would_hold",
            },
            batch_id: batch.id(),
            pipeline: pipeline.name().to_owned(),
            source: batch.source().to_owned(),
            target: pipeline.declared().target().table.to_string(),
            creates_table: found.creates_table,
            landed_before: found.landed_before.map(|settled| LandedBefore {
                run_id: settled.run_id,
                settled_at: settled.settled_at,
                source: settled.source,
            }),
            outcome: found.outcome,
            kept: found.notes.kept.iter().map(Record::new).collect(),
            reasons: found.notes.reasons,
        }
    }
}

/// What the inbox says of a batch that has landed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Stored {
    status: &'static str,
    batch_id: String,
    run_id: Uuid,
    pipeline: String,
    source: String,
    digest: String,
    settled_at: String,
    #[serde(flatten)]
    outcome: Outcome,
}

impl Stored {
    pub(super) fn new(settled: Settled) -> Self {
        Self {
            status: "processed",
            batch_id: settled.batch_id,
            run_id: settled.run_id,
            pipeline: settled.pipeline,
            source: settled.source,
            digest: hex::encode(settled.digest),
            settled_at: settled.settled_at,
            outcome: settled.outcome,
        }
    }
}
