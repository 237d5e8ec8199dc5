//! The inbox (F3): one row per batch, written in the transaction of the batch's own rows.
//!
//! The row's key is the SHA-256 of the pipeline's name and the batch id, so no collation and no length can make two
//! batches one. Since claim, rows and outcome are one transaction, there is no half-claimed batch: a crash takes the claim
//! with it.

use landonce_core::outcome::Outcome;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::error::{Error, Result};

/// The key of an inbox row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InboxKey(pub [u8; 32]);

impl InboxKey {
    /// The key of a batch: SHA-256 over the length-prefixed pipeline name and batch id.
    pub fn of(pipeline: &str, batch_id: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [pipeline, batch_id] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Self(hash.finalize().into())
    }
}

/// What a batch of one record is about: the first sixteen bytes of a SHA-256 over the length-prefixed pipeline name and the record's
/// key. By it the events of a record are found.
pub fn subject(pipeline: &str, key: &[u8; 32]) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in [pipeline.as_bytes(), key] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let whole: [u8; 32] = hash.finalize().into();
    let [first @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = whole;
    first
}

/// A delivery that wants in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The pipeline's name.
    pub pipeline: String,
    /// The sender's batch id, or the hex SHA-256 of the payload's bytes.
    pub batch_id: String,
    /// SHA-256 of the payload's bytes; of an event its content digest, so that another spelling is no other event.
    pub digest: [u8; 32],
    /// The run that delivers it.
    pub run_id: Uuid,
    /// Where it came from, for `status`: a file name, `stdin`, a URL without secrets.
    pub source: String,
    /// Which record it is about ([`subject`]), when it is an event.
    pub subject: Option<[u8; 16]>,
}

impl Claim {
    /// The inbox row's key.
    pub fn key(&self) -> InboxKey {
        InboxKey::of(&self.pipeline, &self.batch_id)
    }

    /// Fails on what no store's text can hold.
    pub(crate) fn has_only_text(&self) -> Result<()> {
        let texts =
            [("pipeline's name", &self.pipeline), ("batch id", &self.batch_id), ("source", &self.source)];
        match texts.iter().find(|(_, text)| text.contains('\0')) {
            Some((what, _)) => {
                Err(Error::refused(format!("the {what} holds U+0000, which no database text can hold")))
            }
            None => Ok(()),
        }
    }
}

/// What the inbox said to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The row is ours; it becomes visible with our COMMIT.
    New,
    /// An earlier delivery has committed.
    Found(Settled),
}

/// A batch that has landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The pipeline's name.
    pub pipeline: String,
    /// The batch id.
    pub batch_id: String,
    /// SHA-256 of the payload's bytes.
    pub digest: [u8; 32],
    /// The run that landed it.
    pub run_id: Uuid,
    /// Where it came from.
    pub source: String,
    /// What became of its records.
    pub outcome: Outcome,
    /// When, by the database's clock, RFC 3339 in UTC.
    pub settled_at: String,
}
