//! A server private to this process, by one of `scripts/private-*`, which scripts/test uses too.
//!
//! The script ends its server when its standard input ends; this process holds the other end for as long as it lives,
//! however it dies.

use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use rand::Rng;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/");

/// A server that a script has started. It lives as long as this.
#[derive(Debug)]
pub(crate) struct Server {
    url: String,
    alive: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Server {
    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Tells the script something, and waits for what it says to that.
    pub(crate) fn ask(&mut self, word: &str) -> io::Result<String> {
        writeln!(self.alive, "{word}")?;
        let mut answer = String::new();
        self.said.read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }
}

/// Starts the script; `what` is its server's name.
pub(crate) fn start(script: &str, options: &[&str], what: &str) -> Result<Server, String> {
    // Its own process group: Ctrl-C ends the tests, and their end ends the server, in this order.
    let mut watcher = Command::new("sh")
        .arg(format!("{SCRIPTS}{script}"))
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("no private {what} server: sh: {error}"))?;
    let alive = watcher.stdin.take().expect("stdin is piped");
    let mut said = BufReader::new(watcher.stdout.take().expect("stdout is piped"));
    let mut url = String::new();
    said.read_line(&mut url).map_err(|error| format!("no private {what} server: {error}"))?;
    if url.is_empty() {
        let mut said = String::new();
        // What can't be read can't be shown; the message below stands without it.
        let _ = watcher.stderr.take().expect("stderr is piped").read_to_string(&mut said);
        let _ = watcher.wait();
        return Err(format!("no private {what} server: {}", said.trim()));
    }
    Ok(Server { url: url.trim().to_owned(), alive, said })
}

/// The test's name (its thread's), made unique, in the 63 bytes of a PostgreSQL name, the 64 of MariaDB's.
pub(crate) fn unique_name() -> String {
    let test = thread::current().name().unwrap_or("test").replace("::", "_");
    let test: String =
        test.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect::<String>();
    format!("t_{:08x}_{}", rand::rng().next_u32(), test.to_ascii_lowercase())
}
