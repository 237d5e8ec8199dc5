//! What delivery promises, one file each.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it, as the test itself may")]

mod commands;
mod deliveries;
mod documents;
mod files;
#[cfg(feature = "kafka")]
mod kafka_topics;
mod parcels;
mod tables;
mod webhooks;
