//! What a user of the program is promised, one guarantee a file: exit codes, stdout and stderr as they are, on SQLite.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod folder;

mod bad_records;
mod config_faults;
mod deliveries;
mod interrupt;
mod json;
mod key;
mod plan;
mod proposal;
mod setup;
mod several_files;
mod status;
mod stdin;
mod usage;
