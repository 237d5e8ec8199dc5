//! A batch: a payload, its format, and the id it is known by.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use landonce_core::pipeline::{IdentityFrom, Pipeline, Whole};
use landonce_core::spec::FormatSpec;
use landonce_store::position::Advance;

use crate::complete;
use crate::decode::{CsvOptions, Format, Limits, Records};
use crate::error::{Error, Repr};
use crate::payload::{Payload, PayloadError};

/// One delivery of records, landed as one transaction.
#[derive(Debug, Clone)]
pub struct Batch {
    payload: Arc<Payload>,
    id: Option<String>,
    entries: Option<Arc<Entries>>,
    most: Most,
    event: Option<OneEvent>,
    advance: Option<Arc<Advance>>,
    proof: Option<Arc<str>>,
}

/// The most that a batch may turn out to be.
#[derive(Debug, Clone, Copy)]
struct Most {
    records: u64,
    decoded: u64,
}

impl Default for Most {
    fn default() -> Self {
        Self { records: u64::MAX, decoded: u64::MAX }
    }
}

/// What is known of a batch that is one event.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OneEvent {
    /// The digest to claim it with; that of the bytes when `None`.
    pub(crate) digest: Option<[u8; 32]>,
    /// Which record it is about.
    pub(crate) subject: Option<[u8; 16]>,
}

/// The quarantine entries that a batch is made of, record by record.
#[derive(Debug)]
pub(crate) struct Entries {
    pub(crate) ids: Vec<[u8; 32]>,
    /// They come from a source of texts (CSV), though they are JSON by now.
    pub(crate) is_lexical: bool,
    /// Every one must be open still, and land: else nothing is written.
    pub(crate) must_land: bool,
}

