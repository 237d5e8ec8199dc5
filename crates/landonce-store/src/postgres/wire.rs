//! Values in PostgreSQL's binary form, one field at a time, as COPY takes them.
//!
//! A [`Wire`] is what the catalogue's type wants to see on the wire; `catalog.rs` finds it, [`super::rows`] fills rows
//! with it. No I/O here.

use landonce_core::value::Value;

use super::numeric;

/// The binary form of a column's type, domains resolved to what they stand on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wire {
    Boolean,
    Int2,
    Int4,
    Int8,
    Numeric,
    Float4,
    Float8,
    /// text, varchar, char(n), citext, name, enums: the bytes of the text.
    Text,
    Uuid,
    Date,
    Timestamp,
    Timestamptz,
    Bytes,
    /// The text of the value.
    Json,
    /// The text behind a version byte.
    Jsonb,
    /// EWKB.
    Geometry,
    /// One dimension of items of a type, by its oid.
    Array {
        item: Box<Wire>,
        oid: u32,
    },
}

/// A value of another type than its column's: the plan and the rows don't belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mismatch;

/// From 1970-01-01 to 2000-01-01, where PostgreSQL's days and microseconds start.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// Appends a field: its length and its body.
pub(super) fn field(out: &mut Vec<u8>, wire: &Wire, value: &Value<'_>) -> Result<(), Mismatch> {
    match (value, wire) {
        (Value::Null, _) => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        (Value::Text(text), Wire::Text) => bytes(out, text.as_bytes()),
        (Value::Text(text) | Value::Json(text), Wire::Json) => bytes(out, text.as_bytes()),
        (Value::Json(text), Wire::Jsonb) => {
            length(out, text.len() + 1);
            out.push(1);
            out.extend_from_slice(text.as_bytes());
        }
        (Value::Bytes(body), Wire::Bytes) | (Value::Geometry(body), Wire::Geometry) => bytes(out, body),
        (Value::Uuid(body), Wire::Uuid) => bytes(out, body),
        (Value::Boolean(is), Wire::Boolean) => bytes(out, &[u8::from(*is)]),
        (Value::Date(days), Wire::Date) => bytes(out, &(days - EPOCH_DAYS).to_be_bytes()),
        (Value::Timestamp(micros), Wire::Timestamp) | (Value::Timestamptz(micros), Wire::Timestamptz) => {
            bytes(out, &(micros - EPOCH_MICROS).to_be_bytes());
        }
        (Value::Float(number), Wire::Float8) => bytes(out, &number.to_be_bytes()),
        (Value::Float(number), Wire::Float4) => bytes(out, &(*number as f32).to_be_bytes()),
        (Value::Decimal(number), Wire::Numeric) => {
            let at = out.len();
            length(out, 0);
            numeric::encode(out, number);
            mend_length(out, at);
        }
        (Value::Integer(number), _) => return integer(out, wire, *number),
        (Value::Array(items), Wire::Array { item, oid }) => return array(out, item, *oid, items),
        _ => return Err(Mismatch),
    }
    Ok(())
}

fn integer(out: &mut Vec<u8>, wire: &Wire, number: i64) -> Result<(), Mismatch> {
    match wire {
        Wire::Int8 => bytes(out, &number.to_be_bytes()),
        Wire::Int4 => bytes(out, &i32::try_from(number).map_err(|_| Mismatch)?.to_be_bytes()),
        Wire::Int2 => bytes(out, &i16::try_from(number).map_err(|_| Mismatch)?.to_be_bytes()),
        Wire::Numeric => {
            let text = number.to_string();
            let decimal = landonce_core::number::Decimal::parse(&text).ok_or(Mismatch)?;
            return field(out, wire, &Value::Decimal(decimal));
        }
        _ => return Err(Mismatch),
    }
    Ok(())
}

fn array(out: &mut Vec<u8>, item: &Wire, oid: u32, items: &[Value<'_>]) -> Result<(), Mismatch> {
    let at = out.len();
    length(out, 0);
    let has_null = items.contains(&Value::Null);
    let dimensions = i32::from(!items.is_empty());
    for word in [dimensions, i32::from(has_null), oid as i32] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    if !items.is_empty() {
        out.extend_from_slice(&(items.len() as i32).to_be_bytes());
        out.extend_from_slice(&1_i32.to_be_bytes());
    }
    for value in items {
        field(out, item, value)?;
    }
    mend_length(out, at);
    Ok(())
}

fn bytes(out: &mut Vec<u8>, body: &[u8]) {
    length(out, body.len());
    out.extend_from_slice(body);
}

fn length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&(length as i32).to_be_bytes());
}

/// Writes the length of what follows `at` into its place.
fn mend_length(out: &mut [u8], at: usize) {
    let length = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use tokio_postgres::types::{FromSql, Type};

    use super::*;

    /// The body of the one field that a value makes.
    fn body(wire: &Wire, value: &Value<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        field(&mut out, wire, value).unwrap();
        assert_eq!(i32::from_be_bytes(out[..4].try_into().unwrap()) as usize, out.len() - 4);
        out.split_off(4)
    }

    #[test]
    fn fields_read_back_as_what_they_were() {
        let text = |text: &'static str| Value::Text(Cow::Borrowed(text));
        assert_eq!(i16::from_sql(&Type::INT2, &body(&Wire::Int2, &Value::Integer(-2))).unwrap(), -2);
        assert_eq!(i32::from_sql(&Type::INT4, &body(&Wire::Int4, &Value::Integer(7))).unwrap(), 7);
        assert_eq!(
            i64::from_sql(&Type::INT8, &body(&Wire::Int8, &Value::Integer(i64::MIN))).unwrap(),
            i64::MIN
        );
        assert_eq!(
            f32::from_sql(&Type::FLOAT4, &body(&Wire::Float4, &Value::Float(0.1))).unwrap().to_bits(),
            0.1_f32.to_bits()
        );
        assert!(bool::from_sql(&Type::BOOL, &body(&Wire::Boolean, &Value::Boolean(true))).unwrap());
        assert_eq!(String::from_sql(&Type::TEXT, &body(&Wire::Text, &text("é"))).unwrap(), "é");
        let items = Value::Array(vec![text("a"), Value::Null, text("")]);
        let wire = Wire::Array { item: Box::new(Wire::Text), oid: Type::TEXT.oid() };
        assert_eq!(
            Vec::<Option<String>>::from_sql(&Type::TEXT_ARRAY, &body(&wire, &items)).unwrap(),
            [Some("a".to_owned()), None, Some(String::new())]
        );
        assert_eq!(body(&wire, &Value::Array(Vec::new())).len(), 12);
    }

    #[test]
    fn days_and_microseconds_count_from_2000() {
        assert_eq!(body(&Wire::Date, &Value::Date(10_957)), [0; 4]);
        assert_eq!(body(&Wire::Timestamp, &Value::Timestamp(946_684_800_000_000)), [0; 8]);
        assert_eq!(body(&Wire::Timestamptz, &Value::Timestamptz(946_684_800_000_001))[7], 1);
    }

    #[test]
    fn a_value_of_another_type_is_a_mismatch_not_a_guess() {
        let mut out = Vec::new();
        assert_eq!(field(&mut out, &Wire::Int2, &Value::Integer(40_000)), Err(Mismatch));
        assert_eq!(field(&mut out, &Wire::Text, &Value::Integer(1)), Err(Mismatch));
        assert_eq!(field(&mut out, &Wire::Timestamp, &Value::Timestamptz(1)), Err(Mismatch));
    }
}
