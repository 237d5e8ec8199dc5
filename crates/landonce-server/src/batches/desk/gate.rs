//! The gate before every COMMIT: once it is shut, none is sent any more, so that what hadn't come to it is undone, and can be told
//! so. A COMMIT that has been sent is waited for, because only its answer tells.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::task::AbortHandle;

/// What stands between batches and their COMMIT. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    inner: Arc<Mutex<Inner>>,
    count: Arc<watch::Sender<usize>>,
}

#[derive(Debug, Default)]
struct Inner {
    is_shut: bool,
    last: u64,
    at_work: HashMap<u64, AtWork>,
}

#[derive(Debug, Default)]
struct AtWork {
    /// It has sent a COMMIT. It stays so during retries, because an unanswered one may have landed.
    has_sent: bool,
    is_undone: bool,
    task: Option<AbortHandle>,
}

/// A batch at work, until it is dropped.
#[derive(Debug)]
pub(crate) struct Pass {
    id: u64,
    gate: Gate,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { inner: Arc::default(), count: Arc::new(watch::Sender::new(0)) }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        // A panic elsewhere can't leave a state that is wrong.
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets a batch begin; not any more once the gate is shut.
    pub(crate) fn enter(&self) -> Option<Pass> {
        self.with(|inner| {
            if inner.is_shut {
                return None;
            }
            inner.last += 1;
            inner.at_work.insert(inner.last, AtWork::default());
            self.count.send_replace(inner.at_work.len());
            Some(Pass { id: inner.last, gate: self.clone() })
        })
    }

    pub(super) fn len(&self) -> usize {
        self.with(|inner| inner.at_work.len())
    }

    pub(super) async fn is_empty(&self) {
        // The sender is in this very struct.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    pub(super) fn shut(&self) -> usize {
        let undone: Vec<_> = self.with(|inner| {
            inner.is_shut = true;
            let undone = inner.at_work.values_mut().filter(|work| !work.has_sent);
            undone
                .map(|work| {
                    work.is_undone = true;
                    work.task.clone()
                })
                .collect()
        });
        for task in undone.iter().flatten() {
            // Its connection is dropped with it, and the database rolls back. Where a thread is at it (SQLite) the gate stops it.
            task.abort();
        }
        undone.len()
    }
}

impl Pass {
    /// The task that does the work, to be ended when the gate is shut.
    pub(crate) fn is_of(&self, task: &AbortHandle) {
        let is_late = self.gate.with(|inner| {
            let work = inner.at_work.entry(self.id).or_default();
            work.task = Some(task.clone());
            work.is_undone
        });
        if is_late {
            task.abort();
        }
    }

    /// The batch is about to send COMMIT; `false` when it must not.
    pub(crate) fn may_commit(&self) -> bool {
        self.gate.with(|inner| {
            let work = inner.at_work.entry(self.id).or_default();
            work.has_sent |= !work.is_undone;
            work.has_sent
        })
    }

    /// Whether the gate was shut before the batch came to its COMMIT.
    pub(crate) fn is_undone(&self) -> bool {
        self.gate.with(|inner| inner.at_work.get(&self.id).is_some_and(|work| work.is_undone))
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.gate.with(|inner| {
            inner.at_work.remove(&self.id);
            self.gate.count.send_replace(inner.at_work.len());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shut_gate_lets_no_commit_through_and_counts_what_it_undid() {
        let gate = Gate::new();
        let (one, two) = (gate.enter().unwrap(), gate.enter().unwrap());
        assert!(one.may_commit());
        assert_eq!(gate.shut(), 1);
        assert!(!one.is_undone(), "its COMMIT was sent: only the answer tells");
        assert!(one.may_commit(), "a retry looks for what became of it");
        assert!(two.is_undone() && !two.may_commit());
        assert!(gate.enter().is_none());
        drop((one, two));
        assert_eq!(gate.len(), 0);
    }
}
