//! `landonce replay`: batches out of the archive, through the one write path.

mod told;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use landonce::archive::{Replay, Selection, Step, Way as ReplayWay, What};
use landonce::{Options, Pipeline, Progress, Store};
use uuid::Uuid;

use super::derive;
use crate::args::{AttemptArgs, OutputForm, StoreArgs, pipeline_file};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::place;
use crate::report::{self, BatchReport, Batches, Way};

const EXAMPLES: &str = "\
Examples:
  landonce replay flights.yaml --from 2026-11-01 --dry-run    # what it would do
  landonce replay flights.yaml --batch roster-2026-11-03      # land it, if it never landed
  landonce replay flights.yaml --all --into duty_event_check  # what the archive makes, to compare
  landonce replay flights.yaml --from 2026-11-01 --again      # apply landed batches once more";

/// `landonce replay`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The pipeline file; it declares `archive:`.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,

    /// The batch of this id.
    #[arg(long, value_name = "ID", conflicts_with_all = ["from", "to", "all"])]
    batch: Option<String>,

    /// Batches received at this moment or later: a date (midnight UTC) or an instant.
    #[arg(long, value_name = "DATE", value_parser = moment, conflicts_with = "all")]
    from: Option<Timestamp>,

    /// Batches received before this moment.
    #[arg(long, value_name = "DATE", value_parser = moment, conflicts_with = "all")]
    to: Option<Timestamp>,

    /// All batches in the archive.
    #[arg(long)]
    all: bool,

    /// Write what has landed into this table instead, to compare: it is made, or is there and empty.
    #[arg(long, value_name = "TABLE", conflicts_with = "again")]
    into: Option<String>,

    /// Apply batches that have landed once more, each as a batch of its own.
    #[arg(long)]
    again: bool,

    /// Tell what changes, as a run does; otherwise no message of the pipeline's `notify` is put into the outbox.
    #[arg(long, conflicts_with = "into")]
    notify: bool,

    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    attempts: AttemptArgs,
}

/// A checked `replay`.
#[derive(Debug)]
pub(crate) struct Job {
    pipeline: Pipeline,
    store: Store,
    selection: Selection,
    way: ReplayWay,
    attempts: AttemptArgs,
    notifies: bool,
    is_dry: bool,
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    if args.batch.is_none() && args.from.is_none() && args.to.is_none() && !args.all {
        return Err(Failure::usage(
            "which batches?",
            "add `--batch ID`, `--from DATE`, `--to DATE` or `--all`; `landonce archive list` shows what there is",
        ));
    }
    let pipeline = pipeline_file(&args.pipeline)?;
    Ok(Job {
        store: place::choose(&args.store, Some(&pipeline))?,
        pipeline,
        selection: Selection { batch_id: args.batch, from: args.from, to: args.to },
        way: match (args.into, args.again) {
            (Some(table), _) => ReplayWay::Into(table),
            (None, true) => ReplayWay::Again,
            (None, false) => ReplayWay::Missing,
        },
        attempts: args.attempts,
        notifies: args.notify,
        is_dry: args.dry_run,
    })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: &Gate) -> Result<Exit, Failure> {
    let mut options = Options { notify: job.notifies, ..job.attempts.options() };
    let run_id = options.run_id.unwrap_or_default();
    let at_commit = gate.clone();
    options.progress = Some(Arc::new(move |progress| {
        if progress == Progress::Committing {
            at_commit.commit();
        }
    }));
    let replay = job.pipeline.replay(&job.store, &job.selection, &job.way, run_id).await?;
    if job.is_dry {
        told::dry(&replay, &job.store, form)?;
        return Ok(Exit::Fine);
    }
    // Where the order decides what is left, a gap would decide it otherwise.
    let is_order_binding = job.way != ReplayWay::Missing;
    let steps: Vec<&Step> =
        replay.steps().iter().filter(|step| !matches!(step.what, What::LeftOut(_))).collect();
    let name_width =
        steps.iter().map(|step| report::line(&step.manifest.source).chars().count()).max().unwrap_or(0);
    let mut done: Vec<BatchReport> = Vec::new();
    for step in &steps {
        if gate.is_stopping() || (is_order_binding && done.iter().any(BatchReport::is_failed)) {
            break;
        }
        let (batch, failure) = job.apply(&replay, step, &options, run_id).await;
        gate.settled();
        if !form.is_json() {
            report::print(&batch.one_line(name_width))?;
            report::print(&batch.notes())?;
        }
        if let Some(failure) = failure {
            report::failure(&failure);
        }
        done.push(batch);
    }
    let is_failed = done.iter().any(BatchReport::is_failed);
    if form.is_json() {
        report::json(&told::Report::new(&done, &replay))?;
    } else {
        report::print(&Batches::new(&done).total(steps.len() - done.len()))?;
        report::print(&told::left_out(&replay))?;
        if is_failed && is_order_binding {
            report::say(
                "the rest was not begun: without the failed batch it would leave another state. What was applied is in, so older \
                 content may stand now: mend what failed (`landonce archive verify` finds damaged bytes), and give the same command again",
            );
        }
    }
    let is_elsewhere = matches!(job.way, ReplayWay::Into(_));
    let is_derived = is_elsewhere
        || done.iter().all(BatchReport::is_failed)
        || derive::behind(&job.pipeline, &job.store, &options, gate).await;
    Ok(if is_failed || !is_derived { Exit::CouldNot } else { Exit::Fine })
}

impl Job {
    async fn apply(
        &self,
        replay: &Replay,
        step: &Step,
        options: &Options,
        run_id: Uuid,
    ) -> (BatchReport, Option<Failure>) {
        let started = Instant::now();
        let way = Way {
            pipeline: self.pipeline.name().to_owned(),
            source: step.manifest.source.clone(),
            target: replay.table().to_owned(),
            store: self.store.place(),
        };
        let applied = replay.apply(&self.store, step, options).await;
        match applied {
            Ok(Some(receipt)) => (BatchReport::landed(way, &receipt, started.elapsed()), None),
            // Those that are left out were taken out before.
            Ok(None) => {
                let failure = Failure::usage("the batch was left out", "please report this");
                (failed(way, step, run_id, &failure, started), Some(failure))
            }
            Err(error) => {
                let failure = Failure::from(error);
                (failed(way, step, run_id, &failure, started), Some(failure))
            }
        }
    }
}

fn failed(way: Way, step: &Step, run_id: Uuid, failure: &Failure, started: Instant) -> BatchReport {
    let batch_id = Some(step.manifest.batch_id.clone());
    BatchReport::failed(way, batch_id, run_id, failure, started.elapsed())
}

/// A date, which is its midnight in UTC, or an instant with its offset.
fn moment(text: &str) -> Result<Timestamp, String> {
    let instant = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let due = || "a date (2026-11-30) or an instant (2026-11-30T04:00:00Z) is due".to_owned();
    instant.parse().map_err(|_| due())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_or_an_instant() {
        assert_eq!(moment("2026-11-30").unwrap().to_string(), "2026-11-30T00:00:00Z");
        assert_eq!(moment("2026-11-30T04:00:00+01:00").unwrap().to_string(), "2026-11-30T03:00:00Z");
        for wrong in ["yesterday", "2026-13-01", "2026-11-30T04:00:00", "20261130", ""] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
