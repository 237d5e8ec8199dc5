//! From a JSON value to a column's type: exactly, or a bad record that says why.

use std::borrow::Cow;

use base64::Engine as _;

use crate::bad_record::{BadKind, BadRecord, shorten};
use crate::canonical::parse_number;
use crate::column::Type;
use crate::geometry;
use crate::json::{Json, Kind, Tape};
use crate::number::Decimal;
use crate::time;
use crate::value::Value;

type Converted<'t> = Result<Value<'t>, BadRecord>;

/// Converts a value to a column's type. In a lexical source (CSV) every value is a text that spells its type, and an
/// empty text is null for every type but text.
pub(super) fn convert<'t>(json: Json<'t>, ty: &Type, is_lexical: bool) -> Converted<'t> {
    if json.kind() == Kind::Null {
        return Ok(Value::Null);
    }
    if is_lexical
        && json.span().is_empty()
        && !matches!(ty, Type::Text { .. } | Type::Scalar | Type::Enum { .. })
    {
        return Ok(Value::Null);
    }
    match ty {
        Type::Scalar => scalar(json),
        Type::Text { max } => text(json, *max),
        Type::Integer { bits } => integer(json, *bits),
        Type::Decimal { limits } => decimal(json, *limits),
        Type::Float { bits } => float(json, *bits),
        Type::Boolean => boolean(json, is_lexical),
        Type::Date => Ok(Value::Date(moment(json, time::date)?)),
        Type::Timestamptz => Ok(Value::Timestamptz(moment(json, time::timestamptz)?)),
        Type::Timestamp => Ok(Value::Timestamp(moment(json, time::timestamp)?)),
        Type::Uuid => uuid(json),
        Type::Bytes => bytes(json),
        Type::Json => Ok(Value::Json(nested(json, is_lexical)?)),
        Type::Enum { labels, name } => label(json, labels, name),
        Type::Array(item) => array(json, item, is_lexical),
        Type::Geometry { kind, srid } => {
            let text = nested(json, is_lexical)?;
            geometry::to_ewkb(&text, kind.as_deref(), *srid).map(|ewkb| Value::Geometry(Cow::Owned(ewkb)))
        }
    }
}

fn wrong(json: Json<'_>, due: &str) -> BadRecord {
    let found = match json.kind() {
        Kind::Array | Kind::Object => json.kind().noun().to_owned(),
        kind => format!("{} ({})", kind.noun(), shorten(json.raw())),
    };
    BadRecord::new(BadKind::WrongType, "", format!("found {found}, {due} is due"))
}

fn out_of_range(detail: String) -> BadRecord {
    BadRecord::new(BadKind::OutOfRange, "", detail)
}

fn scalar(json: Json<'_>) -> Converted<'_> {
    Ok(Value::Text(match json.kind() {
        Kind::Number => Cow::Owned(parse_number(json.span())?.to_plain()),
        Kind::True | Kind::False => Cow::Borrowed(json.span()),
        _ => json.string().ok_or_else(|| wrong(json, "a scalar"))?,
    }))
}

fn text(json: Json<'_>, max: Option<u32>) -> Converted<'_> {
    let text = json.string().ok_or_else(|| wrong(json, "a string"))?;
    if let Some(max) = max {
        let long = text.chars().count();
        if long > max as usize {
            return Err(BadRecord::new(
                BadKind::TooLong,
                "",
                format!("{long} characters where the column takes {max}: \"{}\"", shorten(&text)),
            ));
        }
    }
    Ok(Value::Text(text))
}

/// The decimal that a JSON number, or a string that spells one, stands for.
fn number<'t>(json: Json<'t>, due: &str) -> Result<Decimal<'t>, BadRecord> {
    match json.kind() {
        Kind::Number => parse_number(json.span()),
        Kind::Plain => Decimal::parse(json.span()).ok_or_else(|| wrong(json, due)),
        _ => Err(wrong(json, due)),
    }
}

