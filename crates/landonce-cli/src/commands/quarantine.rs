//! `landonce quarantine`: bad records that were kept aside, shown or delivered again.

mod entry;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use landonce::{Options, Pipeline, Progress, Retried, Store};
use serde::Serialize;

use crate::args::{AttemptArgs, DeclareArgs, OutputForm, StoreArgs, pipeline_file, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::place;
use crate::report::{self, BatchReport, Table, Way, WithDerived};

use super::derive;
use entry::EntryReport;

/// `landonce quarantine`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the records that are kept aside, newest first.
    List(List),
    /// Show one of them whole.
    Show(Show),
    /// Deliver a pipeline's kept records again, after the pipeline was corrected.
    Retry(Box<Retry>),
    /// Deliver one kept record with a corrected text. Still bad, it stays as it is.
    Edit(Edit),
}

#[derive(Debug, clap::Args)]
struct List {
    /// A pipeline file: only its records, in its store.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// How many are shown.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

#[derive(Debug, clap::Args)]
struct Show {
    /// The entry's id, or its first digits.
    #[arg(value_name = "ID")]
    id: String,
    /// Write the record's own bytes and nothing else.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct Retry {
    /// The pipeline file; or the pipeline as flags.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    attempts: AttemptArgs,
    #[command(flatten)]
    declare: DeclareArgs,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// The pipeline file.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,
    /// The entry's id, or its first digits.
    #[arg(value_name = "ID")]
    id: String,
    /// The file with the corrected record, a JSON object; stdin when left out.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    attempts: AttemptArgs,
}

/// A checked `quarantine …`.
#[derive(Debug)]
pub(crate) enum Job {
    /// `list`
    List(Store, Option<String>, usize),
    /// `show`: the entry's id, and whether its bytes alone are wanted.
    Show(Store, String, bool),
    /// `retry`
    Retry(Store, Pipeline, AttemptArgs),
    /// `edit`: the entry's id, and the corrected record.
    Edit(Store, Pipeline, AttemptArgs, String, String),
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    Ok(match args.command {
        Command::List(args) => {
            let (store, pipeline) = pipeline_store(args.pipeline.as_deref(), &args.store)?;
            Job::List(store, pipeline.map(|pipeline| pipeline.name().to_owned()), args.limit)
        }
        Command::Show(args) => Job::Show(place::choose(&args.store, None)?, args.id, args.raw),
        Command::Retry(args) => {
            let pipeline = args.declare.file_or_flags(args.pipeline.as_deref())?;
            Job::Retry(place::choose(&args.store, Some(&pipeline))?, pipeline, args.attempts)
        }
        Command::Edit(args) => {
            let pipeline = pipeline_file(&args.pipeline)?;
            let text = match &args.file {
                Some(path) => std::fs::read_to_string(path),
                None => std::io::read_to_string(std::io::stdin().lock()),
            };
            let text = text.map_err(|error| {
                let from =
                    args.file.as_ref().map_or_else(|| "stdin".to_owned(), |path| path.display().to_string());
                Failure::usage(
                    format!("{from}: {error}"),
                    "give a file with the corrected record, a JSON object",
                )
            })?;
            Job::Edit(place::choose(&args.store, Some(&pipeline))?, pipeline, args.attempts, args.id, text)
        }
    })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: Gate) -> Result<Exit, Failure> {
    match job {
        Job::List(store, pipeline, limit) => list(&store, pipeline.as_deref(), limit, form).await,
        Job::Show(store, id, is_raw) => show(&store, &id, is_raw, form).await,
        Job::Retry(store, pipeline, attempts) => {
            let way = Redelivery::All;
            retry(&store, &pipeline, attempts.options(), way, form, gate).await
        }
        Job::Edit(store, pipeline, attempts, id, text) => {
            let way = Redelivery::Corrected { id, text };
            retry(&store, &pipeline, attempts.options(), way, form, gate).await
        }
    }
}

#[derive(Serialize)]
struct ListReport {
    store: String,
    entries: Vec<EntryReport>,
}

async fn list(
    store: &Store,
    pipeline: Option<&str>,
    limit: usize,
    form: OutputForm,
) -> Result<Exit, Failure> {
    let entries: Vec<EntryReport> =
        store.quarantine(pipeline, limit).await?.into_iter().map(EntryReport::new).collect();
    if form.is_json() {
        report::json(&ListReport { store: store.place(), entries })?;
        return Ok(Exit::Fine);
    }
    if entries.is_empty() {
        report::print(&format!("the quarantine of {} is empty\n", report::line(&store.place())))?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["id", "kept at (UTC)", "pipeline", "from", "why"]);
    for entry in &entries {
        table.push(entry.cells());
    }
    let mut text = table.render();
    if entries.len() >= limit {
        text.push_str(&format!("the last {limit}; --limit N shows more\n"));
    }
    text.push_str("landonce quarantine show ID shows one; landonce quarantine retry PIPELINE.yaml delivers them again\n");
    report::print(&text)?;
    Ok(Exit::Fine)
}

async fn show(store: &Store, id: &str, is_raw: bool, form: OutputForm) -> Result<Exit, Failure> {
    let entry = store.quarantine_entry(id).await?;
    if is_raw {
        report::bytes(&entry.raw)?;
        return Ok(Exit::Fine);
    }
    let report = EntryReport::new(entry);
    if form.is_json() {
        report::json(&report)?;
    } else {
        report::print(&report.paragraph())?;
    }
    Ok(Exit::Fine)
}

#[derive(Serialize)]
struct RetryReport {
    status: &'static str,
    entries: u64,
    landed: u64,
    batch: Option<BatchReport>,
}

/// What is delivered again.
enum Redelivery {
    /// All that is open.
    All,
    /// One entry, with another text.
    Corrected { id: String, text: String },
}

async fn retry(
    store: &Store,
    pipeline: &Pipeline,
    mut options: Options,
    what: Redelivery,
    form: OutputForm,
    gate: Gate,
) -> Result<Exit, Failure> {
    let started = std::time::Instant::now();
    let way = Way {
        pipeline: pipeline.name().to_owned(),
        source: "quarantine".to_owned(),
        target: pipeline.declared().target().table.to_string(),
        store: store.place(),
    };
    let at_commit = gate.clone();
    options.progress = Some(Arc::new(move |progress| {
        if progress == Progress::Committing {
            at_commit.commit();
        }
    }));
    let retried = match &what {
        Redelivery::All => pipeline.retry_quarantine(store, &options).await?,
        Redelivery::Corrected { id, text } => Some(pipeline.retry_edited(store, id, text, &options).await?),
    };
    gate.settled();
    let derived = if pipeline.declared().derived().is_empty() {
        None
    } else {
        derive::unless_stopped(pipeline, store, &derive::deriving(&options), &gate).await?
    };
    let Some(Retried { receipt, entries, landed }) = retried else {
        if form.is_json() {
            report::json(&RetryReport { status: "nothing_open", entries: 0, landed: 0, batch: None })?;
        } else {
            report::print(&format!(
                "no open records of {} to deliver again\n",
                report::line(pipeline.name())
            ))?;
        }
        return Ok(Exit::Fine);
    };
    let is_rest = landed < entries;
    let batch = BatchReport::landed(way, &receipt, started.elapsed());
    if form.is_json() {
        let status = if is_rest { "some_still_bad" } else { "all_landed" };
        let told = RetryReport { status, entries, landed, batch: Some(batch) };
        report::json(&WithDerived { told, derived: derived.as_ref() })?;
    } else {
        report::print(&batch.paragraph())?;
        report::print(&format!("{landed} of {entries} kept records have landed now\n"))?;
        report::print(&derived.map(|derived| derived.lines()).unwrap_or_default())?;
    }
    Ok(if is_rest { Exit::Findings } else { Exit::Fine })
}
