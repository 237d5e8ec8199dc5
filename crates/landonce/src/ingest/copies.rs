//! Equal lines that are rows each (`repeats: keep`): which copy of its content a record is.
//!
//! The copies of one content are equal, so it doesn't matter which of them is called the second; only that a record stays
//! the copy it was called, in every pass of the batch. So a record's number is remembered by where it stands, if it isn't
//! the first. Takes about 50 bytes for each distinct content of the batch.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use landonce_core::identity::Key;

/// The copies seen so far, by whichever thread.
#[derive(Debug, Default)]
pub(super) struct Copies(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// How often each content has come.
    counts: HashMap<[u8; 32], u32>,
    /// Which copy the record at an offset is, where that isn't the first.
    numbers: HashMap<u64, u32>,
}

impl Copies {
    /// The key of the record at an offset, met for the first time.
    pub(super) fn meet(&self, key: Key, offset: u64) -> Key {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = seen.counts.entry(key.0).or_default();
        *count += 1;
        let nth = *count;
        if nth > 1 {
            seen.numbers.insert(offset, nth);
        }
        key.copy(nth)
    }

    /// The key of the record at an offset, met before.
    pub(super) fn again(&self, key: Key, offset: u64) -> Key {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        key.copy(seen.numbers.get(&offset).copied().unwrap_or(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_copy_has_a_key_of_its_own_and_keeps_it() {
        let (copies, key) = (Copies::default(), Key::of(b"x"));
        let met: Vec<Key> = [0, 10, 20].map(|offset| copies.meet(key, offset)).to_vec();
        assert_eq!(met[0], key);
        assert_ne!(met[1], met[2]);
        assert_eq!([20, 0, 10].map(|offset| copies.again(key, offset)), [met[2], met[0], met[1]]);
        assert_eq!(copies.meet(Key::of(b"y"), 30), Key::of(b"y"));
    }
}
