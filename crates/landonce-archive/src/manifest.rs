//! A manifest: which batch of which pipeline some bytes were, when, and where they lie.
//!
//! One for each (pipeline, batch id, digest): a sender who corrects a batch that has not landed delivers other bytes under
//! the same id, and whichever of the two lands, its bytes must be told from the other's.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The only version so far.
pub(crate) const VERSION: u32 = 1;
/// The longest name of a pipeline's folder; file systems stop at 255 bytes.
const LONGEST: usize = 160;

/// A delivery whose bytes are to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The pipeline's name.
    pub pipeline: String,
    /// The batch's id: the sender's, or the digest in hex.
    pub batch_id: String,
    /// The SHA-256 of the bytes as delivered, compressed or not.
    pub digest: [u8; 32],
    /// How many bytes they are.
    pub length: u64,
    /// Where they came from, without secrets. The format is guessed from it again.
    pub source: String,
    /// The run that delivers them.
    pub run_id: Uuid,
    /// When.
    pub received_at: Timestamp,
    /// What the bytes are.
    pub form: Form,
    /// The period that the run was for, if it was for one.
    pub period: Option<String>,
}

/// What a batch's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// What the sender delivered.
    Delivered,
    /// Records out of the quarantine, delivered again: one JSON array, whatever the pipeline's format.
    Quarantined {
        /// They come from a source of texts (CSV).
        is_lexical: bool,
    },
    /// A webhook's event: one JSON object, whatever the pipeline's format. It landed under its content's digest.
    Event,
}

/// What is known of kept bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub(crate) version: u32,
    /// The pipeline's name.
    pub pipeline: String,
    /// The batch's id.
    pub batch_id: String,
    /// The SHA-256 of the bytes as delivered, in hex.
    pub digest: String,
    /// How many bytes they are.
    pub length: u64,
    /// The object that holds them.
    pub blob: String,
    /// Where they came from.
    pub source: String,
    /// The run that delivered them last.
    pub run_id: Uuid,
    /// When they were first delivered.
    pub first_received_at: Timestamp,
    /// When they were last delivered, not counting deliveries that were skipped because the batch had landed: so the
    /// manifests' order is the order in which batches landed.
    pub received_at: Timestamp,
    /// What the bytes are.
    pub form: Form,
    /// The period that the run was for, if it was for one.
    pub period: Option<String>,
}

impl Manifest {
    pub(crate) fn new(delivery: &Delivery, blob: String, first_received_at: Timestamp) -> Self {
        Self {
            version: VERSION,
            pipeline: delivery.pipeline.clone(),
            batch_id: delivery.batch_id.clone(),
            digest: hex::encode(delivery.digest),
            length: delivery.length,
            blob,
            source: delivery.source.clone(),
            run_id: delivery.run_id,
            first_received_at: first_received_at.min(delivery.received_at),
            received_at: delivery.received_at,
            form: delivery.form,
            period: delivery.period.clone(),
        }
    }

    /// Reads one; the reason if it isn't one.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let Version { version } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if version != VERSION {
            return Err(format!("its version is {version}; this landonce knows {VERSION}: use a newer one"));
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    /// The object that holds it.
    pub(crate) fn path(&self) -> String {
        path(&self.pipeline, &self.batch_id, &self.digest)
    }
}

/// The folder of a pipeline's manifests.
pub(crate) fn folder(pipeline: &str) -> String {
    format!("batches/{}", encoded(pipeline))
}

/// The folder of a batch's manifests: one for each content that was delivered under its id.
pub(crate) fn batch_folder(pipeline: &str, batch_id: &str) -> String {
    let mut hash = Sha256::new();
    // As the inbox's key: file systems that don't tell `A` from `a` make no two batches one.
    for part in [pipeline, batch_id] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    format!("{}/{}", folder(pipeline), hex::encode(hash.finalize()))
}

pub(crate) fn path(pipeline: &str, batch_id: &str, digest: &str) -> String {
    format!("{}/{digest}.json", batch_folder(pipeline, batch_id))
}

/// A name as a folder's: percent-encoded but for what is plain everywhere; a long one is cut, and told apart by its hash.
fn encoded(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' || (byte == b'.' && !out.is_empty()) {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    if out.len() > LONGEST {
        out.truncate(LONGEST);
        out.push('~');
        out.push_str(&hex::encode(&Sha256::digest(name)[..16]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_folders_that_are_told_apart() {
        assert_eq!(encoded("flight-schedule.v2"), "flight-schedule.v2");
        assert_eq!(encoded("../../etc/x y"), "%2E.%2F..%2Fetc%2Fx%20y");
        assert_eq!(encoded("é"), "%C3%A9");
        let (one, two) = (encoded(&format!("{}1", "ü".repeat(99))), encoded(&format!("{}2", "ü".repeat(99))));
        assert!(one.len() < 255 && one != two, "{one}");
        assert_ne!(batch_folder("a", "bc"), batch_folder("ab", "c"));
    }

    #[test]
    fn a_newer_manifest_is_not_misread() {
        assert!(Manifest::parse(br#"{"version":2}"#).unwrap_err().contains("newer"));
        assert!(Manifest::parse(b"{\"version\":1").is_err());
        assert!(Manifest::parse(b"").is_err());
    }
}
