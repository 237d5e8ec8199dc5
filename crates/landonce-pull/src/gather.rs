//! Records on their way to become a piece: in memory while they are few, in an unlinked file when they are not.

use std::io::{self, Read as _};

use landonce::payload::{Messages, Payload};
use landonce_core::bad_record::BadRecord;

use crate::error::Error;
use crate::spool::Spool;

/// How many bytes stay in memory.
const IN_MEMORY: usize = 8 << 20;

/// Records being gathered.
pub(crate) struct Gathered {
    messages: Messages,
    file: Option<Spool>,
    bytes: u64,
    /// How many records there were at the last seal, and where they end in the payload.
    sealed: (u64, u64),
}

impl Gathered {
    /// None yet; of a record that is longer than `limit` bytes only the beginning is kept.
    pub(crate) fn with_limit(limit: u64) -> Self {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX - 1);
        let messages = Messages::with_limit(limit);
        let sealed = (0, messages.size() as u64);
        Self { messages, file: None, bytes: 0, sealed }
    }

    /// A record; `number` is what a person finds it by.
    pub(crate) fn record(&mut self, number: u64, text: &[u8]) -> Result<(), Error> {
        self.messages.record(number, text);
        self.bytes += text.len() as u64;
        self.drain()
    }

    /// What is no record.
    pub(crate) fn bad(&mut self, number: u64, why: &BadRecord, raw: &[u8]) -> Result<(), Error> {
        self.messages.bad(number, why, raw);
        self.bytes += raw.len() as u64;
        self.drain()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.messages.count()
    }

    /// How many bytes the records have.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The payload; `name` is where it comes from.
    pub(crate) fn into_payload(mut self, name: &str) -> Result<Payload, Error> {
        let Some(mut to) = self.file.take() else { return Ok(self.messages.into_payload(name)) };
        self.messages.drain_to(&mut to).map_err(|error| spooling(&error))?;
        Ok(to.into_payload(name.to_owned())?)
    }

    /// What there is so far may be taken, whatever comes.
    pub(crate) fn seal(&mut self) {
        self.sealed = (self.count(), self.len());
    }

    /// How many records may be taken.
    pub(crate) fn sealed(&self) -> u64 {
        self.sealed.0
    }

    /// The payload of what may be taken.
    pub(crate) fn into_sealed(mut self, name: &str) -> Result<Payload, Error> {
        let (_, end) = self.sealed;
        if end == self.len() {
            return self.into_payload(name);
        }
        let Some(mut to) = self.file.take() else {
            let mut bytes = self.messages.into_bytes();
            bytes.truncate(end as usize);
            return Ok(Payload::from_bytes(name, bytes));
        };
        self.messages.drain_to(&mut to).map_err(|error| spooling(&error))?;
        let whole = to.reader().map_err(|error| spooling(&error))?;
        Payload::spool(name, whole.take(end), None).map_err(|error| Error::Landing(error.into()))
    }

    /// How long the payload is so far.
    fn len(&self) -> u64 {
        self.file.as_ref().map_or(0, Spool::len) + self.messages.size() as u64
    }

    fn drain(&mut self) -> Result<(), Error> {
        if self.messages.size() < IN_MEMORY {
            return Ok(());
        }
        let to = match &mut self.file {
            Some(to) => to,
            None => self.file.insert(Spool::new().map_err(|error| spooling(&error))?),
        };
        self.messages.drain_to(to).map_err(|error| spooling(&error))
    }
}

pub(crate) fn spooling(error: &io::Error) -> Error {
    let dir = std::env::temp_dir();
    Error::Away(format!(
        "what was read can't be kept in `{}` ({error}): make room, or choose another folder (TMPDIR)",
        dir.display()
    ))
}

#[cfg(test)]
mod tests {
    use landonce::decode::{Format, Limits};

    use super::*;

    fn numbers(payload: &Payload) -> Vec<u64> {
        let mut records = payload.records(&Format::Messages, &Limits::default()).unwrap();
        let mut found = Vec::new();
        while let Some(item) = records.next().unwrap() {
            found.push(item.number);
        }
        found
    }

    #[test]
    fn what_is_sealed_is_a_payload_in_memory_and_in_a_file() {
        for size in [10, 3 << 20] {
            let text = vec![b'x'; size];
            let mut gathered = Gathered::with_limit(16 << 20);
            for number in 0..4 {
                gathered.record(number, &text).unwrap();
                gathered.seal();
            }
            for number in 4..8 {
                gathered.record(number, &text).unwrap();
            }
            assert_eq!((gathered.count(), gathered.sealed()), (8, 4));
            assert_eq!(numbers(&gathered.into_sealed("t").unwrap()), [0, 1, 2, 3]);
        }
        let mut gathered = Gathered::with_limit(16 << 20);
        assert_eq!(numbers(&Gathered::with_limit(9).into_sealed("t").unwrap()), [0; 0]);
        gathered.record(1, &vec![b'x'; 9 << 20]).unwrap();
        gathered.record(2, b"y").unwrap();
        assert_eq!(numbers(&gathered.into_payload("t").unwrap()), [1, 2]);
    }
}
