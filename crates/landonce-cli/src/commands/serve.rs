//! `landonce serve`: batches and webhooks over HTTP, and a page that shows what happened.

use std::net::SocketAddr;
use std::path::PathBuf;

use landonce::{Pipeline, Store};
use landonce_server::{App, Config};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::args::{self, OutputForm, StoreArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::place;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  landonce serve pipelines/                                   # every pipeline file of the folder, on 127.0.0.1:8080
  landonce serve orders.yaml --store postgres://app@db/shop
  curl -fsS --data-binary @events.ndjson -H 'Idempotency-Key: \"2026-06-01\"' localhost:8080/v1/pipelines/orders/batches

Exit codes: 0 it was told to stop, and every request has its answer; 2 could not.";

/// `landonce serve`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Pipeline files, or folders of them.
    #[arg(value_name = "PIPELINES", required = true)]
    pipelines: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Where to listen.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The file that says who may do what, and how much of it (docs/reference/serve.md).
    #[arg(long, value_name = "SERVE.yaml")]
    config: Option<PathBuf>,
}

/// A checked `serve`.
#[derive(Debug)]
pub(crate) struct Job {
    app: App,
    listen: SocketAddr,
}

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    let config = match &args.config {
        None => Config::default(),
        Some(path) => read(path)?,
    };
    let mut pipelines = Vec::new();
    for path in &args.pipelines {
        for file in files(path)? {
            pipelines.push(args::pipeline_file(&file)?);
        }
    }
    let store = store(&args.store, &config, &pipelines)?;
    Ok(Job { app: App::new(config, store, pipelines), listen: args.listen })
}

fn read(path: &std::path::Path) -> Result<Config, Failure> {
    let told = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{}: {error}", path.display()), "see docs/reference/serve.md")
    };
    let yaml = std::fs::read_to_string(path).map_err(|error| told(&error))?;
    Config::parse(&yaml).map_err(|error| told(&error))
}

/// A folder's pipeline files by name, or the file itself.
fn files(path: &std::path::Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let told = |error: std::io::Error| {
        Failure::usage(format!("{}: {error}", path.display()), "give pipeline files, or a folder of them")
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(told)? {
        let path = entry.map_err(told)?.path();
        if path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The one store of all of them.
fn store(args: &StoreArgs, config: &Config, pipelines: &[Pipeline]) -> Result<Store, Failure> {
    let first = pipelines.iter().find_map(|pipeline| pipeline.store_url().transpose()).transpose()?;
    place::choose_of(args, config.store.as_deref().or(first.as_deref()))
}

pub(super) async fn run(job: Job, form: OutputForm, gate: Gate) -> Result<Exit, Failure> {
    let _ = form;
    gate.ends_by_itself();
    job.app.store().migrate().await?;
    let listener = TcpListener::bind(job.listen).await.map_err(|error| {
        Failure::usage(
            format!("cannot listen on {}: {error}", job.listen),
            "is another server there already?",
        )
    })?;
    let at = listener.local_addr().map_or(job.listen, |at| at);
    report::say(&format!("listening on http://{at}"));
    let (say_stop, stop) = watch::channel(false);
    let stopping = tokio::spawn(async move {
        gate.stopped().await;
        report::say("stopping; requests that were taken get their answers");
        let _ = say_stop.send(true);
        // A dropped sender would say that nobody can stop it.
        std::future::pending::<()>().await;
    });
    let served = landonce_server::serve(job.app, listener, stop).await;
    stopping.abort();
    served.map_err(|error| Failure::usage(format!("the listener failed: {error}"), "start it again"))?;
    Ok(Exit::Fine)
}
