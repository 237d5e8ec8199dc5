//! Batches over HTTP: `POST /v1/pipelines/{name}/batches`, and what became of them.
//!
//! A body is read to its end before the store is asked anything: no connection and no transaction waits for a client. Then the one
//! path of every batch takes it, and the answer is given after its COMMIT.

mod desk;
mod key;
mod kind;
mod landing;
mod listing;
mod query;
mod report;
mod spool;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use landonce::{Batch, Code, Pipeline, Status};

use crate::app::App;
use crate::auth::{May, Who};
use crate::problem::Problem;
use crate::telemetry::Told;
pub(crate) use desk::Desk;
use kind::Kind;
pub(crate) use listing::Listed;
use query::Query;
use report::json;
pub(crate) use report::{Planned, Report, Stored};

/// Says that the outcome is an earlier delivery's.
static REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/pipelines", get(listing::pipelines))
        .route("/v1/pipelines/{name}/batches", post(deliver))
        .route("/v1/pipelines/{name}/batches/{id}", get(listing::batch))
}

/// The pipeline of a request, for somebody who may. Whoever may not isn't told whether there is one.
fn allowed<'a>(
    app: &'a App,
    headers: &HeaderMap,
    any: &[May],
    name: &str,
) -> Result<(&'a Pipeline, Who), Problem> {
    let who = app.allow_any(headers, any, Some(name))?;
    let pipeline = app.pipeline(name).ok_or_else(|| {
        Problem::of(StatusCode::NOT_FOUND, Code::L1035, "no pipeline of this name is served here")
    })?;
    Ok((pipeline, who))
}

async fn deliver(
    State(app): State<App>,
    Path(name): Path<String>,
    uri: axum::http::Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (pipeline, who) = allowed(&app, &headers, &[May::Write], &name)?;
    if app.drain().is_draining() {
        return Err(landing::stopping("no more batches are taken"));
    }
    let query = Query::of(&uri, &app.config().batch_id().query)?;
    let key = key::of(&headers, app.config().batch_id(), query.batch_id.as_deref())?;
    let pipeline = in_period(pipeline, &query, key.as_deref())?;
    let kind = Kind::of(&headers, pipeline.declared().source().format)?;
    let mut place = app.desk().place(&who.name, &name)?;
    let mut spooled = spool::read(&app, &headers, body).await?;
    if spooled.is_empty() {
        // A sender that lost its file sends this. Taken for a batch without records, it would burn the key of the real one.
        return Err(Problem::of(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::L0302,
            "the body is empty: nothing came; a batch without records is `[]` in JSON, an empty line in NDJSON, or a header line in CSV",
        ));
    }
    place.holds(spooled.take_room());
    let payload = kind.payload(&who, spooled).await?;
    let mut batch = Batch::from_payload(payload);
    let limits = app.config().limits();
    batch = batch.at_most(limits.records, limits.decoded);
    if let Some(key) = key {
        batch = batch.with_id(key);
    }
    if query.is_dry_run {
        let preview = pipeline.preview(app.store(), &batch, 0).await?;
        return Ok(json(&Planned::new(&pipeline, &batch, preview)));
    }
    let landed = landing::land(&app, &pipeline, &batch, query.run_id, place).await?;
    let mut response = json(&Report::landed(&pipeline, &batch, &landed));
    let receipt = &landed.receipt;
    response.extensions_mut().insert(Told {
        batch_id: receipt.batch_id.clone(),
        run_id: receipt.run_id,
        status: receipt.status.as_str(),
        outcome: receipt.outcome,
    });
    if landed.receipt.status == Status::SkippedDuplicate {
        response.headers_mut().insert(REPLAYED.clone(), HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn in_period(pipeline: &Pipeline, query: &Query, key: Option<&str>) -> Result<Pipeline, Problem> {
    let told = |told: String| Problem::of(StatusCode::BAD_REQUEST, Code::L1027, told);
    match (&query.period, pipeline.declared().calendar()) {
        (Some(_), None) => {
            Err(told(format!("`{}` isn't loaded by periods: leave `period` out", pipeline.name())))
        }
        (None, Some(calendar)) => Err(told(format!(
            "`{}` is loaded by periods of a {every}: say which, `?period={}`",
            pipeline.name(),
            calendar.every().example(),
            every = calendar.every(),
        ))),
        (Some(_), Some(_)) if key.is_some() => Err(told(
            "a batch that is a period's is known by the period: leave `Idempotency-Key` and the batch's id out. The same body for the \
             same period lands once"
                .to_owned(),
        )),
        (Some(period), Some(_)) => pipeline.in_period(period).map_err(|error| told(error.to_string())),
        (None, None) => Ok(pipeline.clone()),
    }
}
