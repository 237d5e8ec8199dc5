//! What a sender is told: what became of the event, or what to do about it.
//!
//! Senders look at the status alone: 2xx is done, and most of them send everything else again. So a failure that may pass is a 503,
//! and what can never land as it is a 4xx.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use landonce::{Code, Error, Kind, Outcome, Receipt, Status};
use landonce_core::pipeline::NoEvent;
use landonce_core::webhook::{Refusal, Scheme};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::problem::Problem;
use crate::telemetry::Told;

/// Said of an answer that an earlier request got already.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// An event that is in the store.
#[derive(Debug)]
pub(super) struct Landed {
    pub(super) pipeline: String,
    pub(super) receipt: Receipt,
}

/// The answer's body. The fields and their order are a promise (`docs/guides/webhooks.md`).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EventReport")]
pub(crate) struct Report<'r> {
    status: &'static str,
    pipeline: &'r str,
    event_id: &'r str,
    run_id: Uuid,
    #[serde(flatten)]
    outcome: Outcome,
    attempts: u32,
    commit: &'static str,
}

impl IntoResponse for Landed {
    fn into_response(self) -> Response {
        let Self { pipeline, receipt } = &self;
        let is_duplicate = receipt.status == Status::SkippedDuplicate;
        let report = Report {
            status: if is_duplicate { "duplicate" } else { receipt.status.as_str() },
            pipeline,
            event_id: &receipt.batch_id,
            run_id: receipt.run_id,
            outcome: receipt.outcome,
            attempts: receipt.attempts,
            commit: receipt.commit.as_str(),
        };
        // Numbers and texts, which always serialise.
        let mut response = serde_json::to_string(&report).unwrap_or_default().into_response();
        response.extensions_mut().insert(Told {
            batch_id: receipt.batch_id.clone(),
            run_id: receipt.run_id,
            status: report.status,
            outcome: receipt.outcome,
        });
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if is_duplicate {
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}

/// A request that didn't land.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) problem: Problem,
    /// What a 401 asks for.
    pub(super) challenge: Option<&'static str>,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = self.problem.into_response();
        if let Some(challenge) = self.challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}

pub(super) fn no_hook() -> Problem {
    Problem::of(StatusCode::NOT_FOUND, Code::L1008, "no pipeline of this name takes webhooks here")
}

/// The reason is for the log: whoever forges a request need not learn how near he came.
pub(super) fn unverified(pipeline: &str, scheme: &Scheme, refusal: &Refusal) -> Refused {
    tracing::warn!(pipeline, reason = %refusal, "a webhook was refused");
    let (code, detail) = if matches!(refusal, Refusal::TooOld(_) | Refusal::TooNew(_)) {
        let detail =
            "the time that it was signed at is too far from this server's; send it anew, signed anew";
        (Code::L1002, detail)
    } else {
        (Code::L1001, "no secret that is held here fits it; this server's log says why")
    };
    let challenge = if *scheme == Scheme::Bearer { "Bearer" } else { "Signature" };
    Refused { problem: Problem::of(StatusCode::UNAUTHORIZED, code, detail), challenge: Some(challenge) }
}

pub(super) fn no_event(pipeline: &str, no: &NoEvent) -> Problem {
    tracing::warn!(pipeline, reason = %no, "a verified webhook is no event");
    let code = if matches!(no, NoEvent::Id(_)) { Code::L1003 } else { Code::L1004 };
    Problem::of(StatusCode::UNPROCESSABLE_ENTITY, code, format!("{no}; nothing was written"))
}

pub(super) fn overloaded() -> Problem {
    let detail = "more events wait for their transaction than may; nothing of this one was written";
    Problem::passing(StatusCode::SERVICE_UNAVAILABLE, Code::L1007, detail, 1)
}

/// Nobody knows what became of it, which is what sending it again is for.
pub(super) fn unknown() -> Problem {
    let detail = "it isn't known what became of the event; send it again";
    Problem::passing(StatusCode::INTERNAL_SERVER_ERROR, Code::L0901, detail, 1)
}

/// A failure of the library, as a third party is told it. What is wrong with the event is for its sender, and what is wrong on
/// this side is for the log: then the sender comes again, and the event isn't lost for a fault that isn't his.
pub(super) fn failed(pipeline: &str, error: &Error) -> Problem {
    let code = error.code();
    tracing::warn!(pipeline, %code, %error, "a webhook didn't land");
    let again = |detail: &str, secs| Problem::passing(StatusCode::SERVICE_UNAVAILABLE, code, detail, secs);
    match error.kind() {
        Kind::BadRecords | Kind::Payload | Kind::BatchMismatch => Problem::from(error),
        Kind::Database if error.blames_data() => Problem::of(
            StatusCode::UNPROCESSABLE_ENTITY,
            code,
            "a rule of the table refuses the event; nothing was written, and this server's log says which",
        ),
        Kind::Connect | Kind::Exhausted => {
            again("the store can't be reached; send the same request again", 2)
        }
        Kind::Unresolved => again("it may have landed; send the same request again", 2),
        Kind::Interrupted => again("the server stops; nothing was written", 1),
        Kind::Internal => unknown(),
        // The pipeline, its table, its archive, a right, a full disk: somebody has to mend it here.
        _ => again("something must be mended on this side; nothing was written", 60),
    }
}
