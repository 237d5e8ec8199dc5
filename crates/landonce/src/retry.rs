//! The retry loop's policy (I6): how long to wait, and when to give up. What is retried at all is decided by
//! [`landonce_core::retry::advise`], from codes.

use std::time::Duration;

use rand::RngExt as _;

/// When the whole transaction is run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most attempts, the first one counted.
    pub attempts: u32,
    /// The most time from the first attempt's start to the last one's.
    pub deadline: Duration,
    /// The first wait; each further one doubles.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// A statement's time-out (57014) is retried too.
    pub timeouts: bool,
}

impl Default for RetryPolicy {
    /// Eight attempts within two minutes, 50 ms doubling to 5 s, time-outs not retried.
    fn default() -> Self {
        Self {
            attempts: 8,
            deadline: Duration::from_mins(2),
            first_wait: Duration::from_millis(50),
            longest_wait: Duration::from_secs(5),
            timeouts: false,
        }
    }
}

impl RetryPolicy {
    /// One attempt and no more.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// The wait behind the `failed`-th attempt (from 1): doubling, capped, and jittered down to half, so that workers
    /// that failed together don't come back together.
    pub fn wait(&self, failed: u32) -> Duration {
        let doubled = self.first_wait.saturating_mul(1_u32 << failed.saturating_sub(1).min(20));
        doubled.min(self.longest_wait).mul_f64(rand::rng().random_range(0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_from_fifty_milliseconds_and_are_capped() {
        let policy = RetryPolicy::default();
        for _ in 0..100 {
            assert!((25..=50).contains(&policy.wait(1).as_millis()));
            assert!((50..=100).contains(&policy.wait(2).as_millis()));
            assert!((2_500..=5_000).contains(&policy.wait(60).as_millis()));
        }
    }

    #[test]
    fn waits_are_jittered() {
        let policy = RetryPolicy::default();
        let first = policy.wait(10);
        assert!((0..50).any(|_| policy.wait(10) != first));
    }
}
