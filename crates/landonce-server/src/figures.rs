//! What is counted, for `/metrics`: names begin with `landonce_`, and say their unit.

use std::time::Duration;

use landonce::reads::Backlog;
use landonce::{Outcome, Status};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use crate::page::Lately;
use crate::problem::Problem;

/// Bounds of the buckets of latencies, in seconds.
const LATENCIES: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0];

/// The counters of one server. Each has its own, so that two in one process don't count into each other's.
pub(crate) struct Figures {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    lately: Lately,
}

impl std::fmt::Debug for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Figures(…)")
    }
}

impl Figures {
    pub(crate) fn new() -> Self {
        let seconds = Matcher::Suffix("_seconds".to_owned());
        let builder = PrometheusBuilder::new();
        // Only an empty list of bounds is refused.
        let builder = builder.set_buckets_for_metric(seconds, &LATENCIES).unwrap_or_default();
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        let figures = Self { recorder, handle, lately: Lately::default() };
        figures.count(describe);
        figures
    }

    fn count<T>(&self, act: impl FnOnce() -> T) -> T {
        metrics::with_local_recorder(&self.recorder, act)
    }

    /// What leaves nothing in the store, for people.
    pub(crate) fn lately(&self) -> &Lately {
        &self.lately
    }

    /// A request has its answer.
    pub(crate) fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        let labels = [("method", method.to_owned()), ("route", route.to_owned())];
        self.count(|| {
            let with_status = [&labels[..], &[("status", status.to_string())]].concat();
            counter!("landonce_http_requests_total", &with_status).increment(1);
            histogram!("landonce_http_request_duration_seconds", &labels).record(took.as_secs_f64());
        });
    }

    /// A problem was answered.
    pub(crate) fn problem(&self, problem: &Problem) {
        let code = problem.code.clone();
        self.count(|| counter!("landonce_http_problems_total", "code" => code).increment(1));
    }

    /// Requests at work: one more, or one less.
    pub(crate) fn in_flight(&self, change: f64) {
        self.count(|| gauge!("landonce_http_requests_in_flight").increment(change));
    }

    /// Connections: one more, or one less.
    pub(crate) fn connections(&self, change: f64) {
        self.count(|| gauge!("landonce_http_connections").increment(change));
    }

    /// A connection was refused: there were too many.
    pub(crate) fn refused_connection(&self) {
        self.count(|| counter!("landonce_http_connections_refused_total").increment(1));
    }

    /// A batch or event has landed, was skipped or is held. The counts of a skipped one are an earlier delivery's.
    pub(crate) fn landed(&self, pipeline: &str, status: Status, outcome: &Outcome, took: Duration) {
        if status == Status::SkippedDuplicate {
            self.lately.skip(pipeline);
        }
        let pipeline = pipeline.to_owned();
        self.count(|| {
            let labels = [("pipeline", pipeline.clone()), ("status", status.as_str().to_owned())];
            counter!("landonce_batches_total", &labels).increment(1);
            let labels = [("pipeline", pipeline.clone())];
            histogram!("landonce_batch_duration_seconds", &labels).record(took.as_secs_f64());
            if status != Status::Processed {
                return;
            }
            for (name, records) in [
                ("inserted", outcome.inserted),
                ("updated", outcome.updated),
                ("unchanged", outcome.unchanged),
                ("stale", outcome.stale),
                ("conflicts", outcome.conflicts),
                ("duplicates", outcome.duplicates),
                ("quarantined", outcome.quarantined),
                ("deleted", outcome.deleted),
                ("removed", outcome.removed),
                ("retired", outcome.retired),
            ] {
                let labels = [("pipeline", pipeline.clone()), ("outcome", name.to_owned())];
                counter!("landonce_records_total", &labels).increment(records);
            }
        });
    }

    /// A batch or event has failed.
    pub(crate) fn failed(&self, pipeline: &str, code: &str) {
        self.lately.fail(pipeline, code);
        let labels = [("pipeline", pipeline.to_owned()), ("code", code.to_owned())];
        self.count(|| counter!("landonce_batches_failed_total", &labels).increment(1));
    }

    /// A run of the worker that computes derived tables has ended, or one that delivers.
    pub(crate) fn worked(&self, worker: &'static str, is_fine: bool) {
        let labels = [("worker", worker), ("result", if is_fine { "ok" } else { "failed" })];
        self.count(|| counter!("landonce_worker_runs_total", &labels).increment(1));
    }

    /// The outbox's figures of a topic.
    pub(crate) fn outbox(&self, depth: &landonce::outbox::Depth) {
        let topic = [("topic", depth.topic.clone())];
        self.count(|| {
            gauge!("landonce_outbox_pending", &topic).set(number(depth.pending));
            gauge!("landonce_outbox_dead", &topic).set(number(depth.dead));
            let oldest = depth.oldest.unwrap_or_default();
            gauge!("landonce_outbox_oldest_age_seconds", &topic).set(oldest.as_secs_f64());
        });
    }

    /// What of a pipeline waits for somebody.
    pub(crate) fn backlog(&self, pipeline: &str, waits: &Backlog) {
        let labels = [("pipeline", pipeline.to_owned())];
        self.count(|| {
            gauge!("landonce_held_waiting", &labels).set(number(waits.held.count));
            gauge!("landonce_quarantine_open", &labels).set(number(waits.quarantined.count));
            gauge!("landonce_derived_due", &labels).set(number(waits.due.count));
        });
    }

    /// Whether the store answered when it was asked for its figures.
    pub(crate) fn store_is_up(&self, is_up: bool) {
        self.count(|| gauge!("landonce_store_up").set(if is_up { 1.0 } else { 0.0 }));
    }

    /// The text that Prometheus reads.
    pub(crate) fn text(&self) -> String {
        self.handle.render()
    }
}

