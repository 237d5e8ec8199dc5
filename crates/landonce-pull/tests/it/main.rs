//! What a fetch promises, one file each.
#![expect(clippy::unwrap_used, reason = "a failed test says where")]

mod command;
mod given;
mod http;
mod query;
mod singer;
