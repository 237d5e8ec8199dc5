//! What a worker has landed so far.

use landonce::Outcome;
use serde::Serialize;

/// What a worker has landed so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Batches.
    pub batches: u64,
    /// Messages that are behind the positions now; those that are no record of the table counted.
    pub messages: u64,
    /// The counts of their records.
    pub outcome: Outcome,
    /// Times that a batch couldn't land for a passing reason, and was tried again.
    pub waits: u64,
    /// Parts that another worker, or a person, has taken while a batch of theirs was on its way.
    pub fenced: u64,
}

impl Tally {
    /// Counts a batch.
    pub(crate) fn landed(&mut self, messages: u64, of: &Outcome) {
        self.batches += 1;
        self.messages += messages;
        let sum = &mut self.outcome;
        for (to, from) in [
            (&mut sum.read, of.read),
            (&mut sum.inserted, of.inserted),
            (&mut sum.updated, of.updated),
            (&mut sum.unchanged, of.unchanged),
            (&mut sum.stale, of.stale),
            (&mut sum.conflicts, of.conflicts),
            (&mut sum.duplicates, of.duplicates),
            (&mut sum.quarantined, of.quarantined),
            (&mut sum.deleted, of.deleted),
            (&mut sum.removed, of.removed),
            (&mut sum.retired, of.retired),
            (&mut sum.restored, of.restored),
        ] {
            *to += from;
        }
    }
}
