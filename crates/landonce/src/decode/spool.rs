//! The spool: texts of records that don't stand in the payload's own bytes (compressed, or rendered), kept on disk until the
//! batch has landed; and [`Texts`], which reads any record's text again by its address.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::{DecodeError, Seen};
use crate::payload::Stored;

/// How many bytes are gathered before they are written. A batch that fits never touches the disk.
const BUFFER: usize = 256 * 1024;

/// Texts being written.
pub(super) struct Spool {
    dir: PathBuf,
    /// Made when the buffer first overflows; has no name, so it is gone with the process.
    file: Option<File>,
    written: u64,
    buffer: Vec<u8>,
}

impl Spool {
    /// An empty spool whose file, should it need one, is made in `dir`.
    pub(super) fn in_dir(dir: PathBuf) -> Self {
        Self { dir, file: None, written: 0, buffer: Vec::new() }
    }

    /// Appends a text and tells its address. A text is either all in the file or all in the buffer.
    pub(super) fn append(&mut self, text: &[u8]) -> Result<u64, DecodeError> {
        if self.buffer.len() + text.len() > BUFFER {
            let buffer = std::mem::take(&mut self.buffer);
            self.write(&buffer)?;
            self.buffer = buffer;
            self.buffer.clear();
        }
        let at = self.written + self.buffer.len() as u64;
        if text.len() > BUFFER {
            self.write(text)?;
        } else {
            self.buffer.extend_from_slice(text);
        }
        Ok(at)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let failed = |source| DecodeError::spooling(&self.dir, source);
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile_in(&self.dir).map_err(failed)?),
        };
        file.write_all(bytes).map_err(failed)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// The texts, to be read.
    pub(super) fn into_texts(self, seen: Seen) -> Texts {
        let place = Place::Spooled { file: self.file, written: self.written, tail: self.buffer };
        Texts { place, seen }
    }
}

/// Reads records' texts again by their addresses. Shared freely between threads.
#[derive(Debug)]
pub struct Texts {
    place: Place,
    seen: Seen,
}

#[derive(Debug)]
enum Place {
    /// Addresses are into the payload's own bytes.
    Payload(Stored),
    /// Addresses are into the spool: the file, and behind it what never left memory.
    Spooled { file: Option<File>, written: u64, tail: Vec<u8> },
}

impl Texts {
    /// Texts that stand in the payload's own bytes.
    pub(super) fn in_payload(stored: Stored, seen: Seen) -> Self {
        Self { place: Place::Payload(stored), seen }
    }

    /// What was seen of the payload beside its records.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Reads the text at an address ([`super::Item::offset`], [`super::Item::len`]) into `text`, whose former content is
    /// dropped. An address that no item had is an error or gives other bytes, never a panic.
    pub fn read(&self, offset: u64, len: u32, text: &mut Vec<u8>) -> io::Result<()> {
        // Not cleared first: only what is new would need the zeros.
        text.resize(len as usize, 0);
        match &self.place {
            Place::Payload(stored) => stored.read_exact_at(text, offset),
            Place::Spooled { written, tail, .. } if offset >= *written => {
                let from = usize::try_from(offset - written).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                let found = from.checked_add(text.len()).and_then(|to| tail.get(from..to));
                text.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Place::Spooled { file, .. } => {
                let file = file.as_ref().ok_or(io::ErrorKind::UnexpectedEof)?;
                std::os::unix::fs::FileExt::read_exact_at(file, text, offset)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &Texts, at: u64, len: usize) -> Vec<u8> {
        let mut text = b"what was there before".to_vec();
        texts.read(at, len as u32, &mut text).unwrap();
        text
    }

    #[test]
    fn a_small_spool_never_touches_the_disk() {
        let mut spool = Spool::in_dir("/no/such/folder".into());
        let first = spool.append(b"one").unwrap();
        let second = spool.append(b"two").unwrap();
        let texts = spool.into_texts(Seen::default());
        assert_eq!((read(&texts, first, 3), read(&texts, second, 3)), (b"one".to_vec(), b"two".to_vec()));
        assert!(texts.read(4, 3, &mut Vec::new()).is_err());
    }

    #[test]
    fn texts_in_the_file_and_behind_it_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::in_dir(dir.path().to_owned());
        let texts: Vec<Vec<u8>> =
            [1, BUFFER - 2, 5, BUFFER, 3 * BUFFER, 7].iter().map(|&len| vec![len as u8; len]).collect();
        let places: Vec<u64> = texts.iter().map(|text| spool.append(text).unwrap()).collect();
        let read_back = spool.into_texts(Seen::default());
        for (text, at) in texts.iter().zip(places).rev() {
            assert_eq!(&read(&read_back, at, text.len()), text);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
    }

    #[test]
    fn a_full_disk_is_its_own_error() {
        // /dev/full answers every write with ENOSPC.
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut spool = Spool { file: Some(full), ..Spool::in_dir("/tmp".into()) };
        spool.append(&vec![0; BUFFER]).unwrap();
        let error = spool.append(b"x").unwrap_err();
        assert!(matches!(error, DecodeError::NoSpace { .. }), "{error:?}");
    }

    #[test]
    fn a_spool_folder_that_is_missing_is_told() {
        let mut spool = Spool::in_dir("/no/such/folder".into());
        spool.append(&vec![0; BUFFER]).unwrap();
        assert!(matches!(spool.append(b"x"), Err(DecodeError::Spool { .. })));
    }
}
