//! What is promised of streams, a file each.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed test says where")]

mod desk;
mod documents;
#[cfg(feature = "kafka")]
mod faults;
#[cfg(feature = "nats")]
mod jetstream;
#[cfg(feature = "kafka")]
mod kafka;
#[cfg(feature = "kafka")]
mod kafka_killed;
#[cfg(feature = "kafka")]
mod kafka_places;
#[cfg(feature = "kafka")]
mod kafka_records;
#[cfg(feature = "kafka-tls")]
mod kafka_tls;
mod messages;
mod model;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
mod nats_access;
#[cfg(feature = "nats")]
mod nats_places;
#[cfg(feature = "nats")]
mod nats_takeover;
#[cfg(feature = "kafka")]
mod topic;
