//! What a server promises, one guarantee a file; on SQLite, and on PostgreSQL where the database has a part in it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper of a test fails it, as the test itself may"
)]

mod served;

mod api;
mod batches;
mod browser;
mod crowd;
mod dashboard;
mod documents;
mod drain;
mod hooks;
mod limits;
mod ops;
mod pages;
mod replays;
mod security;
mod seed;
mod slow;
mod telemetry;
mod tls;
mod workers;
