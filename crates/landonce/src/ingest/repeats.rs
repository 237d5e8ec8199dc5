//! Whether a key may have come before in this batch: a Bloom filter over keys that are hashes already.
//!
//! It lets a batch without repeated identities skip the fold, at 16 MiB whatever the batch's size. "No" is certain; "maybe"
//! is settled by the database, exactly, so a full filter costs time and never correctness. All bits of a key lie in one
//! cache line, so that a key costs one miss.

use std::sync::{Mutex, PoisonError};

/// 2^18 blocks of 512 bits, 16 MiB. With a million keys a few in a million are a false "maybe".
const BLOCKS: usize = 1 << 18;
/// Blocks under one lock. A key's look and its mark are one step, or two threads with one key could both be told "no".
const STRIPE: usize = 1 << 8;
/// How many bits a key sets.
const PROBES: usize = 4;

/// The keys seen so far, by whichever thread.
pub(super) struct Repeats {
    stripes: Vec<Mutex<Vec<[u64; 8]>>>,
}

impl Repeats {
    pub(super) fn new() -> Self {
        Self { stripes: (0..BLOCKS / STRIPE).map(|_| Mutex::new(Vec::new())).collect() }
    }

    /// Adds a key; true if it may have been there.
    pub(super) fn may_repeat(&self, key: &[u8; 32]) -> bool {
        // Disjoint pieces of a SHA-256 are independent.
        let piece = |at: usize| usize::from(u16::from_le_bytes([key[at], key[at + 1]]));
        let at = (piece(0) | piece(2) << 16) % BLOCKS;
        let mut stripe = self.stripes[at / STRIPE].lock().unwrap_or_else(PoisonError::into_inner);
        if stripe.is_empty() {
            stripe.resize(STRIPE, [0; 8]); // small batches touch few
        }
        let block = &mut stripe[at % STRIPE];
        let mut was_there = true;
        for probe in 0..PROBES {
            let bit = piece(4 + 2 * probe) % 512;
            let word = &mut block[bit / 64];
            let mask = 1 << (bit % 64);
            was_there &= *word & mask != 0;
            *word |= mask;
        }
        was_there
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn a_key_that_came_before_is_never_missed_and_others_hardly_ever_suspected() {
        let keys: Vec<[u8; 32]> = (0..20_000_u32).map(|n| Sha256::digest(n.to_be_bytes()).into()).collect();
        let repeats = Repeats::new();
        let suspected = keys.iter().filter(|key| repeats.may_repeat(key)).count();
        assert!(suspected < 3, "{suspected} of 20,000 distinct keys suspected");
        assert!(keys.iter().all(|key| repeats.may_repeat(key)));
    }
}
