//! `landonce init`: a first pipeline file, proposed from one delivery or, better, from two of the same events.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use landonce::Batch;
use landonce::propose::{Proposal, propose};
use serde::Serialize;

use crate::args::OutputForm;
use crate::blocking::blocking;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::{self, Input};
use crate::report;

/// `landonce init`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A delivery to look at: a file, or - for stdin.
    #[arg(value_name = "SAMPLE")]
    sample: PathBuf,

    /// A second delivery of the same events: tells which fields change per attempt, and whether the sender's id is stable.
    #[arg(value_name = "SECOND")]
    second: Option<PathBuf>,

    /// Where to write the pipeline file; - is stdout.
    #[arg(long, value_name = "FILE", default_value = "pipeline.yaml")]
    out: PathBuf,

    /// Overwrite a file that is there.
    #[arg(long)]
    force: bool,
}

/// A checked `init`.
#[derive(Debug)]
pub(crate) struct Job {
    samples: Vec<Input>,
    to: Option<PathBuf>,
    is_forced: bool,
}

/// The JSON object.
#[derive(Serialize)]
struct Report<'a> {
    out: Option<String>,
    yaml: &'a str,
    findings: &'a [String],
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    let samples = input::expand(&std::iter::once(args.sample).chain(args.second).collect::<Vec<_>>())?;
    if samples.len() > 2 {
        return Err(Failure::usage(
            format!("{} samples: one delivery is looked at, or two of the same events", samples.len()),
            "name one file, or two",
        ));
    }
    let to = (args.out.as_os_str() != "-").then_some(args.out);
    if let Some(path) = to.as_deref().filter(|path| !args.force && path.exists()) {
        return Err(taken(path));
    }
    Ok(Job { samples, to, is_forced: args.force })
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    let mut samples: Vec<Batch> = Vec::new();
    for sample in &job.samples {
        samples.push(sample.open().await?);
    }
    let Proposal { yaml, findings } = blocking(move || Ok(propose(&samples)?)).await?;
    if let Some(path) = &job.to {
        write(path, &yaml, job.is_forced)?;
    }
    for finding in &findings {
        report::say(&format!("  {}", report::text(finding)));
    }
    let to = job.to.as_ref().map(|path| path.display().to_string());
    if form.is_json() {
        report::json(&Report { out: to, yaml: &yaml, findings: &findings })?;
    } else if let Some(path) = to {
        let path = report::line(&path).into_owned();
        report::print(&format!(
            "wrote {path}: read it, then\n  landonce plan {path}\n  landonce run {path}\n"
        ))?;
    } else {
        report::print(&yaml)?;
    }
    Ok(Exit::Fine)
}

/// Writes the file; one that appeared meanwhile is not overwritten either.
fn write(path: &Path, yaml: &str, is_forced: bool) -> Result<(), Failure> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    if is_forced {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options.open(path).and_then(|mut file| file.write_all(yaml.as_bytes()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => taken(path),
        _ => Failure::system(format!("can't write {}", path.display()), error),
    })
}

fn taken(path: &Path) -> Failure {
    Failure::usage(
        format!("{} exists already", path.display()),
        "name another file with --out, look at the proposal with --out -, or overwrite it with --force",
    )
}
