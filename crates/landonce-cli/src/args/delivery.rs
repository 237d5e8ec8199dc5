//! What is delivered: a pipeline, as a file or as flags, and the files that are its batches.

use std::path::PathBuf;

use clap::Args;
use landonce::Pipeline;

use super::{DeclareArgs, is_pipeline_file};
use crate::failure::Failure;
use crate::input::{self, Input};

/// A pipeline and its batches.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeliveryArgs {
    /// A pipeline file (.yaml), or the data: files, patterns, or - for stdin. Each file is a batch of its own.
    #[arg(value_name = "PIPELINE.yaml|FILE", required = true)]
    what: Vec<PathBuf>,

    /// With a pipeline file: this data instead of the pipeline's `source.file`; may be given several times.
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,

    /// The sender's id for the batch; the SHA-256 of its bytes when left out.
    #[arg(long, value_name = "ID")]
    batch_id: Option<String>,

    /// The period to load, for a pipeline that is loaded by periods: a label (2026-03-01, 2026-W09, 2026-03), the instant
    /// at which it starts, or an ISO interval START/END, as an orchestrator hands it out. Never taken from the clock.
    #[arg(long, value_name = "PERIOD")]
    period: Option<String>,

    #[command(flatten)]
    declare: DeclareArgs,
}

/// A pipeline and its batches, found.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// The pipeline.
    pub(crate) pipeline: Pipeline,
    /// Its batches, in the order in which they are delivered; none where the pipeline's own source is fetched.
    pub(crate) inputs: Vec<Input>,
    /// The sender's id, if there is one batch and it has one.
    pub(crate) batch_id: Option<String>,
}

impl Delivery {
    /// The pipeline's own source is fetched, and no data was given instead.
    pub(crate) fn is_fetched(&self) -> bool {
        self.inputs.is_empty()
    }
}

impl DeliveryArgs {
    /// Reads the pipeline and finds the files.
    pub(crate) fn resolve(self) -> Result<Delivery, Failure> {
        let Self { what, input, batch_id, period, declare } = self;
        let of_period = |pipeline: Pipeline| match &period {
            Some(period) => pipeline.in_period(period).map_err(Failure::from),
            None => Ok(pipeline),
        };
        let (pipeline, inputs) = match what.split_first() {
            Some((file, data)) if is_pipeline_file(file) => {
                let pipeline = of_period(declare.beside_file(file)?)?;
                let data: Vec<PathBuf> = data.iter().chain(&input).cloned().collect();
                let inputs = if data.is_empty() && pipeline.declared().source().feed.is_fetched() {
                    pipeline.check_period()?;
                    Vec::new()
                } else if data.is_empty() {
                    pipeline.source_files()?.into_iter().map(Input::File).collect()
                } else {
                    input::expand(&data)?
                };
                (pipeline, inputs)
            }
            _ => {
                let pipeline = of_period(declare.pipeline()?)?;
                let data: Vec<PathBuf> = what.into_iter().chain(input).collect();
                (pipeline, input::expand(&data)?)
            }
        };
        if let (Some(period), true) = (pipeline.declared().period(), inputs.len() > 1) {
            return Err(Failure::usage(
                format!(
                    "{} files for the period {period}: each would overwrite the one before",
                    inputs.len()
                ),
                "give the one file that is the period's payload",
            ));
        }
        if let Some(id) = &batch_id {
            if inputs.len() > 1 {
                return Err(Failure::usage(
                    format!("--batch-id `{id}` for {} files: each file is a batch of its own", inputs.len()),
                    "deliver the files one by one, or leave --batch-id out: then the SHA-256 of each file is its id",
                ));
            }
            if inputs.is_empty() {
                return Err(Failure::usage(
                    "--batch-id for what is fetched: its pieces have ids of their own",
                    "leave --batch-id out, or give the data with --input FILE",
                ));
            }
            if id.is_empty() {
                return Err(Failure::usage("--batch-id is empty", "give the sender's id, or leave it out"));
            }
        }
        Ok(Delivery { pipeline, inputs, batch_id })
    }
}
