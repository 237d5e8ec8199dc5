//! What a user of the program is promised, one guarantee a file: exit codes, stdout and stderr as they are, on SQLite.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]
#![expect(clippy::needless_raw_string_hashes, reason = "the form in which snapshots are written anew")]

mod folder;

mod archive;
mod backfill;
mod bad_records;
mod config_faults;
#[cfg(feature = "kafka")]
mod consume;
#[cfg(feature = "failpoints")]
mod crashed_fetches;
#[cfg(feature = "failpoints")]
mod crashed_notices;
#[cfg(feature = "failpoints")]
mod crashed_periods;
#[cfg(feature = "failpoints")]
mod crashed_snapshots;
#[cfg(feature = "failpoints")]
mod crashes;
mod deliver;
mod deliveries;
mod derived;
mod fetched;
mod full_disk;
mod held;
mod interrupt;
mod json;
mod key;
#[cfg(feature = "kafka")]
mod killed_consumers;
mod killed_hooks;
#[cfg(feature = "nats")]
mod killed_nats_consumers;
#[cfg(feature = "failpoints")]
mod killed_queries;
mod notices;
mod orchestrators;
mod outbox;
mod payments;
mod periods;
mod plan;
mod proposal;
mod proven;
mod races;
mod readme;
mod repair;
mod retail;
mod serve;
mod serve_check;
mod setup;
mod several_files;
mod sql;
mod status;
mod stdin;
mod told;
mod usage;
mod why;
