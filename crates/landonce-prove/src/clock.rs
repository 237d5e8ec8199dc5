//! Another time of day for the command (libfaketime) and, where its binaries are at hand, for a PostgreSQL server.
//!
//! libfaketime sits between a program and its C library, so it moves no clock of programs that don't use one (Go, static
//! binaries), nor bash's own `printf '%(%F)T'` (`date` is moved). Its release 0.9.10 has a fault with a monotonic clock that is
//! left alone: a sleep until an absolute time fails with EINVAL, which is how `time.sleep` of Python 3.11 and later sleeps. With
//! a monotonic clock that is moved too, waits for locks and queues never end, which is worse; so it stays.
//!
//! `server` runs PostgreSQL; `programs` finds its binaries and runs them.

mod programs;
mod server;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use server::Server;

/// Where libfaketime is on this machine (LANDONCE_FAKETIME, then the usual places).
pub fn library() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os("LANDONCE_FAKETIME") {
        return Some(PathBuf::from(chosen)).filter(|file| file.is_file());
    }
    let mut folders = programs::folders_in("/usr/lib", |name| name.contains("-linux-"));
    folders.extend(["/usr/lib", "/usr/lib64", "/usr/local/lib", "/opt/homebrew/lib"].map(PathBuf::from));
    let names = if cfg!(target_os = "macos") {
        ["libfaketimeMT.1.dylib", "libfaketime.1.dylib"]
    } else {
        ["libfaketimeMT.so.1", "libfaketime.so.1"]
    };
    folders
        .into_iter()
        .flat_map(|folder| names.map(|name| folder.join("faketime").join(name)))
        .find(|file| file.is_file())
}

/// The variables that move a command's clock ahead by so much, in whole seconds. The monotonic clock stays, and so do the
/// times of files.
pub fn environment(library: &Path, ahead: Duration) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = Vec::new();
    if cfg!(target_os = "macos") {
        variables.push(("DYLD_INSERT_LIBRARIES".into(), library.into()));
        variables.push(("DYLD_FORCE_FLAT_NAMESPACE".into(), "1".into()));
    } else {
        // What the user preloads stays: it comes after, as it would without us.
        let mut preload = library.as_os_str().to_owned();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        variables.push(("LD_PRELOAD".into(), preload));
    }
    variables.push(("FAKETIME".into(), format!("+{}s", ahead.as_secs()).into()));
    // The name since 0.9.9, and the one before.
    variables.push(("FAKETIME_DONT_FAKE_MONOTONIC".into(), "1".into()));
    variables.push(("DONT_FAKE_MONOTONIC".into(), "1".into()));
    variables.push(("NO_FAKE_STAT".into(), "1".into()));
    // Releases after 0.9.10 know it. Before, a killed command leaves files in /dev/shm, over which a later process of the
    // same number can stumble.
    variables.push(("FAKETIME_DISABLE_SHM".into(), "1".into()));
    variables
}
