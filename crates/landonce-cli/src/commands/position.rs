//! `landonce position`: how far streams and fetches have been landed, looked at, and put elsewhere by a person.

use std::path::PathBuf;

use clap::Subcommand;
use landonce::Store;
use landonce::position::{Part, Position};
use serde::Serialize;
use uuid::Uuid;

use crate::args::{OutputForm, StoreArgs, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::{self, Table};

const EXAMPLES: &str = "\
Examples:
  landonce position list flights.yaml
  landonce position set flights.yaml 'kafka flights duty-events' 3 --next 120000
  landonce position set flights.yaml 'kafka flights duty-events' 3 --beginning

A worker that has the part loses it at once: a batch of its own that is on its way fails as a whole. It takes the part again
after a few seconds, and goes on where the position is then.";

/// `landonce position`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List how far each part of a source has been landed, and whose it is.
    List(List),
    /// Put a part's position elsewhere. What is read again is landed again, and changes nothing where it is equal.
    Set(Set),
}

#[derive(Debug, clap::Args)]
struct List {
    /// A pipeline file: only its parts, in its store.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct Set {
    /// The pipeline file.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,
    /// The source, as `position list` shows it.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// The part, as `position list` shows it.
    #[arg(value_name = "PART", default_value = "")]
    part: String,
    /// The next message to read: its number (an offset), or the fetch's own text.
    #[arg(long, value_name = "PLACE", conflicts_with = "beginning", required_unless_present = "beginning")]
    next: Option<String>,
    /// As if nothing had been landed: the pipeline's `start` decides.
    #[arg(long)]
    beginning: bool,
    /// A part that isn't listed yet is entered, too.
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// A checked `position …`.
#[derive(Debug)]
pub(crate) enum Job {
    /// `list`
    List(Store, Option<String>),
    /// `set`
    Set(Box<Put>),
}

/// Where to put what.
#[derive(Debug)]
pub(crate) struct Put {
    store: Store,
    part: Part,
    next: Option<String>,
    is_new: bool,
}

/// A position. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Serialize)]
struct Row {
    pipeline: String,
    source: String,
    part: String,
    next: Option<String>,
    epoch: u64,
    owner: String,
    run_id: Option<Uuid>,
    taken_at: String,
    moved_at: Option<String>,
}

#[derive(Serialize)]
struct Report {
    store: String,
    positions: Vec<Row>,
}

impl Row {
    fn new(position: Position) -> Self {
        let Position { part, next, epoch, owner, run_id, taken_at, moved_at } = position;
        let Part { pipeline, source, part } = part;
        Self { pipeline, source, part, next, epoch, owner, run_id, taken_at, moved_at }
    }
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    match args.command {
        Command::List(args) => {
            let (store, pipeline) = pipeline_store(args.pipeline.as_deref(), &args.store)?;
            Ok(Job::List(store, pipeline.map(|pipeline| pipeline.name().to_owned())))
        }
        Command::Set(args) => {
            let (store, pipeline) = pipeline_store(Some(&args.pipeline), &args.store)?;
            let pipeline = pipeline.map(|pipeline| pipeline.name().to_owned()).unwrap_or_default();
            let part = Part { pipeline, source: args.source, part: args.part };
            // A worker that meets anything else ends.
            let is_stream = ["kafka ", "nats "].iter().any(|kind| part.source.starts_with(kind));
            if let Some(next) = args.next.as_deref().filter(|next| is_stream && next.parse::<u64>().is_err())
            {
                return Err(Failure::usage(
                    format!("`{next}` is no place in `{}`", part.source),
                    "the next message of a stream is told by its number, from 0",
                ));
            }
            Ok(Job::Set(Box::new(Put { store, part, next: args.next, is_new: args.new })))
        }
    }
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    match job {
        Job::List(store, pipeline) => list(&store, pipeline.as_deref(), form).await,
        Job::Set(put) => set(*put).await,
    }
}

/// Shows the positions; `status --positions` does, too.
pub(super) async fn list(store: &Store, pipeline: Option<&str>, form: OutputForm) -> Result<Exit, Failure> {
    let positions: Vec<Row> = store.positions(pipeline).await?.into_iter().map(Row::new).collect();
    if form.is_json() {
        report::json(&Report { store: store.place(), positions })?;
        return Ok(Exit::Fine);
    }
    if positions.is_empty() {
        report::print(&format!(
            "no stream and no fetch has a position in {} yet\n",
            report::line(&store.place())
        ))?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["pipeline", "source", "part", "next", "moved at (UTC)", "taken", "by"]);
    for row in positions {
        let shown = |text: &str| report::line(text).into_owned();
        table.push(vec![
            shown(&row.pipeline),
            shown(&row.source),
            shown(&row.part),
            shown(row.next.as_deref().unwrap_or("the beginning")),
            row.moved_at.as_deref().map(report::moment).unwrap_or_default(),
            row.epoch.to_string(),
            shown(&row.owner),
        ]);
    }
    report::print(&table.render())?;
    Ok(Exit::Fine)
}

async fn set(put: Put) -> Result<Exit, Failure> {
    let Put { store, part, next, is_new } = put;
    let known = store.positions(Some(&part.pipeline)).await?;
    let found = known.iter().find(|position| position.part == part);
    if found.is_none() && !is_new {
        return Err(Failure::usage(
            format!("`{}` has no part `{}` of `{}`", part.pipeline, part.part, part.source),
            "`landonce position list` shows the parts; `--new` enters one that isn't there yet",
        ));
    }
    let at = |next: Option<&str>| next.unwrap_or("the beginning").to_owned();
    let from = at(found.and_then(|position| position.next.as_deref()));
    let who = std::env::var("USER").ok().filter(|user| !user.is_empty());
    let who = who.unwrap_or_else(|| "the command line".to_owned());
    store.put_position(&part, next.as_deref(), &format!("{who}, by hand")).await?;
    let subject = format!("{} {} {}", part.pipeline, part.source, part.part);
    let detail = format!("from {from} to {}", at(next.as_deref()));
    store.record_action(&who, "put a position elsewhere", subject.trim_end(), &detail).await?;
    report::print(&format!("{}: {detail}\n", report::line(subject.trim_end())))?;
    Ok(Exit::Fine)
}
