//! What leaves nothing in the store: deliveries that were skipped or failed. Counted in memory since the server began, for the
//! overview; a program reads the same from `/metrics`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// Failures that are remembered.
const KEPT: usize = 50;

/// What was skipped, and what failed last.
#[derive(Debug)]
pub(crate) struct Lately {
    since: Timestamp,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    skipped: BTreeMap<String, u64>,
    failures: VecDeque<Failure>,
}

/// A delivery that failed, and wrote nothing.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) at: Timestamp,
    pub(crate) pipeline: String,
    /// The error's code.
    pub(crate) code: String,
}

impl Default for Lately {
    fn default() -> Self {
        Self { since: Timestamp::now(), inside: Mutex::default() }
    }
}

impl Lately {
    /// When the server began.
    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    /// A delivery of a batch that had landed before.
    pub(crate) fn skip(&self, pipeline: &str) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        match inside.skipped.get_mut(pipeline) {
            Some(skipped) => *skipped += 1,
            None => {
                inside.skipped.insert(pipeline.to_owned(), 1);
            }
        }
    }

    /// A delivery failed.
    pub(crate) fn fail(&self, pipeline: &str, code: &str) {
        let failure = Failure { at: Timestamp::now(), pipeline: pipeline.to_owned(), code: code.to_owned() };
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if inside.failures.len() == KEPT {
            inside.failures.pop_back();
        }
        inside.failures.push_front(failure);
    }

    /// How many were skipped, of the pipelines that somebody may look at.
    pub(crate) fn skipped(&self, may_read: impl Fn(&str) -> bool) -> u64 {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.skipped.iter().filter(|(pipeline, _)| may_read(pipeline)).map(|(_, skipped)| skipped).sum()
    }

    /// The last failures, newest first.
    pub(crate) fn failures(&self, may_read: impl Fn(&str) -> bool, most: usize) -> Vec<Failure> {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.failures.iter().filter(|one| may_read(&one.pipeline)).take(most).cloned().collect()
    }
}
