//! Events: records that arrive one at a time, each a batch of its own, many in one transaction.
//!
//! An [`Inlet`] is one pipeline's way into one store, with connections that are kept open and a plan that is made once. Every
//! event claims its own inbox row, gets its own receipt and has its own failure.
//!
//! ```
//! use landonce::events::{Event, Inlet, Width};
//! use landonce::{Pipeline, Status, Store};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let url = format!("sqlite:{}", folder.path().join("landonce.db").display());
//! let store = Store::open(&url)?; // or postgres://…
//! let pipeline = Pipeline::from_yaml(
//!     "
//! pipeline: payments
//! identity: {sender_id: payment}
//! target: {table: payment, columns: {amount: integer}}
//! write: {mode: insert_once}
//! ",
//! )?;
//! let inlet = Inlet::open(&store, &pipeline, Width::default()).await?;
//! let event = |id: &str, body: &str| Event { id: Some(id.into()), body: body.into(), source: "webhook".into() };
//!
//! let told = inlet
//!     .land(vec![
//!         event("evt_1", r#"{"payment": "p1", "amount": 500}"#),
//!         event("evt_2", r#"{"payment": "p2", "amount": "much"}"#),
//!         event("evt_1", r#"{"amount": 500, "payment": "p1"}"#),
//!     ])
//!     .await?;
//! assert_eq!(told[0].as_ref().unwrap().status, Status::Processed);
//! assert!(told[1].is_err()); // its own failure, and nobody else's
//! assert_eq!(told[2].as_ref().unwrap().status, Status::SkippedDuplicate);
//! # Ok(())
//! # }
//! ```
//!
//! What an event says is its content, not its bytes: a sender's retry with its members in another order, or with another attempt
//! counter (`volatile:`), is a duplicate; other content under the same id is [`crate::Kind::BatchMismatch`].

use std::sync::Arc;
use std::time::Duration;

use landonce_core::plan::PlanError;
use landonce_store::postgres;

use crate::error::Error;
use crate::ingest::events::{self, Maker, One, Several, Shared};
use crate::pipeline::Pipeline;
use crate::receipt::Receipt;
use crate::retry::RetryPolicy;
use crate::store::{Backend, Pending, Store, blocking};

/// The longest that a transaction of events waits for a lock; then it is run again, as long as the policy of retries lets it.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// One event: a JSON object, with an id of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The sender's id, by which a repeat is recognised. Without one, events of equal content are one event.
    pub id: Option<String>,
    /// The record: one JSON object.
    pub body: Vec<u8>,
    /// Where it came from, for `status`.
    pub source: String,
}

/// A pipeline's way into a store. Cheap to clone.
#[derive(Clone)]
pub struct Inlet {
    pipeline: Pipeline,
    shared: Arc<Shared>,
    connections: Connections,
}

#[derive(Clone)]
enum Connections {
    Postgres(Several<Maker<postgres::Database>>),
    Sqlite(One),
}

/// How an [`Inlet`] is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Width {
    /// The most connections to the store, and so the most transactions at once; SQLite has one writer whatever this says.
    pub connections: usize,
}

impl Default for Width {
    fn default() -> Self {
        Self { connections: 8 }
    }
}

impl std::fmt::Debug for Inlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inlet").field("pipeline", &self.pipeline.name()).finish_non_exhaustive()
    }
}

impl Inlet {
    /// Makes one. landonce's tables and the target are made where they aren't there.
    ///
    /// # Errors
    /// When the pipeline doesn't take events (it speaks for periods or snapshots), doesn't fit its target, or the store can't be
    /// reached.
    pub fn open<'a>(store: &'a Store, pipeline: &'a Pipeline, width: Width) -> Pending<'a, Self> {
        Self::open_with(store, pipeline, width, RetryPolicy::default())
    }

    /// [`Inlet::open`], with another policy of retries: how long an event may take at the most, waiting for a connection counted.
    ///
    /// # Errors
    /// As for [`Inlet::open`].
    pub fn open_with<'a>(
        store: &'a Store,
        pipeline: &'a Pipeline,
        width: Width,
        retry: RetryPolicy,
    ) -> Pending<'a, Self> {
        Box::pin(async move {
            let declared = pipeline.declared_shared();
            if declared.whole().is_some() {
                return Err(Error::declaration(format!(
                    "`{}` is written by `{}`, which needs whole payloads; events go with `insert_once` and `upsert`",
                    declared.name(),
                    declared.write().mode_name()
                )));
            }
            store.set_up(pipeline).await?;
            let plan = store.planned(declared).await?;
            for apply in declared.applied() {
                let bound = apply.bind(&plan);
                bound.map_err(|message| PlanError { table: plan.table.to_string(), message })?;
            }
            // Otherwise a row that somebody holds would hold every connection.
            let store = store.waiting_at_most(LOCK_WAIT.min(retry.deadline / 4));
            let connections = match store.backend() {
                Backend::Postgres(database) => {
                    Connections::Postgres(Several::new(database, width.connections)?)
                }
                Backend::Sqlite(database) => Connections::Sqlite(One::new(database)),
            };
            let shared = Arc::new(Shared::new(store, Arc::clone(declared), retry));
            Ok(Self { pipeline: pipeline.clone(), shared, connections })
        })
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Lands events, as far as they will share it in one transaction; the receipts and failures are in the order of the events. One
    /// that fails takes none of the others with it.
    pub fn land(&self, events: Vec<Event>) -> Pending<'_, Vec<Result<Receipt, Error>>> {
        Box::pin(async move {
            match &self.connections {
                Connections::Postgres(several) => {
                    Ok(Box::pin(events::land(&self.shared, several, &events)).await)
                }
                Connections::Sqlite(one) => {
                    let (shared, one) = (Arc::clone(&self.shared), one.clone());
                    let land =
                        move || async move { Ok(Box::pin(events::land(&shared, &one, &events)).await) };
                    blocking(land).await
                }
            }
        })
    }
}
