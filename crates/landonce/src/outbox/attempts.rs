//! A verb that fails in passing is tried again, and not for long: whoever delivers has more to do than to wait.

use std::time::{Duration, Instant};

use landonce_core::retry::Advice;

use crate::error::{Error, Repr};
use crate::retry::RetryPolicy;

/// How long an outbox's verb is tried.
pub(super) fn patience() -> RetryPolicy {
    RetryPolicy {
        attempts: 5,
        deadline: Duration::from_secs(10),
        first_wait: Duration::from_millis(20),
        longest_wait: Duration::from_secs(1),
        timeouts: false,
    }
}

/// One verb's attempts.
pub(super) struct Attempts {
    policy: RetryPolicy,
    started: Instant,
    failed: u32,
    was_internal: bool,
}

impl Attempts {
    pub(super) fn new(policy: &RetryPolicy) -> Self {
        Self { policy: policy.clone(), started: Instant::now(), failed: 0, was_internal: false }
    }

    /// Waits before the next attempt; the error when there is to be none. A verb whose COMMIT wasn't answered is run again: what
    /// it says twice counts once.
    pub(super) async fn wait_after(&mut self, error: landonce_store::Error) -> Result<(), Error> {
        self.failed += 1;
        let is_again = match error.advice() {
            Advice::Again | Advice::Resolve => true,
            Advice::Once => !std::mem::replace(&mut self.was_internal, true),
            Advice::IfTimeoutsRetried => self.policy.timeouts,
            Advice::Never | Advice::NoSpace => false,
        };
        if !is_again {
            return Err(Repr::Store(error).into());
        }
        let wait = self.policy.wait(self.failed);
        if self.failed >= self.policy.attempts || self.started.elapsed() + wait > self.policy.deadline {
            let elapsed_ms = self.started.elapsed().as_millis();
            return Err(match self.failed {
                1 => Repr::Store(error),
                attempts => Repr::Exhausted { attempts, elapsed_ms, last: error },
            }
            .into());
        }
        tracing::info!(attempts = self.failed, %error, "again after {} ms", wait.as_millis());
        tokio::time::sleep(wait).await;
        Ok(())
    }
}
