//! Explain: why a record has the key it has, shown down to the bytes (`landonce key explain`).
//!
//! The same reader as in a run reads the record, against the plan of a table that doesn't exist yet; nothing is written and no
//! database is asked. What the bytes mean is written in `docs/reference/identity.md`.

mod compare;
mod encoded;
mod show;
mod spelling;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use landonce_core::bad_record::BadRecord;
use landonce_core::json::{Json, Kind, Tape};
use landonce_core::pipeline::{IdentityFrom, Pipeline as Declared};
use landonce_core::plan::{Guard, KeyForm, Match, TablePlan, resolve};
use landonce_core::record::{RecordReader, Wanted};
use serde::Serialize;

use crate::batch::Batch;
use crate::decode::Format;
use crate::error::{Error, Repr};
use crate::pipeline::Pipeline;

pub use compare::{Comparison, FieldDifference, PartCompared, Verdict};
pub use stored::Stored;
pub(crate) use stored::text;

/// What one or more records of a batch are to a pipeline. Its JSON has these names; [`std::fmt::Display`] is for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The pipeline's name.
    pub pipeline: String,
    /// The batch's source.
    pub source: String,
    /// The records, in the order asked for.
    pub records: Vec<Explained>,
    /// With two good records: whether they are one event, and why.
    pub comparison: Option<Comparison>,
}

/// What one record is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// Its number: the line on which it begins (NDJSON, CSV), else its index; from 1.
    pub number: u64,
    /// Why it can't be taken; all else is empty then.
    pub bad: Option<String>,
    /// The record is a delete.
    pub is_delete: bool,
    /// The identity's fields, in order; empty when the identity is the content.
    pub identity: Vec<Part>,
    /// The key; `None` only for a bad record.
    pub key: Option<Hashed>,
    /// The content and its digest; `None` only for a bad record.
    pub content: Option<Hashed>,
    /// Fields of this record that the digest leaves out: per attempt, or the sender's id.
    pub left_out: Vec<String>,
    /// What would be stored, column by column, in a table that landonce makes.
    pub columns: Vec<Stored>,
}

/// A field of the identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The field.
    pub field: String,
    /// Its declared type.
    #[serde(rename = "type")]
    pub ty: Option<String>,
    /// Its JSON as the record has it; `None` when absent.
    pub written: Option<String>,
    /// Its canonical encoding, readable: tag, length in bytes, content. A joined key's part is its text.
    pub canonical: String,
}

/// Canonical bytes and what is made of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hashed {
    /// The SHA-256, 64 hex digits.
    pub sha256: String,
    /// A key's UUID form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The form in which the table has it (`uuid`, `bytes`, `hex`); `None` when it isn't stored.
    pub stored_as: Option<&'static str>,
    /// The label under the hash; empty for a joined key, which is a plain SHA-256.
    pub label: &'static str,
    /// The hashed bytes behind the label, readable.
    pub canonical: String,
    /// The same as hex digits.
    pub canonical_hex: String,
}

/// Explains the records with these numbers, as a run numbers them in its messages: the line on which a record begins (NDJSON,
/// CSV), else its index from 1. Without any, the first record.
///
/// Fails when the payload can't be read up to them or has no record of that number. A bad record is no failure.
pub fn explain(pipeline: &Pipeline, batch: &Batch, records: &[u64]) -> Result<Explanation, Error> {
    let declared = pipeline.declared();
    let format = batch.format(declared)?;
    let plan = resolve(declared, None)?;
    let found = find(batch, &format, declared, records)?;
    let is_lexical =
        matches!(format, Format::Csv(_)) || batch.entries().is_some_and(|entries| entries.is_lexical);
    let mut explainer = Explainer::new(declared, &plan, is_lexical);
    let seen: Vec<Seen> = found.into_iter().map(|found| explainer.seen(found)).collect();
    let comparison = match seen.as_slice() {
        [one, two] => compare::compare(declared, one, two),
        _ => None,
    };
    Ok(Explanation {
        pipeline: declared.name().to_owned(),
        source: batch.source().to_owned(),
        records: seen.into_iter().map(|seen| seen.explained).collect(),
        comparison,
    })
}

/// A record that was asked for.
#[derive(Clone)]
struct Found {
    number: u64,
    text: Result<Vec<u8>, BadRecord>,
}

/// An explained record, with what a comparison needs.
struct Seen {
    explained: Explained,
    text: Vec<u8>,
    content: Vec<u8>,
}

fn find(batch: &Batch, format: &Format, declared: &Declared, numbers: &[u64]) -> Result<Vec<Found>, Error> {
    let failed = |source| Error::from(Repr::Decode { name: batch.source().to_owned(), source });
    let mut records = batch.payload().records(format, &batch.limits(declared)).map_err(failed)?;
    let mut found: BTreeMap<u64, Found> = BTreeMap::new();
    let mut wanted = numbers.to_vec();
    let mut last = None;
    while numbers.iter().any(|number| !found.contains_key(number)) || numbers.is_empty() {
        let Some(item) = records.next().map_err(failed)? else { break };
        if numbers.is_empty() {
            wanted = vec![item.number];
        }
        if wanted.contains(&item.number) {
            let text = item.text.clone().map(<[u8]>::to_vec);
            found.insert(item.number, Found { number: item.number, text });
        }
        last = Some(item.number);
        if numbers.is_empty() {
            break;
        }
    }
    let named = if matches!(format, Format::Ndjson | Format::Csv(_)) { "line" } else { "index" };
    let Some(last) = last else {
        return Err(Error::declaration(format!("{}: has no record to explain", batch.source())));
    };
    wanted
        .iter()
        .map(|number| {
            found.get(number).cloned().ok_or_else(|| {
                Error::declaration(format!(
                    "{}: no record has the number {number}; a record's number is its {named}, and the last is {last}",
                    batch.source()
                ))
            })
        })
        .collect()
}

