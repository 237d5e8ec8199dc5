//! How a destination is treated: how often a message is tried, how many go at once, when it is left alone.

use std::time::Duration;

use crate::error::Fault;
use crate::spec::{self, BreakerSpec, DestinationSpec, RetrySpec};

/// How a destination is treated.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The most that are handed over at once, from 1.
    pub concurrency: usize,
    /// How long a worker holds messages that it hasn't sent yet; renewed while it lives.
    pub lease: Duration,
    /// The most messages a second; `None` for as fast as it goes.
    pub rate: Option<f64>,
    /// When a message is tried again, and when it is given up.
    pub retry: Retry,
    /// When the destination is left alone.
    pub breaker: Breaker,
}

/// When a message is tried again, and when it is given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The first wait; each further one doubles.
    pub first: Duration,
    /// The longest wait.
    pub most: Duration,
    /// How many attempts a message has, from 1.
    pub attempts: u32,
    /// How old a message may be before a failure makes it a dead letter.
    pub deadline: Duration,
    /// The longest `Retry-After` that is believed.
    pub max_retry_after: Duration,
}

/// When a destination is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    /// How many failures in a row, from 1.
    pub failures: u32,
    /// For how long.
    pub pause: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            concurrency: 16,
            lease: Duration::from_mins(1),
            rate: None,
            retry: Retry::default(),
            breaker: Breaker::default(),
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            most: Duration::from_hours(1),
            attempts: 20,
            deadline: Duration::from_hours(72),
            max_retry_after: Duration::from_hours(24),
        }
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self { failures: 10, pause: Duration::from_secs(30) }
    }
}

/// A length of time that is written, or the default.
pub(crate) fn duration(key: &str, text: Option<&str>, default: Duration) -> Result<Duration, Fault> {
    text.map_or(Ok(default), |text| spec::duration(text).map_err(|told| Fault::new(key, told)))
}

/// As [`duration`], of something that can't be nothing.
pub(crate) fn some_time(key: &str, text: Option<&str>, default: Duration) -> Result<Duration, Fault> {
    match duration(key, text, default)? {
        Duration::ZERO => Err(Fault::new(key, "must be longer than nothing")),
        some => Ok(some),
    }
}

fn from_one(key: &str, given: Option<u32>, default: u32) -> Result<u32, Fault> {
    match given.unwrap_or(default) {
        0 => Err(Fault::new(key, "must be 1 or more")),
        some => Ok(some),
    }
}

impl Policy {
    /// What a destination's keys mean.
    pub(crate) fn new(spec: &DestinationSpec) -> Result<Self, Fault> {
        let default = Self::default();
        let concurrency = spec.concurrency.unwrap_or(default.concurrency);
        if !(1..=1_000).contains(&concurrency) {
            return Err(Fault::new("concurrency", "must be from 1 to 1000"));
        }
        let rate = spec.rate.as_deref().map(spec::rate).transpose();
        Ok(Self {
            concurrency,
            lease: some_time("lease", spec.lease.as_deref(), default.lease)?,
            rate: rate.map_err(|told| Fault::new("rate", told))?,
            retry: Retry::new(&spec.retry).map_err(|fault| fault.within("retry"))?,
            breaker: Breaker::new(&spec.breaker).map_err(|fault| fault.within("breaker"))?,
        })
    }
}

impl Retry {
    fn new(spec: &RetrySpec) -> Result<Self, Fault> {
        let default = Self::default();
        let retry = Self {
            first: some_time("first", spec.first.as_deref(), default.first)?,
            most: some_time("most", spec.most.as_deref(), default.most)?,
            attempts: from_one("attempts", spec.attempts, default.attempts)?,
            deadline: some_time("deadline", spec.deadline.as_deref(), default.deadline)?,
            max_retry_after: duration(
                "max_retry_after",
                spec.max_retry_after.as_deref(),
                default.max_retry_after,
            )?,
        };
        if retry.most < retry.first {
            return Err(Fault::new("most", "is shorter than `first`"));
        }
        Ok(retry)
    }
}

impl Breaker {
    fn new(spec: &BreakerSpec) -> Result<Self, Fault> {
        let default = Self::default();
        Ok(Self {
            failures: from_one("failures", spec.failures, default.failures)?,
            pause: some_time("pause", spec.pause.as_deref(), default.pause)?,
        })
    }
}
