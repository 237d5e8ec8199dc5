//! Landing a batch: in a task of its own, so that a client which goes away takes nothing with it. It lands all the same, and the
//! client's retry is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use landonce::{Batch, Code, Options, Pipeline, Progress, Receipt, RetryPolicy};
use tokio::task::JoinError;
use uuid::Uuid;

use super::desk::Place;
use crate::app::App;
use crate::problem::Problem;
use crate::telemetry::{End, Started};

/// How long a request is tried again for while it waits: then its sender is told to come again, which costs less than a connection.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a claim waits for a twin that another process has under way, before the sender is told to come again.
const TWIN: Duration = Duration::from_secs(2);

/// What became of a batch, and how long it took.
pub(super) struct Landed {
    pub(super) receipt: Receipt,
    pub(super) took: Duration,
}

/// What a batch's work is unwound with when it comes to a gate that is shut. No panic: no hook hears of it.
struct Undone;

/// Lands a batch.
pub(super) async fn land(
    app: &App,
    pipeline: &Pipeline,
    batch: &Batch,
    run_id: Option<Uuid>,
    place: Place,
) -> Result<Landed, Problem> {
    let key = app.desk().key(pipeline.name(), &key_of(pipeline, batch))?;
    let pass = Arc::new(app.desk().gate().enter().ok_or_else(|| stopping("no more batches are taken"))?);
    let gate = Arc::clone(&pass);
    // Made here, so that the run can be told of before it ends.
    let run_id = run_id.unwrap_or_else(Uuid::now_v7);
    let options = Options {
        run_id: Some(run_id),
        claim_wait: Some(TWIN),
        retry: RetryPolicy { deadline: PATIENCE, ..RetryPolicy::default() },
        progress: Some(Arc::new(move |progress| {
            if progress == Progress::Committing && !gate.may_commit() {
                // Unwinding drops the transaction, and with it all that was done in it.
                std::panic::resume_unwind(Box::new(Undone));
            }
        })),
        ..Options::default()
    };
    let started = Instant::now();
    let task = tokio::spawn({
        let (app, pipeline, batch) = (app.clone(), pipeline.clone(), batch.clone());
        async move {
            let batch_id = batch.id();
            let run = Started { pipeline: &pipeline, run_id, batch_id: &batch_id, source: batch.source() };
            app.telemetry().began(run);
            let landed = pipeline.ingest_with(app.store(), &batch, &options).await;
            note(&app, &pipeline, &batch, &landed, started.elapsed());
            let end = match &landed {
                Ok(receipt) => End::Is(receipt.status, &receipt.outcome),
                Err(error) => End::Failed(error.code().as_str()),
            };
            app.telemetry().ended(run, end);
            drop((key, place));
            landed
        }
    });
    pass.is_of(&task.abort_handle());
    let ended = task.await;
    if pass.is_undone() {
        let batch_id = batch.id();
        let run = Started { pipeline, run_id, batch_id: &batch_id, source: batch.source() };
        app.telemetry().ended(run, End::Failed(Code::L1033.as_str()));
        return Err(stopping("the batch hadn't come to its COMMIT in time, and was rolled back"));
    }
    let receipt = ended.map_err(|failed| broken(&failed))??;
    Ok(Landed { receipt, took: started.elapsed() })
}

/// What may be under way once: a batch by its id; a load of a period, or of a source, by that and its bytes.
fn key_of(pipeline: &Pipeline, batch: &Batch) -> String {
    match pipeline.declared().period() {
        Some(period) => format!("{} {}", period.label(), batch.id()),
        None => batch.id(),
    }
}

fn note(
    app: &App,
    pipeline: &Pipeline,
    batch: &Batch,
    landed: &Result<Receipt, landonce::Error>,
    took: Duration,
) {
    let (name, batch_id) = (pipeline.name(), batch.id());
    match landed {
        Ok(receipt) => {
            app.figures().landed(name, receipt.status, &receipt.outcome, took);
            app.has_landed(pipeline);
            tracing::info!(
                pipeline = name,
                batch_id = %receipt.batch_id,
                run_id = %receipt.run_id,
                status = receipt.status.as_str(),
                read = receipt.outcome.read,
                took_ms = took.as_millis() as u64,
                "batch"
            );
        }
        Err(error) => {
            app.figures().failed(name, error.code().as_str());
            tracing::warn!(pipeline = name, batch_id, code = error.code().as_str(), "batch failed");
        }
    }
}

/// The server ends before this is done.
pub(super) fn stopping(told: &str) -> Problem {
    Problem::passing(StatusCode::SERVICE_UNAVAILABLE, Code::L1033, told, 5)
}

/// A task has ended without a word.
pub(super) fn broken(failed: &JoinError) -> Problem {
    tracing::error!(%failed, "a task ended unexpectedly");
    Problem::passing(
        StatusCode::INTERNAL_SERVER_ERROR,
        Code::L1034,
        "the work on this request broke off; the server's log has more, under the request's id",
        5,
    )
}
