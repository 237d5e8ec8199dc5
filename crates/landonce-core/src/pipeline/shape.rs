//! From a message of a stream to a record: a pure function of the message and of what is declared.
//!
//! Values stay byte for byte as they came; what is added stands in front of them. A delete becomes a record as well: the identity's
//! fields and the marker that `write.delete_when` names, so that it takes its place among the puts of its batch.
//!
//! Avro and Protobuf are decoded before, where the schemas are: [`Shape::value_codec`] and [`Shape::key_codec`] say whether that is due.

mod added;
mod cloudevents;
mod debezium;
mod key;
mod resolve;
mod write;

use crate::bad_record::{BadKind, BadRecord};
use crate::json::{Json, Kind, Tape};

use added::Field;
use key::Key;
use write::Record;

pub use resolve::MARKER;
pub(super) use resolve::resolve;

/// A message of a stream, as its source hands it over.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The topic or subject.
    pub topic: &'a str,
    /// Which part of it.
    pub part: &'a str,
    /// Its number there.
    pub offset: u64,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers, in their order; a name may come several times.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// When it was sent, or appended, in milliseconds since 1970 in UTC.
    pub timestamp_ms: Option<i64>,
}

impl<'a> Message<'a> {
    /// The last header of that name, whatever its case.
    fn header(&self, name: &str) -> Option<&'a [u8]> {
        let found = self.headers.iter().rev().find(|(has, _)| has.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value)
    }
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shaped {
    /// A record, whose text has been written.
    Record,
    /// Nothing that a table has: a heartbeat, the tombstone behind a delete.
    Nothing,
}

/// How bytes are written, before they are text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Codec {
    /// They are text already: JSON, or a key that is any text.
    #[default]
    Text,
    /// Avro, behind the id of its schema.
    Avro,
    /// Protobuf, behind the id of its schema.
    Protobuf,
}

/// Where schemas are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryAt {
    /// Its address.
    pub url: String,
    /// The user's name and the password, each as the name of an environment variable.
    pub login: Option<(String, String)>,
}

/// How messages become records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    envelope: Envelope,
    value: Codec,
    key: Option<Key>,
    added: Vec<Field>,
    tombstone: Tombstone,
    /// The identity's fields, where it has names.
    identity: Vec<String>,
    /// The version's field, which a delete needs as well.
    version: Option<String>,
    /// The field and the text that make a record a delete.
    marker: Option<(String, String)>,
    /// A record may leave fields out (`absent: keep`).
    takes_partial: bool,
    registry: Option<RegistryAt>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Envelope {
    #[default]
    None,
    CloudEvents,
    Debezium,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Tombstone {
    Delete,
    Ignore,
    #[default]
    Bad,
}

/// What a message says, before its record is written.
enum Said<'t> {
    /// The record's own fields; `whole` is where `{field: …}` looks.
    Put { base: Json<'t>, whole: Json<'t> },
    /// A delete, with what is known of the row and the envelope around it.
    Delete { row: Option<Json<'t>>, whole: Option<Json<'t>> },
    /// Nothing.
    Nothing,
}

impl Shape {
    /// How values are written.
    pub fn value_codec(&self) -> Codec {
        self.value
    }

    /// A value may be JSON whatever [`Shape::value_codec`] says: an event of CloudEvents in structured mode.
    pub fn has_structured_events(&self) -> bool {
        self.envelope == Envelope::CloudEvents
    }

    /// How keys are written.
    pub fn key_codec(&self) -> Codec {
        self.key.as_ref().map_or(Codec::Text, |key| key.codec)
    }

    /// Where the schemas are that keys or values need; `None` when they need none.
    pub fn registry(&self) -> Option<&RegistryAt> {
        self.registry.as_ref()
    }

    /// Writes the record of a message, the text of one JSON object, to `out`, whose former content is dropped. A key and a value that
    /// aren't text must have been decoded to JSON.
    ///
    /// # Errors
    /// When the message is no record, and why: it fails its batch, or goes into the quarantine.
    pub fn shape(&self, message: &Message<'_>, out: &mut Vec<u8>) -> Result<Shaped, BadRecord> {
        out.clear();
        let (mut tape, mut key_tape, mut data_tape) = (Tape::default(), Tape::default(), Tape::default());
        let (mut key_text, mut data) = (String::new(), Vec::new());
        let key = match &self.key {
            Some(key) => {
                key.read(message, self.envelope == Envelope::Debezium, &mut key_text, &mut key_tape)?
            }
            None => None,
        };
        let value = message.value.map(|value| tape.scan(value)).transpose()?;
        let mut event = None;
        let said = match (self.envelope, value) {
            (Envelope::Debezium, Some(value)) => debezium::open(value)?,
            (Envelope::None, Some(value)) => Said::Put { base: object(value)?, whole: value },
            (Envelope::CloudEvents, value) => {
                let found = event.insert(cloudevents::open(message, value, &mut data)?);
                match (found.data, found.is_binary) {
                    (Some(json), _) => Said::Put { base: object(json)?, whole: json },
                    (None, true) => Said::Delete { row: None, whole: None },
                    (None, false) => {
                        let json = data_tape.scan(&data)?;
                        Said::Put { base: object(json)?, whole: json }
                    }
                }
            }
            (_, None) => Said::Delete { row: None, whole: None },
        };
        let seen = added::Seen {
            message,
            key: key.as_ref(),
            event: event.as_ref(),
            key_is_text: self.key_is_text(),
        };
        match said {
            Said::Nothing => Ok(Shaped::Nothing),
            Said::Put { base, whole } => {
                self.put(base, whole, &seen, out)?;
                Ok(Shaped::Record)
            }
            Said::Delete { row: None, whole: None } => match self.tombstone {
                Tombstone::Ignore => Ok(Shaped::Nothing),
                Tombstone::Delete => self.delete(None, None, &seen, out).map(|()| Shaped::Record),
                Tombstone::Bad => Err(BadRecord::new(
                    BadKind::Syntax,
                    "",
                    "the message has no value (a tombstone), and the pipeline doesn't say what it deletes (`source.message.key`)",
                )),
            },
            Said::Delete { row, whole } => {
                self.delete(row, whole, &seen, out)?;
                Ok(Shaped::Record)
            }
        }
    }

