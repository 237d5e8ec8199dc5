//! Stored bytes, read by position: no shared cursor, so any number of readers go their own way at once.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes on disk or in memory.
#[derive(Debug, Clone)]
pub(crate) enum Stored {
    /// An open file.
    File(Arc<File>),
    /// Bytes in memory.
    Bytes(Arc<Vec<u8>>),
}

impl Stored {
    /// Reads some bytes at a position; 0 only at the end.
    pub(crate) fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => loop {
                match file.read_at(into, at) {
                    Err(again) if again.kind() == io::ErrorKind::Interrupted => {}
                    answer => return answer,
                }
            },
            Self::Bytes(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                let read = rest.len().min(into.len());
                into[..read].copy_from_slice(&rest[..read]);
                Ok(read)
            }
        }
    }

    /// Fills `into` from a position, or fails.
    pub(crate) fn read_exact_at(&self, mut into: &mut [u8], mut at: u64) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_at(into, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    into = &mut into[read..];
                    at += read as u64;
                }
            }
        }
        Ok(())
    }

    /// Reads the first `len` bytes in order. Bytes behind them, appended since, are not seen.
    pub(crate) fn reader(&self, len: u64) -> StoredReader {
        StoredReader { stored: self.clone(), at: 0, len, failure: None }
    }
}

/// Stored bytes in order.
#[derive(Debug)]
pub(crate) struct StoredReader {
    stored: Stored,
    at: u64,
    len: u64,
    failure: Option<io::Error>,
}

impl StoredReader {
    /// How many bytes were read.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    /// The error that a read ended with. A decompressor on top of this reader passes errors on in forms of its own; here
    /// is how to tell "the disk failed" from "the stream is cut".
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }
}

impl Read for StoredReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let want = usize::try_from(self.len - self.at).map_or(into.len(), |left| left.min(into.len()));
        let read = match self.stored.read_at(&mut into[..want], self.at) {
            // Without this check a file that was cut down since would look like a shorter payload.
            Ok(0) if want > 0 => Err(io::Error::other("the file has become shorter since it was opened")),
            answer => answer,
        };
        match read {
            Ok(read) => {
                self.at += read as u64;
                Ok(read)
            }
            Err(error) => {
                let copy = io::Error::new(error.kind(), error.to_string());
                self.failure = Some(error);
                Err(copy)
            }
        }
    }
}
