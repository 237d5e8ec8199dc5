//! `landonce why`: every delivery of one record that can be known, what was decided, and by which run.

use std::path::PathBuf;

use landonce::{Pipeline, Store};

use crate::args::{OutputForm, StoreArgs, pipeline_file};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  landonce why orders.yaml id=4711
  landonce why schedule.yaml flight_id=B6-739 event_kind=departure instant_utc=2013-03-03T04:55:00Z";

/// `landonce why`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The pipeline file.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,
    /// The identity: each of its fields and its value, in any order.
    #[arg(value_name = "FIELD=VALUE", required = true)]
    identity: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// A checked `why`.
#[derive(Debug)]
pub(crate) struct Job {
    store: Store,
    pipeline: Pipeline,
    identity: Vec<(String, String)>,
}

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    let pipeline = pipeline_file(&args.pipeline)?;
    let identity = args.identity.iter().map(|given| {
        let split = given.split_once('=').filter(|(field, _)| !field.is_empty());
        let (field, text) = split.ok_or_else(|| {
            Failure::usage(format!("`{given}` names no field"), "write FIELD=VALUE, as `id=4711`")
        })?;
        Ok((field.to_owned(), text.to_owned()))
    });
    let identity = identity.collect::<Result<Vec<_>, Failure>>()?;
    Ok(Job { store: place::choose(&args.store, Some(&pipeline))?, pipeline, identity })
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    let history = job.pipeline.history(&job.store, &job.identity).await?;
    if form.is_json() {
        report::json(&history)?;
    } else {
        report::print(&report::text(&history.to_string()))?;
    }
    Ok(Exit::Fine)
}
