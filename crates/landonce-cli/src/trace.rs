//! The log: off, unless `-v` or `LANDONCE_LOG` asks for it; always on stderr.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Starts the log at `-v`, `-vv`, `-vvv`, or as `LANDONCE_LOG` says (`landonce=debug`), which wins.
pub(crate) fn start(verbose: u8) {
    let asked = std::env::var("LANDONCE_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let filter = match (asked, verbose) {
        (Some(filter), _) => filter,
        (None, 0) => return, // setting a subscriber up costs more than a redelivery
        (None, 1) => "landonce=info,landonce_store=info,landonce_deliver=info".to_owned(),
        (None, 2) => "landonce=debug,landonce_store=debug,landonce_deliver=debug".to_owned(),
        (None, _) => "trace".to_owned(),
    };
    let is_coloured =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured)
        .init();
}
