//! The server: the one that `LANDONCE_TEST_POSTGRES` names, else a private one, started once per process.
//!
//! The work is done by `scripts/private-postgres`, which scripts/test uses too. It ends the server when its standard input
//! ends; this process holds the other end for as long as it lives, however it dies.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::LazyLock;

use crate::address::Address;

/// The variable that names a server: a URL with the right to make databases.
pub const VARIABLE: &str = "LANDONCE_TEST_POSTGRES";

const PRIVATE_POSTGRES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/private-postgres");

/// The server's address, with a database to make others from.
pub(super) fn address() -> &'static Address {
    static SERVER: LazyLock<Result<Server, String>> = LazyLock::new(find);
    match &*SERVER {
        Ok(server) => &server.address,
        Err(message) => panic!("{message}"),
    }
}

struct Server {
    address: Address,
    /// A private server lives as long as this is open. Statics aren't dropped: the kernel closes it.
    _alive: Option<ChildStdin>,
}

fn find() -> Result<Server, String> {
    match std::env::var(VARIABLE) {
        Ok(url) if !url.is_empty() => Ok(Server { address: Address::parse(&url), _alive: None }),
        _ => start(),
    }
}

fn start() -> Result<Server, String> {
    // Its own process group: Ctrl-C ends the tests, and their end ends the server, in this order.
    let mut watcher = Command::new("sh")
        .arg(PRIVATE_POSTGRES)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("no private PostgreSQL server: sh: {error}"))?;
    let alive = watcher.stdin.take();
    let mut url = String::new();
    BufReader::new(watcher.stdout.take().expect("stdout is piped"))
        .read_line(&mut url)
        .map_err(|error| format!("no private PostgreSQL server: {error}"))?;
    if url.is_empty() {
        let mut said = String::new();
        // What can't be read can't be shown; the message below stands without it.
        let _ = watcher.stderr.take().expect("stderr is piped").read_to_string(&mut said);
        let _ = watcher.wait();
        return Err(format!("no private PostgreSQL server: {}", said.trim()));
    }
    Ok(Server { address: Address::parse(url.trim()), _alive: alive })
}
