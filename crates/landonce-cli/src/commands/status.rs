//! `landonce status`: what has landed, by which run, and what is in the quarantine. Makes nothing, not even the file.

mod periods;

use std::collections::BTreeMap;
use std::path::PathBuf;

use landonce::{Outcome, Settled, Store};
use serde::Serialize;
use uuid::Uuid;

use crate::args::{OutputForm, StoreArgs, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::{self, Table};

/// How many quarantine entries are counted.
const COUNTED: usize = 1_000;

/// How wide the sources are shown, in characters.
const SOURCE: usize = 40;

/// `landonce status`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A pipeline file that names the store.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: Option<PathBuf>,

    #[command(flatten)]
    store: StoreArgs,

    /// How many batches are shown.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Show how far streams and fetches have been landed instead.
    #[arg(long)]
    positions: bool,

    #[command(flatten)]
    periods: periods::PeriodArgs,
}

/// A checked `status`.
#[derive(Debug)]
pub(crate) enum Job {
    /// The batches that landed last.
    Batches(Store, usize),
    /// How far streams and fetches have been landed, of one pipeline or of all.
    Positions(Store, Option<String>),
    /// A pipeline's periods.
    Periods(Box<periods::Job>),
}

/// The JSON object.
#[derive(Serialize)]
struct Report {
    store: String,
    batches: Vec<BatchRow>,
    quarantine: BTreeMap<String, usize>,
}

#[derive(Serialize)]
struct BatchRow {
    settled_at: String,
    pipeline: String,
    batch_id: String,
    digest: String,
    run_id: Uuid,
    source: String,
    #[serde(flatten)]
    outcome: Outcome,
}

impl BatchRow {
    fn new(settled: Settled) -> Self {
        Self {
            settled_at: settled.settled_at,
            pipeline: settled.pipeline,
            batch_id: settled.batch_id,
            digest: hex::encode(settled.digest),
            run_id: settled.run_id,
            source: settled.source,
            outcome: settled.outcome,
        }
    }
}

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    if args.periods.periods {
        let job = periods::validate(&args.periods, args.pipeline.as_ref(), &args.store)?;
        return Ok(Job::Periods(Box::new(job)));
    }
    let (store, pipeline) = pipeline_store(args.pipeline.as_deref(), &args.store)?;
    if args.positions {
        return Ok(Job::Positions(store, pipeline.map(|pipeline| pipeline.name().to_owned())));
    }
    Ok(Job::Batches(store, args.limit))
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    match job {
        Job::Batches(store, limit) => batches(&store, limit, form).await,
        Job::Positions(store, pipeline) => super::position::list(&store, pipeline.as_deref(), form).await,
        Job::Periods(job) => periods::run(*job, form).await,
    }
}

async fn batches(store: &Store, limit: usize, form: OutputForm) -> Result<Exit, Failure> {
    let batches = store.batches(limit).await?.into_iter().map(BatchRow::new).collect();
    let mut quarantine: BTreeMap<String, usize> = BTreeMap::new();
    for entry in
        store.quarantine(None, COUNTED).await?.into_iter().filter(|entry| entry.resolved_by.is_none())
    {
        *quarantine.entry(entry.pipeline).or_default() += 1;
    }
    let report = Report { store: store.place(), batches, quarantine };
    if form.is_json() {
        report::json(&report)?;
    } else {
        report::print(&report.text(limit))?;
    }
    Ok(Exit::Fine)
}

impl Report {
    fn text(&self, limit: usize) -> String {
        let place = report::line(&self.store);
        if self.batches.is_empty() && self.quarantine.is_empty() {
            return format!("nothing has landed in {place} yet\n");
        }
        let mut table = Table::new(&["landed at (UTC)", "pipeline", "batch", "source", "run", "counts"]);
        for batch in &self.batches {
            table.push(vec![
                report::moment(&batch.settled_at),
                report::line(&batch.pipeline).into_owned(),
                report::line(report::short(&batch.batch_id)).into_owned(),
                report::tail(&report::line(&batch.source), SOURCE).into_owned(),
                batch.run_id.to_string(),
                report::counts(&batch.outcome),
            ]);
        }
        let mut out = table.render();
        if self.batches.len() >= limit {
            out.push_str(&format!("the last {limit}; --limit N shows more\n"));
        }
        for (pipeline, count) in &self.quarantine {
            let (noun, is) = if *count == 1 { ("record", "is") } else { ("records", "are") };
            let at_least = if *count >= COUNTED { "at least " } else { "" };
            let pipeline = report::line(pipeline);
            out.push_str(&format!("{at_least}{count} bad {noun} of {pipeline} {is} in the quarantine: landonce quarantine list\n"));
        }
        out
    }
}
