//! SIGINT and SIGTERM: stop at once, and say truthfully what became of the batch.
//!
//! Until COMMIT is sent, stopping means that nothing lands. From then on only the answer tells, so the [`Gate`] lets a
//! batch that is at its COMMIT finish, and keeps any other from ever getting there. A second signal doesn't wait.
//! Where several batches land at once, those at their COMMIT finish, and then the others are kept from theirs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A signal that asks the program to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Signal {
    /// The signal's number.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Interrupt => 2,
            Self::Terminate => 15,
        }
    }
}

/// The command was stopped before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupted {
    /// By which signal.
    pub(crate) signal: Signal,
    /// Whether the batch at hand was written: no, yes (or it was between two), or nobody knows.
    pub(crate) is_written: IsWritten,
}

/// What became of the batch at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsWritten {
    /// Nothing of it.
    No,
    /// All of it; its receipt has been reported.
    Yes,
    /// There was nothing to write: what had been made for the work is cleared away.
    Cleared,
    /// Messages were being handed over, and nobody waited for what became of them.
    Unsettled,
    /// A COMMIT is unanswered and the second signal didn't let us wait.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Batches may come to their COMMIT.
    Open,
    /// No COMMIT will be sent any more.
    Shut,
    /// The command ends by itself when it is asked to, and what it says then counts.
    Serving,
    /// Nothing of the user's is written, and what was made for the work must be cleared away before the end.
    Clearing,
}

#[derive(Debug)]
struct Inner {
    phase: Phase,
    /// How many batches have sent a COMMIT whose outcome isn't known yet.
    committing: usize,
    is_stopping: bool,
}

/// What stands between a batch and its COMMIT.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    inner: Arc<Mutex<Inner>>,
    /// This batch has sent a COMMIT. It stays so during retries, because an unanswered one may have landed.
    has_sent: Arc<AtomicBool>,
}

impl Gate {
    fn new() -> Self {
        let inner = Inner { phase: Phase::Open, committing: 0, is_stopping: false };
        Self { inner: Arc::new(Mutex::new(inner)), has_sent: Arc::default() }
    }

    /// The gate for one of several batches that land at once.
    pub(crate) fn for_batch(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), has_sent: Arc::default() }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        // A panic elsewhere can't leave the two facts in a state that is wrong.
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A batch is about to send COMMIT. Never returns once the gate is shut: the process is ending.
    pub(crate) fn commit(&self) {
        let is_shut = self.with(|inner| {
            if inner.phase == Phase::Open && !self.has_sent.swap(true, Ordering::Relaxed) {
                inner.committing += 1;
            }
            inner.phase == Phase::Shut
        });
        if is_shut {
            loop {
                std::thread::park();
            }
        }
    }

    /// The batch's outcome is known and has been told; the next one may begin, unless the command is to stop.
    pub(crate) fn settled(&self) {
        self.with(|inner| {
            if self.has_sent.swap(false, Ordering::Relaxed) {
                inner.committing -= 1;
            }
            if inner.is_stopping {
                inner.shut();
            }
        });
    }

    /// Waits until the command is asked to stop and no COMMIT is unanswered.
    pub(crate) async fn closed(&self) {
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(50));
        while self.with(|inner| inner.phase != Phase::Shut) {
            ticks.tick().await;
        }
    }

    /// The command writes nothing of the user's; when it is asked to stop it clears up, and ends by itself.
    pub(crate) fn clears_up(&self) {
        self.with(|inner| inner.phase = Phase::Clearing);
    }

    /// The command ends by itself when it is asked to stop, as it would have otherwise: what it returns then is how it ended.
    pub(crate) fn ends_by_itself(&self) {
        self.with(|inner| inner.phase = Phase::Serving);
    }

    /// Waits until the command is asked to stop.
    pub(crate) async fn stopped(&self) {
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(50));
        while !self.is_stopping() {
            ticks.tick().await;
        }
    }

    /// Whether to stop before the next batch.
    pub(crate) fn is_stopping(&self) -> bool {
        self.with(|inner| inner.is_stopping)
    }

    /// Asks for the stop; `true` if it can be at once, because no COMMIT has been sent and none will be.
    fn shut(&self) -> bool {
        self.with(|inner| {
            inner.is_stopping = true;
            inner.shut();
            inner.phase == Phase::Shut
        })
    }
}

impl Inner {
    fn shut(&mut self) {
        if self.phase == Phase::Open && self.committing == 0 {
            self.phase = Phase::Shut;
        }
    }
}

/// Runs a command until it is done or a signal stops it.
pub(crate) async fn guard<T, F: Future<Output = T>>(
    command: impl FnOnce(Gate) -> F,
) -> Result<T, Interrupted> {
    let gate = Gate::new();
    let mut signals = Signals::new();
    let mut work = std::pin::pin!(command(gate.clone()));
    let mut stopped_by: Option<Signal> = None;
    loop {
        tokio::select! {
            done = &mut work => {
                return match stopped_by {
                    Some(_) if gate.with(|inner| inner.phase == Phase::Serving) => Ok(done),
                    // The command itself has reported what it had done by then.
                    Some(signal) => {
                        let cleared = gate.with(|inner| inner.phase == Phase::Clearing);
                        let is_written = if cleared { IsWritten::Cleared } else { IsWritten::Yes };
                        Err(Interrupted { signal, is_written })
                    }
                    None => Ok(done),
                };
            }
            signal = signals.next() => {
                if stopped_by.is_some() {
                    let is_serving = gate.with(|inner| inner.phase == Phase::Serving);
                    let is_written = if is_serving { IsWritten::Unsettled } else { IsWritten::Unknown };
                    return Err(Interrupted { signal, is_written });
                }
                if gate.shut() {
                    return Err(Interrupted { signal, is_written: IsWritten::No });
                }
                stopped_by = Some(signal);
            }
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        // Without a handler the default action is taken: the process ends, and its transaction with it.
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    async fn next(&mut self) -> Signal {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            let heard = match signal {
                Some(signal) => signal.recv().await,
                None => None,
            };
            if heard.is_none() {
                std::future::pending::<()>().await;
            }
        }
        tokio::select! {
            () = one(&mut self.interrupt) => Signal::Interrupt,
            () = one(&mut self.terminate) => Signal::Terminate,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_at_its_commit_is_waited_for_and_the_next_one_is_not_begun() {
        let gate = Gate::new();
        gate.commit();
        assert!(!gate.shut(), "COMMIT was sent: only the answer tells");
        assert!(gate.is_stopping());
        gate.settled();
        assert!(gate.shut());
    }

    #[test]
    fn of_several_batches_all_that_are_at_their_commit_are_waited_for() {
        let gate = Gate::new();
        let (one, two) = (gate.for_batch(), gate.for_batch());
        one.commit();
        one.commit();
        assert!(!gate.shut());
        two.commit();
        one.settled();
        assert!(!gate.shut(), "the other one has sent its own");
        two.settled();
        assert!(gate.shut());
    }

    #[test]
    fn a_shut_gate_lets_no_commit_through() {
        let gate = Gate::new();
        assert!(gate.shut());
        let late = gate.clone();
        let (told, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            late.commit();
            told.send(()).unwrap();
        });
        assert!(heard.recv_timeout(std::time::Duration::from_millis(50)).is_err());
    }

    #[test]
    fn an_unanswered_commit_stays_one_during_the_retries() {
        let gate = Gate::new();
        gate.commit();
        gate.commit();
        assert!(!gate.shut());
    }
}
