//! Positions: how far each part of a source has been landed, and who may go on.
//!
//! A part is what is read in order by one worker at a time: a partition of a topic, the feed of a paged API. Its position moves in
//! the transaction of the rows that were read up to there, so whatever fails, both are there or neither is. Whoever takes a part
//! raises its epoch. A worker that was taken over and doesn't know it yet moves nothing: its transaction finds another epoch, and
//! fails as a whole.

use uuid::Uuid;

use crate::error::{Error, Result};

/// What is read in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    /// The pipeline that reads.
    pub pipeline: String,
    /// What is read, and as whom: `kafka flights duty-events` for the group and the topic.
    pub source: String,
    /// Which part of it: a partition's number; empty where there is only one.
    pub part: String,
}

/// What whoever takes a part is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The epoch of this owner: one higher than the last.
    pub epoch: u64,
    /// Where to go on; `None` when nothing has been landed yet.
    pub next: Option<String>,
    /// What the source left to recognise the place by ([`Advance::mark`]).
    pub mark: Option<Vec<u8>>,
}

/// A move, as a batch's transaction makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    /// The part.
    pub part: Part,
    /// The epoch in which it was taken.
    pub epoch: u64,
    /// Where the batch begins, as the part was taken or was last moved to.
    pub from: Option<String>,
    /// Where to go on behind the batch.
    pub to: String,
    /// What the place may be recognised by when it is read again: the fingerprint of the record before it, say.
    pub mark: Option<Vec<u8>>,
}

/// What has become of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advanced {
    /// It is made, if the transaction commits.
    Moved,
    /// It had been made, by the same owner: an earlier attempt's answer was lost.
    Already,
    /// The part isn't ours, or isn't where we left it.
    Lost {
        /// The epoch that it is in; `None` when there is no such part any more.
        epoch: Option<u64>,
        /// Who has it.
        owner: String,
        /// Where it is.
        next: Option<String>,
    },
}

/// A part as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The part.
    pub part: Part,
    /// Where to go on; `None` when nothing has been landed yet.
    pub next: Option<String>,
    /// How often it has been taken.
    pub epoch: u64,
    /// Who took it last.
    pub owner: String,
    /// The run that moved it last.
    pub run_id: Option<Uuid>,
    /// When it was taken, by the database's clock, RFC 3339 in UTC.
    pub taken_at: String,
    /// When it was moved last.
    pub moved_at: Option<String>,
}

impl Part {
    /// Refuses what no database text can hold.
    pub(crate) fn check(&self, doing: &str, more: &[(&str, &str)]) -> Result<()> {
        let own = [
            ("pipeline's name", &self.pipeline),
            ("source's name", &self.source),
            ("part's name", &self.part),
        ];
        let own = own.iter().map(|(what, text)| (*what, text.as_str()));
        for (what, text) in own.chain(more.iter().copied()) {
            if text.contains('\0') {
                return Err(Error::refused(format!(
                    "{doing}: the {what} holds U+0000, which no database text can hold"
                )));
            }
        }
        Ok(())
    }
}
