//! Kills a program as a power cut would: with SIGKILL, at a named failpoint or at a moment chosen by chance.
//!
//! A program under test parks for ever at the failpoint that `LANDONCE_FAILPOINT` names, after it has said so on stderr;
//! there it is killed. For all other moments a threshold is set on what the program has done so far (what it has written,
//! the CPU time and the reads that the kernel counts), never on the clock of the wall. Comparing what is left is the
//! test's part.

mod child;
mod moment;

use tokio::process::Command;

use crate::wait;
use child::Child;

pub use child::Ended;
pub use moment::{Moment, Usage, usage};

/// The variable that names the failpoint to stop at.
pub const VARIABLE: &str = "LANDONCE_FAILPOINT";

/// The most seconds that anything here is waited for.
const PATIENCE: u64 = 180;

/// How a program that was to be killed came to its end.
#[derive(Debug)]
pub enum End {
    /// It was killed; this is what it had said by then.
    Killed(Ended),
    /// It had ended by itself before the moment came.
    Finished(Ended),
}

impl End {
    /// Whether it was killed.
    pub fn is_killed(&self) -> bool {
        matches!(self, Self::Killed(_))
    }
}

/// A program that waits at a failpoint.
#[derive(Debug)]
pub struct Parked {
    child: Child,
}

impl Parked {
    /// Its process id.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Kills it and waits until it is gone.
    ///
    /// # Panics
    ///
    /// When it is not gone after a minute.
    pub async fn kill(self) -> Ended {
        self.child.kill().await
    }
}

/// Runs the command until it is parked at the failpoint, and leaves it there: another one may now meet its open
/// transaction.
///
/// # Errors
///
/// [`Ended`] when the program ended without having come to the failpoint.
///
/// # Panics
///
/// When it can't be started, or does neither within three minutes.
pub async fn park(command: impl Into<Command>, failpoint: &str) -> Result<Parked, Ended> {
    let mut command = command.into();
    command.env(VARIABLE, failpoint);
    let mut child = Child::start(command);
    let line = format!("landonce: at failpoint {failpoint}");
    let what = format!("the program to come to the failpoint {failpoint}, or to end");
    let is_there = wait::until(PATIENCE, &what, async || {
        if child.has_said(&line) {
            return Some(true);
        }
        child.has_ended().then_some(false)
    })
    .await;
    // Its last words may be read after its end.
    if is_there { Ok(Parked { child }) } else { Err(child.end().await) }
}

/// Runs the command until it is parked at the failpoint, and kills it there.
///
/// # Errors
///
/// As [`park`].
///
/// # Panics
///
/// As [`park`].
pub async fn at_failpoint(command: impl Into<Command>, failpoint: &str) -> Result<Ended, Ended> {
    Ok(park(command, failpoint).await?.kill().await)
}

/// Runs the command and kills it as soon as the moment has come, unless it ends before.
///
/// # Panics
///
/// When it can't be started, or neither happens within a minute.
pub async fn kill_at(command: impl Into<Command>, moment: Moment) -> End {
    let mut child = Child::start(command.into());
    let what = format!("the program to come to {moment:?}, or to end");
    let has_come = wait::until(PATIENCE, &what, async || {
        if child.has_ended() {
            return Some(false);
        }
        moment.has_come(&child).then_some(true)
    })
    .await;
    if has_come { End::Killed(child.kill().await) } else { End::Finished(child.end().await) }
}
