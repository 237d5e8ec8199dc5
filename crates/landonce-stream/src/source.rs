//! The contract between what delivers messages and what lands them.
//!
//! A source drives: on a thread of its own it asks its broker, and hands over what comes. The desk ([`crate::Desk`]) takes parts in the
//! store, cuts messages into batches, lands them, a part's one after the other and several parts at once, and tells what has landed.
//!
//! A source promises: it hands over a part's messages in the order of their numbers, each number once, beginning at the [`Start`] that it
//! was given; and it hands over nothing of a part that it hasn't been given. It may leave numbers out (compaction, markers of
//! transactions). It commits nothing at its broker that the desk hasn't told it has landed.
//!
//! The desk promises: whatever a source hands over twice, because it crashed, was rebalanced or cut off, changes nothing the second
//! time; and a part that somebody else has taken lands nothing any more from here.
//!
//! ```text
//! the broker gives parts    desk.assign(part) … desk.starts() → (start, intake)          nothing blocks; or desk.assigned(parts), which does
//! messages come             intake.take(message) → room?                                 Full: hand over nothing until intake.has_room()
//! numbers are of all parts  intake.passed(next, mark), where none of a part's is before `next`
//! the broker takes parts    desk.revoke(parts)                                           waits for transactions under way
//! parts were lost           desk.lose(parts)                                             at once
//! now and then              desk.landed() → what may be committed at the broker; desk.gone() → parts that others have taken
//! desk.is_stopping()        desk.drain(), then desk.landed() a last time, and leave
//! ```

use sha2::{Digest as _, Sha256};

use landonce_core::pipeline::Message;

use crate::desk::Desk;
use crate::error::Error;

/// What delivers messages.
pub trait Source: Send {
    /// Delivers until [`Desk::is_stopping`], on a thread of its own that may block.
    ///
    /// # Errors
    /// What no waiting mends. A broker that can't be reached for a while is waited for.
    fn run(self: Box<Self>, desk: &Desk) -> Result<(), Error>;
}

/// A part of a stream: what one worker at a time reads, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartName {
    /// What is read, and as whom: `kafka GROUP TOPIC`.
    pub source: String,
    /// Which part: the partition's number.
    pub part: String,
    /// As people call it, in errors and for `status`, `TOPIC/PARTITION`. It begins the ids of its batches, so that it has to tell streams
    /// of one pipeline apart.
    pub shown: String,
}

/// Where to begin in a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The number of the next message; `None` where nothing has been landed: the declaration says where to begin then.
    pub next: Option<u64>,
    /// The fingerprint ([`mark`]) of the last message that was landed, to recognise the stream by: another message under that number
    /// means that the stream was made anew.
    pub mark: Option<Vec<u8>>,
}

/// Whether more may be handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Room {
    /// The message was taken, and more may come.
    More,
    /// The message was taken, and nothing more may come until [`crate::Intake::has_room`].
    Full,
    /// The message was not taken: what it is can't be told at the moment (a schema registry that doesn't answer). It is to be handed
    /// over again after a while.
    Later(String),
    /// The message was not taken: the part isn't ours any more.
    Gone,
}

/// A message's fingerprint: the SHA-256 of its number, its time, its key and its value.
pub fn mark(message: &Message<'_>) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(message.offset.to_be_bytes());
    hash.update(message.timestamp_ms.unwrap_or(i64::MIN).to_be_bytes());
    for part in [message.key, message.value] {
        let length = part.map_or(u64::MAX, |part| part.len() as u64);
        hash.update(length.to_be_bytes());
        hash.update(part.unwrap_or_default());
    }
    hash.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_message_under_a_number_has_another_mark() {
        let one = Message {
            topic: "t",
            part: "0",
            offset: 7,
            key: Some(b"k"),
            value: Some(b"v"),
            headers: &[],
            timestamp_ms: Some(1),
        };
        let others = [
            Message { offset: 8, ..one },
            Message { key: None, ..one },
            Message { key: Some(b""), value: Some(b"kv"), ..one },
            Message { value: None, ..one },
            Message { timestamp_ms: Some(2), ..one },
        ];
        assert_eq!(mark(&one), mark(&one.clone()));
        for other in others {
            assert_ne!(mark(&one), mark(&other), "{other:?}");
        }
    }
}
