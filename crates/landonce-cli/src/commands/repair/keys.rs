//! `landonce repair keys`.

use std::path::PathBuf;

use landonce::Store;
use landonce::repair::{Keep, Keys, Status};

use super::{RepairArgs, dedupe, show};
use crate::args::{OutputForm, StoreArgs, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  landonce repair keys pipeline.yaml --old old.yaml            # what would change
  landonce repair keys pipeline.yaml --old old.yaml --apply --dedupe

old.yaml is the pipeline as it made the keys that are there: the same table and columns, another `identity`.

Exit codes: 0 nothing to repair, or repaired; 1 there is something to repair, and --apply wasn't given; 2 could not.";

/// `landonce repair keys`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The pipeline as it is to be.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,

    /// The pipeline as it made the keys that are there: for a plain SHA-256 of `a|b|c`, `identity: {fields: [a, b, c], joined:
    /// "|", as: hex}` and the key's column under `target.managed.key`.
    #[arg(long, value_name = "OLD.yaml")]
    old: PathBuf,

    /// Rows whose old key isn't what the old pipeline makes of them get a new one all the same.
    #[arg(long)]
    force: bool,

    /// Of rows that get one key, keep one, delete the others and point references at it.
    #[arg(long)]
    dedupe: bool,

    /// With --dedupe: which row stays, as for `repair dedupe`.
    #[arg(long, value_name = "WHICH:COLUMN", value_parser = dedupe::parse_keep, requires = "dedupe")]
    keep: Option<Keep>,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    repair: RepairArgs,
}

/// A checked `repair keys`.
#[derive(Debug)]
pub(crate) struct Job {
    keys: Keys,
    store: Store,
    repair: RepairArgs,
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    args.repair.check()?;
    let (_, old) = pipeline_store(Some(&args.old), &args.store)?;
    let (store, pipeline) = pipeline_store(Some(&args.pipeline), &args.store)?;
    let (Some(pipeline), Some(old)) = (pipeline, old) else {
        return Err(Failure::usage("two pipelines are due", "name the new one, and the old one with --old"));
    };
    let keys = Keys { pipeline, old, force: args.force, dedupe: args.dedupe, keep: args.keep };
    Ok(Job { keys, store, repair: args.repair })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: &Gate) -> Result<Exit, Failure> {
    let Job { keys, store, repair } = job;
    let options = repair.options(gate);
    let found =
        if repair.apply { keys.apply(&store, &options).await } else { keys.plan(&store, &options).await };
    gate.settled();
    let found = found?;
    if form.is_json() {
        report::json(&found)?;
    } else {
        report::print(&show::keys(&found))?;
    }
    Ok(match found.rows.status {
        Status::Clean | Status::Applied => Exit::Fine,
        Status::Planned => Exit::Findings,
        Status::Refused => Exit::CouldNot,
    })
}
