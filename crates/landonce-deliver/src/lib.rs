//! Delivers the messages of an outbox, apart from the ingestion that enqueued them: in order per key, at least once, with the
//! same id on every attempt.
//!
//! - [`spec`] is what a user writes, [`delivery`] what it means: destinations, their topics, how each is treated ([`policy`]).
//! - [`destination`] is the contract of what takes messages; each kind of destination is a file beside it.
//! - `run` starts workers; `worker` is their loop, `limits` what a destination may be given now, `backoff` how long a message waits.
#![warn(missing_docs)]

mod backoff;
pub mod delivery;
mod desk;
pub mod destination;
pub mod environment;
pub mod error;
mod limits;
pub mod policy;
mod route;
mod run;
pub mod secret;
pub mod spec;
mod summary;
mod veil;
mod worker;

pub use delivery::{Declared, Delivery};
pub use error::{Error, Fault};
pub use run::Options;
pub use summary::{Event, Hear, Summary, Tally};
