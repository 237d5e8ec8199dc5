//! A row as JSON.

use std::fmt::Write as _;

use base64::Engine as _;
use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::json::Tape;
use landonce_core::time;
use parquet::data_type::Decimal;
use parquet::record::{Field, Row};

use super::schema::Shape;

/// Renders a row; `int96s` are this row's values of those columns. What can't be rendered is null in the text, and told.
pub(super) fn row(
    out: &mut Vec<u8>,
    row: &Row,
    columns: &[(Vec<u8>, Shape)],
    int96s: &[Option<i128>],
) -> Result<(), BadRecord> {
    let mut renderer = Renderer { out, int96s, tape: Tape::default(), bad: None };
    renderer.group(row, columns);
    renderer.bad.map_or(Ok(()), Err)
}

/// A member's name with what stands behind it.
pub(super) fn name(name: &str) -> Vec<u8> {
    let mut member = string(name);
    member.push(b':');
    member
}

/// A text as JSON writes it.
fn string(text: &str) -> Vec<u8> {
    // Texts always serialise.
    serde_json::to_vec(text).unwrap_or_default()
}

struct Renderer<'a> {
    out: &'a mut Vec<u8>,
    int96s: &'a [Option<i128>],
    tape: Tape,
    bad: Option<BadRecord>,
}

impl Renderer<'_> {
    fn group(&mut self, row: &Row, members: &[(Vec<u8>, Shape)]) {
        self.out.push(b'{');
        for (at, ((name, field), (member, shape))) in row.get_column_iter().zip(members).enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(member);
            if let Err(why) = self.value(field, shape) {
                self.out.extend_from_slice(b"null");
                let why = why.under(name);
                self.bad.get_or_insert(why);
            }
        }
        self.out.push(b'}');
    }

    /// Writes a value, or nothing at all.
    fn value(&mut self, field: &Field, shape: &Shape) -> Result<(), BadRecord> {
        match (field, shape) {
            (_, Shape::Int96(at)) => match self.int96s.get(*at).copied().flatten() {
                Some(nanos) => self.timestamp(nanos, 1_000_000_000, true)?,
                None => self.out.extend_from_slice(b"null"),
            },
            (Field::Null, _) => self.out.extend_from_slice(b"null"),
            (Field::Group(row), Shape::Group(members)) => self.group(row, members),
            (Field::ListInternal(list), Shape::List(item)) => {
                self.out.push(b'[');
                for (at, field) in list.elements().iter().enumerate() {
                    if at > 0 {
                        self.out.push(b',');
                    }
                    self.inside(field, item, || format!("[{at}]"));
                }
                self.out.push(b']');
            }
            (Field::MapInternal(map), Shape::Map(value)) => {
                self.out.push(b'{');
                for (at, (key, field)) in map.entries().iter().enumerate() {
                    if at > 0 {
                        self.out.push(b',');
                    }
                    let key = key_text(key)?;
                    self.out.extend_from_slice(&name(&key));
                    self.inside(field, value, || key.clone());
                }
                self.out.push(b'}');
            }
            (Field::Str(text), Shape::Json) => {
                self.tape.scan(text.as_bytes())?;
                self.out.extend_from_slice(text.as_bytes());
            }
            (Field::Bytes(bytes), Shape::Json) => {
                self.tape.scan(bytes.data())?;
                self.out.extend_from_slice(bytes.data());
            }
            (Field::Bytes(bytes), Shape::Uuid) => {
                let uuid = uuid::Uuid::from_slice(bytes.data()).map_err(|_| wrong("a UUID has 16 bytes"))?;
                self.text(&uuid.hyphenated().to_string());
            }
            (field, Shape::Timestamp { per_second, is_utc }) => {
                let value = whole(field).ok_or_else(|| wrong("a time is a whole number"))?;
                self.timestamp(value.into(), *per_second, *is_utc)?;
            }
            (field, Shape::Time { per_second }) => {
                let value = whole(field).ok_or_else(|| wrong("a time is a whole number"))?;
                self.time(value, *per_second);
            }
            (field, Shape::Plain) => self.plain(field)?,
            _ => return Err(wrong("the value isn't what the schema says")),
        }
        Ok(())
    }

    /// A value inside another one: what can't be rendered is null there.
    fn inside(&mut self, field: &Field, shape: &Shape, place: impl Fn() -> String) {
        if let Err(why) = self.value(field, shape) {
            self.out.extend_from_slice(b"null");
            let why = why.under(&place());
            self.bad.get_or_insert(why);
        }
    }

    fn plain(&mut self, field: &Field) -> Result<(), BadRecord> {
        match field {
            Field::Bool(value) => self.digits(value),
            Field::Byte(value) => self.digits(value),
            Field::Short(value) => self.digits(value),
            Field::Int(value) => self.digits(value),
            Field::Long(value) => self.digits(value),
            Field::UByte(value) => self.digits(value),
            Field::UShort(value) => self.digits(value),
            Field::UInt(value) => self.digits(value),
            Field::ULong(value) => self.digits(value),
            Field::Float16(value) => self.float(value.to_f64(), &format!("{:?}", value.to_f32())),
            Field::Float(value) => self.float((*value).into(), &format!("{value:?}")),
            Field::Double(value) => self.float(*value, &format!("{value:?}")),
            Field::Decimal(value) => self.digits(&decimal(value)),
            Field::Str(text) => self.text(text),
            Field::Bytes(bytes) => self.text(&base64::engine::general_purpose::STANDARD.encode(bytes.data())),
            Field::Date(days) => {
                let mut date = String::new();
                time::write_date(*days, &mut date);
                // A day outside of the years that have this spelling.
                if time::date(&date) != Ok(*days) {
                    return Err(far(&format!("{days} days")));
                }
                self.text(&date);
            }
            _ => return Err(wrong("the value isn't what the schema says")),
        }
        Ok(())
    }

    fn digits(&mut self, value: &impl ToString) {
        self.out.extend_from_slice(value.to_string().as_bytes());
    }

    /// The shortest text that reads back as the same; what is no number as a text, which no number column takes.
    fn float(&mut self, value: f64, digits: &str) {
        if value.is_finite() {
            self.out.extend_from_slice(digits.as_bytes());
        } else if value.is_nan() {
            self.text("NaN");
        } else {
            self.text(if value > 0.0 { "Infinity" } else { "-Infinity" });
        }
    }

    fn text(&mut self, text: &str) {
        let text = string(text);
        self.out.extend_from_slice(&text);
    }

    fn timestamp(&mut self, value: i128, per_second: i64, is_utc: bool) -> Result<(), BadRecord> {
        let per_second = i128::from(per_second);
        let seconds = value.div_euclid(per_second);
        let nanos = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
        let micros = i64::try_from(seconds * 1_000_000).map_err(|_| far(&format!("{seconds} seconds")))?;
        let mut text = String::new();
        time::write_timestamp(micros, &mut text);
        if time::timestamp(&text) != Ok(micros) {
            return Err(far(&format!("{seconds} seconds")));
        }
        text.truncate(19);
        fraction(&mut text, nanos as u32);
        if is_utc {
            text.push('Z');
        }
        self.text(&text);
        Ok(())
    }

    fn time(&mut self, value: i64, per_second: i64) {
        let (seconds, rest) = (value.div_euclid(per_second), value.rem_euclid(per_second));
        let mut text = String::new();
        // A String takes everything.
        let _ = write!(text, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        fraction(&mut text, (rest * (1_000_000_000 / per_second)) as u32);
        self.text(&text);
    }
}

