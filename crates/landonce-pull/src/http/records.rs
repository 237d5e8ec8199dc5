//! The records of one page, framed out of its body.

use std::ops::Range;

use landonce::decode::{DecodeError, Format, Limits};
use landonce::payload::Payload;
use landonce_core::bad_record::BadRecord;
use landonce_core::pipeline::http::Path;
use sha2::{Digest as _, Sha256};

use super::envelope::{self, Found};
use super::mark::Mark;
use crate::error::Error;
use crate::gather::Gathered;

/// The records of one page, in its order.
pub(super) struct Framed {
    bytes: Vec<u8>,
    records: Vec<(Range<usize>, Option<BadRecord>)>,
}

impl Framed {
    /// Frames what stands in a body; the body itself is given as `text`.
    pub(super) fn of(text: &[u8], format: &Format, record: u32) -> Result<Self, DecodeError> {
        let payload = Payload::from_bytes("page", text.to_vec());
        let mut found = payload.records(format, &Limits { record, ..Limits::default() })?;
        let mut framed = Self { bytes: Vec::with_capacity(text.len()), records: Vec::new() };
        while let Some(item) = found.next()? {
            let start = framed.bytes.len();
            let bad = item.text.as_ref().err().cloned();
            framed.bytes.extend_from_slice(item.text.as_deref().unwrap_or(item.raw));
            framed.records.push((start..framed.bytes.len(), bad));
        }
        Ok(framed)
    }

    pub(super) fn count(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// What tells the page from another one.
    pub(super) fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.bytes).into()
    }

    /// What tells each record from others.
    pub(super) fn digests(&self) -> impl Iterator<Item = [u8; 16]> {
        self.records.iter().map(|(at, _)| {
            let digest: [u8; 32] = Sha256::digest(&self.bytes[at.clone()]).into();
            let mut short = [0; 16];
            short.copy_from_slice(&digest[..16]);
            short
        })
    }

    /// Adds the records, numbered from one.
    pub(super) fn add_to(&self, gathered: &mut Gathered, first: u64) -> Result<(), Error> {
        for (number, (at, bad)) in (first..).zip(&self.records) {
            let bytes = &self.bytes[at.clone()];
            match bad {
                None => gathered.record(number, bytes)?,
                Some(bad) => gathered.bad(number, bad, bytes)?,
            }
        }
        Ok(())
    }

    /// A field of the last record, as text.
    pub(super) fn last(&self, field: &Path) -> Option<String> {
        let (at, _) = self.records.last()?;
        match envelope::find(envelope::whole(&self.bytes[at.clone()]).ok()?, field) {
            Found::Value(value) => envelope::text(value),
            Found::Absent | Found::Lost(_) => None,
        }
    }

    /// The highest value of a field, `None` when no record has one. Records are numbered from `first`; bad ones are passed over.
    pub(super) fn highest(&self, field: &Path, first: u64) -> Result<Option<Mark>, String> {
        let mut highest: Option<Mark> = None;
        for (number, (at, bad)) in (first..).zip(&self.records) {
            let Ok(record) = envelope::whole(&self.bytes[at.clone()]) else { continue };
            let (Found::Value(value), None) = (envelope::find(record, field), bad) else { continue };
            let mark = Mark::of(value).map_err(|told| format!("record {number}: `{field}` {told}"))?;
            highest = higher(highest, mark).map_err(|told| format!("record {number}: `{field}`: {told}"))?;
        }
        Ok(highest)
    }
}

/// The higher of two.
pub(super) fn higher(one: Option<Mark>, other: Option<Mark>) -> Result<Option<Mark>, String> {
    let (Some(one), Some(other)) = (&one, &other) else { return Ok(one.or(other)) };
    match one.compare(other) {
        Some(order) => Ok(Some(if order.is_lt() { other.clone() } else { one.clone() })),
        None => Err(format!(
            "`{}` and `{}` can't be compared: one is a time, a date, a number or a text, and the other isn't",
            one.text(),
            other.text()
        )),
    }
}
