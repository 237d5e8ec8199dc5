//! `landonce setup`: make landonce's tables and a pipeline's target, or print the DDL for somebody who may.

use std::path::PathBuf;

use landonce::{Pipeline, Store};
use serde::Serialize;

use crate::args::{DeclareArgs, OutputForm, StoreArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place;
use crate::report;

/// `landonce setup`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A pipeline file: its target table too.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Print the DDL for the store's dialect; connect to nothing.
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    declare: DeclareArgs,
}

/// A checked `setup`.
#[derive(Debug)]
pub(crate) struct Job {
    store: Store,
    pipeline: Option<Pipeline>,
    is_printing: bool,
}

/// The JSON object.
#[derive(Serialize)]
struct Report<'a> {
    status: &'static str,
    store: String,
    target: Option<String>,
    sql: Option<&'a str>,
}

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    let pipeline = match &args.pipeline {
        None if args.declare.is_empty() => None,
        file => Some(args.declare.file_or_flags(file.as_deref())?),
    };
    Ok(Job { store: place::choose(&args.store, pipeline.as_ref())?, pipeline, is_printing: args.print })
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    let store = job.store.place();
    let target = job.pipeline.as_ref().map(|pipeline| pipeline.declared().target().table.to_string());
    if job.is_printing {
        let sql = job.store.setup_sql(job.pipeline.as_ref())?;
        if form.is_json() {
            report::json(&Report { status: "printed", store, target, sql: Some(&sql) })?;
        } else {
            report::print(&sql)?;
        }
        return Ok(Exit::Fine);
    }
    match &job.pipeline {
        Some(pipeline) => job.store.set_up(pipeline).await?,
        None => job.store.migrate().await?,
    }
    if form.is_json() {
        report::json(&Report { status: "ready", store, target, sql: None })?;
    } else {
        let and = target.map(|table| format!(" and the table {}", report::line(&table))).unwrap_or_default();
        report::print(&format!("landonce's tables{and} are ready in {}\n", report::line(&store)))?;
    }
    Ok(Exit::Fine)
}