    fn key_is_text(&self) -> bool {
        self.key.as_ref().is_none_or(|key| key.is_text)
    }

    fn put(
        &self,
        base: Json<'_>,
        whole: Json<'_>,
        seen: &added::Seen<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<(), BadRecord> {
        if let Some((marker, _)) = &self.marker
            && marker == MARKER
            && base.member(MARKER).is_some()
        {
            return Err(taken(MARKER, "it is what landonce marks deletes with"));
        }
        let mut record = Record::new(out);
        for field in &self.added {
            if base.member(&field.name).is_some() {
                return Err(taken(
                    &field.name,
                    "`source.message.fields` adds one of that name; choose another",
                ));
            }
            record.add(&field.name, &field.value(seen, Some(whole))?);
        }
        if let (Some(key), Some(read)) = (&self.key, seen.key) {
            for (field, value) in key.gives(*read)? {
                match base.member(&field) {
                    None => record.add(&field, value.raw()),
                    Some(own) => key::must_agree(&field, value, own)?,
                }
            }
        }
        if self.envelope == Envelope::Debezium {
            return debezium::finish(record, base, self.takes_partial);
        }
        record.rest(base);
        Ok(())
    }

    /// The identity's fields, from the row that was there or from the key, the marker, and what is added.
    fn delete(
        &self,
        row: Option<Json<'_>>,
        whole: Option<Json<'_>>,
        seen: &added::Seen<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<(), BadRecord> {
        let Some((marker, text)) = &self.marker else {
            return Err(BadRecord::new(BadKind::Syntax, "", "a delete, and the pipeline takes none"));
        };
        let mut record = Record::new(out);
        record.add(marker, &write::quoted(text));
        for field in &self.added {
            record.add(&field.name, &field.value(seen, whole)?);
        }
        let given = match (&self.key, seen.key) {
            (Some(key), Some(read)) => key.gives(*read)?,
            _ => Vec::new(),
        };
        let own =
            |field: &str| row.and_then(|row| row.member(field)).filter(|value| value.kind() != Kind::Null);
        for field in self.identity.iter().chain(&self.version) {
            if *field == *marker || self.added.iter().any(|added| added.name == *field) {
                continue;
            }
            let by_key = given.iter().find(|(name, _)| name == field).map(|(_, value)| *value);
            match (own(field), by_key) {
                (Some(value), by_key) => {
                    if let Some(by_key) = by_key {
                        key::must_agree(field, by_key, value)?;
                    }
                    record.add(field, value.raw());
                }
                (None, Some(value)) => record.add(field, value.raw()),
                (None, None) if self.identity.contains(field) => {
                    let from = if row.is_some() { "`before` and the key don't" } else { "the key doesn't" };
                    let detail =
                        format!("it is a delete, and {from} say which row: the identity's field is absent");
                    return Err(BadRecord::new(BadKind::AbsentKey, field.as_str(), detail));
                }
                (None, None) => {} // the reader of records says what it misses
            }
        }
        record.end();
        Ok(())
    }
}

fn taken(field: &str, why: &str) -> BadRecord {
    BadRecord::new(
        BadKind::DuplicateName,
        field,
        format!("the record has a field of that name of its own, and {why}"),
    )
}

fn object(json: Json<'_>) -> Result<Json<'_>, BadRecord> {
    if json.kind() == Kind::Object {
        return Ok(json);
    }
    let detail = format!("found {}, an object is due", json.kind().noun());
    Err(BadRecord::new(BadKind::Syntax, "", detail))
}

/// UTF-8, or what is wrong with it.
fn text<'b>(bytes: &'b [u8], field: &str) -> Result<&'b str, BadRecord> {
    std::str::from_utf8(bytes).map_err(|error| {
        BadRecord::new(BadKind::Encoding, field, format!("no UTF-8 behind byte {}", error.valid_up_to()))
    })
}

#[cfg(test)]
mod tests;
