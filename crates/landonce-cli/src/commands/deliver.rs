//! `landonce deliver`: hands the outbox's messages to their destinations, until a signal stops it or, with `--once`, nothing is left.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use landonce::Store;
use landonce_deliver::environment::Environment;
use landonce_deliver::{Delivery, Event, Options, Summary, Tally};
use serde::Serialize;
use tokio::sync::watch;

use crate::args::{OutputForm, StoreArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::place;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  landonce deliver deliver.yaml                 # a service: until SIGTERM, which lets what is under way end
  landonce deliver deliver.yaml --once          # from cron: what is due now
  landonce deliver deliver.yaml --workers 4     # and as many processes as you like beside it

Exit codes: 0 all was delivered (with --once) or it was told to stop; 1 with --once: something waits for another attempt, or was
given up; 2 could not.";

/// `landonce deliver`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file that declares the destinations (docs/reference/deliver.md).
    #[arg(value_name = "DELIVER.yaml")]
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
    /// End when nothing can be leased any more. What waits for its next attempt is left.
    #[arg(long)]
    once: bool,
    /// How many workers, each with a connection of its own to the store.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
}

/// A checked `deliver`.
#[derive(Debug)]
pub(crate) struct Job {
    delivery: Delivery,
    store: Store,
    is_once: bool,
    workers: usize,
}

/// The JSON object.
#[derive(Serialize)]
struct Report<'a> {
    store: String,
    destinations: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    destination: &'a str,
    sent: u64,
    again: u64,
    dead: u64,
    lost: u64,
    waiting: Option<u64>,
}

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    let delivery = Delivery::from_file(&args.file, Environment::process())?;
    let store = place::choose_of(&args.store, delivery.store_url())?;
    Ok(Job { delivery, store, is_once: args.once, workers: args.workers.into() })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: Gate) -> Result<Exit, Failure> {
    gate.ends_by_itself();
    if !job.store.has_outbox().await? {
        return Err(Failure::usage(
            format!("there is no outbox in {}: nothing has ever been enqueued there", job.store.place()),
            "is it the store that the pipelines write to? `landonce setup` makes landonce's tables in a new one",
        ));
    }
    // Tables of an older landonce become this one's.
    job.store.migrate().await?;
    let (say_stop, stop) = watch::channel(false);
    let stopping = tokio::spawn(async move {
        gate.stopped().await;
        report::say("stopping; what is under way is let end, and the rest is given back");
        // Nobody listens any more when the workers have ended.
        let _ = say_stop.send(true);
        // A dropped sender would say that nobody can stop them.
        std::future::pending::<()>().await;
    });
    let options = Options { workers: job.workers, is_once: job.is_once, hear: Arc::new(hear) };
    let done = job.delivery.run(&job.store, &options, stop).await;
    stopping.abort();
    let summary = done?;
    for tally in &summary.destinations {
        report::say(&line(tally, job.is_once));
    }
    if form.is_json() {
        report::json(&Report::new(&job.store, &summary, job.is_once))?;
    }
    Ok(if job.is_once && !summary.is_all_delivered() { Exit::Findings } else { Exit::Fine })
}

impl<'a> Report<'a> {
    fn new(store: &Store, summary: &'a Summary, is_once: bool) -> Self {
        let row = |tally: &'a Tally| Row {
            destination: &tally.destination,
            sent: tally.sent,
            again: tally.again,
            dead: tally.dead,
            lost: tally.lost,
            waiting: is_once.then_some(tally.waiting),
        };
        Self { store: store.place(), destinations: summary.destinations.iter().map(row).collect() }
    }
}

/// `crew-app: sent 12; again 1; dead 0; waiting 1`
fn line(tally: &Tally, is_once: bool) -> String {
    let name = report::line(&tally.destination);
    let mut line = format!("{name}: sent {}; again {}; dead {}", tally.sent, tally.again, tally.dead);
    // Writing into a string can't fail.
    if is_once {
        let _ = write!(line, "; waiting {}", tally.waiting);
    }
    if tally.lost > 0 {
        let _ = write!(line, "; lost to other workers {}", tally.lost);
    }
    line
}

/// What happens is told as it does; without it a service that waits looks like one that hangs.
fn hear(event: Event) {
    let told = match event {
        Event::Paused { destination, lasting, reason } => {
            format!("{destination}: pauses for {:.0} s: {reason}", lasting.as_secs_f64().ceil())
        }
        Event::Dead { destination, id, answer } => {
            format!("{destination}: dead letter {id}: {answer} (`landonce outbox show {id}`)")
        }
        Event::Trouble { told, after } => {
            format!("the outbox can't be read, next try in {:.1} s: {told}", after.as_secs_f64())
        }
        Event::Recovered => "the outbox can be read again".to_owned(),
        _ => return,
    };
    report::say(&report::line(&told));
}
