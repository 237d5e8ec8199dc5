//! `landonce backfill`: load many periods, each in a transaction of its own. The ledger is its memory: killed at any
//! moment and started again, it goes on where it was.

mod fetched;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use landonce::ledger::Failure as Noted;
use landonce::{Kind, Options, Pipeline, Progress, Receipt, Store};
use landonce_core::period::{Calendar, Period};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::derive;
use crate::args::{AttemptArgs, OutputForm, StoreArgs, pipeline_store};
use crate::blocking::blocking;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hint;
use crate::input::Input;
use crate::interrupt::Gate;
use crate::progress::PeriodsBar;
use crate::report::{self, BackfillReport, BatchReport, LoadReport, Way};
use crate::window::{self, Known, Window};

const EXAMPLES: &str = "\
Examples:
  landonce backfill orders.yaml --from 2026-03-01 --to 2026-03-31
  landonce backfill orders.yaml --from 2026-03 --to 2026-03 --missing --jobs 4
  landonce backfill hourly.yaml --from 2026-10-25 --to 2026-10-25 --stop-on-failure";

/// The most characters of an error that the ledger keeps.
const MESSAGE: usize = 500;

/// `landonce backfill`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The pipeline file; it is loaded by periods.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,

    /// The first period: its label, or a date, a week or a month that begins with it.
    #[arg(long, value_name = "PERIOD")]
    from: String,

    /// The last period, included.
    #[arg(long, value_name = "PERIOD")]
    to: String,

    /// Only what the ledger lacks, what failed, and partial loads of periods that are over by now; of the others not even
    /// the source is looked at.
    #[arg(long, conflicts_with = "force")]
    missing: bool,

    /// Apply also a payload that is what the period holds already.
    #[arg(long)]
    force: bool,

    /// Tell what changes, as a run does. A pipeline with `notify` needs this flag or the next.
    #[arg(long, conflicts_with = "no_notify")]
    notify: bool,

    /// Tell nobody what changes: no message is put into the outbox, now or later.
    #[arg(long)]
    no_notify: bool,

    /// How many periods are loaded at once. On SQLite, which has one writer, the others wait for it.
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,

    /// Begin no other period once one has failed.
    #[arg(long, conflicts_with = "keep_going")]
    stop_on_failure: bool,

    /// Go on with the other periods when one fails, which is what happens anyway.
    #[arg(long)]
    keep_going: bool,

    /// No progress bar; there is none anyway unless stderr is a terminal.
    #[arg(long)]
    no_progress: bool,

    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    attempts: AttemptArgs,
}

