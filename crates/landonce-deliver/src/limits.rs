//! What one process may hand to one destination now: how many at once, how many a second, or nothing for a while.
//!
//! After a pause one message goes alone. Each that is taken lets one more go at a time, up to the declared concurrency; so it is
//! at the start, and whenever there was nothing to do for a while. Where failures in a row were the reason, a failure of the one
//! that goes alone is the next pause.

use std::time::Duration;

use tokio::time::Instant;

use crate::backoff;
use crate::policy::Policy;

/// After so long without any message the next one goes alone again.
const IDLE: Duration = Duration::from_secs(1);
/// What the rate lets through at once, in seconds' worth of messages, and at least one.
const BURST: f64 = 0.1;

/// What is known of a destination in this process.
#[derive(Debug)]
pub(crate) struct Limits {
    policy: Policy,
    in_flight: usize,
    allowed: usize,
    failures: u32,
    pauses: u32,
    /// Failures in a row were the reason of the last pause, and nothing was taken since.
    is_broken: bool,
    paused_until: Option<Instant>,
    tokens: f64,
    filled_at: Instant,
    ended_at: Instant,
}

/// Why nothing may go now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Until then.
    Until(Instant),
    /// Until one that is under way has ended.
    ForAnother,
}

/// How a handing over ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Something was taken.
    Taken,
    /// The messages failed.
    Failed,
    /// The destination as a whole takes nothing; it asked for a pause of this length, or of none.
    ForAll(Option<Duration>),
    /// Nothing was handed over after all.
    Unused,
}

impl Limits {
    pub(crate) fn new(policy: Policy, now: Instant) -> Self {
        let tokens = burst(policy.rate);
        Self {
            policy,
            in_flight: 0,
            allowed: 1,
            failures: 0,
            pauses: 0,
            is_broken: false,
            paused_until: None,
            tokens,
            filled_at: now,
            ended_at: now,
        }
    }

    /// Until when nothing goes.
    pub(crate) fn paused_until(&self, now: Instant) -> Option<Instant> {
        self.paused_until.filter(|until| *until > now)
    }

    /// Lets a handing over of up to `most` messages begin, and says of how many. [`Limits::ended`] must follow.
    pub(crate) fn admit(&mut self, now: Instant, most: usize) -> Result<usize, Wait> {
        if let Some(until) = self.paused_until(now) {
            return Err(Wait::Until(until));
        }
        if self.in_flight == 0 && now.duration_since(self.ended_at) > IDLE {
            self.allowed = 1;
        }
        if self.in_flight >= self.allowed.min(self.policy.concurrency) {
            return Err(Wait::ForAnother);
        }
        let most = match self.policy.rate {
            None => most,
            Some(rate) => self.take(now, rate, most)?,
        };
        self.in_flight += 1;
        Ok(most)
    }

    /// Takes up to so many tokens, at least one.
    fn take(&mut self, now: Instant, rate: f64, most: usize) -> Result<usize, Wait> {
        let earned = now.duration_since(self.filled_at).as_secs_f64() * rate;
        self.tokens = (self.tokens + earned).min(burst(Some(rate)));
        self.filled_at = now;
        if self.tokens < 1.0 {
            // A moment longer, so that rounding doesn't wake anybody too early.
            let wait = Duration::from_secs_f64((1.0 - self.tokens) / rate) + Duration::from_millis(1);
            return Err(Wait::Until(now + wait));
        }
        let taken = most.min(self.tokens as usize).min(u32::MAX as usize) as u32;
        self.tokens -= f64::from(taken);
        Ok(taken as usize)
    }

    /// A handing over has ended. Returns how long the destination pauses, if that is new.
    pub(crate) fn ended(&mut self, now: Instant, ended: &Ended) -> Option<Duration> {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.ended_at = now;
        match ended {
            Ended::Unused => None,
            Ended::Taken => {
                self.failures = 0;
                // One that was under way when the pause began doesn't end it.
                if self.paused_until(now).is_none() {
                    self.pauses = 0;
                    self.is_broken = false;
                    self.allowed = (self.allowed + 1).min(self.policy.concurrency);
                }
                None
            }
            Ended::Failed => {
                self.failures += 1;
                let is_enough = self.failures >= self.policy.breaker.failures || self.is_broken;
                if !is_enough || self.paused_until(now).is_some() {
                    return None;
                }
                self.is_broken = true;
                self.pause(now, self.policy.breaker.pause)
            }
            Ended::ForAll(asked) => {
                self.is_broken = false;
                let retry = &self.policy.retry;
                let ours =
                    backoff::doubled(retry.first, self.policy.breaker.pause.max(retry.first), self.pauses);
                self.pause(now, ours.max(asked.unwrap_or_default().min(retry.max_retry_after)))
            }
        }
    }