fn integer(json: Json<'_>, bits: u8) -> Converted<'_> {
    let (least, most) = match bits {
        16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let value = match json.span().parse::<i64>() {
        Ok(value) if json.kind() == Kind::Number => Some(value),
        _ => number(json, "a whole number")?.to_i64(),
    };
    match value {
        Some(value) if (least..=most).contains(&value) => Ok(Value::Integer(value)),
        _ => Err(out_of_range(format!(
            "{} isn't a whole number of {bits} bits ({least} to {most})",
            shorten(json.span())
        ))),
    }
}

fn decimal(json: Json<'_>, limits: Option<(u16, i16)>) -> Converted<'_> {
    let number = number(json, "a number")?;
    if let Some((precision, scale)) = limits {
        let (before, behind) = number.extent();
        let most_before = i64::from(precision) - i64::from(scale);
        if i64::from(before) > most_before || i64::from(behind) > i64::from(scale.max(0)) {
            return Err(out_of_range(format!(
                "{} doesn't fit decimal({precision},{scale}) exactly; it is never rounded",
                shorten(json.span())
            )));
        }
    }
    Ok(Value::Decimal(number))
}

fn float(json: Json<'_>, bits: u8) -> Converted<'_> {
    let exact = number(json, "a number")?;
    let double: f64 = json.span().parse().map_err(|_| wrong(json, "a number"))?;
    let is_finite = if bits == 32 { (double as f32).is_finite() } else { double.is_finite() };
    if !is_finite {
        return Err(out_of_range(format!("{} is beyond a float of {bits} bits", shorten(json.span()))));
    }
    // A whole number means itself, not its neighbour: beyond the mantissa only exact ones fit.
    if exact.exponent >= 0 {
        let back = if bits == 32 { format!("{}", double as f32) } else { format!("{double}") };
        if Decimal::parse(&back).is_none_or(|back| back != exact) {
            return Err(out_of_range(format!(
                "the whole number {} isn't exact in a float of {bits} bits; declare integer or decimal",
                shorten(json.span())
            )));
        }
    }
    Ok(Value::Float(double))
}

fn boolean(json: Json<'_>, is_lexical: bool) -> Converted<'_> {
    match (json.kind(), json.span()) {
        (Kind::True, _) => Ok(Value::Boolean(true)),
        (Kind::False, _) => Ok(Value::Boolean(false)),
        (Kind::Plain, "true" | "TRUE" | "True" | "t" | "1") if is_lexical => Ok(Value::Boolean(true)),
        (Kind::Plain, "false" | "FALSE" | "False" | "f" | "0") if is_lexical => Ok(Value::Boolean(false)),
        _ => Err(wrong(json, "true or false")),
    }
}

fn moment<T>(json: Json<'_>, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, BadRecord> {
    let text = json.string().ok_or_else(|| wrong(json, "a date or time as a string"))?;
    parse(&text).map_err(|detail| BadRecord::new(BadKind::OutOfRange, "", detail))
}

fn uuid(json: Json<'_>) -> Converted<'_> {
    let is_spelled = matches!(json.span().len(), 32 | 36) && json.kind() == Kind::Plain;
    let parsed = if is_spelled { uuid::Uuid::try_parse(json.span()).ok() } else { None };
    parsed.map(|uuid| Value::Uuid(uuid.into_bytes())).ok_or_else(|| wrong(json, "a UUID"))
}

fn bytes(json: Json<'_>) -> Converted<'_> {
    let due = "base64, or \\x and hex digits,";
    let text = json.string().ok_or_else(|| wrong(json, due))?;
    let decoded = match text.strip_prefix("\\x") {
        Some(digits) => hex::decode(digits).ok(),
        None => base64::engine::general_purpose::STANDARD.decode(text.as_bytes()).ok(),
    };
    decoded.map(|bytes| Value::Bytes(Cow::Owned(bytes))).ok_or_else(|| wrong(json, due))
}

fn label<'t>(json: Json<'t>, labels: &[String], name: &str) -> Converted<'t> {
    let text = json.string().ok_or_else(|| wrong(json, "a label as a string"))?;
    if !labels.is_empty() && !labels.iter().any(|label| *label == text) {
        return Err(BadRecord::new(
            BadKind::WrongType,
            "",
            format!("`{}` is no label of {name}; it has {}", shorten(&text), labels.join(", ")),
        ));
    }
    Ok(Value::Text(text))
}

/// JSON text for a JSON-like column; in a lexical source the text of the field, checked.
pub(super) fn nested(json: Json<'_>, is_lexical: bool) -> Result<Cow<'_, str>, BadRecord> {
    match json.string() {
        Some(text) if is_lexical => {
            Tape::default().scan(text.as_bytes()).map(|_| ())?;
            Ok(text)
        }
        _ => Ok(Cow::Borrowed(json.raw())),
    }
}

fn array<'t>(json: Json<'t>, item: &Type, is_lexical: bool) -> Converted<'t> {
    if is_lexical && let Some(text) = json.string() {
        let mut tape = Tape::default();
        let inner = tape.scan(text.as_bytes())?;
        return match array(inner, item, false)? {
            Value::Array(items) => Ok(Value::Array(items.into_iter().map(into_owned).collect())),
            other => Ok(into_owned(other)),
        };
    }
    if json.kind() != Kind::Array {
        return Err(wrong(json, "an array"));
    }
    let items: Result<Vec<_>, _> = json
        .items()
        .enumerate()
        .map(|(at, value)| convert(value, item, false).map_err(|bad| bad.under(&format!("[{at}]"))))
        .collect();
    items.map(Value::Array)
}

/// The same value without a borrow of the text it came from.
fn into_owned(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
        Value::Json(text) => Value::Json(Cow::Owned(text.into_owned())),
        Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
        Value::Geometry(bytes) => Value::Geometry(Cow::Owned(bytes.into_owned())),
        Value::Decimal(number) => Value::Decimal(number.into_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(into_owned).collect()),
        Value::Integer(v) => Value::Integer(v),
        Value::Float(v) => Value::Float(v),
        Value::Boolean(v) => Value::Boolean(v),
        Value::Date(v) => Value::Date(v),
        Value::Timestamptz(v) => Value::Timestamptz(v),
        Value::Timestamp(v) => Value::Timestamp(v),
        Value::Uuid(v) => Value::Uuid(v),
    }
}