/// Reads records twice over: as the plan has it, and with key and digest in any case.
struct Explainer<'p> {
    declared: &'p Declared,
    plan: &'p TablePlan,
    reader: RecordReader,
    tape: Tape,
}

impl<'p> Explainer<'p> {
    fn new(declared: &'p Declared, plan: &'p TablePlan, is_lexical: bool) -> Self {
        // A table matched on its own columns, or compared by them, has no hash to show; the bytes say the same there.
        let mut hashing = plan.clone();
        if !matches!(hashing.matching, Match::Key { .. }) {
            hashing.matching =
                Match::Key { column: declared.target().managed.key.clone(), form: KeyForm::Uuid };
        }
        hashing.guard = Guard::Digest { column: declared.target().managed.digest.clone() };
        let reader = RecordReader::new(declared, &hashing, is_lexical).keeping_identity();
        Self { declared, plan, reader, tape: Tape::default() }
    }

    fn seen(&mut self, found: Found) -> Seen {
        let Found { number, text } = found;
        let read = text.and_then(|text| match self.good(number, &text) {
            Ok(explained) => Ok(Seen { explained, content: self.reader.last_encoded().to_vec(), text }),
            Err(bad) => Err(bad),
        });
        read.unwrap_or_else(|bad| Seen {
            explained: Explained {
                number,
                bad: Some(bad.to_string()),
                is_delete: false,
                identity: Vec::new(),
                key: None,
                content: None,
                left_out: Vec::new(),
                columns: Vec::new(),
            },
            text: Vec::new(),
            content: Vec::new(),
        })
    }

    fn good(&mut self, number: u64, text: &[u8]) -> Result<Explained, BadRecord> {
        let row = self.reader.read(text, Wanted::Row)?;
        let (key, digest, is_delete) = (row.key, row.digest, row.is_delete);
        let columns = stored::columns(self.declared, self.plan, &row);
        let json = self.tape.scan(text)?;
        let key_bytes = self.reader.last_identity();
        let joined = match &self.declared.identity().from {
            IdentityFrom::Fields { joined, .. } => joined.as_deref(),
            _ => None,
        };
        let readable = |bytes: &[u8]| match joined {
            Some(_) => encoded::quoted(bytes),
            None => encoded::readable(bytes),
        };
        let form = match self.plan.matching {
            Match::Key { form, .. } => Some(form),
            Match::Columns(_) => None,
        };
        Ok(Explained {
            number,
            bad: None,
            is_delete,
            identity: parts(self.declared, json, key_bytes, joined),
            key: key.map(|key| Hashed {
                sha256: key.to_text(KeyForm::Hex),
                uuid: Some(key.to_text(KeyForm::Uuid)),
                stored_as: form.map(|form| match form {
                    KeyForm::Uuid => "uuid",
                    KeyForm::Bytes => "bytes",
                    KeyForm::Hex => "hex",
                }),
                label: if joined.is_some() { "" } else { "landonce:key:1" },
                canonical: readable(key_bytes),
                canonical_hex: hex::encode(key_bytes),
            }),
            content: digest.map(|digest| Hashed {
                sha256: hex::encode(digest),
                uuid: None,
                stored_as: matches!(self.plan.guard, Guard::Digest { .. }).then_some("bytes"),
                label: "landonce:digest:1",
                canonical: encoded::readable(self.reader.last_encoded()),
                canonical_hex: hex::encode(self.reader.last_encoded()),
            }),
            left_out: left_out(self.declared, json),
            columns,
        })
    }
}

/// The names of the identity's fields; none when the identity is the content.
fn fields(declared: &Declared) -> &[String] {
    match &declared.identity().from {
        IdentityFrom::Fields { names, .. } => names,
        IdentityFrom::SenderId(field) => std::slice::from_ref(field),
        IdentityFrom::Content(_) => &[],
    }
}

fn parts(declared: &Declared, json: Json<'_>, key: &[u8], joined: Option<&str>) -> Vec<Part> {
    let canonical: Vec<String> = match joined {
        // No part holds the separator: such records are bad.
        Some(separator) => String::from_utf8_lossy(key)
            .split(separator)
            .map(|part| encoded::quoted(part.as_bytes()))
            .collect(),
        None => encoded::values(key).map(|value| encoded::readable(value.whole)).collect(),
    };
    let typed = |field: &String| {
        let column = declared.target().columns.iter().find(|column| &column.field == field);
        column.map(|column| column.ty.to_string())
    };
    fields(declared)
        .iter()
        .zip(canonical)
        .map(|(field, canonical)| Part {
            field: field.clone(),
            ty: typed(field),
            written: json.member(field).map(|value| value.raw().to_owned()),
            canonical,
        })
        .collect()
}

/// The paths that the digest leaves out and that this record has.
fn left_out(declared: &Declared, json: Json<'_>) -> Vec<String> {
    let mut paths = declared.volatile().to_vec();
    if let IdentityFrom::SenderId(field) = &declared.identity().from {
        paths.push(field.clone());
    }
    paths.retain(|path| has(json, path));
    paths
}

fn has(json: Json<'_>, path: &str) -> bool {
    match json.kind() {
        Kind::Array => json.items().any(|item| has(item, path)),
        _ => {
            json.member(path).is_some()
                || path
                    .split_once('.')
                    .is_some_and(|(outer, inner)| json.member(outer).is_some_and(|value| has(value, inner)))
        }
    }
}
