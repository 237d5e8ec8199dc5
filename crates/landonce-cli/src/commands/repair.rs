//! `landonce repair`: mends tables that other pipelines have broken. A plan first, and `--apply` to act.

mod dedupe;
mod keys;
mod lost;
mod notices;
mod show;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;

/// `landonce repair`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find rows that are one by their natural key, keep the first, add the missing constraint.
    Dedupe(Box<dedupe::Args>),
    /// Give every row the key that another declaration of its identity makes.
    Keys(Box<keys::Args>),
    /// Find loads that fell short of the ones before and took rows away, and bring the rows back.
    Lost(Box<lost::Args>),
    /// Find notices that went out twice or in error, and enqueue one correction per recipient that names them all.
    Notices(Box<notices::Args>),
}

/// How any repair is made.
#[derive(Debug, Clone, clap::Args)]
struct RepairArgs {
    /// Act: one transaction, and the script that takes it back beside. Without it nothing is written.
    #[arg(long)]
    apply: bool,

    /// The folder of the script.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    script_folder: PathBuf,

    /// The longest wait for writers to let go of the table, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    lock_timeout: u64,

    /// How many examples are shown.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,

    /// The repair's id, which names its script; a new one otherwise.
    #[arg(long, value_name = "UUID")]
    run_id: Option<uuid::Uuid>,
}

impl RepairArgs {
    fn options(&self, gate: &Gate) -> landonce::repair::Options {
        let gate = gate.clone();
        landonce::repair::Options {
            run_id: self.run_id.unwrap_or_else(uuid::Uuid::now_v7),
            folder: self.script_folder.clone(),
            lock_timeout: Duration::from_secs(self.lock_timeout),
            examples: self.limit as usize,
            at_commit: Some(Arc::new(move || gate.commit())),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.script_folder.is_dir() {
            return Ok(());
        }
        Err(Failure::usage(
            format!("--script-folder {}: no such folder", self.script_folder.display()),
            "make it first, or leave it out for the current one",
        ))
    }
}

/// A checked `repair …`.
#[derive(Debug)]
pub(crate) enum Job {
    /// `dedupe`
    Dedupe(dedupe::Job),
    /// `keys`
    Keys(keys::Job),
    /// `lost`
    Lost(Box<lost::Job>),
    /// `notices`
    Notices(Box<notices::Job>),
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    match args.command {
        Command::Dedupe(args) => dedupe::validate(*args).map(Job::Dedupe),
        Command::Keys(args) => keys::validate(*args).map(Job::Keys),
        Command::Lost(args) => lost::validate(*args).map(Box::new).map(Job::Lost),
        Command::Notices(args) => notices::validate(*args).map(Box::new).map(Job::Notices),
    }
}

pub(super) async fn run(job: Job, form: OutputForm, gate: Gate) -> Result<Exit, Failure> {
    match job {
        Job::Dedupe(job) => dedupe::run(job, form, &gate).await,
        Job::Keys(job) => keys::run(job, form, &gate).await,
        Job::Lost(job) => lost::run(*job, form, &gate).await,
        Job::Notices(job) => notices::run(*job, form, &gate).await,
    }
}
