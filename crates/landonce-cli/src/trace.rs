//! The log: off, unless `-v` or `LANDONCE_LOG` asks for it, or the command is a service; always on stderr.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A line for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// Starts the log at `-v`, `-vv`, `-vvv`, or as `LANDONCE_LOG` says (`landonce=debug`), which wins. A service has one without
/// being asked, in its `form`.
pub(crate) fn start(verbose: u8, form: Option<Form>) {
    let asked = std::env::var("LANDONCE_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let verbose = if form.is_some() { verbose.max(1) } else { verbose };
    let filter = match (asked, verbose) {
        (Some(filter), _) => filter,
        (None, 0) => return, // setting a subscriber up costs more than a redelivery
        (None, 1) => of_ours("info"),
        (None, 2) => of_ours("debug"),
        (None, _) => "trace".to_owned(),
    };
    let is_coloured =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured && form != Some(Form::Json));
    if form == Some(Form::Json) { log.json().flatten_event(true).init() } else { log.init() }
}

fn of_ours(level: &str) -> String {
    let crates = ["landonce", "landonce_store", "landonce_deliver", "landonce_server", "landonce_stream"];
    crates.map(|name| format!("{name}={level}")).join(",")
}
