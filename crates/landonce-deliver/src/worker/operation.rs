//! What is asked of the outbox, one thing at a time: the desk goes into the question and comes back with the answer, so that
//! messages are handed over meanwhile.

use std::pin::Pin;
use std::time::Duration;

use landonce::Error;
use landonce_store::outbox::{Depth, Lease, Leased, Verdict, Want};
use tokio::time::Instant;
use uuid::Uuid;

use crate::desk::Desk;

/// A question under way.
pub(super) type Operation<D> = Pin<Box<dyn Future<Output = (D, Done)> + Send>>;

/// A pause that the outbox is to be told of.
#[derive(Debug, Clone)]
pub(super) struct Pause {
    pub(super) until: Instant,
    pub(super) reason: String,
}

/// What is asked.
pub(super) enum Ask {
    Pause {
        line: usize,
        topics: Vec<String>,
        pause: Pause,
    },
    Renew {
        chunk: u64,
        leases: Vec<Lease>,
        lease: Duration,
    },
    Settle {
        verdicts: Vec<Verdict>,
    },
    Lease {
        line: usize,
        topics: Vec<String>,
        lease: Duration,
        most: (u32, u32),
        behind: Uuid,
    },
    Due {
        line: usize,
        topics: Vec<String>,
    },
    /// With `once`, where nothing can be leased: whether somebody else is at it.
    Held {
        line: usize,
        topics: Vec<String>,
    },
    Prune {
        older_than: Duration,
        most: u32,
    },
}

/// What came of it.
pub(super) enum Done {
    Paused { line: usize, pause: Pause, told: Result<(), Error> },
    Renewed { chunk: u64, asked_at: Instant, told: Result<Vec<Lease>, Error> },
    Settled { verdicts: Vec<Verdict>, told: Result<Vec<Lease>, Error> },
    Leased { line: usize, lease: Duration, asked_at: Instant, told: Result<Leased, Error> },
    Due { line: usize, told: Result<Option<Duration>, Error> },
    Held { line: usize, told: Result<bool, Error> },
    Pruned { most: u32, told: Result<u64, Error> },
}

/// Asks.
pub(super) fn start<D: Desk>(mut desk: D, ask: Ask, worker: String) -> Operation<D> {
    Box::pin(async move {
        // Leases are counted from before the question, not from when it was answered.
        let asked_at = Instant::now();
        let done = match ask {
            Ask::Pause { line, topics, pause } => {
                let mut told = Ok(());
                for topic in &topics {
                    let lasting = pause.until.duration_since(Instant::now());
                    told = desk.pause(topic, lasting, &pause.reason).await;
                    if told.is_err() {
                        break;
                    }
                }
                Done::Paused { line, pause, told }
            }
            Ask::Renew { chunk, leases, lease } => {
                Done::Renewed { chunk, asked_at, told: desk.renew(&leases, lease).await }
            }
            Ask::Settle { verdicts } => {
                let told = desk.settle(&verdicts).await;
                Done::Settled { verdicts, told }
            }
            Ask::Lease { line, topics, lease, most: (most, most_of_a_lane), behind } => {
                let want = Want { topics: &topics, worker: &worker, lease, most, most_of_a_lane, behind };
                Done::Leased { line, lease, asked_at, told: desk.lease(&want).await }
            }
            Ask::Due { line, topics } => Done::Due { line, told: desk.next_due(&topics).await },
            Ask::Held { line, topics } => {
                let depth = desk.depth().await;
                let is_held = |depth: &Depth| {
                    depth.leased > 0 && depth.paused.is_none() && topics.contains(&depth.topic)
                };
                Done::Held { line, told: depth.map(|depth| depth.iter().any(is_held)) }
            }
            Ask::Prune { older_than, most } => {
                Done::Pruned { most, told: desk.prune(older_than, most).await }
            }
        };
        (desk, done)
    })
}