#[expect(clippy::cast_precision_loss, reason = "beyond 2^53 a gauge may be off by one")]
fn number(count: u64) -> f64 {
    count as f64
}

fn describe() {
    describe_counter!("landonce_http_requests_total", "Requests that have their answer.");
    describe_histogram!("landonce_http_request_duration_seconds", "From a request's head to its answer.");
    describe_counter!("landonce_http_problems_total", "Answers that tell of a failure, by code.");
    describe_gauge!("landonce_http_requests_in_flight", "Requests that wait for their answer.");
    describe_gauge!("landonce_http_connections", "Open connections.");
    describe_counter!("landonce_http_connections_refused_total", "Connections beyond the limit.");
    describe_counter!("landonce_batches_total", "Batches and events that came to an outcome, by status.");
    describe_histogram!("landonce_batch_duration_seconds", "From the last byte of a batch to its outcome.");
    describe_counter!("landonce_records_total", "What became of the records of batches that landed.");
    describe_counter!("landonce_batches_failed_total", "Batches and events that failed, by code.");
    describe_counter!("landonce_worker_runs_total", "Runs of what is nobody's request.");
    describe_gauge!("landonce_outbox_pending", "Messages that wait or are under way.");
    describe_gauge!("landonce_outbox_dead", "Dead letters.");
    describe_gauge!(
        "landonce_outbox_oldest_age_seconds",
        "How long ago the oldest pending message was enqueued."
    );
    describe_gauge!("landonce_held_waiting", "Held snapshots that wait for a person.");
    describe_gauge!("landonce_quarantine_open", "Bad records that are kept and haven't landed since.");
    describe_gauge!("landonce_derived_due", "Periods of derived tables that are to be computed.");
    describe_gauge!("landonce_store_up", "Whether the store answered.");
    describe_gauge!("landonce_build_info", "The version, always 1.");
    gauge!("landonce_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    gauge!("landonce_http_requests_in_flight").set(0.0);
    gauge!("landonce_http_connections").set(0.0);
}
