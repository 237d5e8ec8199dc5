//! An unlinked temporary file, hashed while it is written: for payloads that may not fit into memory.

use std::fs::File;
use std::io::{self, Seek as _, Write};

use landonce::payload::Payload;
use sha2::{Digest as _, Sha256};

/// Bytes on their way to become a payload. Gone with the process, however that ends.
pub(crate) struct Spool {
    file: File,
    hash: Sha256,
    len: u64,
}

impl Spool {
    /// An empty one, in the default temporary folder.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, hash: Sha256::new(), len: 0 })
    }

    /// Drops what has been written.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.hash = Sha256::new();
        self.len = 0;
        Ok(())
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Reads from the beginning what has been written so far.
    pub(crate) fn reader(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(file)
    }

    /// All of it.
    pub(crate) fn into_payload(self, name: String) -> Result<Payload, landonce::Error> {
        Ok(Payload::from_spool(name, self.file, self.hash.finalize().into())?)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
