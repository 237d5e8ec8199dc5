//! A sample: one delivery, read up to a limit and kept as hashes. What a record says is gone once it has been counted; what
//! stays is eight bytes for each field of each record, enough to tell equal from different.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::canonical::{self, Exclusions};
use landonce_core::geometry;
use landonce_core::json::{Json, Kind, Tape};
use landonce_core::time;

use super::stats::Stats;
use crate::batch::Batch;
use crate::decode::{Format, Limits};
use crate::error::{Error, Located, Repr};
use crate::pipeline::Pipeline;

/// The most records that are read of a sample.
const MOST_RECORDS: usize = 50_000;
/// The most fields, nested ones among them, that are kept of a sample: with the limit above, 100 MB at worst.
const MOST_FIELDS: usize = 256;
/// The most bad records that are told one by one.
const MOST_BAD: usize = 20;
/// The hash of a field that a record doesn't have, and of one that is null.
pub(super) const ABSENT: u64 = 0;
pub(super) const NULL: u64 = 1;

/// One delivery, measured.
#[derive(Debug)]
pub(super) struct Sample {
    /// Where it comes from.
    pub(super) name: String,
    pub(super) format: Format,
    /// A CSV delimiter that isn't the one its name tells.
    pub(super) delimiter: Option<char>,
    /// Good records.
    pub(super) records: usize,
    pub(super) bad: Vec<Located>,
    pub(super) bad_total: u64,
    /// There are more records than were read.
    pub(super) is_cut: bool,
    /// There are more fields than were kept.
    pub(super) has_more_fields: bool,
    pub(super) fields: Vec<Field>,
    /// Each record as a whole, hashed.
    pub(super) wholes: Vec<u64>,
}

/// A field, or a member of a field that holds objects.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    /// The field that it is a member of.
    pub(super) parent: Option<usize>,
    pub(super) stats: Stats,
    /// Its value in each record, hashed.
    pub(super) values: Vec<u64>,
}

impl Sample {
    /// Reads a delivery. A bad record is counted; only when there is no good one it is an error.
    pub(super) fn read(batch: &Batch) -> Result<Self, Error> {
        let (format, delimiter) = format(batch)?;
        let failed = |source| Error::from(Repr::Decode { name: batch.source().to_owned(), source });
        let mut records = batch.payload().records(&format, &Limits::default()).map_err(failed)?;
        let mut sample = Self {
            name: batch.source().to_owned(),
            delimiter,
            records: 0,
            bad: Vec::new(),
            bad_total: 0,
            is_cut: false,
            has_more_fields: false,
            fields: Vec::new(),
            wholes: Vec::new(),
            format,
        };
        let is_lexical = sample.is_lexical();
        let mut reader = Reader { is_lexical, places: HashMap::new(), scratch: Vec::new() };
        let mut tape = Tape::default();
        while let Some(item) = records.next().map_err(failed)? {
            if sample.records == MOST_RECORDS {
                sample.is_cut = true;
                break;
            }
            let number = item.number;
            let read = item.text.and_then(|text| reader.take(tape.scan(text)?, &mut sample));
            if let Err(bad) = read {
                sample.bad_total += 1;
                if sample.bad.len() < MOST_BAD {
                    sample.bad.push(Located { number, bad });
                }
            }
        }
        if sample.records == 0 {
            return Err(if sample.bad_total > 0 {
                Repr::BadRecords { source_name: sample.name, found: sample.bad, total: sample.bad_total }
                    .into()
            } else {
                Error::declaration(format!(
                    "{}: has no record to measure; give a delivery with records",
                    sample.name
                ))
            });
        }
        for field in &mut sample.fields {
            field.values.resize(sample.records, ABSENT);
        }
        Ok(sample)
    }

    /// Whether its values are all texts.
    pub(super) fn is_lexical(&self) -> bool {
        matches!(self.format, Format::Csv(_))
    }

    /// The first of each group of equal records.
    pub(super) fn distinct_records(&self) -> Vec<u32> {
        let mut seen = std::collections::HashSet::with_capacity(self.wholes.len());
        (0..self.records as u32).filter(|&at| seen.insert(self.wholes[at as usize])).collect()
    }
}

