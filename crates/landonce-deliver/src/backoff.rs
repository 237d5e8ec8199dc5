//! How long to wait: never less than was asked for, and never in lockstep (C61).

use std::time::Duration;

use rand::RngExt as _;

use crate::policy::Retry;

/// How much a wait is stretched at most, as a share of it, and at the very most.
const SHARE: f64 = 0.2;
const AT_MOST: Duration = Duration::from_mins(5);

/// The wait behind a failed attempt, before which `failed` others had failed. `asked` is the receiver's `Retry-After`.
pub(crate) fn wait(retry: &Retry, failed: u32, asked: Option<Duration>) -> Duration {
    let asked = asked.unwrap_or_default().min(retry.max_retry_after);
    stretched(doubled(retry.first, retry.most, failed).max(asked))
}

/// `first`, doubled so many times, up to `most`.
pub(crate) fn doubled(first: Duration, most: Duration, times: u32) -> Duration {
    first.saturating_mul(1_u32 << times.min(30)).min(most)
}

/// Somewhat longer by chance, never shorter: those that failed together don't come back together.
pub(crate) fn stretched(wait: Duration) -> Duration {
    wait + wait.mul_f64(SHARE).min(AT_MOST).mul_f64(rand::rng().random_range(0.0..=1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let retry = Retry::default();
        for _ in 0..100 {
            for (failed, from, to) in [(0, 1.0, 1.2), (1, 2.0, 2.4), (5, 32.0, 38.4), (40, 3600.0, 3900.0)] {
                let wait = wait(&retry, failed, None).as_secs_f64();
                assert!((from..=to).contains(&wait), "{failed}: {wait}");
            }
        }
    }

    #[test]
    fn what_was_asked_for_is_never_undercut_and_capped() {
        let retry = Retry::default();
        for _ in 0..100 {
            assert!(wait(&retry, 0, Some(Duration::from_mins(2))) >= Duration::from_mins(2));
            let capped = wait(&retry, 0, Some(Duration::from_secs(u64::MAX)));
            assert!((24 * 3600..=24 * 3600 + 300).contains(&capped.as_secs()), "{capped:?}");
        }
    }

    #[test]
    fn those_that_failed_together_do_not_come_back_together() {
        let waits: std::collections::BTreeSet<_> =
            (0..500).map(|_| wait(&Retry::default(), 3, Some(Duration::from_mins(2)))).collect();
        assert!(waits.len() > 400);
    }
}
