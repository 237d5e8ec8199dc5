//! Where messages go: the contract of every destination.
//!
//! A destination is handed messages that this process holds the leases of. It may be handed the same message again, by this
//! process or another one, whenever it isn't known that it was taken: after a crash, an answer that was lost, a lease that ran out.
//! The message's id is the same every time, and the destination must hand it on (a header, a column, a variable), so that the
//! receiver can tell. Of one lane it is never handed two messages at once, nor a later one while an earlier one isn't done with.

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
        /// It speaks for all messages of this destination (429, 503, a connection refused), not for this one.
        is_for_all: bool,
    },
    /// Never: trying again can't help (410, a message that is too large).
    Never {
        /// Its words, in short and without secrets.
        told: String,
    },
}

/// What a destination is doing.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Vec<Answer>> + Send + 'a>>;

/// Something that takes messages.
pub trait Destination: Send + Sync + std::fmt::Debug {
    /// The most messages that it takes at once; 1 for a destination that takes one at a time.
    fn takes(&self) -> usize {
        1
    }

    /// Hands messages over, in their order, and returns an answer for each of them. It ends within its own time limits; a caller
    /// that stops waiting may assume nothing.
    fn send<'a>(&'a self, parcels: &'a [Parcel]) -> Sending<'a>;
}