/// A checked `backfill`.
pub(crate) struct Job {
    pipeline: Pipeline,
    calendar: Calendar,
    window: Window,
    store: Store,
    options: Options,
    is_missing_only: bool,
    is_stopping_on_failure: bool,
    has_progress: bool,
    jobs: usize,
    /// Who may write, where one can at a time: whoever waits in line here doesn't wait for a lock by chance.
    writer: Option<Semaphore>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("pipeline", &self.pipeline.name()).finish_non_exhaustive()
    }
}

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    let (store, pipeline) = pipeline_store(Some(&args.pipeline), &args.store)?;
    let pipeline = pipeline.ok_or_else(|| Failure::usage("backfill of which pipeline?", "name its file"))?;
    let calendar = window::calendar(&pipeline)?.clone();
    let (from, to) = (window::first(&calendar, &args.from)?, window::last(&calendar, &args.to)?);
    let source = pipeline.declared().source();
    if source.placeholder().is_none() {
        return Err(Failure::usage(
            match source.file.as_deref() {
                Some(file) => format!("source.file `{}` is the same for every period", report::line(file)),
                None if source.feed.is_fetched() => {
                    format!("source.{} is the same for every period", source.feed.as_str())
                }
                None => "the pipeline names no `source.file`".to_owned(),
            },
            "name the source of each period with placeholders: `source: {file: 'in/{period.date}.csv'}`",
        ));
    }
    let topics: Vec<&str> =
        pipeline.declared().notifications().iter().map(|notify| notify.topic.as_str()).collect();
    if !topics.is_empty() && !args.notify && !args.no_notify {
        return Err(Failure::usage(
            format!(
                "is anybody to be told what a backfill changes? The pipeline notifies ({})",
                topics.join(", ")
            ),
            "add --notify, and each changed row becomes a message as in a run, or --no-notify",
        ));
    }
    Ok(Job {
        window: Window::new(&calendar, &from, &to)?,
        calendar,
        options: Options { is_forced: args.force, notify: !args.no_notify, ..args.attempts.options() },
        is_missing_only: args.missing,
        is_stopping_on_failure: args.stop_on_failure,
        has_progress: !args.no_progress,
        jobs: args.jobs.get(),
        writer: store.has_one_writer().then(|| Semaphore::new(1)),
        store,
        pipeline,
    })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: &Gate) -> Result<Exit, Failure> {
    let started = Instant::now();
    let job = Arc::new(job);
    let todo = job.todo().await?;
    let asked = todo.len();
    let bar = PeriodsBar::new(&report::line(job.pipeline.name()), asked, job.has_progress);
    let width = todo.iter().map(|period| period.label().chars().count()).max().unwrap_or(0);
    let mut upcoming = todo.into_iter().enumerate();
    let mut running = JoinSet::new();
    let mut done: Vec<(usize, LoadReport)> = Vec::new();
    let mut is_ending = false;
    loop {
        while running.len() < job.jobs && !is_ending && !gate.is_stopping() {
            let Some((at, period)) = upcoming.next() else { break };
            let (job, gate) = (Arc::clone(&job), gate.for_batch());
            running.spawn(async move { (at, job.load(&period, &gate).await, gate) });
        }
        let joined = tokio::select! {
            joined = running.join_next() => joined,
            // Somebody asked to stop: what was at its COMMIT has been told, and nothing else will come to its own.
            () = gate.closed() => break,
        };
        let Some(joined) = joined else { break };
        let (at, (loaded, failure), own_gate) = joined
            .map_err(|failed| Failure::system("a period's task ended", std::io::Error::other(failed)))?;
        bar.suspend(|| {
            if let Some(failure) = &failure {
                report::failure(failure);
            }
            if form.is_json() { Ok(()) } else { report::print(&loaded.line(width)) }
        })?;
        own_gate.settled();
        is_ending |= failure.is_some_and(|failure| job.is_stopping_on_failure || is_everybodys(&failure));
        done.push((at, loaded));
        bar.done(done.len(), done.iter().filter(|(_, one)| one.is_failed()).count());
    }
    drop(bar);
    done.sort_by_key(|(at, _)| *at);
    let done: Vec<LoadReport> = done.into_iter().map(|(_, one)| one).collect();
    let not_due = job.window.periods.len() - asked;
    let not_begun = asked - done.len();
    let report =
        BackfillReport::new(job.way(String::new()), &job.calendar, &job.window, &done, started.elapsed())
            .left(not_due, not_begun);
    if form.is_json() {
        report::json(&report)?;
    } else {
        report::print(&report.total())?;
    }
    let has_landed = !done.iter().all(LoadReport::is_failed);
    let is_derived = !has_landed || derive::behind(&job.pipeline, &job.store, &job.options, gate).await;
    let is_failed = done.iter().any(LoadReport::is_failed) || !is_derived;
    Ok(if is_failed { Exit::CouldNot } else { Exit::Fine })
}

/// A failure that every other period would meet as well.
fn is_everybodys(failure: &Failure) -> bool {
    matches!(failure, Failure::Library { error, .. } if matches!(error.kind(), Kind::Connect | Kind::NoSpace))
}

impl Job {
    /// The periods to be loaded: all of the window, or what the ledger lacks of it.
    async fn todo(&self) -> Result<Vec<Period>, Failure> {
        if !self.is_missing_only {
            return Ok(self.window.periods.clone());
        }
        let (known, _) = self.window.look_up(&self.store, self.pipeline.name(), Timestamp::now()).await?;
        Ok(known.into_iter().filter(Known::is_due).map(|known| known.period).collect())
    }

