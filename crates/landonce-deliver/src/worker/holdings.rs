//! The leases that a worker holds, and until when: by this machine's clock that is never set, from before they were asked for.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use landonce_store::outbox::{Lease, Parcel};
use tokio::time::Instant;
use uuid::Uuid;

/// Leases by chunk: what came with one call runs out at one time.
#[derive(Debug, Default)]
pub(super) struct Holdings {
    held: HashMap<Uuid, Held>,
    chunks: BTreeMap<u64, Chunk>,
    next: u64,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    fence: i64,
    chunk: u64,
}

/// What came with one call.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Whose messages.
    pub(super) line: usize,
    /// When it was asked for: ages are of then.
    pub(super) leased_at: Instant,
    /// When the leases run out, or earlier.
    pub(super) until: Instant,
    /// When they are to be held longer.
    pub(super) renew_at: Instant,
    /// For how long they are leased.
    pub(super) lease: Duration,
    left: usize,
}

impl Holdings {
    /// Takes up what a call that began at `asked_at` has brought. Returns the chunk's number.
    pub(super) fn add(&mut self, line: usize, parcels: &[Parcel], asked_at: Instant, lease: Duration) -> u64 {
        let chunk = self.next;
        self.next += 1;
        for parcel in parcels {
            // Its lease ran out while it was on its way, and this worker has leased it again: the first lease is no more.
            if let Some(before) = self.held.insert(parcel.id, Held { fence: parcel.fence, chunk }) {
                self.leave(before.chunk);
            }
        }
        let (until, renew_at) = (asked_at + lease, asked_at + lease / 3);
        self.chunks
            .insert(chunk, Chunk { line, leased_at: asked_at, until, renew_at, lease, left: parcels.len() });
        chunk
    }

    /// Whether the lease is still ours, as far as is known.
    pub(super) fn has(&self, lease: Lease) -> bool {
        self.held.get(&lease.id).is_some_and(|held| held.fence == lease.fence)
    }

    /// It isn't held any more. Returns whose it was.
    pub(super) fn remove(&mut self, lease: Lease) -> Option<usize> {
        if !self.has(lease) {
            return None;
        }
        let held = self.held.remove(&lease.id)?;
        self.leave(held.chunk)
    }

    /// A chunk has one message less. Returns whose it was.
    fn leave(&mut self, number: u64) -> Option<usize> {
        let chunk = self.chunks.get_mut(&number)?;
        chunk.left -= 1;
        let line = chunk.line;
        if chunk.left == 0 {
            self.chunks.remove(&number);
        }
        Some(line)
    }

    pub(super) fn chunk(&self, number: u64) -> Option<&Chunk> {
        self.chunks.get(&number)
    }

    /// The chunk whose message it is.
    pub(super) fn chunk_of(&self, lease: Lease) -> Option<&Chunk> {
        self.held.get(&lease.id).and_then(|held| self.chunks.get(&held.chunk))
    }

    /// How many messages of a destination are held.
    pub(super) fn of(&self, line: usize) -> usize {
        self.chunks.values().filter(|chunk| chunk.line == line).map(|chunk| chunk.left).sum()
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// When the next chunk is to be renewed.
    pub(super) fn renew_at(&self) -> Option<Instant> {
        self.chunks.values().map(|chunk| chunk.renew_at).min()
    }

    /// The chunk that is to be renewed now, and its leases.
    pub(super) fn to_renew(&self, now: Instant) -> Option<(u64, Duration, Vec<Lease>)> {
        let (number, chunk) = self.chunks.iter().find(|(_, chunk)| chunk.renew_at <= now)?;
        let leases = self.held.iter().filter(|(_, held)| held.chunk == *number);
        let leases = leases.map(|(id, held)| Lease { id: *id, fence: held.fence }).collect();
        Some((*number, chunk.lease, leases))
    }

    /// A call that began at `asked_at` has renewed a chunk.
    pub(super) fn renewed(&mut self, number: u64, asked_at: Instant) {
        if let Some(chunk) = self.chunks.get_mut(&number) {
            chunk.until = asked_at + chunk.lease;
            chunk.renew_at = asked_at + chunk.lease / 3;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_leased_again_is_held_once() {
        let parcel = |fence| Parcel {
            id: Uuid::from_u128(1),
            fence,
            seq: 1,
            topic: "t".into(),
            lane: Uuid::from_u128(2),
            entity: "{}".into(),
            kind: "k".into(),
            payload: "{}".into(),
            attempts: 0,
            age: Duration::ZERO,
        };
        let (mut holdings, now, lease) = (Holdings::default(), Instant::now(), Duration::from_secs(1));
        holdings.add(0, &[parcel(1)], now, lease);
        holdings.add(0, &[parcel(2)], now, lease);
        assert_eq!(holdings.of(0), 1);
        assert_eq!(holdings.remove(Lease { id: Uuid::from_u128(1), fence: 1 }), None);
        assert_eq!(holdings.remove(Lease { id: Uuid::from_u128(1), fence: 2 }), Some(0));
        assert_eq!((holdings.of(0), holdings.renew_at()), (0, None));
    }
}
