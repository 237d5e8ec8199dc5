//! Names of the databases that a proof makes on a server, and the date by which a later one knows them as left over.

use std::sync::atomic::{AtomicU32, Ordering};

use jiff::{SignedDuration, Timestamp};
use rand::Rng;

/// What every such name begins with.
pub(super) const PREFIX: &str = "landonce_prove_";

/// What a database's comment begins with; the time follows.
const MADE: &str = "made by landonce prove at ";

/// What it ends with where the proof held a lock by which it was known to be alive.
const LOCKED: &str = ", held by a lock";

/// When a database that nobody uses is taken for left over.
const AGE: SignedDuration = SignedDuration::from_hours(24);

/// The same where the lock has gone with its proof: long enough for a proof that lost its connection to take it again.
const AGE_UNLOCKED: SignedDuration = SignedDuration::from_mins(1);

/// The names of one proof.
#[derive(Debug)]
pub(super) struct Names {
    prefix: String,
    number: u32,
    next: AtomicU32,
}

impl Names {
    pub(super) fn new() -> Self {
        let number = rand::rng().next_u32();
        Self { prefix: format!("{PREFIX}{number:08x}_"), number, next: AtomicU32::new(1) }
    }

    /// The proof's own number, which is a part of all its names.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// The number of the proof that a name is of.
    pub(super) fn number_of(name: &str) -> Option<u32> {
        u32::from_str_radix(name.strip_prefix(PREFIX)?.get(..8)?, 16).ok()
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn base(&self) -> String {
        format!("{}base", self.prefix)
    }

    pub(super) fn next(&self) -> String {
        format!("{}{}", self.prefix, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// The comment of a database that is made now.
pub(super) fn comment(is_locked: bool) -> String {
    format!("{MADE}{}{}", Timestamp::now(), if is_locked { LOCKED } else { "" })
}

/// Whether a database with this comment is left over: by its age, or because the lock of its proof is gone. One without our
/// comment is never.
pub(super) fn is_left_over(comment: &str, is_alive: bool) -> bool {
    let Some(rest) = comment.strip_prefix(MADE) else { return false };
    let (at, was_locked) = rest.strip_suffix(LOCKED).map_or((rest, false), |at| (at, true));
    let Ok(at) = at.parse::<Timestamp>() else { return false };
    let age = at.duration_until(Timestamp::now());
    !is_alive && age > if was_locked { AGE_UNLOCKED } else { AGE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_and_old_is_left_over() {
        assert!(is_left_over("made by landonce prove at 2024-01-01T00:00:00Z", false));
        assert!(!is_left_over("made by landonce prove at 2024-01-01T00:00:00Z", true));
        assert!(!is_left_over(&comment(false), false));
        assert!(!is_left_over("made by landonce prove at some time", false));
        assert!(!is_left_over("the shop", false));
    }

    #[test]
    fn what_was_locked_is_left_over_as_soon_as_its_lock_is_gone() {
        let ago =
            |minutes| format!("{MADE}{}{LOCKED}", Timestamp::now() - SignedDuration::from_mins(minutes));
        assert!(is_left_over(&ago(3), false));
        assert!(!is_left_over(&ago(3), true));
        assert!(!is_left_over(&comment(true), false));
    }

    #[test]
    fn a_name_tells_its_proof() {
        let names = Names::new();
        assert_eq!(Names::number_of(&names.base()), Some(names.number()));
        assert_eq!(Names::number_of("landonce_prove_mine"), None);
    }
}
