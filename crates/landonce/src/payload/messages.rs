//! A payload that is written message by message: what a stream's consumer and a fetch have instead of a file.

use std::io;

use landonce_core::bad_record::BadRecord;

use super::Payload;
use crate::decode::messages;

/// The default limit of a record: 16 MiB.
const LIMIT: u32 = 16 << 20;

/// Messages on their way to become a batch: records, each with its number where it comes from, and such as are no records.
#[derive(Debug, Clone)]
pub struct Messages {
    bytes: Vec<u8>,
    count: u64,
    limit: u32,
}

impl Default for Messages {
    fn default() -> Self {
        Self::with_limit(LIMIT)
    }
}

impl Messages {
    /// None yet; of a record that is longer than so many bytes only the beginning is kept, as a bad one
    /// ([`landonce_core::pipeline::Source::max_record`]).
    pub fn with_limit(limit: u32) -> Self {
        Self { bytes: messages::MAGIC.to_vec(), count: 0, limit }
    }

    /// A record: the text of one JSON object. `number` is what a person finds it by (an offset).
    pub fn record(&mut self, number: u64, text: &[u8]) {
        messages::record(&mut self.bytes, number, text, self.limit);
        self.count += 1;
    }

    /// A message that is no record: it fails the batch, or goes into the quarantine with these bytes.
    pub fn bad(&mut self, number: u64, why: &BadRecord, raw: &[u8]) {
        messages::bad(&mut self.bytes, number, why, raw);
        self.count += 1;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// About how many bytes they take.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Writes what there is so far to a spool file, and goes on behind it: for payloads that may not fit into memory. The file, read from
    /// its beginning, is a payload ([`Payload::from_spool`]).
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn drain_to(&mut self, to: &mut impl io::Write) -> io::Result<()> {
        to.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// The bytes of the payload.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The payload, in memory; `name` is where it comes from (`kafka flights/3`).
    pub fn into_payload(self, name: impl Into<String>) -> Payload {
        Payload::from_bytes(name, self.bytes)
    }
}
