//! The inbox (F3): one row per batch, written in the transaction of the batch's own rows.
//!
//! The row's key is the SHA-256 of the pipeline's name and the batch id, so no collation and no length can make two
//! batches one. Since claim, rows and outcome are one transaction, there is no half-claimed batch: a crash takes the claim
//! with it.

use landonce_core::outcome::Outcome;
use sha2::{Digest, Sha256};
use uuid::Uuid;

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

/// A delivery that wants in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The pipeline's name.
    pub pipeline: String,
    /// The sender's batch id, or the hex SHA-256 of the payload's bytes.
    pub batch_id: String,
    /// SHA-256 of the payload's bytes.
    pub digest: [u8; 32],
    /// The run that delivers it.
    pub run_id: Uuid,
    /// Where it came from, for `status`: a file name, `stdin`, a URL without secrets.
    pub source: String,
}

impl Claim {
    /// The inbox row's key.
    pub fn key(&self) -> InboxKey {
        InboxKey::of(&self.pipeline, &self.batch_id)
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
