//! Whether a key may have come before in this batch: a Bloom filter over keys that are hashes already.
//!
//! It lets a batch without repeated identities skip the fold, at 16 MiB whatever the batch's size. "No" is certain; "maybe"
//! is settled by the database, exactly, so a full filter costs time and never correctness.

/// 2^27 bits. With a million keys one in a million is a false "maybe".
const BITS: u32 = 27;
/// How many bits a key sets.
const PROBES: usize = 4;

/// The keys seen so far.
pub(super) struct Repeats {
    words: Vec<u64>,
}

impl Repeats {
    pub(super) fn new() -> Self {
        Self { words: vec![0; 1 << (BITS - 6)] }
    }

    /// Adds a key; true if it may have been there.
    pub(super) fn may_repeat(&mut self, key: &[u8; 32]) -> bool {
        let mut was_there = true;
        for probe in 0..PROBES {
            // Disjoint pieces of a SHA-256 are independent.
            let at = probe * 4;
            let piece = u32::from_le_bytes([key[at], key[at + 1], key[at + 2], key[at + 3]]) >> (32 - BITS);
            let word = &mut self.words[(piece >> 6) as usize];
            let bit = 1 << (piece & 63);
            was_there &= *word & bit != 0;
            *word |= bit;
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
        let mut repeats = Repeats::new();
        let suspected = keys.iter().filter(|key| repeats.may_repeat(key)).count();
        assert!(suspected < 3, "{suspected} of 20,000 distinct keys suspected");
        assert!(keys.iter().all(|key| repeats.may_repeat(key)));
    }
}
