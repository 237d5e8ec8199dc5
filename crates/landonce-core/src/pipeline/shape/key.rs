//! What a message's key says: the fields of a record that it gives.

use super::write::quoted;
use super::{Codec, Message, text};
use crate::bad_record::{BadKind, BadRecord, shorten};
use crate::canonical::{self, Exclusions};
use crate::json::{Json, Kind, Tape};

/// How keys are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// How it is written.
    pub(super) codec: Codec,
    /// It is any text, not JSON.
    pub(super) is_text: bool,
    /// What it gives.
    pub(super) gives: Gives,
}

/// The fields that a key gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gives {
    /// Those of the identity: of an object its members of these names, else the one field.
    Identity(Vec<String>),
    /// The whole key is this field.
    Field(String),
    /// Each field lies there.
    Paths(Vec<(String, Vec<String>)>),
}

impl Key {
    /// The key as JSON; `None` where the message has none.
    pub(super) fn read<'t>(
        &self,
        message: &Message<'_>,
        is_debezium: bool,
        buffer: &'t mut String,
        tape: &'t mut Tape,
    ) -> Result<Option<Json<'t>>, BadRecord> {
        let Some(bytes) = message.key else { return Ok(None) };
        let written = text(bytes, "key")?;
        if self.is_text {
            *buffer = quoted(written);
        } else {
            written.clone_into(buffer);
        }
        let json = tape.scan(buffer.as_bytes()).map_err(|bad| bad.under("key"))?;
        let json = if is_debezium { unwrapped(json) } else { json };
        Ok((json.kind() != Kind::Null).then_some(json))
    }

    /// The fields, each with its value.
    pub(super) fn gives<'t>(&self, key: Json<'t>) -> Result<Vec<(String, Json<'t>)>, BadRecord> {
        match &self.gives {
            Gives::Field(field) => Ok(vec![(field.clone(), key)]),
            Gives::Paths(paths) => {
                let one = |(field, path): &(String, Vec<String>)| {
                    let found = path.iter().try_fold(key, |value, name| value.member(name));
                    found.map(|value| (field.clone(), value)).ok_or_else(|| {
                        let detail = format!("the key has no `{}`", path.join("."));
                        BadRecord::new(BadKind::AbsentKey, field.as_str(), detail)
                    })
                };
                paths.iter().map(one).collect()
            }
            Gives::Identity(fields) if key.kind() == Kind::Object => {
                Ok(fields.iter().filter_map(|field| Some((field.clone(), key.member(field)?))).collect())
            }
            Gives::Identity(fields) => match fields.as_slice() {
                [field] => Ok(vec![(field.clone(), key)]),
                fields => Err(BadRecord::new(
                    BadKind::WrongType,
                    "key",
                    format!(
                        "found {}, an object with the fields {} is due",
                        key.kind().noun(),
                        fields.join(", ")
                    ),
                )),
            },
        }
    }

    /// The fields that it may give.
    pub(super) fn fields(&self) -> Vec<&str> {
        match &self.gives {
            Gives::Field(field) => vec![field],
            Gives::Identity(fields) => fields.iter().map(String::as_str).collect(),
            Gives::Paths(paths) => paths.iter().map(|(field, _)| field.as_str()).collect(),
        }
    }
}

/// What is in the wrapper that Kafka Connect's JSON converter puts around it with its schema.
pub(super) fn unwrapped(json: Json<'_>) -> Json<'_> {
    match (json.member("schema"), json.member("payload")) {
        (Some(_), Some(payload)) if json.members().count() == 2 => payload,
        _ => json,
    }
}

/// A key that says another row than the value would delete another row than the put made.
pub(super) fn must_agree(field: &str, by_key: Json<'_>, own: Json<'_>) -> Result<(), BadRecord> {
    if by_key.raw() == own.raw() {
        return Ok(());
    }
    let (mut one, mut other) = (Vec::new(), Vec::new());
    canonical::put_json(&mut one, by_key, &Exclusions::default())?;
    canonical::put_json(&mut other, own, &Exclusions::default())?;
    if one == other {
        return Ok(());
    }
    let detail = format!(
        "the key says {} and the value {}: a delete by this key would miss the row (`source.message.key` says how keys are read)",
        shorten(by_key.raw()),
        shorten(own.raw())
    );
    Err(BadRecord::new(BadKind::AmbiguousKey, field, detail))
}
