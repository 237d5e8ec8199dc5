//! What is promised, one guarantee a file.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod classes;
mod clock;
mod clones;
mod clones_in_place;
mod clones_sqlite;
mod command;
mod command_folder;
mod fixtures;
mod input;
#[cfg(feature = "mysql")]
mod mysql;
mod recorder;
mod report;
mod snapshot_difference;
mod snapshot_postgres;
mod snapshot_sqlite;
mod sqlite;
mod strangers;
mod wire;
