//! What all workers of a process share of one destination.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::delivery::Declared;
use crate::limits::{Ended, Limits};
use crate::summary::{Counts, Hear};
use crate::worker::Hush;

/// What must be left of a lease beyond the destination's own limit when a message is handed over.
const MARGIN: Duration = Duration::from_secs(2);

/// One destination, for all workers of this process.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) declared: Declared,
    pub(crate) counts: Counts,
    limits: Mutex<Limits>,
    hush: Mutex<Hush>,
}

/// What the workers of a process share.
pub(crate) struct Shared {
    pub(crate) routes: Vec<Arc<Route>>,
    pub(crate) retention: Option<Duration>,
    pub(crate) is_once: bool,
    pub(crate) hear: Hear,
    /// A handing over has ended: another worker may go.
    pub(crate) freed: Notify,
}

impl Route {
    pub(crate) fn new(declared: Declared) -> Self {
        let limits = Limits::new(declared.policy.clone(), Instant::now());
        Self { declared, counts: Counts::default(), limits: Mutex::new(limits), hush: Mutex::default() }
    }

    pub(crate) fn limits(&self) -> MutexGuard<'_, Limits> {
        // Counters can't be left in a state that is wrong.
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a failed attempt is told of now, and how many weren't before it.
    pub(crate) fn tells(&self) -> Option<u64> {
        self.hush.lock().unwrap_or_else(PoisonError::into_inner).tells(Instant::now())
    }

    /// A handing over has ended. Returns how long the destination pauses, if that is new.
    pub(crate) fn ended(&self, ended: &Ended) -> Option<Duration> {
        self.limits().ended(Instant::now(), ended)
    }

    /// What a lease must have left when a message is handed over.
    pub(crate) fn needs(&self) -> Duration {
        self.declared.destination.limit() + MARGIN.min(self.declared.policy.lease / 10)
    }

    /// How long messages are leased for: with a third gone it is renewed, and the rest is still enough.
    pub(crate) fn lease(&self) -> Duration {
        self.declared.policy.lease.max(self.needs() * 3)
    }
}
