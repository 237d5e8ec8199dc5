//! The key of a record that has been read, and what makes it have none.

use std::borrow::Cow;

use super::{Seen, normalized};
use crate::bad_record::{BadKind, BadRecord, shorten};
use crate::canonical::{self, Exclusions};
use crate::column::Type;
use crate::identity::Key;
use crate::json::{Json, Kind};
use crate::pipeline::{Identity, IdentityFrom};
use crate::value::Value;

/// The identity's fields, in order; none when the identity is the content.
pub(super) fn fields(identity: &Identity) -> &[String] {
    match &identity.from {
        IdentityFrom::Fields { names, .. } => names,
        IdentityFrom::SenderId(field) => std::slice::from_ref(field),
        IdentityFrom::Content(_) => &[],
    }
}

impl<'t> Seen<'_, 't> {
    /// Checks the fields of an identity that is matched on the table's own columns: each there and not null.
    pub(super) fn check_natural(&self, identity: &Identity) -> Result<(), BadRecord> {
        for name in fields(identity) {
            let (json, value, _) = self.field(name);
            refuse_missing(name, json, value)?;
            refuse_placeholder(name, json, identity)?;
        }
        Ok(())
    }

    /// The hashed key; `out` is scratch and holds the encoded identity afterwards.
    pub(super) fn key(&self, identity: &Identity, out: &mut Vec<u8>) -> Result<Key, BadRecord> {
        let joined = match &identity.from {
            IdentityFrom::Fields { joined, .. } => joined.as_deref(),
            _ => None,
        };
        for (nth, name) in fields(identity).iter().enumerate() {
            let (json, value, is_typed) = self.field(name);
            if !identity.null_is_value {
                refuse_missing(name, json, value)?;
            }
            refuse_placeholder(name, json, identity)?;
            let Some(separator) = joined else {
                put_part(name, identity, (json, value, is_typed), out)?;
                continue;
            };
            if nth > 0 {
                out.extend_from_slice(separator.as_bytes());
            }
            let own = json.is_none().then_some(value).flatten().and_then(own_text);
            let part = own
                .map_or_else(
                    || joined_json(json, value, identity),
                    |own| Ok(normalized(own, &identity.normalize)),
                )
                .map_err(|bad| bad.under(name))?;
            if part.contains(separator) {
                return Err(BadRecord::new(
                    BadKind::AmbiguousKey,
                    name.as_str(),
                    format!(
                        "`{}` holds the separator `{separator}`: two identities would share one key",
                        shorten(&part)
                    ),
                ));
            }
            out.extend_from_slice(part.as_bytes());
        }
        Ok(if joined.is_some() { Key::of_joined(out) } else { Key::of(out) })
    }

    /// A field's JSON, its column's value, and whether a declared type (not its JSON kind) decides what it is.
    fn field(&self, name: &str) -> (Option<Json<'t>>, Option<&Value<'t>>, bool) {
        if let Some(own) = self.own(name) {
            return (None, Some(own), true);
        }
        let Some(at) = self.layout.position(name) else { return (None, None, false) };
        let column = self.layout.members[at].1.column;
        let is_typed = column.is_some_and(|column| self.columns[column].ty != Type::Scalar);
        (Some(self.members[at].1), column.map(|column| &self.values[column]), is_typed)
    }
}

fn put_part(
    name: &str,
    identity: &Identity,
    (json, value, is_typed): (Option<Json<'_>>, Option<&Value<'_>>, bool),
    out: &mut Vec<u8>,
) -> Result<(), BadRecord> {
    let Some(json) = json else {
        match value {
            Some(own) => canonical::put_value(out, own),
            None => canonical::put(out, b'm', b""),
        }
        return Ok(());
    };
    match value {
        Some(Value::Null) => canonical::put(out, b'z', b""),
        Some(value) if is_typed => canonical::put_value(out, value),
        _ => {
            if let Some(text) = json.string() {
                canonical::put(out, b's', normalized(text, &identity.normalize).as_bytes());
            } else {
                check_scalar(json).map_err(|bad| bad.under(name))?;
                canonical::put_json(out, json, &Exclusions::default()).map_err(|bad| bad.under(name))?;
            }
        }
    }
    Ok(())
}

fn refuse_missing(name: &str, json: Option<Json<'_>>, value: Option<&Value<'_>>) -> Result<(), BadRecord> {
    match json {
        None if value.is_some() => Ok(()),
        None => Err(BadRecord::new(BadKind::AbsentKey, name, "a field of the identity is absent")),
        Some(json) if json.kind() == Kind::Null || value == Some(&Value::Null) => {
            Err(BadRecord::new(BadKind::NullKey, name, "a field of the identity is null"))
        }
        Some(_) => Ok(()),
    }
}

/// A text that stands for no identity, as the pipeline says: many rows carry it, and none is meant by it.
fn refuse_placeholder(name: &str, json: Option<Json<'_>>, identity: &Identity) -> Result<(), BadRecord> {
    if identity.nulls.is_empty() {
        return Ok(());
    }
    let Some(text) = json.and_then(Json::string) else { return Ok(()) };
    if identity.nulls.iter().any(|null| *null == text) {
        let told = format!("`{}` stands for no identity (`identity.nulls`)", shorten(&text));
        return Err(BadRecord::new(BadKind::NullKey, name, told));
    }
    Ok(())
}

fn check_scalar(json: Json<'_>) -> Result<(), BadRecord> {
    match json.kind() {
        kind @ (Kind::Array | Kind::Object) => Err(BadRecord::new(
            BadKind::WrongType,
            "",
            format!("found {}, an identity's field is a scalar", kind.noun()),
        )),
        _ => Ok(()),
    }
}

/// The owner's value as a text.
fn own_text<'t>(value: &Value<'t>) -> Option<Cow<'t, str>> {
    Some(match value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => Cow::Owned(number.to_string()),
        Value::Boolean(is) => Cow::Owned(is.to_string()),
        Value::Uuid(bytes) => Cow::Owned(uuid::Uuid::from_bytes(*bytes).to_string()),
        _ => return None,
    })
}

fn joined_json<'t>(
    json: Option<Json<'t>>,
    value: Option<&Value<'_>>,
    identity: &Identity,
) -> Result<Cow<'t, str>, BadRecord> {
    json.filter(|json| json.kind() != Kind::Null && value != Some(&Value::Null))
        .ok_or_else(|| BadRecord::new(BadKind::NullKey, "", "a joined key has no spelling for null"))
        .and_then(|json| joined_part(json, identity))
}

/// A part of a joined key: a string's text, or a number's or boolean's own spelling.
fn joined_part<'t>(json: Json<'t>, identity: &Identity) -> Result<Cow<'t, str>, BadRecord> {
    check_scalar(json)?;
    Ok(match json.string() {
        Some(text) => normalized(text, &identity.normalize),
        None => Cow::Borrowed(json.span()),
    })
}
