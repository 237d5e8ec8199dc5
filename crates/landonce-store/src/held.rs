//! Held runs: snapshots that were incomplete or implausible (J5), kept whole for a person to look at.
//!
//! Holding is a transaction of its own, after the batch's has been rolled back: the target has nothing of a held payload.
//! Deciding is part of the transaction that lands it, or one statement for a rejection.

use landonce_core::outcome::Outcome;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::inbox::InboxKey;

/// The size of a payload's pieces.
pub(crate) const PIECE: usize = 1 << 20;

/// A payload that is to be held.
#[derive(Debug, Clone)]
pub struct Hold {
    /// The pipeline's name.
    pub pipeline: String,
    /// SHA-256 of the payload's bytes.
    pub digest: [u8; 32],
    /// The sender's id for the batch, if it has one.
    pub batch_id: Option<String>,
    /// The run that holds it.
    pub run_id: Uuid,
    /// Where it came from.
    pub source: String,
    /// Why, one sentence each.
    pub reasons: Vec<String>,
    /// The counts as they would have been.
    pub outcome: Outcome,
    /// Whether it was shown to be complete; then it was implausible only.
    pub is_complete: bool,
}

impl Hold {
    /// The key of a pipeline's payload.
    pub fn key_of(pipeline: &str, digest: &[u8; 32]) -> InboxKey {
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        InboxKey::of(pipeline, &hex)
    }

    /// The key.
    pub fn key(&self) -> InboxKey {
        Self::key_of(&self.pipeline, &self.digest)
    }
}

/// What has become of a held payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It waits for a person.
    Held,
    /// A person has released it, and it has landed.
    Released,
    /// A later delivery of it was plausible, and has landed.
    Landed,
    /// A person has rejected it.
    Rejected,
}

impl State {
    /// The spelling in tables and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Released => "released",
            Self::Landed => "landed",
            Self::Rejected => "rejected",
        }
    }

    pub(crate) fn read(text: &str) -> Result<Self> {
        [Self::Held, Self::Released, Self::Landed, Self::Rejected]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| {
                Error::refused(format!("a held run has the state `{text}`: landonce didn't write it so"))
            })
    }
}

/// A payload that is held, or was.
#[derive(Debug, Clone)]
pub struct Held {
    /// What was held, and why.
    pub hold: Hold,
    /// What has become of it.
    pub state: State,
    /// When it was held, by the database's clock, RFC 3339 in UTC.
    pub held_at: String,
    /// The run that landed or rejected it.
    pub decided_by: Option<Uuid>,
}

/// A row of either store, as text where they differ.
pub(crate) struct Row {
    pub(crate) pipeline: String,
    pub(crate) digest: Vec<u8>,
    pub(crate) batch_id: Option<String>,
    pub(crate) run_id: Uuid,
    pub(crate) source: String,
    pub(crate) reasons: String,
    pub(crate) outcome: String,
    pub(crate) is_complete: bool,
    pub(crate) state: String,
    pub(crate) held_at: String,
    pub(crate) decided_by: Option<Uuid>,
}

impl Row {
    pub(crate) fn held(self) -> Result<Held> {
        let strange = |what: &str| {
            Error::refused(format!("a held run's {what} can't be read: landonce didn't write it so"))
        };
        Ok(Held {
            state: State::read(&self.state)?,
            held_at: self.held_at,
            decided_by: self.decided_by,
            hold: Hold {
                pipeline: self.pipeline,
                digest: self.digest.try_into().map_err(|_| strange("digest"))?,
                batch_id: self.batch_id,
                run_id: self.run_id,
                source: self.source,
                reasons: serde_json::from_str(&self.reasons).map_err(|_| strange("reasons"))?,
                outcome: serde_json::from_str(&self.outcome).map_err(|_| strange("outcome"))?,
                is_complete: self.is_complete,
            },
        })
    }
}

/// A value as JSON text.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::refused(format!("a held run can't be spelled as JSON: {error}")))
}

/// The next piece of a payload; `None` at its end.
pub(crate) fn piece(payload: &mut (dyn std::io::Read + Send)) -> Result<Option<Vec<u8>>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    payload
        .take(PIECE as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::refused(format!("the payload can't be read again to be held: {error}")))?;
    Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
}
