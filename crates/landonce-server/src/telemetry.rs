//! What is told to systems that watch, beside the log and the figures: traces (feature `otlp`) and lineage (feature `openlineage`).
//!
//! Nothing here is waited for by a request, and no failure of a collector is one of a batch.

#[cfg(feature = "openlineage")]
mod lineage;
#[cfg(any(feature = "otlp", feature = "openlineage"))]
mod post;
#[cfg(feature = "otlp")]
mod traces;

use axum::http::{HeaderMap, Method};
use landonce::{Outcome, Pipeline, Status};
use uuid::Uuid;

use crate::app::App;

/// What became of a batch or an event: an extension of the answer, for whoever tells of it.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "read by the traces only"))]
pub(crate) struct Told {
    pub(crate) batch_id: String,
    pub(crate) run_id: Uuid,
    pub(crate) status: &'static str,
    pub(crate) outcome: Outcome,
}

/// A batch is under way.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "openlineage"), expect(dead_code, reason = "read by the lineage only"))]
pub(crate) struct Started<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) run_id: Uuid,
    pub(crate) batch_id: &'a str,
    pub(crate) source: &'a str,
}

/// How a batch has ended.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "openlineage"), expect(dead_code, reason = "read by the lineage only"))]
pub(crate) enum End<'a> {
    /// With an outcome.
    Is(Status, &'a Outcome),
    /// With an error, by its code.
    Failed(&'static str),
}

/// Where to. Of a server that tells nobody, nothing.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    #[cfg(feature = "otlp")]
    traces: Option<traces::Traces>,
    #[cfg(feature = "openlineage")]
    lineage: Option<lineage::Lineage>,
}

/// A request that is being traced.
#[derive(Default)]
pub(crate) struct Span {
    #[cfg(feature = "otlp")]
    traced: Option<traces::Request>,
}

impl Telemetry {
    /// Starts what the configuration asks for, on the runtime at hand. What can't be started is told, and left out.
    pub(crate) fn start(app: &App) -> Self {
        let _ = app;
        Self {
            #[cfg(feature = "otlp")]
            traces: app.config().telemetry().otlp.as_ref().and_then(traces::Traces::start),
            #[cfg(feature = "openlineage")]
            lineage: app
                .config()
                .telemetry()
                .openlineage
                .as_ref()
                .map(|to| lineage::Lineage::start(to, app.store())),
        }
    }

    /// A request has come.
    pub(crate) fn request(&self, method: &Method, route: &str, path: &str, headers: &HeaderMap) -> Span {
        let _ = (self, method, route, path, headers);
        Span {
            #[cfg(feature = "otlp")]
            traced: self.traces.as_ref().map(|traces| traces.request(method, route, path, headers)),
        }
    }

    /// A batch begins.
    pub(crate) fn began(&self, run: Started<'_>) {
        let _ = (self, run);
        #[cfg(feature = "openlineage")]
        if let Some(lineage) = &self.lineage {
            lineage.began(run);
        }
    }

    /// A batch has ended.
    pub(crate) fn ended(&self, run: Started<'_>, end: End<'_>) {
        let _ = (self, run, end);
        #[cfg(feature = "openlineage")]
        if let Some(lineage) = &self.lineage {
            lineage.ended(run, end);
        }
    }

    /// Sends what waits, for a few seconds at most.
    #[cfg_attr(
        not(any(feature = "otlp", feature = "openlineage")),
        expect(clippy::unused_async, reason = "waits where there is something to send")
    )]
    pub(crate) async fn flush(&self) {
        let _ = self;
        #[cfg(feature = "otlp")]
        if let Some(traces) = &self.traces {
            traces.flush().await;
        }
        #[cfg(feature = "openlineage")]
        if let Some(lineage) = &self.lineage {
            lineage.flush().await;
        }
    }
}

impl Span {
    /// The request has its answer.
    pub(crate) fn end(self, status: u16, code: Option<&str>, told: Option<&Told>) {
        let _ = (&self, status, code, told);
        #[cfg(feature = "otlp")]
        if let Some(traced) = self.traced {
            traced.end(status, code, told);
        }
    }
}
