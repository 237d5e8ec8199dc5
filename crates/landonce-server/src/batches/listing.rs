//! Which pipelines there are, and what became of a batch: for a client whose answer was lost.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use landonce::{Code, Pipeline};
use schemars::JsonSchema;
use serde::Serialize;

use super::allowed;
use super::report::{Stored, json};
use crate::app::App;
use crate::auth::May;
use crate::problem::Problem;

/// Who may look: whoever reads, and whoever has to know what became of what it wrote.
const ANY: [May; 2] = [May::Read, May::Write];

#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    pipelines: Vec<Listing>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Listing {
    name: String,
    target: String,
    mode: &'static str,
    /// What a batch is a load of, in a pipeline that is loaded by periods.
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<String>,
}

impl Listing {
    fn new(pipeline: &Pipeline) -> Self {
        let declared = pipeline.declared();
        Self {
            name: pipeline.name().to_owned(),
            target: declared.target().table.to_string(),
            mode: declared.write().mode_name(),
            period: declared.calendar().map(|calendar| calendar.every().to_string()),
        }
    }
}

/// `GET /v1/pipelines`: those that the token is good for.
pub(super) async fn pipelines(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let mut refused = None;
    let mut pipelines = Vec::new();
    for pipeline in app.pipelines() {
        match app.allow_any(&headers, &ANY, Some(pipeline.name())) {
            Ok(_) => pipelines.push(Listing::new(pipeline)),
            Err(problem) => refused = Some(problem),
        }
    }
    match refused {
        Some(problem) if pipelines.is_empty() => Err(problem),
        _ => Ok(json(&Listed { pipelines })),
    }
}

/// `GET /v1/pipelines/{name}/batches/{id}`: what the inbox says.
pub(super) async fn batch(
    State(app): State<App>,
    Path((name, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (pipeline, _) = allowed(&app, &headers, &ANY, &name)?;
    match app.store().batch(pipeline.name(), &id).await? {
        Some(settled) => Ok(json(&Stored::new(settled))),
        None => Err(Problem::of(
            StatusCode::NOT_FOUND,
            Code::L1035,
            "no batch with this id has landed in the pipeline; if its answer was lost, send it again with the same key",
        )),
    }
}
