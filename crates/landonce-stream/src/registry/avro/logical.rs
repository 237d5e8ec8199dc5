//! Avro's logical types: decimals, times and ids as texts that say all of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::time::{write_date, write_timestamp};
use serde_json::{Map, Value};

use super::super::bad;

/// The longest decimal, in bytes of its unscaled value: some thousand digits.
const MOST_BYTES: usize = 512;
/// The largest scale.
const MOST_SCALE: u64 = 2_000;
const DAY_NANOS: i128 = 86_400_000_000_000;

/// What a type means beside how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logical {
    Decimal {
        scale: usize,
    },
    Uuid,
    Date,
    /// A time of day, in units of so many nanoseconds.
    Time {
        nanos: i64,
    },
    /// A time, in units of so many nanoseconds; an instant, or without a zone.
    Timestamp {
        nanos: i64,
        is_instant: bool,
    },
    Duration,
}

/// The logical type that a schema declares; one that isn't known means nothing, as Avro has it.
pub(super) fn of(map: &Map<String, Value>) -> Option<Logical> {
    let number = |name: &str| map.get(name).and_then(Value::as_u64);
    let time = |nanos, is_instant| Some(Logical::Timestamp { nanos, is_instant });
    match map.get("logicalType")?.as_str()? {
        "decimal" => {
            let scale = number("scale").unwrap_or(0);
            let fits = number("precision").is_some_and(|precision| precision > 0) && scale <= MOST_SCALE;
            fits.then(|| Logical::Decimal { scale: usize::try_from(scale).unwrap_or_default() })
        }
        "uuid" => Some(Logical::Uuid),
        "date" => Some(Logical::Date),
        "time-millis" => Some(Logical::Time { nanos: 1_000_000 }),
        "time-micros" => Some(Logical::Time { nanos: 1_000 }),
        "timestamp-millis" => time(1_000_000, true),
        "timestamp-micros" => time(1_000, true),
        "timestamp-nanos" => time(1, true),
        "local-timestamp-millis" => time(1_000_000, false),
        "local-timestamp-micros" => time(1_000, false),
        "local-timestamp-nanos" => time(1, false),
        "duration" => Some(Logical::Duration),
        _ => None,
    }
}

/// The JSON of an int or a long.
pub(super) fn number(value: i64, logical: Option<&Logical>) -> Result<String, BadRecord> {
    let outside = || {
        BadRecord::new(
            BadKind::OutOfRange,
            "",
            format!("{value} lies outside the years 1 to 9999, or the day"),
        )
    };
    match logical {
        Some(Logical::Date) => {
            let days = i32::try_from(value).ok().filter(|days| (-719_162..=2_932_896).contains(days));
            let mut text = String::from("\"");
            write_date(days.ok_or_else(outside)?, &mut text);
            text.push('"');
            Ok(text)
        }
        Some(Logical::Time { nanos }) => {
            let nanos_of_day = i128::from(value) * i128::from(*nanos);
            if !(0..DAY_NANOS).contains(&nanos_of_day) {
                return Err(outside());
            }
            let text = civil(nanos_of_day, digits(*nanos)).ok_or_else(outside)?;
            Ok(format!("\"{}\"", &text[11..]))
        }
        Some(Logical::Timestamp { nanos, is_instant }) => {
            let text = civil(i128::from(value) * i128::from(*nanos), digits(*nanos)).ok_or_else(outside)?;
            Ok(format!("\"{text}{}\"", if *is_instant { "Z" } else { "" }))
        }
        _ => Ok(value.to_string()),
    }
}

/// How many digits of a second such units have.
fn digits(nanos: i64) -> usize {
    match nanos {
        1_000_000 => 3,
        1_000 => 6,
        _ => 9,
    }
}

/// Nanoseconds since 1970 as date and time of day.
fn civil(nanos: i128, digits: usize) -> Option<String> {
    let micros = i64::try_from(nanos.div_euclid(1_000)).ok()?;
    if !(-62_135_596_800_000_000..253_402_300_800_000_000).contains(&micros) {
        return None;
    }
    let mut text = String::new();
    write_timestamp(micros, &mut text);
    if digits == 9 {
        text.push_str(&format!("{:03}", nanos.rem_euclid(1_000)));
    } else {
        text.truncate("1970-01-01T00:00:00.".len() + digits);
    }
    Some(text)
}

