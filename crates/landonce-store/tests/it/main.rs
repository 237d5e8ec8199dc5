//! What a store promises, promise by promise.
//!
//! - `conformance`: the contract of `seam.rs`, which every store keeps;
//! - `postgres`: that PostgreSQL keeps it, and what only PostgreSQL can get wrong;
//! - `sqlite`: that SQLite keeps it, and what only SQLite can get wrong.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed test says where")]

mod conformance;
mod postgres;
mod sqlite;
