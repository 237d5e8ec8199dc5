//! The stored bytes, by position, as the Parquet crate asks for them.

use std::io::{self, Read};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::decode::DecodeError;
use crate::payload::Stored;

/// What a Parquet file begins and ends with.
const MAGIC: &[u8; 4] = b"PAR1";
/// What one begins or ends with whose footer is encrypted.
const ENCRYPTED: &[u8; 4] = b"PARE";

/// A payload's bytes.
#[derive(Clone)]
pub(super) struct Source {
    stored: Stored,
    len: u64,
}

impl Source {
    pub(super) fn new(stored: Stored, len: u64) -> Self {
        Self { stored, len }
    }

    /// Refuses what is no Parquet file, or a cut one, in words of our own.
    pub(super) fn check_ends(&self) -> std::result::Result<(), DecodeError> {
        let read = |at: u64| {
            let mut found = [0; 4];
            self.stored.read_exact_at(&mut found, at).map(|()| found)
        };
        let failed = |source| DecodeError::Read { offset: 0, source };
        let incomplete = |detail: &str| DecodeError::Incomplete { detail: detail.to_owned(), records: 0 };
        if self.len < 4 {
            return Err(incomplete("a Parquet file has at least 12 bytes"));
        }
        let first = read(0).map_err(failed)?;
        let last = read(self.len - 4).map_err(failed)?;
        if &first == ENCRYPTED || &last == ENCRYPTED {
            return Err(DecodeError::Unsupported {
                detail: "the Parquet file is encrypted; write it out decrypted".to_owned(),
            });
        }
        if &first != MAGIC {
            return Err(DecodeError::Malformed {
                format: "parquet",
                offset: 0,
                detail: "it doesn't begin with `PAR1`".to_owned(),
                records: 0,
            });
        }
        if &last != MAGIC || self.len < 12 {
            return Err(incomplete("the Parquet file ends before its footer"));
        }
        Ok(())
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Source {
    type T = From;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(From { source: self.clone(), at: start })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // Before the memory is taken: a damaged footer may ask for anything.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} of a file of {}", self.len)));
        }
        let mut bytes = vec![0; length];
        self.stored.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// The bytes from a position on.
pub(super) struct From {
    source: Source,
    at: u64,
}

impl Read for From {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.source.len.saturating_sub(self.at);
        let want = usize::try_from(left).map_or(into.len(), |left| left.min(into.len()));
        let read = self.source.stored.read_at(&mut into[..want], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