impl Batch {
    /// A file. It stays on the disk; only its hash is taken now.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::from_payload(Payload::open(path)?))
    }

    /// Whatever comes out of a reader (stdin, a socket), copied to a temporary file first, since a batch may be retried.
    pub fn from_reader(name: impl Into<String>, reader: impl Read) -> Result<Self, Error> {
        Ok(Self::from_payload(Payload::spool(name, reader, None)?))
    }

    /// Bytes in memory.
    pub fn from_bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::from_payload(Payload::from_bytes(name, bytes.into()))
    }

    /// A payload that has been opened already.
    pub fn from_payload(payload: Payload) -> Self {
        Self {
            payload: Arc::new(payload),
            id: None,
            entries: None,
            most: Most::default(),
            event: None,
            advance: None,
            proof: None,
        }
    }

    /// The sender's id for the batch. Without one, the SHA-256 of the bytes is the id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The most records that it may hold, and the most bytes that it may be when it is decompressed: a batch that turns out to be
    /// more fails (L0306). For payloads of senders that aren't trusted; without it there is no bound.
    #[must_use]
    pub fn at_most(mut self, records: u64, decoded_bytes: u64) -> Self {
        self.most = Most { records, decoded: decoded_bytes };
        self
    }

    /// Moves a part of its source behind the batch, in the batch's transaction; the batch doesn't land unless the part is ours and
    /// where the batch begins ([`crate::Kind::Fenced`]). A batch that had landed before moves it by itself.
    #[must_use]
    pub fn advancing(mut self, advance: Advance) -> Self {
        self.advance = Some(Arc::new(advance));
        self
    }

    /// Says that whoever fetched the payload has seen that it is all there is, and how: `the last page was reached`. It counts as
    /// proof where the pipeline declares none; what it declares (`source.complete`) is asked as well.
    #[must_use]
    pub fn shown_complete(mut self, how: impl Into<String>) -> Self {
        self.proof = Some(how.into().into());
        self
    }

    pub(crate) fn advance(&self) -> Option<&Advance> {
        self.advance.as_deref()
    }

    pub(crate) fn proof(&self) -> Option<&str> {
        self.proof.as_deref()
    }

    /// Says that the batch is made of quarantine entries: what lands is no longer open.
    pub(crate) fn made_of(mut self, entries: Entries) -> Self {
        self.entries = Some(Arc::new(entries));
        self
    }

    /// Says that the batch is one event: a JSON object in one line.
    pub(crate) fn of_one(mut self, event: OneEvent) -> Self {
        self.event = Some(event);
        self
    }

    pub(crate) fn event(&self) -> Option<OneEvent> {
        self.event
    }

    /// Whether the sender gave it an id.
    pub(crate) fn has_own_id(&self) -> bool {
        self.id.is_some() && self.entries.is_none()
    }

    pub(crate) fn entries(&self) -> Option<&Entries> {
        self.entries.as_deref()
    }

    /// The id: the sender's, or the hex SHA-256 of the bytes (what `sha256sum` prints).
    pub fn id(&self) -> String {
        self.id.clone().unwrap_or_else(|| hex::encode(self.payload.digest()))
    }

    /// The SHA-256 of the bytes.
    pub fn digest(&self) -> [u8; 32] {
        self.payload.digest()
    }

    /// Where it came from: the path or name given.
    pub fn source(&self) -> &str {
        self.payload.name()
    }

    /// How many bytes it has, compressed or not.
    pub fn len(&self) -> u64 {
        self.payload.len()
    }

    /// Whether it has no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.payload.is_empty()
    }

    pub(crate) fn payload(&self) -> &Arc<Payload> {
        &self.payload
    }

    /// The format: as the pipeline declares it, else guessed from the name and the first bytes.
    pub(crate) fn format(&self, pipeline: &Pipeline) -> Result<Format, Error> {
        if self.event.is_some() {
            return Ok(Format::Ndjson);
        }
        let is_messages = self.payload.is_messages();
        if is_messages.map_err(|source| PayloadError::Read { name: self.source().to_owned(), source })? {
            return Ok(Format::Messages);
        }
        let source = pipeline.source();
        let head = || {
            self.payload
                .first_bytes()
                .map_err(|source| Error::from(Repr::Decode { name: self.source().to_owned(), source }))
        };
        let mut format = match source.format {
            Some(FormatSpec::Ndjson) => Format::Ndjson,
            Some(FormatSpec::Json) => Format::Json,
            Some(FormatSpec::Geojson) => Format::GeoJson,
            Some(FormatSpec::Parquet) => Format::Parquet,
            Some(FormatSpec::Csv) => match Format::guess(self.source(), &[]) {
                Some(csv @ Format::Csv(_)) => csv, // a `.tsv` knows its delimiter
                _ => Format::Csv(CsvOptions::default()),
            },
            None => guess(self.source(), &head()?).ok_or_else(|| {
                Error::declaration(format!(
                    "{}: can't tell the format from the name or the first bytes; say it with --format or `source.format` (ndjson, \
                     json, geojson, csv, parquet)",
                    self.source()
                ))
            })?,
        };
        if let Format::Csv(options) = &mut format {
            if let Some(delimiter) = source.delimiter {
                options.delimiter = delimiter;
            }
            options.header.clone_from(&source.header);
            options.nulls.clone_from(&source.nulls);
        }
        Ok(format)
    }

    /// The records as the pipeline frames them: to look at, not to land.
    pub fn records(&self, pipeline: &crate::Pipeline) -> Result<Records, Error> {
        let declared = pipeline.declared();
        let records = self.payload.records(&self.format(declared)?, &self.limits(declared));
        records.map_err(|source| Repr::Decode { name: self.source().to_owned(), source }.into())
    }

    pub(crate) fn limits(&self, pipeline: &Pipeline) -> Limits {
        let record = u32::try_from(pipeline.source().max_record).unwrap_or(u32::MAX - 1);
        Limits {
            record,
            records: self.most.records,
            decoded: self.most.decoded,
            ending: complete::ending(&pipeline.source().complete),
            columns: identity_columns(pipeline),
            ..Limits::default()
        }
    }
}

/// The fields that every record of the pipeline must have to be one.
fn identity_columns(pipeline: &Pipeline) -> Vec<String> {
    let identity = pipeline.identity();
    let owned = pipeline.whole().map(Whole::owner).unwrap_or_default();
    let names: &[String] = match &identity.from {
        _ if identity.null_is_value => &[],
        IdentityFrom::Fields { names, .. } => names,
        IdentityFrom::SenderId(field) => std::slice::from_ref(field),
        IdentityFrom::Content(_) => &[],
    };
    names.iter().filter(|name| owned.iter().all(|(field, _)| field != *name)).cloned().collect()
}

/// The format by the name; for a name that says nothing (`stdin`, `events.log`), JSON where the first bytes look like it.
fn guess(name: &str, head: &[u8]) -> Option<Format> {
    Format::guess(name, head).or_else(|| {
        if head.starts_with(b"PAR1") {
            return Some(Format::Parquet);
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        if text.starts_with(b"{") || text.starts_with(b"[") { Format::guess("x.json", head) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_from_its_first_bytes_when_the_name_says_nothing() {
        let guessed = |head: &[u8]| guess("stdin", head).map(|format| format.as_str());
        assert_eq!(guessed(b" {\"a\":1}\n"), Some("ndjson"));
        assert_eq!(guessed(b"[{}]"), Some("json"));
        assert_eq!(guessed(b"id,amount\n"), None);
        assert_eq!(guessed(b""), None);
    }
}
