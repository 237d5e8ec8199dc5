//! A server private to this process, by one of `scripts/private-*`, which scripts/test uses too.
//!
//! The script ends its server when its standard input ends; this process holds the other end for as long as it lives,
//! however it dies.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::thread;

use rand::Rng;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/");

/// Starts the script; `what` is its server's name. The server lives as long as the returned pipe is open.
pub(crate) fn start(script: &str, what: &str) -> Result<(String, Option<ChildStdin>), String> {
    // Its own process group: Ctrl-C ends the tests, and their end ends the server, in this order.
    let mut watcher = Command::new("sh")
        .arg(format!("{SCRIPTS}{script}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("no private {what} server: sh: {error}"))?;
    let alive = watcher.stdin.take();
    let mut url = String::new();
    BufReader::new(watcher.stdout.take().expect("stdout is piped"))
        .read_line(&mut url)
        .map_err(|error| format!("no private {what} server: {error}"))?;
    if url.is_empty() {
        let mut said = String::new();
        // What can't be read can't be shown; the message below stands without it.
        let _ = watcher.stderr.take().expect("stderr is piped").read_to_string(&mut said);
        let _ = watcher.wait();
        return Err(format!("no private {what} server: {}", said.trim()));
    }
    Ok((url.trim().to_owned(), alive))
}

/// The test's name (its thread's), made unique, in the 63 bytes of a PostgreSQL name, the 64 of MariaDB's.
pub(crate) fn unique_name() -> String {
    let test = thread::current().name().unwrap_or("test").replace("::", "_");
    let test: String =
        test.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect::<String>();
    format!("t_{:08x}_{}", rand::rng().next_u32(), test.to_ascii_lowercase())
}