/// Six digits where they are enough, nine where they aren't, none where there is nothing.
fn fraction(text: &mut String, nanos: u32) {
    let _ = match nanos {
        0 => Ok(()),
        nanos if nanos.is_multiple_of(1000) => write!(text, ".{:06}", nanos / 1000),
        nanos => write!(text, ".{nanos:09}"),
    };
}

fn key_text(key: &Field) -> Result<String, BadRecord> {
    Ok(match key {
        Field::Str(text) => text.clone(),
        Field::Int(number) => number.to_string(),
        Field::Long(number) => number.to_string(),
        Field::UInt(number) => number.to_string(),
        Field::ULong(number) => number.to_string(),
        _ => return Err(wrong("a map's keys are texts or whole numbers")),
    })
}

fn whole(field: &Field) -> Option<i64> {
    Some(match field {
        Field::Int(value) | Field::TimeMillis(value) => i64::from(*value),
        Field::Long(value)
        | Field::TimeMicros(value)
        | Field::TimestampMillis(value)
        | Field::TimestampMicros(value) => *value,
        _ => return None,
    })
}

/// A decimal's digits: its bytes are one whole number, most significant first, in two's complement.
fn decimal(value: &Decimal) -> String {
    let bytes = value.data();
    let is_negative = bytes.first().is_some_and(|first| *first >= 0x80);
    let mut rest: Vec<u8> = bytes.to_vec();
    if is_negative {
        let mut carry = true;
        for byte in rest.iter_mut().rev() {
            let (sum, over) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (sum, over);
        }
    }
    let mut digits = Vec::new();
    while rest.iter().any(|byte| *byte != 0) {
        let mut left = 0_u32;
        for byte in &mut rest {
            let part = left << 8 | u32::from(*byte);
            *byte = (part / 10) as u8;
            left = part % 10;
        }
        digits.push(b'0' + left as u8);
    }
    let scale = usize::try_from(value.scale()).unwrap_or(0);
    while digits.len() <= scale {
        digits.push(b'0');
    }
    let mut text = String::with_capacity(digits.len() + 2);
    if is_negative {
        text.push('-');
    }
    for (at, digit) in digits.iter().enumerate().rev() {
        text.push(char::from(*digit));
        if at == scale && scale > 0 {
            text.push('.');
        }
    }
    text
}

fn far(what: &str) -> BadRecord {
    BadRecord::new(BadKind::OutOfRange, "", format!("{what} since 1970 are outside of the years 1 to 9999"))
}

fn wrong(what: &str) -> BadRecord {
    BadRecord::new(BadKind::WrongType, "", what)
}
