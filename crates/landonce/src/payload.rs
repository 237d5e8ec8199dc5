//! A payload: the bytes of one delivery, readable again and again.
//!
//! A batch is retried as a whole, so its bytes must be there for every attempt, and they must be the same ones: their
//! SHA-256 is the batch's digest. A file stays on the disk and is never held in memory; a pipe is copied to an unlinked
//! temporary file. What the bytes mean is left to [`crate::decode`].

mod error;
mod messages;
mod stamp;
mod stored;
#[cfg(test)]
mod tests;

pub use error::PayloadError;
pub(crate) use error::is_no_space;
pub use messages::Messages;
pub(crate) use stored::{Stored, StoredReader};

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use stamp::Stamp;

/// How much is read and hashed at a time: large enough to make the calls cheap, small enough to stay in the L2 cache.
const CHUNK: usize = 128 * 1024;

/// How a payload's bytes are compressed, as its first bytes tell (its name doesn't count).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed, or not in a way that is known.
    None,
    /// gzip, RFC 1952.
    Gzip,
    /// Zstandard, RFC 8878.
    Zstd,
}

impl Compression {
    /// What the first bytes tell.
    fn detect(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A skippable frame; parallel compressors put one before every other.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// What a name's ending promises, and the name without it.
    pub(crate) fn promised(name: &str) -> Option<(Self, &str)> {
        let (rest, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "gz" | "gzip" => Some((Self::Gzip, rest)),
            "zst" | "zstd" => Some((Self::Zstd, rest)),
            _ => None,
        }
    }
}

/// The bytes of one delivery, readable again and again.
#[derive(Debug)]
pub struct Payload {
    name: String,
    stored: Stored,
    /// The file that the caller named, for [`Payload::check_unchanged`]; `None` for bytes that only we can reach.
    origin: Option<Origin>,
    digest: [u8; 32],
    len: u64,
    compression: Compression,
}

#[derive(Debug)]
struct Origin {
    path: PathBuf,
    file: Arc<File>,
    stamp: Stamp,
}

impl Payload {
    /// Opens a file and hashes it. A FIFO (`<(…)`, `/dev/stdin` on a pipe) is spooled into the default temporary folder.
    ///
    /// Fails if the path is missing, forbidden, a folder or a device, and if the file changes while it is hashed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PayloadError> {
        let path = path.as_ref();
        let failed = |source| PayloadError::opening(path, source);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let name = path.display().to_string();
        if metadata.file_type().is_fifo() {
            return Self::spool(name, file, None);
        }
        if metadata.is_dir() {
            return Err(PayloadError::Folder { path: path.to_owned() });
        }
        if !metadata.is_file() {
            return Err(PayloadError::NotAFile { path: path.to_owned() });
        }
        let stamp = Stamp::of(&metadata);
        let file = Arc::new(file);
        let stored = Stored::File(Arc::clone(&file));
        let reading = |source| PayloadError::Read { name: name.clone(), source };
        let digest = hash(stored.reader(metadata.len())).map_err(reading)?;
        let compression = compression(&stored).map_err(reading)?;
        let origin = Origin { path: path.to_owned(), file, stamp };
        // A file that grew or was written meanwhile has a digest that no moment of it had.
        origin.check()?;
        Ok(Self { name, stored, origin: Some(origin), digest, len: metadata.len(), compression })
    }

    /// Copies all of `from` to an unlinked temporary file in `dir` (or in the default temporary folder), hashing it.
    ///
    /// A full disk is [`PayloadError::NoSpace`]; the file is gone with the payload, also after a crash.
    pub fn spool(name: impl Into<String>, from: impl Read, dir: Option<&Path>) -> Result<Self, PayloadError> {
        let dir = dir.map_or_else(std::env::temp_dir, Path::to_owned);
        let to = tempfile::tempfile_in(&dir).map_err(|source| PayloadError::spooling(&dir, source))?;
        Self::copy_to(to, name.into(), from, &dir)
    }

