//! The promise, one guarantee a file, each on every store.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed test says where")]

mod given;

mod archive;
mod bad_records;
mod callers_transaction;
mod complete;
mod corrections;
mod deliveries;
mod derived;
mod events;
mod existing_tables;
mod history;
mod keys_and_values;
mod lost_answers;
mod notices;
mod order;
mod outbox;
#[cfg(feature = "parquet")]
mod parquet;
mod passing_failures;
mod patterns;
mod periods;
mod plans;
mod poolers;
mod positions;
mod replay;
mod retired;
mod rights;
mod rounds;
mod sender_ids;
mod snapshots;
mod twins;
mod why;
