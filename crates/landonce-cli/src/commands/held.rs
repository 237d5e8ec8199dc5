//! `landonce held`: snapshots that were incomplete or implausible, looked at, released or rejected by a person.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use landonce::held::{Although, Held, State};
use landonce::{Pipeline, Progress, Status, Store};
use serde::Serialize;

use super::derive;
use crate::args::{AttemptArgs, OutputForm, StoreArgs, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::report::{self, BatchReport, PlanReport, Table, Way, counts, moment};

const EXAMPLES: &str = "\
Examples:
  landonce held list
  landonce held show parcels.yaml            # why, and what it would change now
  landonce held release parcels.yaml         # it is right: land it
  landonce held reject parcels.yaml 3f2a     # it is wrong: drop it";

/// `landonce held`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the runs that are held, newest first.
    List(List),
    /// Show why a run is held, and what its payload would change now.
    Show(Show),
    /// Land a held payload, because it is right.
    Release(Release),
    /// Drop a held payload, because it is wrong. The same one is held again whenever it comes.
    Reject(Reject),
}

#[derive(Debug, clap::Args)]
struct List {
    /// A pipeline file: only its runs, in its store.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Those too that were released, rejected, or have landed since.
    #[arg(long)]
    all: bool,
}

/// Which of the pipeline's held runs.
#[derive(Debug, clap::Args)]
struct Which {
    /// The pipeline file.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,
    /// The first digits of the payload's SHA-256, as `held list` shows them; may be left out when one run is held.
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct Show {
    #[command(flatten)]
    which: Which,
    /// How many of the rows that would be written are shown.
    #[arg(long, value_name = "N", default_value_t = 5)]
    samples: u16,
}

#[derive(Debug, clap::Args)]
struct Release {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    attempts: AttemptArgs,
    /// Although the payload isn't shown to be complete: rows that it doesn't have are retired or deleted all the same.
    #[arg(long)]
    although_incomplete: bool,
    /// Although another snapshot has landed since: this one sets the source back.
    #[arg(long)]
    although_newer: bool,
}

#[derive(Debug, clap::Args)]
struct Reject {
    #[command(flatten)]
    which: Which,
}

/// A checked `held …`.
#[derive(Debug)]
pub(crate) enum Job {
    /// `list`
    List(Store, Option<String>, bool),
    /// `show`
    Show(One, usize),
    /// `release`
    Release(One, Although, AttemptArgs),
    /// `reject`
    Reject(One),
}

/// A held run that is named.
#[derive(Debug)]
pub(crate) struct One {
    store: Store,
    pipeline: Pipeline,
    id: Option<String>,
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    Ok(match args.command {
        Command::List(args) => {
            let (store, pipeline) = pipeline_store(args.pipeline.as_deref(), &args.store)?;
            Job::List(store, pipeline.map(|pipeline| pipeline.name().to_owned()), args.all)
        }
        Command::Show(args) => Job::Show(One::new(args.which)?, args.samples.into()),
        Command::Release(args) => {
            let although = Although { incomplete: args.although_incomplete, newer: args.although_newer };
            Job::Release(One::new(args.which)?, although, args.attempts)
        }
        Command::Reject(args) => Job::Reject(One::new(args.which)?),
    })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: Gate) -> Result<Exit, Failure> {
    match job {
        Job::List(store, pipeline, is_all) => list(&store, pipeline.as_deref(), is_all, form).await,
        Job::Show(one, samples) => show(&one, samples, form).await,
        Job::Release(one, although, attempts) => release(&one, although, &attempts, form, &gate).await,
        Job::Reject(one) => reject(&one, form).await,
    }
}

/// A held run. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Serialize)]
struct HeldReport {
    id: String,
    state: &'static str,
    pipeline: String,
    source: String,
    run_id: uuid::Uuid,
    held_at: String,
    is_complete: bool,
    reasons: Vec<String>,
    #[serde(flatten)]
    outcome: landonce::Outcome,
    decided_by: Option<uuid::Uuid>,
}

impl HeldReport {
    fn new(held: &Held) -> Self {
        let what = &held.hold;
        Self {
            id: what.digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            state: held.state.as_str(),
            pipeline: what.pipeline.clone(),
            source: what.source.clone(),
            run_id: what.run_id,
            held_at: held.held_at.clone(),
            is_complete: what.is_complete,
            reasons: what.reasons.clone(),
            outcome: what.outcome,
            decided_by: held.decided_by,
        }
    }
}

#[derive(Serialize)]
struct ListReport {
    store: String,
    held: Vec<HeldReport>,
}

async fn list(
    store: &Store,
    pipeline: Option<&str>,
    is_all: bool,
    form: OutputForm,
) -> Result<Exit, Failure> {
    let held: Vec<HeldReport> = store.held(pipeline, is_all).await?.iter().map(HeldReport::new).collect();
    let waits = held.iter().any(|held| held.state == State::Held.as_str());
    let exit = if waits { Exit::Findings } else { Exit::Fine };
    if form.is_json() {
        report::json(&ListReport { store: store.place(), held })?;
        return Ok(exit);
    }
    if held.is_empty() {
        report::print(&format!("no run is held in {}\n", report::line(&store.place())))?;
        return Ok(exit);
    }
    let mut table = Table::new(&["id", "held at (UTC)", "state", "pipeline", "from", "would be", "why"]);
    for held in &held {
        table.push(vec![
            held.id[..12].to_owned(),
            moment(&held.held_at),
            held.state.to_owned(),
            report::line(&held.pipeline).into_owned(),
            report::tail(&held.source, 40).into_owned(),
            counts(&held.outcome),
            report::line(held.reasons.first().map_or("", String::as_str)).into_owned(),
        ]);
    }
    let mut text = table.render();
    text.push_str("landonce held show PIPELINE.yaml ID shows one; release lands it, reject drops it\n");
    report::print(&text)?;
    Ok(exit)
}

impl One {
    fn new(which: Which) -> Result<Self, Failure> {
        let (store, pipeline) = pipeline_store(Some(&which.pipeline), &which.store)?;
        let pipeline = pipeline.ok_or_else(|| Failure::usage("which pipeline?", "name its file"))?;
        Ok(Self { store, pipeline, id: which.id })
    }

