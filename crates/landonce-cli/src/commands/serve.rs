//! `landonce serve`: batches and webhooks over HTTP, and a page that shows what happened.

pub(super) mod check;
mod set_up;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Subcommand;
use landonce::Kind;
use landonce_server::App;
use landonce_server::config::Token;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::args::{OutputForm, StoreArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::report;
use crate::trace;

const EXAMPLES: &str = "\
Examples:
  landonce serve pipelines/                                   # every pipeline file of the folder, on 127.0.0.1:8080
  landonce serve orders.yaml --store postgres://app@db/shop
  landonce serve token                                        # a new token, and the hash to declare
  landonce serve pipelines/ --config serve.yaml --log json    # tokens, TLS, limits, delivery
  curl -fsS --data-binary @events.ndjson -H 'Idempotency-Key: \"2026-06-01\"' localhost:8080/v1/pipelines/orders/batches

Exit codes: 0 it was told to stop, and every request has its answer; 2 could not.";

/// `landonce serve`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) action: Option<Action>,
    /// Pipeline files, or folders of them.
    #[arg(value_name = "PIPELINES", required = true)]
    pipelines: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Where to listen; 127.0.0.1:8080 unless the server's file says otherwise.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The file that says who may do what, and how much of it (docs/reference/serve.md).
    #[arg(long, value_name = "SERVE.yaml")]
    config: Option<PathBuf>,
    /// How the log is written, on stderr.
    #[arg(long, value_name = "FORM", value_enum, default_value = "text")]
    log: trace::Form,
}

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Ask a server whether it is ready (0) or not (1): for containers, which have no curl.
    Check {
        /// What to ask.
        #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080/readyz")]
        url: String,
    },
    /// Print a new token once, and the hash to declare in the server's file.
    Token,
}

impl Args {
    pub(super) fn is_token(&self) -> bool {
        matches!(self.action, Some(Action::Token))
    }

    pub(super) fn log(&self) -> Option<trace::Form> {
        self.action.is_none().then_some(self.log)
    }
}

/// A checked `serve`.
#[derive(Debug)]
pub(crate) struct Job {
    app: App,
    listen: SocketAddr,
}

pub(super) fn validate(args: &Args) -> Result<Job, Failure> {
    set_up::validate(args)
}

#[derive(Serialize)]
struct Made {
    token: String,
    hash: String,
}

/// `landonce serve token`
pub(super) fn token(form: OutputForm) -> Result<Exit, Failure> {
    let (token, hash) = Token::generate();
    if form.is_json() {
        report::json(&Made { token, hash })?;
    } else {
        report::print(&format!("{token}\n"))?;
        report::say(
            "it is shown only now. Give it to whoever is to use it, and declare its hash in the server's file:",
        );
        report::say(&format!("  tokens:\n    - {{name: …, hash: '{hash}', may: [write]}}"));
    }
    Ok(Exit::Fine)
}

pub(super) async fn run(job: Job, gate: Gate) -> Result<Exit, Failure> {
    gate.ends_by_itself();
    match job.app.store().migrate().await {
        // It is made by the first batch, too; until then `/readyz` tells.
        Err(error) if error.kind() == Kind::Connect => {
            report::say(&format!("the store can't be reached yet: {error}"));
        }
        made => made?,
    }
    let listener = TcpListener::bind(job.listen).await.map_err(|error| {
        Failure::usage(
            format!("cannot listen on {}: {error}", job.listen),
            "is another server there already?",
        )
    })?;
    let at = listener.local_addr().map_or(job.listen, |at| at);
    let scheme = if job.app.config().tls().is_some() { "https" } else { "http" };
    report::say(&format!("listening on {scheme}://{at}"));
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
