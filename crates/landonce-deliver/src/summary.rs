//! What was delivered, and what is told while it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use uuid::Uuid;

/// What was delivered, by destination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// One for each, in the order of their names.
    pub destinations: Vec<Tally>,
}

/// What one destination has taken and refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Its name.
    pub destination: String,
    /// Messages that it took, and the outbox says so.
    pub sent: u64,
    /// Attempts that failed, after which the message waits for the next one.
    pub again: u64,
    /// Messages that became dead letters.
    pub dead: u64,
    /// Leases that were lost: another worker has those messages now. Each may have been sent by both, with the same id.
    pub lost: u64,
    /// Messages that wait, because they failed before, or because their topic pauses. Known at the end of a run with `once`.
    pub waiting: u64,
}

impl Summary {
    /// Whether all was delivered: nothing died, nothing waits.
    pub fn is_all_delivered(&self) -> bool {
        self.destinations.iter().all(|tally| tally.dead == 0 && tally.waiting == 0)
    }
}

/// Something that happened while delivering, for people who watch. Nothing of a payload is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A destination pauses.
    Paused {
        /// Which.
        destination: String,
        /// For how long.
        lasting: Duration,
        /// Why.
        reason: String,
    },
    /// A message is a dead letter.
    Dead {
        /// Which destination it was for.
        destination: String,
        /// Its id.
        id: Uuid,
        /// The last answer.
        answer: String,
    },
    /// The outbox's database fails; it is tried again.
    Trouble {
        /// Its words.
        told: String,
        /// How long until it is tried again.
        after: Duration,
    },
    /// The database is there again.
    Recovered,
}

/// Who is told of events.
pub type Hear = Arc<dyn Fn(Event) + Send + Sync>;

/// The counts of a destination while they grow.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: AtomicU64,
    pub(crate) again: AtomicU64,
    pub(crate) dead: AtomicU64,
    pub(crate) lost: AtomicU64,
}

impl Counts {
    pub(crate) fn tally(&self, destination: &str) -> Tally {
        Tally {
            destination: destination.to_owned(),
            sent: self.sent.load(Ordering::Relaxed),
            again: self.again.load(Ordering::Relaxed),
            dead: self.dead.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            waiting: 0,
        }
    }
}
