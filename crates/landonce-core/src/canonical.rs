//! The canonical encoding, version 1: the bytes under every key and every digest.
//!
//! A value is a tag (one byte), the length of what follows (four bytes, big-endian), and the content:
//!
//! | tag | value | content |
//! |---|---|---|
//! | `z` | null | nothing |
//! | `m` | a missing field (identity with `null_key: as_value` only) | nothing |
//! | `s` | a string, an enum label | its UTF-8 bytes |
//! | `n` | a number | `-` if negative, digits without outer zeros, `e`, exponent: 120 is `12e1`, zero is `0e0` |
//! | `b` | a boolean | `true` or `false` |
//! | `t` | an instant | `YYYY-MM-DDTHH:MM:SS.ffffffZ` |
//! | `l` | a civil date and time | `YYYY-MM-DDTHH:MM:SS.ffffff` |
//! | `d` | a civil date | `YYYY-MM-DD` |
//! | `u` | a UUID | its 36 lower-case characters |
//! | `x` | bytes | the bytes |
//! | `g` | a geometry | its canonical GeoJSON text |
//! | `a` | an array | its items, each encoded |
//! | `o` | an object | per member, sorted by the name's UTF-8 bytes: the name as `s`, then the value |
//!
//! A declared type decides the tag; an undeclared field has the tag of its JSON kind. So `1`, `1.0` and a declared decimal
//! `"1"` are one value, and `1`, an undeclared `"1"` and `true` are three. Hashes are SHA-256 over a label (below)
//! and the encoded values. `docs/reference/identity.md` has this page with test vectors and a page of Python.

use crate::bad_record::{BadKind, BadRecord, shorten};
use crate::json::{Json, Kind};
use crate::number::Decimal;
use crate::time;
use crate::value::Value;

/// The label under a key's hash.
pub const KEY_LABEL: &[u8] = b"landonce:key:1";
/// The label under a content digest's hash.
pub const DIGEST_LABEL: &[u8] = b"landonce:digest:1";
/// Stands before what the key of a further copy of a record is made of ([`crate::identity::Key::copy`]).
pub const COPY_LABEL: &[u8] = b"landonce:copy:1";

/// Names that an encoding leaves out, at any depth: what changes per attempt (`sent_at`, `trace.id`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclusions {
    names: Vec<(String, Option<Exclusions>)>,
}

impl Exclusions {
    /// From paths. A path is a field's name, or names joined by dots to reach into objects; a field whose own name holds
    /// the dots is meant first.
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut all = Self::default();
        for path in paths {
            all.add(path);
        }
        all
    }

    fn add(&mut self, path: &str) {
        self.names.push((path.to_owned(), None));
        if let Some((outer, inner)) = path.split_once('.') {
            self.names.push((outer.to_owned(), Some(Self::new([inner]))));
        }
    }

    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the whole field of that name is left out.
    pub fn covers(&self, name: &str) -> bool {
        self.names.iter().any(|(has, inner)| inner.is_none() && has == name)
    }

    /// What is left out inside the field of that name.
    #[must_use]
    pub fn inside(&self, name: &str) -> Self {
        let mut all = Self::default();
        for (_, inner) in self.names.iter().filter(|(has, _)| has == name) {
            all.names.extend(inner.iter().flat_map(|inner| inner.names.iter().cloned()));
        }
        all
    }
}

/// Appends a tagged, length-prefixed value.
pub fn put(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(content.len() as u32).to_be_bytes());
    out.extend_from_slice(content);
}

/// Appends a value whose content is written by `fill`; its length is put before it afterwards.
pub fn put_with<E>(
    out: &mut Vec<u8>,
    tag: u8,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    out.push(tag);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out)?;
    let long = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&long.to_be_bytes());
    Ok(())
}

/// Appends a typed value.
pub fn put_value(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::Null => put(out, b'z', b""),
        Value::Text(text) | Value::Json(text) => put(out, b's', text.as_bytes()),
        Value::Integer(number) => put_decimal(out, &number.to_string()),
        Value::Decimal(number) => put_number(out, number),
        Value::Float(number) => put_decimal(out, &format!("{number:e}")),
        Value::Boolean(truth) => put(out, b'b', if *truth { b"true" } else { b"false" }),
        Value::Date(days) => put_text(out, b'd', |text| time::write_date(*days, text)),
        Value::Timestamptz(micros) => put_text(out, b't', |text| time::write_timestamptz(*micros, text)),
        Value::Timestamp(micros) => put_text(out, b'l', |text| time::write_timestamp(*micros, text)),
        Value::Uuid(bytes) => put(out, b'u', uuid::Uuid::from_bytes(*bytes).to_string().as_bytes()),
        Value::Bytes(bytes) | Value::Geometry(bytes) => put(out, b'x', bytes),
        Value::Array(items) => {
            let filled: Result<(), std::convert::Infallible> = put_with(out, b'a', |out| {
                for item in items {
                    put_value(out, item);
                }
                Ok(())
            });
            let Ok(()) = filled;
        }
    }
}

