//! Delivers the messages of an outbox, apart from the ingestion that enqueued them: in order per key, at least once, with the
//! same id on every attempt.
//!
//! [`destination`] is the contract of what takes messages; each kind of destination is a file beside it.
#![warn(missing_docs)]

pub mod destination;