/// The JSON of bytes.
pub(super) fn bytes(bytes: &[u8], logical: Option<&Logical>) -> Result<String, BadRecord> {
    match (logical, bytes) {
        (Some(Logical::Decimal { scale }), _) => Ok(format!("\"{}\"", decimal(bytes, *scale)?)),
        (Some(Logical::Uuid), &[..]) if bytes.len() == 16 => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(format!("\"{}-{}-{}-{}-{}\"", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
        }
        (Some(Logical::Duration), &[..]) if bytes.len() == 12 => {
            let part = |at: usize| {
                bytes[at..at + 4].iter().rev().fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte))
            };
            Ok(format!("{{\"months\":{},\"days\":{},\"milliseconds\":{}}}", part(0), part(4), part(8)))
        }
        _ => Ok(format!("\"{}\"", STANDARD.encode(bytes))),
    }
}

/// A decimal: its unscaled value in two's complement, the highest byte first, with so many digits behind the point.
fn decimal(bytes: &[u8], scale: usize) -> Result<String, BadRecord> {
    if bytes.is_empty() || bytes.len() > MOST_BYTES {
        return Err(bad(format!("a decimal of {} bytes", bytes.len())));
    }
    let is_negative = bytes[0] & 0x80 != 0;
    let mut magnitude = bytes.to_vec();
    if is_negative {
        for byte in &mut magnitude {
            *byte = !*byte;
        }
        for byte in magnitude.iter_mut().rev() {
            let (sum, carries) = byte.overflowing_add(1);
            *byte = sum;
            if !carries {
                break;
            }
        }
        // The lowest value there is: its own complement, as a magnitude without a sign.
    }
    let mut digits = Vec::new();
    while magnitude.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u32;
        for byte in &mut magnitude {
            let value = rest * 256 + u32::from(*byte);
            *byte = (value / 10) as u8;
            rest = value % 10;
        }
        digits.push(b'0' + rest as u8);
    }
    while digits.len() <= scale {
        digits.push(b'0');
    }
    let mut text = String::from(if is_negative { "-" } else { "" });
    for (behind, digit) in digits.iter().enumerate().rev() {
        text.push(char::from(*digit));
        if behind == scale && scale > 0 {
            text.push('.');
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (bytes, scale, want) in [
            (&[0][..], 2, "0.00"),
            (&[0x04, 0xd2], 2, "12.34"),
            (&[0xfb, 0x2e], 2, "-12.34"),
            (&[0xff], 3, "-0.001"),
            (&[0x80], 0, "-128"),
            (&[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 0, "2361183241434822606847"),
            (&[0x80, 0, 0, 0, 0, 0, 0, 0, 0], 4, "-236118324143482260.6848"),
        ] {
            assert_eq!(decimal(bytes, scale).unwrap(), want);
        }
        decimal(&[], 0).unwrap_err();
    }

    #[test]
    fn a_duration_has_three_parts_and_a_uuid_five() {
        let parts = bytes(&[1, 0, 0, 0, 2, 1, 0, 0, 3, 0, 0, 0x80], Some(&Logical::Duration)).unwrap();
        assert_eq!(parts, r#"{"months":1,"days":258,"milliseconds":2147483651}"#);
        let id = bytes(&[0x6f; 16], Some(&Logical::Uuid)).unwrap();
        assert_eq!(id, "\"6f6f6f6f-6f6f-6f6f-6f6f-6f6f6f6f6f6f\"");
        assert_eq!(bytes(b"ab", Some(&Logical::Uuid)).unwrap(), "\"YWI=\"");
    }

    #[test]
    fn times_have_their_full_precision() {
        let at = |nanos, is_instant| Logical::Timestamp { nanos, is_instant };
        for (value, logical, want) in [
            (0, at(1_000_000, true), "\"1970-01-01T00:00:00.000Z\""),
            (-1, at(1_000, true), "\"1969-12-31T23:59:59.999999Z\""),
            (1_767_225_600_123_456_789, at(1, true), "\"2026-01-01T00:00:00.123456789Z\""),
            (-1, at(1, false), "\"1969-12-31T23:59:59.999999999\""),
            (20_454, Logical::Date, "\"2026-01-01\""),
            (86_399_999, Logical::Time { nanos: 1_000_000 }, "\"23:59:59.999\""),
            (1, Logical::Time { nanos: 1_000 }, "\"00:00:00.000001\""),
        ] {
            assert_eq!(number(value, Some(&logical)).unwrap(), want);
        }
        for (value, logical) in [
            (i64::MAX, at(1_000_000, true)),
            (253_402_300_800_000, at(1_000_000, true)),
            (86_400_000, Logical::Time { nanos: 1_000_000 }),
            (-1, Logical::Time { nanos: 1_000 }),
            (3_000_000, Logical::Date),
        ] {
            number(value, Some(&logical)).unwrap_err();
        }
    }
}