struct Reader {
    is_lexical: bool,
    /// Field indexes by the parent's index and the name.
    places: HashMap<(Option<usize>, String), usize>,
    scratch: Vec<u8>,
}

impl Reader {
    fn take(&mut self, json: Json<'_>, sample: &mut Sample) -> Result<(), BadRecord> {
        if json.kind() != Kind::Object {
            let detail = format!("found {}, an object is due", json.kind().noun());
            return Err(BadRecord::new(BadKind::Syntax, "", detail));
        }
        self.scratch.clear();
        canonical::put_json(&mut self.scratch, json, &Exclusions::default())?;
        sample.wholes.push(hash(&self.scratch));
        for (name, value) in json.members() {
            let Some(at) = self.see(None, name, value, sample) else { continue };
            if is_geometry(value) {
                continue;
            }
            for (name, value) in value.members() {
                self.see(Some(at), name, value, sample);
            }
        }
        sample.records += 1;
        Ok(())
    }

    fn see(
        &mut self,
        parent: Option<usize>,
        name: Json<'_>,
        value: Json<'_>,
        sample: &mut Sample,
    ) -> Option<usize> {
        let name = name.string()?.into_owned();
        let key = (parent, name);
        let at = match self.places.get(&key) {
            Some(&at) => at,
            None if sample.fields.len() == MOST_FIELDS => {
                sample.has_more_fields = true;
                return None;
            }
            None => {
                let at = sample.fields.len();
                let name = key.1.clone();
                sample.fields.push(Field { name, parent, stats: Stats::default(), values: Vec::new() });
                self.places.insert(key, at);
                at
            }
        };
        let hash = self.hash(value);
        let field = &mut sample.fields[at];
        field.stats.see(value, self.is_lexical);
        field.values.resize(sample.records, ABSENT);
        field.values.push(hash);
        Some(at)
    }

    /// The hash of a value, the same for what would be one value once typed: an instant under two offsets, a geometry with
    /// other digits far behind the point.
    fn hash(&mut self, value: Json<'_>) -> u64 {
        self.scratch.clear();
        let out = &mut self.scratch;
        match value.kind() {
            Kind::Null => return NULL,
            Kind::Plain
                if value.span().len() >= 16 && value.span().starts_with(|c: char| c.is_ascii_digit()) =>
            {
                if let Ok(instant) = time::timestamptz(value.span()) {
                    out.extend_from_slice(&instant.to_be_bytes());
                    return hash(out);
                }
            }
            Kind::Object if is_geometry(value) => {
                if let Ok(rounded) = geometry::round(value.raw(), super::PLACES) {
                    return hash(rounded.as_bytes());
                }
            }
            _ => {}
        }
        // The whole record has been encoded already, so none of its values fails.
        let _ = canonical::put_json(out, value, &Exclusions::default());
        hash(out)
    }
}

/// Goes by the names; what it says may still be wrong.
fn is_geometry(value: Json<'_>) -> bool {
    value.member("type").is_some()
        && (value.member("coordinates").is_some() || value.member("geometries").is_some())
}

/// A hash beside those that mean something. Two deliveries are hashed in one process, by one function.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    match hasher.finish() {
        low @ (ABSENT | NULL) => low + 2,
        high => high,
    }
}

/// The format, and a CSV delimiter that has to be declared: when the header has none of the usual one and some of another.
fn format(batch: &Batch) -> Result<(Format, Option<char>), Error> {
    let plain = Pipeline::from_yaml("pipeline: p\nidentity: [id]\ntarget: {table: t}")?;
    let mut format = batch.format(plain.declared())?;
    let Format::Csv(options) = &mut format else { return Ok((format, None)) };
    let head = batch.payload().first_bytes();
    let head =
        head.map_err(|source| Error::from(Repr::Decode { name: batch.source().to_owned(), source }))?;
    let header = head.split(|&b| b == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| memchr::memchr_iter(delimiter, header).count();
    let other = [b';', b'\t', b'|', b','].into_iter().max_by_key(|&delimiter| count(delimiter));
    match other {
        Some(other) if count(options.delimiter) == 0 && count(other) > 0 => {
            options.delimiter = other;
            Ok((format, Some(char::from(other))))
        }
        _ => Ok((format, None)),
    }
}