    /// Pauses for so long and somewhat longer, unless a pause is in force that lasts as long.
    fn pause(&mut self, now: Instant, lasting: Duration) -> Option<Duration> {
        if self.paused_until.is_some_and(|until| until >= now + lasting) {
            return None;
        }
        if self.paused_until(now).is_none() {
            self.pauses = self.pauses.saturating_add(1);
        }
        let lasting = backoff::stretched(lasting);
        self.paused_until = Some(now + lasting);
        self.allowed = 1;
        self.failures = 0;
        Some(lasting)
    }
}

fn burst(rate: Option<f64>) -> f64 {
    rate.map_or(0.0, |rate| (rate * BURST).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Breaker;

    fn limits(concurrency: usize, rate: Option<f64>) -> (Limits, Instant) {
        let now = Instant::now();
        let breaker = Breaker { failures: 3, pause: Duration::from_secs(30) };
        (Limits::new(Policy { concurrency, rate, breaker, ..Policy::default() }, now), now)
    }

    /// How many may begin at this moment.
    fn begin(limits: &mut Limits, now: Instant) -> usize {
        std::iter::from_fn(|| limits.admit(now, 1).ok()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_go_as_were_taken_and_one_more_up_to_the_limit() {
        let (mut limits, now) = limits(4, None);
        for expected in [1, 2, 4, 4] {
            let began = begin(&mut limits, now);
            assert_eq!(began, expected);
            for _ in 0..began {
                limits.ended(now, &Ended::Taken);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_are_a_pause_and_then_one_tries() {
        let (mut limits, now) = limits(8, None);
        for _ in 0..8 {
            limits.admit(now, 1).unwrap();
            limits.ended(now, &Ended::Taken);
        }
        assert_eq!(begin(&mut limits, now), 8);
        assert_eq!(limits.ended(now, &Ended::Failed), None);
        assert_eq!(limits.ended(now, &Ended::Taken), None, "not in a row");
        assert_eq!(limits.ended(now, &Ended::Failed), None);
        assert_eq!(limits.ended(now, &Ended::Failed), None);
        let pause = limits.ended(now, &Ended::Failed).unwrap();
        assert!((30.0..=36.0).contains(&pause.as_secs_f64()), "{pause:?}");
        assert_eq!(limits.ended(now, &Ended::Failed), None, "it pauses already");
        assert_eq!(limits.ended(now, &Ended::Taken), None);
        assert_eq!(limits.ended(now, &Ended::Taken), None);
        assert!(matches!(limits.admit(now, 1), Err(Wait::Until(until)) if until == now + pause));
        // Half open: one, and its failure is the next pause.
        let later = now + pause;
        assert_eq!(begin(&mut limits, later), 1);
        let again = limits.ended(later, &Ended::Failed).unwrap();
        // It is taken: two, and so on.
        let later = later + again;
        assert_eq!(begin(&mut limits, later), 1);
        assert_eq!(limits.ended(later, &Ended::Taken), None);
        assert_eq!(begin(&mut limits, later), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_pause_that_was_asked_for_one_bad_message_is_no_breakdown() {
        let (mut limits, now) = limits(2, None);
        limits.admit(now, 1).unwrap();
        let later = now + limits.ended(now, &Ended::ForAll(Some(Duration::from_secs(5)))).unwrap();
        limits.admit(later, 1).unwrap();
        assert_eq!(limits.ended(later, &Ended::Failed), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_was_asked_for_is_kept_and_a_longer_one_wins() {
        let (mut limits, now) = limits(2, None);
        limits.admit(now, 1).unwrap();
        let first = limits.ended(now, &Ended::ForAll(Some(Duration::from_mins(2)))).unwrap();
        assert!(first >= Duration::from_mins(2));
        assert_eq!(limits.ended(now, &Ended::ForAll(Some(Duration::from_secs(1)))), None);
        let longer = limits.ended(now, &Ended::ForAll(Some(Duration::from_mins(10)))).unwrap();
        assert!(longer >= Duration::from_mins(10));
        assert!(limits.admit(now + Duration::from_mins(10), 1).is_err() || longer == Duration::from_mins(10));
        let capped = limits.ended(now, &Ended::ForAll(Some(Duration::MAX))).unwrap();
        assert!(capped <= Duration::from_hours(24) + Duration::from_mins(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_receiver_that_is_away_is_asked_soon_and_then_less_often() {
        let (mut limits, mut now) = limits(2, None);
        for expected in [1, 2, 4, 8, 16, 30, 30] {
            limits.admit(now, 1).unwrap();
            let pause = limits.ended(now, &Ended::ForAll(None)).unwrap();
            assert!((expected..=expected * 6 / 5).contains(&pause.as_secs()), "{expected}: {pause:?}");
            now += pause;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_kept_over_any_second() {
        let (mut limits, start) = limits(1_000, Some(100.0));
        let mut sent = 0;
        for step in 0..2_000 {
            let now = start + Duration::from_millis(step);
            while limits.admit(now, 1).is_ok() {
                sent += 1;
                limits.ended(now, &Ended::Taken);
            }
        }
        assert!((190..=210).contains(&sent), "{sent}");
    }
}
