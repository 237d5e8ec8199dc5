//! From a database's row to a record: a JSON object whose members are the query's columns, every value exact.

use base64::Engine as _;
use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::json::Tape;
use landonce_core::pipeline::QueryFeed;
use landonce_core::spec::QueryTypeSpec;

use super::mark::Mark;
use crate::error::Error;

/// A row, on its way from its database.
#[derive(Debug)]
pub(super) struct Row {
    /// The record's text, or why it is none and what there is of it.
    pub(super) text: Result<Vec<u8>, (BadRecord, Vec<u8>)>,
    /// The value of the growing column, where there is one.
    pub(super) mark: Option<Mark>,
}

/// A value as it comes from a database that has no JSON of its own.
pub(super) enum Cell<'v> {
    Null,
    /// JSON's number.
    Number(String),
    Text(&'v [u8]),
    Owned(String),
    Bytes(&'v [u8]),
    Json(&'v [u8]),
}

/// A query's columns.
#[derive(Debug)]
pub(super) struct Columns {
    /// Their names as members: `"id":`.
    members: Vec<Vec<u8>>,
    names: Vec<String>,
    types: Vec<Option<QueryTypeSpec>>,
    since: Option<usize>,
}

impl Columns {
    /// Of a query, as its database names them.
    pub(super) fn new(feed: &QueryFeed, names: Vec<String>) -> Result<Self, Error> {
        let at = |key: &str, name: &str| {
            names.iter().position(|has| has == name).ok_or_else(|| {
                Error::Declared(format!(
                    "{key}: the query has no column `{name}`; it has {}",
                    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                ))
            })
        };
        if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(Error::Declared(format!(
                "source.query.sql: two columns have the name `{twice}`; give one of them another (`AS`)"
            )));
        }
        let mut types = vec![None; names.len()];
        for (name, ty) in &feed.types {
            types[at("source.query.types", name)?] = Some(*ty);
        }
        let since =
            feed.since.as_ref().map(|since| at("source.query.since.column", &since.column)).transpose()?;
        let member = |name: &String| {
            let mut member = string(name);
            member.push(b':');
            member
        };
        Ok(Self { members: names.iter().map(member).collect(), types, since, names })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.members.len()
    }

    /// A column's name.
    pub(super) fn name(&self, at: usize) -> &str {
        &self.names[at]
    }

    /// Which column grows.
    pub(super) fn since(&self) -> Option<usize> {
        self.since
    }

    /// What a column is declared to be.
    pub(super) fn declared(&self, at: usize) -> Option<QueryTypeSpec> {
        self.types[at]
    }

    /// The record of a row.
    pub(super) fn record<'v>(
        &self,
        cells: impl Iterator<Item = Cell<'v>>,
        tape: &mut Tape,
    ) -> Result<Vec<u8>, (BadRecord, Vec<u8>)> {
        let mut text = Vec::with_capacity(64 * self.members.len());
        let mut bad = None;
        for (at, cell) in cells.enumerate() {
            text.push(if at == 0 { b'{' } else { b',' });
            text.extend_from_slice(&self.members[at]);
            if let Err(why) = value(&mut text, cell, self.types[at], tape) {
                bad.get_or_insert_with(|| why.under(&self.names[at]));
                text.extend_from_slice(b"null");
            }
        }
        if self.members.is_empty() {
            text.push(b'{');
        }
        text.push(b'}');
        match bad {
            None => Ok(text),
            Some(why) => Err((why, text)),
        }
    }
}

fn value(
    to: &mut Vec<u8>,
    cell: Cell<'_>,
    ty: Option<QueryTypeSpec>,
    tape: &mut Tape,
) -> Result<(), BadRecord> {
    match (cell, ty) {
        (Cell::Null, _) => to.extend_from_slice(b"null"),
        (Cell::Number(digits), Some(QueryTypeSpec::Boolean)) => match digits.as_str() {
            "0" => to.extend_from_slice(b"false"),
            "1" => to.extend_from_slice(b"true"),
            other => return Err(wrong(format!("found {other}, 0 or 1 is due (`types` says boolean)"))),
        },
        (Cell::Json(text) | Cell::Text(text), Some(QueryTypeSpec::Json)) | (Cell::Json(text), None) => {
            // Put in as it is: what isn't one value would become other members of the record.
            tape.scan(text)?;
            to.extend_from_slice(text);
        }
        (_, Some(ty)) => {
            let due = if ty == QueryTypeSpec::Json { "a text that holds JSON" } else { "0 or 1" };
            return Err(wrong(format!("{due} is due (`types` says so)")));
        }
        (Cell::Number(digits), None) => to.extend_from_slice(digits.as_bytes()),
        (Cell::Text(bytes), None) => match std::str::from_utf8(bytes) {
            Ok(text) => to.extend_from_slice(&string(text)),
            Err(_) => return Err(BadRecord::new(BadKind::Encoding, "", "the text isn't UTF-8")),
        },
        (Cell::Owned(text), None) => to.extend_from_slice(&string(&text)),
        (Cell::Bytes(bytes), None) => {
            to.push(b'"');
            to.extend_from_slice(base64::engine::general_purpose::STANDARD.encode(bytes).as_bytes());
            to.push(b'"');
        }
    }
    Ok(())
}

fn wrong(detail: String) -> BadRecord {
    BadRecord::new(BadKind::WrongType, "", detail)
}

/// A text as JSON writes it.
fn string(text: &str) -> Vec<u8> {
    // Texts always serialise, and memory always takes them.
    serde_json::to_vec(text).unwrap_or_default()
}

/// A double as the shortest text that reads back as the same; one that is no number as a text, which no number column takes.
pub(super) fn double(value: f64) -> Cell<'static> {
    if value.is_finite() {
        return Cell::Number(format!("{value:?}"));
    }
    let name = if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    Cell::Owned(name.to_owned())
}
