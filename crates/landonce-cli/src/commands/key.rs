//! `landonce key explain`: a record's canonical bytes, key and digest, and why two records are one event or are not.

use clap::Subcommand;
use landonce::explain::explain;

use crate::args::{Delivery, DeliveryArgs, OutputForm};
use crate::blocking::blocking;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report;

/// `landonce key`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the bytes that are hashed, the key and the digest of a record, or of two and how they differ.
    Explain(Explain),
}

#[derive(Debug, clap::Args)]
struct Explain {
    /// Which record: its line (NDJSON, CSV) or its place in the array, from 1. The first one when left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    record: Option<u64>,

    /// Another record, to be compared with the first.
    #[arg(long, value_name = "M", requires = "record", value_parser = clap::value_parser!(u64).range(1..))]
    and: Option<u64>,

    // Last, because its heading holds for all that follows.
    #[command(flatten)]
    delivery: DeliveryArgs,
}

/// A checked `key explain`.
#[derive(Debug)]
pub(crate) struct Job {
    delivery: Delivery,
    records: Vec<u64>,
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    let Command::Explain(args) = args.command;
    let delivery = args.delivery.resolve()?;
    if delivery.is_fetched() {
        return Err(Failure::usage(
            "the pipeline's records are fetched, and a key is explained from data at hand",
            "give some with --input FILE",
        ));
    }
    if delivery.inputs.len() > 1 {
        return Err(Failure::usage(
            format!("{} files: a record is looked for in one", delivery.inputs.len()),
            "name it, or with a pipeline file give it with --input FILE",
        ));
    }
    Ok(Job { delivery, records: args.record.into_iter().chain(args.and).collect() })
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    let Job { delivery: Delivery { pipeline, inputs, .. }, records } = job;
    for input in &inputs {
        let batch = input.open().await?;
        let (pipeline, records) = (pipeline.clone(), records.clone());
        let explained = blocking(move || Ok(explain(&pipeline, &batch, &records)?)).await?;
        if form.is_json() {
            report::json(&explained)?;
        } else {
            report::print(&report::text(&explained.to_string()))?;
        }
    }
    Ok(Exit::Fine)
}
