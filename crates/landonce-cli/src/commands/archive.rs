//! `landonce archive`: what is in a pipeline's archive, whether it is whole, and what may be forgotten.

mod told;

use std::path::PathBuf;

use clap::Subcommand;
use jiff::Timestamp;
use landonce::archive::Manifest;
use landonce::{Pipeline, Store};

use crate::args::{OutputForm, StoreArgs, pipeline_file};
use crate::blocking::blocking;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place;
use crate::report;

/// `landonce archive`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the batches whose bytes are kept, the last received first.
    List(List),
    /// Read all of them and check their digests.
    Verify(Of),
    /// Write a batch's bytes to stdout, checked before the first one.
    Get(Get),
    /// Forget what is older than the pipeline's `archive.keep_for`.
    Prune(Prune),
}

#[derive(Debug, clap::Args)]
struct Of {
    /// The pipeline file.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    of: Of,
    /// How many are shown.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

#[derive(Debug, clap::Args)]
struct Get {
    #[command(flatten)]
    of: Of,
    /// The batch's id.
    #[arg(value_name = "ID")]
    batch: String,
    /// Of several contents under this id, the one whose SHA-256 begins so.
    #[arg(long, value_name = "HEX")]
    digest: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Prune {
    #[command(flatten)]
    of: Of,
    /// Do it; without, only what would be done is told.
    #[arg(long)]
    apply: bool,
    /// Batches that never landed too: their bytes are all that there is of them.
    #[arg(long)]
    never_landed: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// A checked `archive …`.
#[derive(Debug)]
pub(crate) enum Job {
    /// `list`
    List(Pipeline, usize),
    /// `verify`
    Verify(Pipeline),
    /// `get`: the batch, and its digest's first digits.
    Get(Pipeline, String, Option<String>),
    /// `prune`: whether it is done, and whether what never landed is taken too.
    Prune(Pipeline, Store, bool, bool),
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    Ok(match args.command {
        Command::List(args) => Job::List(pipeline_file(&args.of.pipeline)?, args.limit),
        Command::Verify(args) => Job::Verify(pipeline_file(&args.pipeline)?),
        Command::Get(args) => Job::Get(pipeline_file(&args.of.pipeline)?, args.batch, args.digest),
        Command::Prune(args) => {
            let pipeline = pipeline_file(&args.of.pipeline)?;
            let store = place::choose(&args.store, Some(&pipeline))?;
            Job::Prune(pipeline, store, args.apply, args.never_landed)
        }
    })
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    match job {
        Job::List(pipeline, limit) => {
            let archive = pipeline.archive()?;
            let kept = of(&pipeline).await?;
            told::list(archive.place(), kept.iter().rev().take(limit), kept.len(), form)?;
            Ok(Exit::Fine)
        }
        Job::Verify(pipeline) => verify(&pipeline, form).await,
        Job::Get(pipeline, batch, digest) => get(&pipeline, &batch, digest.as_deref()).await,
        Job::Prune(pipeline, store, is_applied, takes_never_landed) => {
            let pruned =
                pipeline.prune_archive(&store, Timestamp::now(), takes_never_landed, is_applied).await?;
            let archive = pipeline.archive()?;
            let keeps_all = pipeline.declared().archive().is_some_and(|archive| archive.keep_for.is_none());
            told::pruned(archive.place(), &pruned, is_applied, keeps_all, form)?;
            Ok(Exit::Fine)
        }
    }
}

async fn of(pipeline: &Pipeline) -> Result<Vec<Manifest>, Failure> {
    let kept = pipeline.archive()?.list(pipeline.name(), None, None).await;
    kept.map_err(|error| landonce::Error::from(error).into())
}

async fn verify(pipeline: &Pipeline, form: OutputForm) -> Result<Exit, Failure> {
    let archive = pipeline.archive()?;
    let mut checked = 0;
    let mut damaged: Vec<(Manifest, String)> = Vec::new();
    for manifest in of(pipeline).await? {
        match archive.verify(&manifest).await {
            Ok(()) => {}
            Err(error) if error.is_damage() => damaged.push((manifest, error.to_string())),
            Err(error) => return Err(landonce::Error::from(error).into()),
        }
        checked += 1;
    }
    told::verified(archive.place(), checked, &damaged, form)?;
    Ok(if damaged.is_empty() { Exit::Fine } else { Exit::Findings })
}

async fn get(pipeline: &Pipeline, batch: &str, digest: Option<&str>) -> Result<Exit, Failure> {
    let archive = pipeline.archive()?;
    let found = archive.of_batch(pipeline.name(), batch).await.map_err(landonce::Error::from)?;
    let wanted = digest.unwrap_or_default().to_ascii_lowercase();
    let found: Vec<Manifest> = found.into_iter().filter(|one| one.digest.starts_with(&wanted)).collect();
    let one = match found.as_slice() {
        [one] => one,
        [] => {
            return Err(Failure::usage(
                format!("the archive at `{}` has no such batch of {}", archive.place(), pipeline.name()),
                "`landonce archive list` shows what it has",
            ));
        }
        several => {
            let digests: Vec<&str> = several.iter().map(|one| one.digest.as_str()).collect();
            return Err(Failure::usage(
                format!("{} contents were delivered under the id `{batch}`", several.len()),
                format!("say which one, with --digest: {}", digests.join(", ")),
            ));
        }
    };
    let mut file = archive.open_verified(one).await.map_err(landonce::Error::from)?;
    blocking(move || report::copy(&mut file)).await?;
    Ok(Exit::Fine)
}
