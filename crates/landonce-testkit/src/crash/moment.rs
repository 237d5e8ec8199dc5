//! Moments in a program's life that don't depend on the wall clock: how much it has said, read, or reckoned.

use std::time::Duration;

use rand::{Rng, RngExt};
use tokio::process::Command;

use super::PATIENCE;
use super::child::{Child, Ended};
use crate::wait;

/// A moment in the life of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It has written so many bytes to stdout.
    StdoutBytes(u64),
    /// It has written so many lines to stderr.
    StderrLines(u64),
    /// It has read so many bytes with read calls (files and pipes, not sockets), by the kernel's count. Linux only.
    ReadBytes(u64),
    /// Its threads that still run have used so much CPU time, by the kernel's count. Linux only.
    CpuTime(Duration),
}

impl Moment {
    pub(super) fn has_come(self, child: &Child) -> bool {
        match self {
            Self::StdoutBytes(bytes) => child.stdout.with(|said| said.len() as u64 >= bytes),
            // What n line ends divide is n + 1 pieces.
            Self::StderrLines(lines) => {
                child.stderr.with(|said| said.split(|&byte| byte == b'\n').count() as u64 > lines)
            }
            Self::ReadBytes(bytes) => child.id().and_then(read_bytes).is_some_and(|read| read >= bytes),
            Self::CpuTime(time) => child.id().and_then(cpu_time).is_some_and(|used| used >= time),
        }
    }
}

/// What a whole run of a program used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// CPU time.
    pub cpu_time: Duration,
    /// Bytes read from files and pipes.
    pub read_bytes: u64,
}

impl Usage {
    /// A moment in a run like the one measured: equally likely at any part of its CPU time.
    pub fn random_moment(&self, rng: &mut impl Rng) -> Moment {
        let most = u64::try_from(self.cpu_time.as_nanos()).unwrap_or(u64::MAX).max(1);
        Moment::CpuTime(Duration::from_nanos(rng.random_range(0..most)))
    }
}

/// Runs the command to its end, and tells what it used up to shortly before it.
///
/// # Panics
///
/// When it can't be started, doesn't end within a minute, or the kernel doesn't tell (it does on Linux).
pub async fn usage(command: impl Into<Command>) -> (Usage, Ended) {
    let mut child = Child::start(command.into());
    let mut usage = None;
    wait::until(PATIENCE, "the program to end", async || {
        if let Some(id) = child.id()
            && let (Some(cpu_time), Some(read_bytes)) = (cpu_time(id), read_bytes(id))
        {
            usage = Some(Usage { cpu_time, read_bytes });
        }
        child.has_ended().then_some(())
    })
    .await;
    (usage.expect("/proc tells what a process uses"), child.end().await)
}

/// Nanoseconds on a CPU, summed over the threads.
fn cpu_time(id: u32) -> Option<Duration> {
    let mut nanoseconds = 0;
    for thread in std::fs::read_dir(format!("/proc/{id}/task")).ok()? {
        // A thread may end between the listing and the reading.
        let Ok(text) = std::fs::read_to_string(thread.ok()?.path().join("schedstat")) else { continue };
        nanoseconds += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanoseconds))
}

fn read_bytes(id: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("rchar:"))?.trim().parse().ok()
}
