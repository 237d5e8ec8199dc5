//! landonce makes data ingestion safe to retry: a batch that is delivered twice leaves exactly the state that one
//! delivery leaves, whatever fails in between.
//!
//! ```
//! use landonce::{Batch, Pipeline, Status, Store};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let url = format!("sqlite:{}", folder.path().join("landonce.db").display());
//! let store = Store::open(&url)?; // or postgres://…
//! let pipeline = Pipeline::from_yaml(
//!     "
//! pipeline: flight-schedule
//! identity: [flight_id, event_kind, instant_utc]
//! target: {table: duty_event, columns: {instant_utc: timestamptz}}
//! ",
//! )?;
//! let events = r#"{"flight_id":"B6-739","event_kind":"departure","instant_utc":"2013-03-03T04:55:00Z","gate":"7"}"#;
//!
//! let first = pipeline.ingest(&store, &Batch::from_bytes("events.ndjson", events)).await?;
//! assert_eq!((first.status, first.outcome.inserted), (Status::Processed, 1));
//!
//! let again = pipeline.ingest(&store, &Batch::from_bytes("events.ndjson", events)).await?;
//! assert_eq!(again.status, Status::SkippedDuplicate); // a value, not an error
//! # Ok(())
//! # }
//! ```
//!
//! The nouns: a [`Pipeline`] says what makes two records the same and where they go; a [`Batch`] is one delivery; a
//! [`Store`] is a database; a [`Receipt`] is what became of a batch, with counts that always add up ([`Outcome`]).
//!
//! The modules in the order in which a batch meets them: [`payload`] (bytes that can be read again), [`decode`] (records
//! framed), `landonce_core::record` (key and digest), `ingest` (the one transaction), [`receipt`].
//! [`derive`](mod@derive) keeps tables that queries compute from the target, [`archive`] keeps a batch's bytes and applies them again,
//! [`history`] tells why a row is as it is, [`events`] lands records that arrive one at a time (webhooks), many in one transaction, [`outbox`] tells others of changes, [`propose`] writes a first pipeline from samples, [`explain`] shows a key's bytes,
//! [`repair`] mends tables that others have broken.

pub mod archive;
pub mod complete;
pub mod decode;
pub mod derive;
pub mod environment;
pub mod error;
pub mod events;
pub mod explain;
pub mod failpoint;
pub mod held;
pub mod history;
pub mod outbox;
pub mod payload;
pub mod propose;
pub mod receipt;
pub mod repair;

mod batch;
mod ingest;
mod pipeline;
mod quarantine;
mod retry;
mod store;

pub use batch::Batch;
pub use error::{Code, Error, Kind};
pub use ingest::{Options, Preview, Progress, Release};
pub use landonce_core::outcome::Outcome;
pub use landonce_core::spec::Spec;
pub use landonce_store::inbox::{InboxKey, Settled};
pub use landonce_store::ledger;
pub use landonce_store::position;
pub use landonce_store::quarantine::Entry;
pub use landonce_store::reads;
pub use landonce_store::seam::{Class, Place, Todo};
pub use pipeline::Pipeline;
pub use quarantine::Retried;
pub use receipt::{Commit, Receipt, Status};
pub use retry::RetryPolicy;
pub use store::{CallersTransaction, Pending, Store};
