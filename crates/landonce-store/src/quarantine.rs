//! The quarantine: bad records kept whole, once however often they are delivered.
//!
//! An entry's id is the SHA-256 of the pipeline and the record's bytes, so a redelivery of the same bad record under any
//! batch id, bad for whatever reason, finds itself there already. One that had landed meanwhile is opened again.

use landonce_core::bad_record::BadRecord;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A bad record to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow<'a> {
    /// The pipeline's name.
    pub pipeline: &'a str,
    /// The batch that brought it.
    pub batch_id: &'a str,
    /// The run that found it.
    pub run_id: Uuid,
    /// Where it came from (the batch's source) and its number there.
    pub source: &'a str,
    /// Its line or index.
    pub number: u64,
    /// Why it is bad.
    pub bad: BadRecord,
    /// Its bytes, whole (a record beyond the size limit: its first bytes).
    pub raw: &'a [u8],
}

impl BadRow<'_> {
    /// The entry's id.
    pub fn id(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in [self.pipeline.as_bytes(), self.raw] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

/// A quarantine entry as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: [u8; 32],
    /// The pipeline.
    pub pipeline: String,
    /// The batch that first brought it.
    pub batch_id: String,
    /// The run that first found it.
    pub run_id: Uuid,
    /// Where it came from.
    pub source: String,
    /// Its line or index there.
    pub number: u64,
    /// The kind of fault.
    pub kind: String,
    /// The field's path, or empty.
    pub field: String,
    /// What was found.
    pub detail: String,
    /// The record's bytes.
    pub raw: Vec<u8>,
    /// When it was kept, by the database's clock, RFC 3339 in UTC.
    pub kept_at: String,
    /// The run that landed it later, if any.
    pub resolved_by: Option<Uuid>,
}
