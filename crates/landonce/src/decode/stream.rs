//! Streams: decompressed bytes in order, whole or an error.
//!
//! The rule of every stream here: `Ok(0)` means that the end was reached *and* proved (trailer read, checksum right, nothing
//! behind it). What comes before is already handed out by then, which is fine, since a batch is one transaction.

mod gzip;
mod zstd;

#[cfg(test)]
mod tests;

use std::io::{BufReader, Read};

use super::DecodeError;
use crate::payload::{Compression, Payload, StoredReader};

/// How many compressed bytes are read at a time.
const COMPRESSED_CHUNK: usize = 64 * 1024;

/// Decompressed bytes in order.
pub(super) trait Stream: Send {
    /// Reads some bytes into `into`, which isn't empty. 0 only at an end that has been proved.
    fn read(&mut self, into: &mut [u8]) -> Result<usize, DecodeError>;
}

/// The stream of a payload's bytes.
pub(super) fn open(payload: &Payload) -> Result<Box<dyn Stream>, DecodeError> {
    let reader = payload.stored().reader(payload.len());
    Ok(match payload.compression() {
        Compression::Gzip => Box::new(gzip::Gzip::new(compressed(reader))),
        Compression::Zstd => Box::new(zstd::Zstd::new(compressed(reader))?),
        Compression::None => {
            check_name(payload)?;
            Box::new(Plain(reader))
        }
    })
}

fn compressed(reader: StoredReader) -> Compressed {
    BufReader::with_capacity(COMPRESSED_CHUNK, reader)
}

/// Bytes that promise compression by their name and don't have it are a cut or a wrong file, not a plain one: a file of no
/// bytes at all, above all.
fn check_name(payload: &Payload) -> Result<(), DecodeError> {
    let (compression, magic) = match Compression::promised(payload.name()) {
        Some((Compression::Gzip, _)) => ("gzip", &b"\x1f\x8b"[..]),
        Some((Compression::Zstd, _)) => ("zstd", &b"\x28\xb5\x2f\xfd"[..]),
        _ => return Ok(()),
    };
    let mut head = [0; 4];
    let read =
        payload.stored().read_at(&mut head, 0).map_err(|source| DecodeError::Read { offset: 0, source })?;
    if magic.starts_with(&head[..read.min(payload.len() as usize)]) {
        let detail = "before its first header is complete".to_owned();
        return Err(DecodeError::Truncated { compression, offset: payload.len(), detail, records: 0 });
    }
    let detail =
        "the name promises compression, the bytes have none; if it is plain text, rename it".to_owned();
    Err(DecodeError::Corrupt { compression, offset: 0, detail, records: 0 })
}

/// The same stream, which fails behind its first `most` bytes: a small payload may decompress to a huge one.
pub(super) fn capped(stream: Box<dyn Stream>, most: u64) -> Box<dyn Stream> {
    if most == u64::MAX { stream } else { Box::new(Capped { stream, left: most, most }) }
}

struct Capped {
    stream: Box<dyn Stream>,
    left: u64,
    most: u64,
}

impl Stream for Capped {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, DecodeError> {
        let read = self.stream.read(into)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(DecodeError::OverLimit { what: "decompressed bytes", most: self.most }),
        }
        Ok(read)
    }
}

/// No bytes, for a format that finds its records by itself.
#[cfg(feature = "parquet")]
pub(super) fn nothing() -> Box<dyn Stream> {
    struct Nothing;
    impl Stream for Nothing {
        fn read(&mut self, _: &mut [u8]) -> Result<usize, DecodeError> {
            Ok(0)
        }
    }
    Box::new(Nothing)
}

/// Bytes that aren't compressed.
struct Plain(StoredReader);

impl Stream for Plain {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, DecodeError> {
        self.0.read(into).map_err(|source| DecodeError::Read { offset: self.0.position(), source })
    }
}

/// Compressed bytes, buffered so that a decoder stops exactly behind its own last byte.
type Compressed = BufReader<StoredReader>;

/// How many compressed bytes a decoder has taken.
fn taken(from: &Compressed) -> u64 {
    from.get_ref().position() - from.buffer().len() as u64
}

/// What a decoder's error really is: a failing disk, a cut stream, or a damaged one.
fn explain(compression: &'static str, from: &mut Compressed, error: &std::io::Error) -> DecodeError {
    let offset = taken(from);
    if let Some(source) = from.get_mut().take_failure() {
        return DecodeError::Read { offset, source };
    }
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        let detail = "before its trailer is complete".to_owned();
        return DecodeError::Truncated { compression, offset, detail, records: 0 };
    }
    DecodeError::Corrupt { compression, offset, detail: error.to_string(), records: 0 }
}
