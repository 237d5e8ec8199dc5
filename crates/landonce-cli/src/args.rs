//! What can be typed. A command's own flags stand with the command; here are those that several share.

mod declare;
mod delivery;

use std::path::Path;

use clap::{Args, Parser, ValueEnum};
use landonce::{Pipeline, Store};

pub(crate) use declare::{DeclareArgs, from_file as pipeline_file, is_pipeline_file};
pub(crate) use delivery::{Delivery, DeliveryArgs};

use crate::commands::Command;
use crate::failure::Failure;
use crate::place;

const EXAMPLES: &str = "\
Examples:
  landonce run events.ndjson --into duty_event --key flight_id,event_kind,instant_utc
  landonce init events.ndjson            # writes pipeline.yaml
  landonce plan pipeline.yaml            # what a run would do
  landonce run pipeline.yaml --store postgres://app@db.example/flights

Exit codes: 0 fine, 1 findings, 2 could not, 130 or 143 interrupted.";

/// Lands batches of records in SQLite or PostgreSQL, safe to deliver twice.
#[derive(Debug, Parser)]
#[command(name = "landonce", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// What stdout gets: text for people, or one JSON object for programs.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: OutputForm,

    /// Log to stderr; -vv and -vvv say more. `LANDONCE_LOG` sets a filter.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What stdout gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputForm {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// Figures in the text form that Prometheus reads (`outbox stats`).
    Prometheus,
}

impl OutputForm {
    /// Whether it is JSON.
    pub(crate) fn is_json(self) -> bool {
        self == Self::Json
    }
}

/// Which database.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArgs {
    /// Where to write: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`. Without it: the pipeline file's `store`, else
    /// `$LANDONCE_STORE` (the better place for a password: arguments are seen by every user of the machine), else
    /// sqlite:landonce.db.
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
}

/// The store, for commands that take a pipeline file only to know it; and the pipeline, if one is named.
pub(crate) fn pipeline_store(
    file: Option<&Path>,
    args: &StoreArgs,
) -> Result<(Store, Option<Pipeline>), Failure> {
    let pipeline = file.map(declare::from_file).transpose()?;
    Ok((place::choose(args, pipeline.as_ref())?, pipeline))
}

/// How a run is told apart and how often it tries.
#[derive(Debug, Clone, Args)]
pub(crate) struct AttemptArgs {
    /// The run's id, if something else hands it out; a new one otherwise. Provenance, never identity.
    #[arg(long, value_name = "UUID")]
    pub(crate) run_id: Option<uuid::Uuid>,

    /// The most attempts for passing failures (a lost connection, a deadlock), the first one counted.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) attempts: Option<u32>,

    /// Try again after a statement's time-out too.
    #[arg(long)]
    pub(crate) retry_timeouts: bool,
}

impl AttemptArgs {
    /// The library's options; one run id for all batches of this command.
    pub(crate) fn options(&self) -> landonce::Options {
        let mut options = landonce::Options {
            run_id: Some(self.run_id.unwrap_or_else(uuid::Uuid::now_v7)),
            ..landonce::Options::default()
        };
        options.retry.timeouts = self.retry_timeouts;
        if let Some(attempts) = self.attempts {
            options.retry.attempts = attempts;
        }
        options
    }
}
