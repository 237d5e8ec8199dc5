//! Failed attempts are told of, but not all of them: a receiver that is down would fill the log.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two that are told of.
const BETWEEN: Duration = Duration::from_secs(1);

/// When something was told last, and how much wasn't since.
#[derive(Debug, Default)]
pub(crate) struct Hush {
    told_at: Option<Instant>,
    left_out: u64,
}

impl Hush {
    /// Whether this one is told: then with how many that weren't, since the one before.
    pub(crate) fn tells(&mut self, now: Instant) -> Option<u64> {
        if self.told_at.is_some_and(|told_at| now < told_at + BETWEEN) {
            self.left_out += 1;
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.left_out))
    }
}
