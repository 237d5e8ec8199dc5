//! Processes of a run that have left its group (`setsid`, a daemon): found by a variable that they inherit, where there is a
//! `/proc` that tells. One that has cleared its variables isn't found.

use std::ffi::OsString;
use std::fs;

use rand::Rng;
use rustix::process::{Pid, Signal, kill_process};

/// The variable by which the processes of a run are known.
const VARIABLE: &str = "LANDONCE_PROVE_RUN";

/// How often we look again: a process may have begun another while it was looked at.
const LOOKS: usize = 3;

/// The mark of one run.
#[derive(Debug)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        Self(format!("{:016x}", rand::rng().next_u64()))
    }

    /// The variable that every process of the run has.
    pub(super) fn variable(&self) -> (OsString, OsString) {
        (VARIABLE.into(), self.0.as_str().into())
    }

    /// Kills every process with this mark.
    pub(super) fn kill(&self) {
        for _ in 0..LOOKS {
            let found = self.processes();
            if found.is_empty() {
                return;
            }
            for process in found {
                // One that has gone meanwhile needs no signal.
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }

    fn processes(&self) -> Vec<Pid> {
        let entry = format!("{VARIABLE}={}", self.0);
        let mut found = Vec::new();
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let id = process.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            // Other users' can't be read, nor those that have just gone; a killed one has no variables any more.
            let (Some(id), Ok(variables)) = (id, fs::read(process.path().join("environ"))) else { continue };
            if variables.split(|&byte| byte == 0).any(|variable| variable == entry.as_bytes()) {
                found.push(id);
            }
        }
        found
    }
}
