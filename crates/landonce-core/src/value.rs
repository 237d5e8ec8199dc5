//! A value as a column takes it: typed, canonical, exact.
//!
//! Made by [`crate::record`] from the record's text, bound by the stores. Equal values are equal here however they
//! were spelled: `1`, `1.0` and `1e0` are one decimal; one instant under two offsets is one number of microseconds.

use std::borrow::Cow;

use crate::number::Decimal;

/// A value for one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// Text, an enum label, or a scalar's canonical text.
    Text(Cow<'a, str>),
    /// A whole number that fits its column's bits.
    Integer(i64),
    /// An exact decimal that fits its column's precision and scale.
    Decimal(Decimal<'a>),
    /// A finite double. Single-precision columns have been checked for range.
    Float(f64),
    /// true or false.
    Boolean(bool),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamptz(i64),
    /// Microseconds since 1970-01-01T00:00:00, without a zone.
    Timestamp(i64),
    /// A UUID's sixteen bytes.
    Uuid([u8; 16]),
    /// Bytes: a `bytes` column, a digest, or a hashed key in the `bytes` form.
    Bytes(Cow<'a, [u8]>),
    /// JSON text: valid, no U+0000, no repeated names.
    Json(Cow<'a, str>),
    /// An array's items, in order; none of them an array.
    Array(Vec<Value<'a>>),
    /// EWKB with SRID, little-endian.
    Geometry(Cow<'a, [u8]>),
}

impl Value<'_> {
    /// The same value, free of the text that it was read from.
    pub fn into_owned(self) -> Value<'static> {
        let owned = |bytes: Cow<'_, [u8]>| Cow::Owned(bytes.into_owned());
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Integer(number) => Value::Integer(number),
            Self::Decimal(Decimal { negative, digits, exponent }) => {
                Value::Decimal(Decimal { negative, digits: Cow::Owned(digits.into_owned()), exponent })
            }
            Self::Float(number) => Value::Float(number),
            Self::Boolean(is) => Value::Boolean(is),
            Self::Date(days) => Value::Date(days),
            Self::Timestamptz(micros) => Value::Timestamptz(micros),
            Self::Timestamp(micros) => Value::Timestamp(micros),
            Self::Uuid(bytes) => Value::Uuid(bytes),
            Self::Bytes(bytes) => Value::Bytes(owned(bytes)),
            Self::Json(text) => Value::Json(Cow::Owned(text.into_owned())),
            Self::Array(items) => Value::Array(items.into_iter().map(Value::into_owned).collect()),
            Self::Geometry(bytes) => Value::Geometry(owned(bytes)),
        }
    }
}
