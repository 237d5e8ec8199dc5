//! From the bytes of a message to the JSON text that [`landonce_core::pipeline::Shape`] reads: the place of Avro, Protobuf and their
//! registry.

use landonce_core::bad_record::BadRecord;

/// What turns bytes into JSON text. Called on the source's thread, and may block for one request.
pub trait Decode: Send + Sync {
    /// Writes the value's JSON text to `out`, which is empty.
    ///
    /// # Errors
    /// When there is none.
    fn value(&self, topic: &str, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Undecoded>;

    /// Writes the key's JSON text to `out`, which is empty; false leaves the key as it came.
    ///
    /// # Errors
    /// When there is none.
    fn key(&self, _topic: &str, _bytes: &[u8], _out: &mut Vec<u8>) -> Result<bool, Undecoded> {
        Ok(false)
    }
}

/// Why there is no text.
#[derive(Debug)]
pub enum Undecoded {
    /// The message is no record: it fails its batch, or goes into the quarantine.
    Bad(BadRecord),
    /// It can't be told now, and why; it is asked again.
    Later(String),
}