    /// The run that is meant.
    async fn find(&self) -> Result<Held, Failure> {
        let mut held = self.store.held(Some(self.pipeline.name()), self.id.is_some()).await?;
        if let Some(id) = &self.id {
            let id = id.to_ascii_lowercase();
            held.retain(|held| HeldReport::new(held).id.starts_with(&id));
        }
        match held.len() {
            1 => Ok(held.remove(0)),
            0 => Err(Failure::usage(
                match &self.id {
                    Some(id) => format!("no run of {} is held under `{id}`", self.pipeline.name()),
                    None => format!("no run of {} is held", self.pipeline.name()),
                },
                "`landonce held list --all` shows what was, too",
            )),
            several => Err(Failure::usage(
                format!("{several} runs of {} are meant by that", self.pipeline.name()),
                "give more of the id that `landonce held list` shows",
            )),
        }
    }

    fn way(&self, held: &Held) -> Way {
        Way {
            pipeline: self.pipeline.name().to_owned(),
            source: held.hold.source.clone(),
            target: self.pipeline.declared().target().table.to_string(),
            store: self.store.place(),
        }
    }
}

#[derive(Serialize)]
struct ShowReport {
    held: HeldReport,
    /// What a release would change now; `null` for a run whose payload isn't kept any more.
    plan: Option<PlanReport>,
}

async fn show(one: &One, samples: usize, form: OutputForm) -> Result<Exit, Failure> {
    let held = one.find().await?;
    let told = HeldReport::new(&held);
    let mut plan = None;
    if held.state == State::Held {
        let found = one.pipeline.preview_held(&one.store, &held, samples).await?;
        let id = told.id.clone();
        plan = Some(PlanReport::new(one.way(&held), id, one.pipeline.declared(), found, Vec::new()));
    }
    if form.is_json() {
        report::json(&ShowReport { held: told, plan })?;
        return Ok(Exit::Fine);
    }
    let mut text = format!(
        "{}  {}  {}\n  held at   {}, by run {}\n",
        told.state,
        &told.id[..12],
        report::line(&told.source),
        moment(&told.held_at),
        told.run_id
    );
    for reason in &told.reasons {
        text.push_str(&format!("  why       {}\n", report::line(reason)));
    }
    if let Some(plan) = &plan {
        text.push_str("\nDelivered now; a release lands it all the same:\n");
        text.push_str(&plan.paragraph());
    }
    report::print(&text)?;
    Ok(Exit::Fine)
}

async fn release(
    one: &One,
    although: Although,
    attempts: &AttemptArgs,
    form: OutputForm,
    gate: &Gate,
) -> Result<Exit, Failure> {
    let started = std::time::Instant::now();
    let held = one.find().await?;
    let mut options = attempts.options();
    let at_commit = gate.clone();
    options.progress = Some(Arc::new(move |progress| {
        if progress == Progress::Committing {
            at_commit.commit();
        }
    }));
    let receipt = one.pipeline.release(&one.store, &held, although, &options).await;
    gate.settled();
    let receipt = receipt?;
    let is_held = receipt.status == Status::Held;
    let batch = BatchReport::landed(one.way(&held), &receipt, started.elapsed());
    if form.is_json() {
        report::json(&batch)?;
    } else {
        report::print(&batch.paragraph())?;
    }
    // Its declaration may have become stricter since it was held.
    if is_held {
        return Ok(Exit::Findings);
    }
    let is_derived = derive::behind(&one.pipeline, &one.store, &options, gate).await;
    Ok(if is_derived { Exit::Fine } else { Exit::CouldNot })
}

#[derive(Serialize)]
struct RejectReport {
    status: &'static str,
    id: String,
}

async fn reject(one: &One, form: OutputForm) -> Result<Exit, Failure> {
    let held = one.find().await?;
    let told = HeldReport::new(&held);
    if !one.store.reject(&held, uuid::Uuid::now_v7()).await? {
        return Err(Failure::usage(
            format!("the run {} is {} already", &told.id[..12], told.state),
            "`landonce held list --all` shows what has become of it",
        ));
    }
    if form.is_json() {
        report::json(&RejectReport { status: "rejected", id: told.id })?;
    } else {
        report::print(&format!(
            "rejected {}: its payload is dropped, and the same one is held again whenever it comes\n",
            &told.id[..12]
        ))?;
    }
    Ok(Exit::Fine)
}
