//! `landonce derive`: compute the derived tables' periods that are due, or prove that the tables are equal to their queries.

use std::path::PathBuf;

use jiff::civil::Date;
use landonce::derive::{Deriving, Which};
use landonce::{Options, Pipeline, Store};

use crate::args::{AttemptArgs, OutputForm, StoreArgs, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::report::{self, CheckReport, DerivedReport};

const EXAMPLES: &str = "\
Examples:
  landonce derive sales.yaml                                   # what batches have marked as due
  landonce derive sales.yaml --check                           # are the tables equal to their queries?
  landonce derive sales.yaml --from 2026-03-01 --to 2026-03-31 # those days again, for example after another query";

/// `landonce derive`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The pipeline file.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
    /// All periods that the base or the derived table has rows of, not only those that are due.
    #[arg(long, conflicts_with_all = ["from", "to"])]
    all: bool,
    /// Of those, the ones from this date on (of each table's time zone), and up to --to.
    #[arg(long, value_name = "DATE", requires = "to")]
    from: Option<Date>,
    /// The last date, included.
    #[arg(long, value_name = "DATE", requires = "from")]
    to: Option<Date>,
    /// Write nothing: compare every period with its query, and end with 1 if one differs.
    #[arg(long, conflicts_with_all = ["all", "from", "to"])]
    check: bool,
    #[command(flatten)]
    attempts: AttemptArgs,
}

/// A checked `derive`.
#[derive(Debug)]
pub(crate) struct Job {
    store: Store,
    pipeline: Pipeline,
    is_check: bool,
    options: Deriving,
}

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    let (store, pipeline) = pipeline_store(Some(&args.pipeline), &args.store)?;
    let pipeline =
        pipeline.filter(|pipeline| !pipeline.declared().derived().is_empty()).ok_or_else(|| {
            Failure::usage(
                format!("{} declares no derived table", args.pipeline.display()),
                "declare one under `derive:` (docs/guides/derived-tables.md)",
            )
        })?;
    let which = match (args.from, args.to) {
        (Some(from), Some(to)) if to < from => {
            return Err(Failure::usage(
                format!("--to {to} is before --from {from}"),
                "give the earlier date to --from",
            ));
        }
        (Some(from), Some(to)) => Which::Between(from, to),
        _ if args.all => Which::All,
        _ => Which::Due,
    };
    let options = Deriving { which, ..deriving(&args.attempts.options()) };
    Ok(Job { store, pipeline, is_check: args.check, options })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: &Gate) -> Result<Exit, Failure> {
    if job.is_check {
        let checked = CheckReport::new(job.pipeline.check_derived(&job.store).await?);
        if form.is_json() {
            report::json(&checked)?;
        } else {
            report::print(&checked.text())?;
        }
        return Ok(if checked.is_equal() { Exit::Fine } else { Exit::Findings });
    }
    let Some(derived) = unless_stopped(&job.pipeline, &job.store, &job.options, gate).await? else {
        return Ok(Exit::Fine);
    };
    if form.is_json() {
        report::json(&derived)?;
    } else if derived.is_empty() {
        report::print("nothing is due\n")?;
    } else {
        report::print(&derived.lines())?;
    }
    Ok(Exit::Fine)
}

/// How a run derives behind its batches.
pub(super) fn deriving(options: &Options) -> Deriving {
    Deriving { which: Which::Due, run_id: options.run_id, retry: options.retry.clone() }
}

/// Derives behind what a command has landed, where the pipeline has derived tables, and says so on stderr: the command's own
/// report is its own. False when it could not be done; what isn't computed stays due.
pub(super) async fn behind(pipeline: &Pipeline, store: &Store, options: &Options, gate: &Gate) -> bool {
    if pipeline.declared().derived().is_empty() || gate.is_stopping() {
        return true;
    }
    match unless_stopped(pipeline, store, &deriving(options), gate).await {
        Ok(derived) => {
            let lines = derived.map(|derived| derived.lines()).unwrap_or_default();
            if !lines.is_empty() {
                report::say(lines.trim_end());
            }
            true
        }
        Err(failure) => {
            report::failure(&failure);
            false
        }
    }
}

/// Derives until it is done, or somebody says stop: `None` then. Each period is a transaction of its own, so that stopping
/// leaves the periods that are not done as they were, and due.
pub(super) async fn unless_stopped(
    pipeline: &Pipeline,
    store: &Store,
    options: &Deriving,
    gate: &Gate,
) -> Result<Option<DerivedReport>, Failure> {
    // From here on a stop is ours to carry out: what was reported before has been written.
    gate.commit();
    let done = tokio::select! {
        done = pipeline.derive_with(store, options) => Some(done),
        () = gate.stopped() => None,
    };
    gate.settled();
    match done {
        Some(Ok(tables)) => Ok(Some(DerivedReport::new(&tables))),
        Some(Err(error)) => Err(Failure::from(error).with_hint(|_| {
            Some("batches have landed all the same, and what isn't computed stays due: `landonce derive PIPELINE.yaml`".to_owned())
        })),
        None => {
            report::say(
                "stopped; the periods that are not done stay due, and the next run or `landonce derive` computes them",
            );
            Ok(None)
        }
    }
}
