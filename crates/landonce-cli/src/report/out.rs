//! stdout and stderr: colour where it is welcome, and no panic when nobody reads any more.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::failure::Failure;

/// Writes text for people to stdout; colours only where the reader shows them.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    heard(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// Writes bytes to stdout exactly.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    heard(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes all that a reader has to stdout exactly.
pub(crate) fn copy(from: &mut impl io::Read) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    heard(io::copy(from, &mut stdout).and_then(|_| stdout.flush()))
}

/// Writes one JSON object to stdout.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| Failure::system("can't make the JSON output", error.into()))?;
    text.push(b'\n');
    bytes(&text)
}

/// Says something on stderr. That nobody hears it is no failure.
pub(crate) fn say(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stderr.write_all(b"\n");
    }
}

/// A closed pipe (`… | head`) is the reader's choice; anything else is a failure.
fn heard(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::system("can't write to stdout", error))
        }
        _ => Ok(()),
    }
}
