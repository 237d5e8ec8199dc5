//! Lineage by OpenLineage: a batch is a run, its pipeline the job, its table what comes out. Events of one record have none: they
//! would be more lineage than data.
//!
//! Best effort: what a full queue doesn't take, or the receiver doesn't, is told in the log and lost.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::Request;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use jiff::Timestamp;
use landonce::{Status, Store};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::post::Post;
use super::{End, Started};
use crate::config::OpenLineage;

/// How many events wait.
const QUEUE: usize = 1024;
/// How long the last ones have.
const LAST: Duration = Duration::from_secs(5);
const PRODUCER: &str = concat!("https://github.com/landonce/landonce/tree/v", env!("CARGO_PKG_VERSION"));
const SCHEMA: &str = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent";
const STATISTICS: &str = "https://openlineage.io/spec/facets/1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet";
const FAILURE: &str =
    "https://openlineage.io/spec/facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet";

/// Where lineage goes.
#[derive(Debug)]
pub(super) struct Lineage {
    namespace: String,
    /// The database, as OpenLineage names it, and what stands before a table's name.
    database: (String, String),
    queue: Arc<Mutex<Option<mpsc::Sender<Value>>>>,
    sending: Mutex<Option<JoinHandle<()>>>,
}

impl Lineage {
    pub(super) fn start(to: &OpenLineage, store: &Store) -> Self {
        let (queue, events) = mpsc::channel(QUEUE);
        let sending = tokio::spawn(send(to.clone(), events));
        Self {
            namespace: to.namespace.clone(),
            database: database(&store.place()),
            queue: Arc::new(Mutex::new(Some(queue))),
            sending: Mutex::new(Some(sending)),
        }
    }

    pub(super) fn began(&self, run: Started<'_>) {
        self.tell(self.event(run, "START", &json!({}), None));
    }

    pub(super) fn ended(&self, run: Started<'_>, end: End<'_>) {
        self.tell(match end {
            End::Is(Status::Processed, outcome) => {
                self.event(run, "COMPLETE", &json!({}), Some(outcome.changed()))
            }
            // It had landed before: this run has written nothing.
            End::Is(Status::SkippedDuplicate, _) => self.event(run, "COMPLETE", &json!({}), Some(0)),
            // A person is to look first; the run that lands it is another.
            End::Is(Status::Held, _) => self.event(run, "ABORT", &json!({}), None),
            End::Failed(code) => {
                let facet = json!({
                    "errorMessage": {
                        "_producer": PRODUCER, "_schemaURL": FAILURE,
                        "message": format!("{code}: `landonce explain {code}`"), "programmingLanguage": "Rust"
                    }
                });
                self.event(run, "FAIL", &facet, None)
            }
        });
    }

    /// Sends what waits.
    pub(super) async fn flush(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sending) = sending
            && tokio::time::timeout(LAST, sending).await.is_err()
        {
            tracing::warn!("the last lineage events weren't sent in time");
        }
    }

    fn event(&self, run: Started<'_>, kind: &str, run_facets: &Value, rows: Option<u64>) -> Value {
        let (namespace, prefix) = &self.database;
        let facets = rows.map_or_else(
            || json!({}),
            |rows| json!({"outputStatistics": {"_producer": PRODUCER, "_schemaURL": STATISTICS, "rowCount": rows}}),
        );
        json!({
            "eventType": kind,
            "eventTime": Timestamp::now().to_string(),
            "producer": PRODUCER,
            "schemaURL": SCHEMA,
            "run": {"runId": run.run_id.to_string(), "facets": run_facets},
            "job": {"namespace": self.namespace, "name": run.pipeline.name(), "facets": {}},
            "inputs": [{"namespace": self.namespace, "name": format!("{}: {}", run.source, run.batch_id), "facets": {}}],
            "outputs": [{
                "namespace": namespace,
                "name": format!("{prefix}{}", run.pipeline.declared().target().table),
                "facets": {},
                "outputFacets": facets
            }]
        })
    }

    fn tell(&self, event: Value) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Err(_)) = queue.as_ref().map(|queue| queue.try_send(event)) {
            tracing::warn!("a lineage event is lost: too many wait");
        }
    }
}

async fn send(to: OpenLineage, mut events: mpsc::Receiver<Value>) {
    let post = match Post::new() {
        Ok(post) => post,
        Err(error) => {
            tracing::error!(error, "no lineage is sent");
            return;
        }
    };
    while let Some(event) = events.recv().await {
        let mut request = Request::post(&to.url).header(CONTENT_TYPE, "application/json");
        if let Some(token) = &to.token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.reveal()));
        }
        let sent = match request.body(Bytes::from(event.to_string())) {
            Ok(request) => post.send(request).await,
            Err(error) => Err(error.to_string()),
        };
        match sent {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => tracing::warn!(status = answer.status().as_u16(), "a lineage event wasn't taken"),
            Err(error) => tracing::warn!(error, "a lineage event wasn't sent"),
        }
    }
}

/// A store as OpenLineage names it (`postgres://host:port`, `database.`), from what the store says of where it is.
fn database(place: &str) -> (String, String) {
    if let Some(path) = place.strip_prefix("sqlite:") {
        return ("file".to_owned(), format!("{path}."));
    }
    let mut parts = place.split(", ");
    let host = parts.next().unwrap_or_default();
    let named = parts.find_map(|part| part.strip_prefix("database `")?.strip_suffix('`'));
    (format!("postgres://{host}"), named.map(|name| format!("{name}.")).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_named_as_others_name_it() {
        assert_eq!(
            database("db:5432, database `shop`, user `ann`"),
            ("postgres://db:5432".to_owned(), "shop.".to_owned())
        );
        assert_eq!(database("sqlite:/var/a.db"), ("file".to_owned(), "/var/a.db.".to_owned()));
    }
}
