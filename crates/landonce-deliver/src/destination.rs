//! Where messages go: the contract of every destination.
//!
//! A destination is handed messages that this process holds the leases of. It may be handed the same message again, by this
//! process or another one, whenever it isn't known that it was taken: after a crash, an answer that was lost, a lease that ran out.
//! The message's id is the same every time, and the destination must hand it on (a header, a column, a variable), so that the
//! receiver can tell. Of one lane it is never handed two messages at once, nor a later one while an earlier one isn't done with.

pub mod command;
pub mod file;
pub mod http;
#[cfg(feature = "kafka")]
pub mod kafka;
mod line;
pub mod sql;
mod told;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use landonce_store::outbox::Parcel;

/// What a receiver said of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It has the message.
    Taken {
        /// Its words, in short and without secrets: `200`, `exit 0`.
        told: String,
    },
    /// Not now: try again.
    Later {
        /// Its words, in short and without secrets.
        told: String,
        /// What it has asked for (`Retry-After`), never to be undercut.
        after: Option<Duration>,
        /// It speaks for all messages of this destination (429, 503, a connection refused), not for this one: the destination
        /// pauses, and this isn't counted as an attempt of the message.
        is_for_all: bool,
    },
    /// Never: trying again can't help (410, a message that is too large).
    Never {
        /// Its words, in short and without secrets.
        told: String,
    },
}

impl Answer {
    /// This message again, when its time comes.
    pub(crate) fn later(told: String) -> Self {
        Self::Later { told, after: None, is_for_all: false }
    }

    /// The destination as a whole can't just now.
    pub(crate) fn later_for_all(told: String) -> Self {
        Self::Later { told, after: None, is_for_all: true }
    }
}

/// What a destination is doing.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Vec<Answer>> + Send + 'a>>;

/// Something that takes messages.
pub trait Destination: Send + Sync + std::fmt::Debug {
    /// The most messages that it takes at once; 1 for a destination that takes one at a time.
    fn takes(&self) -> usize {
        1
    }

    /// The longest that [`Destination::send`] takes, its own time limits added up. What is left of a lease must be longer, or the
    /// message isn't handed over.
    fn limit(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Hands messages over, in their order, and returns an answer for each of them. It ends within its own time limits; a caller
    /// that stops waiting may assume nothing.
    fn send<'a>(&'a self, parcels: &'a [Parcel]) -> Sending<'a>;
}