/// Appends an undeclared JSON value, leaving out what is excluded.
pub fn put_json(out: &mut Vec<u8>, json: Json<'_>, except: &Exclusions) -> Result<(), BadRecord> {
    match json.kind() {
        Kind::Null => put(out, b'z', b""),
        Kind::True => put(out, b'b', b"true"),
        Kind::False => put(out, b'b', b"false"),
        Kind::Plain => put(out, b's', json.span().as_bytes()),
        Kind::Escaped => put(out, b's', json.string().unwrap_or_default().as_bytes()),
        Kind::Number => put_number(out, &parse_number(json.span())?),
        Kind::Array => put_with(out, b'a', |out| {
            for (at, item) in json.items().enumerate() {
                put_json(out, item, except).map_err(|bad| bad.under(&format!("[{at}]")))?;
            }
            Ok(())
        })?,
        Kind::Object => put_with(out, b'o', |out| {
            let mut members: Vec<_> =
                json.members().map(|(name, value)| (name.string().unwrap_or_default(), value)).collect();
            members.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            for (name, value) in members {
                put_member(out, &name, value, except)?;
            }
            Ok(())
        })?,
    }
    Ok(())
}

/// Appends a member of an object, unless it is excluded.
pub fn put_member(
    out: &mut Vec<u8>,
    name: &str,
    value: Json<'_>,
    except: &Exclusions,
) -> Result<(), BadRecord> {
    if except.is_empty() {
        put(out, b's', name.as_bytes());
        return put_json(out, value, except).map_err(|bad| bad.under(name));
    }
    if except.covers(name) {
        return Ok(());
    }
    put(out, b's', name.as_bytes());
    put_json(out, value, &except.inside(name)).map_err(|bad| bad.under(name))
}

/// A JSON number's lexeme as an exact decimal.
pub fn parse_number(lexeme: &str) -> Result<Decimal<'_>, BadRecord> {
    Decimal::parse(lexeme).ok_or_else(|| {
        BadRecord::new(
            BadKind::OutOfRange,
            "",
            format!("the number {} reaches beyond 16,383 digits", shorten(lexeme)),
        )
    })
}

fn put_number(out: &mut Vec<u8>, number: &Decimal<'_>) {
    let filled: Result<(), std::convert::Infallible> = put_with(out, b'n', |out| {
        number.write_canonical(out);
        Ok(())
    });
    let Ok(()) = filled;
}

/// A number that the standard library has just written: always a decimal.
fn put_decimal(out: &mut Vec<u8>, written: &str) {
    match Decimal::parse(written) {
        Some(number) => put_number(out, &number),
        None => put(out, b'n', written.as_bytes()),
    }
}

fn put_text(out: &mut Vec<u8>, tag: u8, write: impl FnOnce(&mut String)) {
    let mut text = String::with_capacity(32);
    write(&mut text);
    put(out, tag, text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Tape;

    fn encoded(text: &str, except: &[&str]) -> Vec<u8> {
        let mut tape = Tape::default();
        let mut out = Vec::new();
        put_json(&mut out, tape.scan(text.as_bytes()).unwrap(), &Exclusions::new(except.iter().copied()))
            .unwrap();
        out
    }

    #[test]
    fn spelling_order_and_white_space_make_no_difference() {
        let one = encoded(r#"{"b": [1.0, "é"], "a": {"y": -0, "x": true}}"#, &[]);
        let two = encoded("{\"a\":{\"x\":true,\"y\":0},\"b\":[1e0,\"\\u00e9\"]}", &[]);
        assert_eq!(one, two);
    }

    #[test]
    fn kinds_and_structure_make_a_difference() {
        let all = [
            "1",
            "\"1\"",
            "true",
            "\"true\"",
            "null",
            "\"null\"",
            "\"\"",
            "[]",
            "{}",
            "[1]",
            "[[1]]",
            "\"a\"",
            "[\"a\",\"b\"]",
            "[\"ab\"]",
        ];
        for (at, one) in all.iter().enumerate() {
            for two in &all[at + 1..] {
                assert_ne!(encoded(one, &[]), encoded(two, &[]), "{one} {two}");
            }
        }
    }

    #[test]
    fn excluded_paths_are_left_out_at_any_depth() {
        assert_eq!(
            encoded(r#"{"id":1,"sent_at":"x","trace":{"id":"q","app":"a"}}"#, &["sent_at", "trace.id"]),
            encoded(r#"{"id":1,"trace":{"app":"a"}}"#, &[])
        );
        assert_eq!(encoded(r#"{"a.b":1,"c":2}"#, &["a.b"]), encoded(r#"{"c":2}"#, &[]));
    }

    #[test]
    fn the_documented_bytes() {
        assert_eq!(encoded(r#"{"a":120}"#, &[]), b"o\0\0\0\x0fs\0\0\0\x01an\0\0\0\x0412e1");
    }

    #[test]
    fn integers_beyond_64_bits_stay_apart() {
        assert_ne!(encoded("9007199254740993", &[]), encoded("9007199254740992", &[]));
        assert_ne!(encoded("18446744073709551615", &[]), encoded("18446744073709551616", &[]));
    }
}
