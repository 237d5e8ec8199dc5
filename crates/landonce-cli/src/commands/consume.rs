//! `landonce consume`: lands what a stream delivers, until a signal stops it or, with `--until-end`, nothing more is there.

use std::path::PathBuf;
use std::sync::Arc;

use landonce::{Pipeline, Store};
use landonce_core::pipeline::Feed;
use landonce_stream::desk::Settings;
use landonce_stream::{Decode, Options, Source, Tally};
use serde::Serialize;
use tokio::sync::watch;

use crate::args::{OutputForm, StoreArgs, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::{report, trace};

const EXAMPLES: &str = "\
Examples:
  landonce consume flights.yaml                 # a service: until SIGTERM, which lets what was taken land
  landonce consume flights.yaml --until-end     # from cron: what is there now
  landonce position list flights.yaml           # how far it is

As many workers as the topic has partitions share the work; each is a process of its own, on any machine. A stream of NATS is divided
by `--part`. A build needs the feature `kafka` or `nats`.

Exit codes: 0 it was told to stop, or came to the end; 2 it could not go on, and what had landed has landed.";

/// `landonce consume`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The pipeline file; its `source` is a stream (docs/guides/consume.md).
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
    /// End when every partition that the worker has is landed to its end.
    #[arg(long)]
    until_end: bool,
    /// With NATS: a part that this worker reads, as the pipeline declares it; may come several times. All of them when left out.
    #[arg(long = "part", value_name = "SUBJECT")]
    parts: Vec<String>,
    /// The most transactions at once. SQLite has one writer whatever this says.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    at_once: u16,
    /// How the log is written, to stderr.
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    log: trace::Form,
}

impl Args {
    pub(super) fn log(&self) -> trace::Form {
        self.log
    }
}

/// A checked `consume`.
pub(crate) struct Job {
    pipeline: Pipeline,
    store: Store,
    source: Box<dyn Source>,
    settings: Settings,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("pipeline", &self.pipeline.name()).finish_non_exhaustive()
    }
}

/// The JSON object.
#[derive(Serialize)]
struct Report {
    pipeline: String,
    store: String,
    #[serde(flatten)]
    tally: Tally,
}

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    let (store, pipeline) = pipeline_store(Some(&args.pipeline), &args.store)?;
    let Some(pipeline) = pipeline else { return Err(Failure::usage("no pipeline", "name a pipeline file")) };
    let source = source(&pipeline, &args.parts)?;
    let settings = Settings {
        at_once: args.at_once.into(),
        until_end: args.until_end,
        decode: decoder(&pipeline)?,
        ..Settings::default()
    };
    Ok(Job { pipeline, store, source, settings })
}

/// What decodes Avro and Protobuf, where the messages are that.
fn decoder(pipeline: &Pipeline) -> Result<Option<Arc<dyn Decode>>, Failure> {
    let shape = &pipeline.declared().source().shape;
    if shape.registry().is_none() {
        return Ok(None);
    }
    #[cfg(feature = "registry")]
    {
        let decoder = landonce_stream::registry::Decoder::of(shape, landonce::environment::variable);
        let decoder = decoder.map_err(|error| {
            Failure::usage(
                error.to_string(),
                "`source.message.registry` says where it is, and names the variables of the login",
            )
        })?;
        Ok(decoder.map(|decoder| Arc::new(decoder) as Arc<dyn Decode>))
    }
    #[cfg(not(feature = "registry"))]
    Err(Failure::usage(
        "this build of landonce can't read `avro` and `protobuf`",
        "build it with `--features registry`",
    ))
}

fn source(pipeline: &Pipeline, parts: &[String]) -> Result<Box<dyn Source>, Failure> {
    if !parts.is_empty() && !matches!(pipeline.declared().source().feed, Feed::Nats(_)) {
        return Err(Failure::usage(
            "`--part` goes with `source.nats`",
            "a Kafka group divides its partitions by itself",
        ));
    }
    match &pipeline.declared().source().feed {
        #[cfg(feature = "kafka")]
        Feed::Kafka(_) => Ok(Box::new(landonce_stream::kafka::Kafka::open(pipeline)?)),
        #[cfg(feature = "nats")]
        Feed::Nats(_) => Ok(Box::new(landonce_stream::nats::Nats::open(pipeline, parts)?)),
        feed if feed.is_stream() => Err(Failure::usage(
            format!("this build of landonce can't read `source.{}`", feed.as_str()),
            format!("build it with `--features {}`", feed.as_str()),
        )),
        feed => Err(Failure::usage(
            format!("`{}` reads `source.{}`, which is no stream", pipeline.name(), feed.as_str()),
            "`landonce run` lands it; `consume` is for `source.kafka` and `source.nats`",
        )),
    }
}

pub(super) async fn run(job: Job, form: OutputForm, gate: Gate) -> Result<Exit, Failure> {
    gate.ends_by_itself();
    let (say_stop, stop) = watch::channel(false);
    let stopping = tokio::spawn(async move {
        gate.stopped().await;
        report::say("stopping; what was taken is landed");
        // Nobody listens any more when the worker has ended.
        let _ = say_stop.send(true);
        // A dropped sender would say that nobody can stop it.
        std::future::pending::<()>().await;
    });
    let options = Options { settings: job.settings, ..Options::default() };
    let done = landonce_stream::consume(&job.pipeline, &job.store, job.source, options, stop).await;
    stopping.abort();
    let tally = done?;
    let Tally { batches, messages, fenced, .. } = tally;
    if form.is_json() {
        let pipeline = job.pipeline.name().to_owned();
        report::json(&Report { pipeline, store: job.store.place(), tally })?;
    } else {
        let lost = if fenced > 0 { format!("; parts lost to others {fenced}") } else { String::new() };
        let counts = report::counts(&tally.outcome);
        report::print(&format!("{messages} messages in {batches} batches: {counts}{lost}\n"))?;
    }
    Ok(Exit::Fine)
}