    fn copy_to(mut to: File, name: String, mut from: impl Read, dir: &Path) -> Result<Self, PayloadError> {
        let mut hash = Sha256::new();
        let mut len = 0;
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(again) if again.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(PayloadError::Read { name, source }),
            };
            hash.update(&buffer[..read]);
            to.write_all(&buffer[..read]).map_err(|source| PayloadError::spooling(dir, source))?;
            len += read as u64;
        }
        let stored = Stored::File(Arc::new(to));
        let compression = compression(&stored).map_err(|source| PayloadError::spooling(dir, source))?;
        Ok(Self { name, stored, origin: None, digest: hash.finalize().into(), len, compression })
    }

    /// Takes an unlinked temporary file that was hashed while it was written: `digest` is believed, so nobody else may be able to
    /// write to the file, and all of it must have been hashed.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn from_spool(name: impl Into<String>, file: File, digest: [u8; 32]) -> Result<Self, PayloadError> {
        let name = name.into();
        let reading = |source| PayloadError::Read { name: name.clone(), source };
        let len = file.metadata().map_err(reading)?.len();
        let stored = Stored::File(Arc::new(file));
        let compression = compression(&stored).map_err(reading)?;
        Ok(Self { name, stored, origin: None, digest, len, compression })
    }

    /// Takes a temporary file that nobody else can reach, whole.
    pub(crate) fn of_temporary(name: impl Into<String>, file: File) -> Result<Self, PayloadError> {
        let name = name.into();
        let reading = |source| PayloadError::Read { name: name.clone(), source };
        let len = file.metadata().map_err(reading)?.len();
        let stored = Stored::File(Arc::new(file));
        let digest = hash(stored.reader(len)).map_err(reading)?;
        let compression = compression(&stored).map_err(reading)?;
        Ok(Self { name, stored, origin: None, digest, len, compression })
    }

    /// Takes bytes that are in memory already.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let digest = Sha256::digest(&bytes).into();
        let len = bytes.len() as u64;
        let compression = Compression::detect(&bytes);
        Self {
            name: name.into(),
            stored: Stored::Bytes(Arc::new(bytes)),
            origin: None,
            digest,
            len,
            compression,
        }
    }

    /// The SHA-256 of the bytes as they are stored, compressed or not: what `sha256sum` prints.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Where the bytes come from: the path as given, or the name given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the file is, as the path was given; `None` for bytes that came through a pipe or from memory.
    pub fn path(&self) -> Option<&Path> {
        self.origin.as_ref().map(|origin| origin.path.as_path())
    }

    /// How many bytes are stored, compressed or not.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How the bytes are compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Fails with [`PayloadError::Changed`] if the file isn't as it was when it was hashed: to be called after the last
    /// read and before COMMIT, so that the digest in the inbox is that of the rows. Spooled and in-memory bytes can't
    /// change.
    pub fn check_unchanged(&self) -> Result<(), PayloadError> {
        self.origin.as_ref().map_or(Ok(()), Origin::check)
    }

    /// Whether it is messages as landonce writes them ([`Messages`]).
    pub(crate) fn is_messages(&self) -> io::Result<bool> {
        let magic = crate::decode::messages::MAGIC;
        if self.len < magic.len() as u64 {
            return Ok(false);
        }
        let mut head = vec![0; magic.len()];
        self.stored.read_exact_at(&mut head, 0)?;
        Ok(head == magic)
    }

    /// The bytes, from wherever they are.
    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }
}

impl Origin {
    /// Looks at the open file (was it written to?) and at the path (is it still that file?).
    fn check(&self) -> Result<(), PayloadError> {
        let changed = |what: &str| PayloadError::Changed { path: self.path.clone(), what: what.to_owned() };
        for metadata in [self.file.metadata(), std::fs::metadata(&self.path)] {
            match metadata {
                Ok(metadata) => {
                    if let Some(what) = self.stamp.difference(&Stamp::of(&metadata)) {
                        return Err(changed(what));
                    }
                }
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => {
                    return Err(changed("it was removed or renamed"));
                }
                Err(source) => return Err(PayloadError::opening(&self.path, source)),
            }
        }
        Ok(())
    }
}

fn hash(mut from: StoredReader) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            read => hash.update(&buffer[..read]),
        }
    }
}

fn compression(stored: &Stored) -> io::Result<Compression> {
    let mut head = [0; 4];
    let mut filled = 0;
    while filled < head.len() {
        match stored.read_at(&mut head[filled..], filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(Compression::detect(&head[..filled]))
}