    fn way(&self, source: String) -> Way {
        Way {
            pipeline: self.pipeline.name().to_owned(),
            source,
            target: self.pipeline.declared().target().table.to_string(),
            store: self.store.place(),
        }
    }

    /// Loads one period and says what became of it.
    async fn load(&self, period: &Period, gate: &Gate) -> (LoadReport, Option<Failure>) {
        let started = Instant::now();
        let mut source = String::new();
        let mut is_handed_over = false;
        let landed = self.land(period, gate, &mut source, &mut is_handed_over).await;
        let way = self.way(source);
        match landed {
            Ok(receipt) => {
                let is_complete = receipt.period.as_ref().is_none_or(|of| of.is_complete);
                let batch = BatchReport::landed(way, &receipt, started.elapsed());
                (LoadReport::new(period, is_complete, batch), None)
            }
            Err(failure) => {
                // From there on the engine notes it by itself.
                if !is_handed_over {
                    self.note(period, &failure).await;
                }
                let batch = BatchReport::failed(way, None, self.run_id(), &failure, started.elapsed());
                (LoadReport::new(period, false, batch), Some(failure))
            }
        }
    }

    /// Waits for one's turn to write, where one can at a time.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed: nobody can be refused.
        self.writer.as_ref()?.acquire().await.ok()
    }

    /// The options of one period's load.
    fn options_for(&self, started_at: Option<Timestamp>, gate: &Gate) -> Options {
        let gate = gate.clone();
        let told = move |progress| {
            if progress == Progress::Committing {
                gate.commit();
            }
        };
        Options { started_at, progress: Some(Arc::new(told)), ..self.options.clone() }
    }

    fn run_id(&self) -> Uuid {
        self.options.run_id.unwrap_or_default()
    }

    /// Notes in the ledger a failure that came before anything was handed to the engine. What can't be noted doesn't hide
    /// the failure itself.
    async fn note(&self, period: &Period, failure: &Failure) {
        let message = failure.message();
        let message: String = message.lines().next().unwrap_or_default().chars().take(MESSAGE).collect();
        let noted = Noted {
            pipeline: self.pipeline.name(),
            label: period.label(),
            start: period.start().as_microsecond(),
            end: period.end().as_microsecond(),
            run_id: self.run_id(),
            code: failure.code().unwrap_or_else(|| failure.kind()),
            message: &message,
        };
        let _turn = self.turn().await;
        if let Err(error) = self.store.fail_period(&noted).await {
            report::say(&format!(
                "the ledger doesn't know that {} failed: {}",
                period.label(),
                report::line(&error.to_string())
            ));
        }
    }

    async fn land(
        &self,
        period: &Period,
        gate: &Gate,
        source: &mut String,
        is_handed_over: &mut bool,
    ) -> Result<Receipt, Failure> {
        // Before the first look at the source: what comes after it may be missing in what is read (C34).
        let started_at = Some(Timestamp::now());
        let pipeline = self.pipeline.of(period)?;
        if pipeline.declared().source().feed.is_fetched() {
            return fetched::land(self, &pipeline, started_at, gate, source, is_handed_over).await;
        }
        *source = pipeline.declared().source().file.clone().unwrap_or_default();
        let of_period = pipeline.clone();
        let mut files = blocking(move || Ok(of_period.source_files()?)).await?;
        // The library has refused several: each would overwrite the one before.
        let input = Input::File(files.swap_remove(0));
        *source = input.name();
        let batch = input.open().await?;
        let _turn = self.turn().await;
        *is_handed_over = true;
        let options = self.options_for(started_at, gate);
        let landed = pipeline.ingest_with(&self.store, &batch, &options).await;
        landed.map_err(|error| {
            Failure::from(error).with_hint(|error| hint::absent_key(error, &pipeline, &batch))
        })
    }
}
