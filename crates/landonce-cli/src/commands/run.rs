//! `landonce run`: land batches, one after the other, each in a transaction of its own.

mod fetched;

use std::time::Instant;

use jiff::Timestamp;
use landonce::{Batch, Options, Receipt, Store};

use super::derive;
use crate::args::{AttemptArgs, Delivery, DeliveryArgs, OutputForm, StoreArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hint;
use crate::input::Input;
use crate::interrupt::Gate;
use crate::place;
use crate::progress::Bar;
use crate::report::{self, BatchReport, Batches, DerivedReport, Way, WithDerived};

const EXAMPLES: &str = "\
Examples:
  landonce run events.ndjson --into duty_event --key flight_id,event_kind,instant_utc
  landonce run 'orders/*.csv.gz' --into order_line --key order,line --column amount:'decimal(20,8)'
  landonce run flights.yaml --store postgres://app@db.example/flights
  curl -s https://… | landonce run - --format json --into crew --key id --batch-id roster-2013-03-01";

/// `landonce run`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    attempts: AttemptArgs,

    /// Leave the files behind a failed one for the next run.
    #[arg(long)]
    stop_on_failure: bool,

    /// Leave the derived tables for the next run, or for `landonce derive`; the periods stay due.
    #[arg(long)]
    no_derive: bool,

    /// Tell nobody what changes: no message of the pipeline's `notify` is put into the outbox, now or later.
    #[arg(long)]
    no_notify: bool,

    /// No progress bar; there is none anyway unless stderr is a terminal.
    #[arg(long)]
    no_progress: bool,

    // Last, because its heading holds for all that follows.
    #[command(flatten)]
    delivery: DeliveryArgs,
}

/// A checked `run`.
#[derive(Debug)]
pub(crate) struct Job {
    delivery: Delivery,
    store: Store,
    options: OptionsOf,
    is_stopping_on_failure: bool,
    derives: bool,
    has_progress: bool,
}

/// The options without their callback, which each batch brings.
struct OptionsOf(Options);

impl std::fmt::Debug for OptionsOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Options").field(&self.0.run_id).field(&self.0.retry).finish()
    }
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    let delivery = args.delivery.resolve()?;
    let derives = !args.no_derive && !delivery.pipeline.declared().derived().is_empty();
    Ok(Job {
        store: place::choose(&args.store, Some(&delivery.pipeline))?,
        delivery,
        options: OptionsOf(Options { notify: !args.no_notify, ..args.attempts.options() }),
        is_stopping_on_failure: args.stop_on_failure,
        derives,
        has_progress: !args.no_progress,
    })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: &Gate) -> Result<Exit, Failure> {
    if job.delivery.is_fetched() {
        return fetched::run(&job, form, gate).await;
    }
    let inputs = &job.delivery.inputs;
    let is_one = inputs.len() == 1;
    let name_width =
        inputs.iter().map(|input| report::line(&input.name()).chars().count()).max().unwrap_or(0);
    let mut done: Vec<BatchReport> = Vec::new();
    for input in inputs {
        if gate.is_stopping() || (job.is_stopping_on_failure && done.iter().any(BatchReport::is_failed)) {
            break;
        }
        let (batch, failure) = job.land(input, gate).await;
        // The object of one batch, and its lines for people, are told before anything else can go wrong.
        if !form.is_json() && !is_one {
            report::print(&batch.one_line(name_width))?;
            report::print(&batch.notes())?;
        }
        if let Some(failure) = failure {
            report::failure(&failure);
        } else if !form.is_json() && is_one {
            report::print(&batch.paragraph())?;
        }
        done.push(batch);
    }
    if !form.is_json() && !is_one {
        report::print(&Batches::new(&done).total(inputs.len() - done.len()))?;
    }
    job.end(&done, is_one, form, gate).await
}

impl Job {
    /// What comes behind the batches: derived tables, the whole in JSON, the verdict.
    async fn end(
        &self,
        done: &[BatchReport],
        is_one: bool,
        form: OutputForm,
        gate: &Gate,
    ) -> Result<Exit, Failure> {
        let (derived, could_derive) = self.derive(done, gate).await;
        let derived = derived.as_ref();
        match (done, derived) {
            ([one], derived) if is_one && form.is_json() => {
                report::json(&WithDerived { told: one, derived })?;
            }
            (many, derived) if form.is_json() => {
                report::json(&WithDerived { told: Batches::new(many), derived })?;
            }
            (_, Some(derived)) => report::print(&derived.lines())?,
            _ => {}
        }
        Ok(if !could_derive || done.iter().any(BatchReport::is_failed) {
            Exit::CouldNot
        } else if done.iter().any(BatchReport::is_held) {
            Exit::Findings
        } else {
            Exit::Fine
        })
    }

    /// Derives behind the batches, also behind skipped ones: a run before may have been cut short in between. Returns what
    /// became of it, and whether it could be done.
    async fn derive(&self, done: &[BatchReport], gate: &Gate) -> (Option<DerivedReport>, bool) {
        // Where no batch could land, nothing new is due, and the same failure would be told twice.
        let has_none_landed = !done.is_empty() && done.iter().all(BatchReport::is_failed);
        if !self.derives || gate.is_stopping() || has_none_landed {
            return (None, true);
        }
        let options = derive::deriving(&self.options.0);
        match derive::unless_stopped(&self.delivery.pipeline, &self.store, &options, gate).await {
            Ok(derived) => (derived, true),
            Err(failure) => {
                report::failure(&failure);
                (Some(DerivedReport::failed(&failure)), false)
            }
        }
    }

    /// Lands one batch and says what became of it.
    async fn land(&self, input: &Input, gate: &Gate) -> (BatchReport, Option<Failure>) {
        let started = Instant::now();
        // Before the first look at the file: what comes after it may be missing in what is read (C34).
        let started_at = Timestamp::now();
        let way = Way {
            pipeline: self.delivery.pipeline.name().to_owned(),
            source: input.name(),
            target: self.delivery.pipeline.declared().target().table.to_string(),
            store: self.store.place(),
        };
        let bar = Bar::new(&report::line(&way.source), self.has_progress);
        let mut batch_id = None;
        let landed = async {
            let mut batch = input.open().await?;
            if let Some(id) = &self.delivery.batch_id {
                batch = batch.with_id(id.clone());
            }
            batch_id = Some(batch.id());
            self.ingest(&batch, started_at, &bar, gate).await
        };
        let landed = landed.await;
        gate.settled();
        drop(bar);
        match landed {
            Ok(receipt) => (BatchReport::landed(way, &receipt, started.elapsed()), None),
            Err(failure) => {
                let run_id = self.options.0.run_id.unwrap_or_default();
                (BatchReport::failed(way, batch_id, run_id, &failure, started.elapsed()), Some(failure))
            }
        }
    }

    async fn ingest(
        &self,
        batch: &Batch,
        started_at: Timestamp,
        bar: &Bar,
        gate: &Gate,
    ) -> Result<Receipt, Failure> {
        let mut options = self.options.0.clone();
        options.started_at = Some(started_at);
        options.progress = Some(bar.told(batch, gate.clone()));
        let pipeline = &self.delivery.pipeline;
        let landed = pipeline.ingest_with(&self.store, batch, &options).await;
        landed
            .map_err(|error| Failure::from(error).with_hint(|error| hint::absent_key(error, pipeline, batch)))
    }
}
