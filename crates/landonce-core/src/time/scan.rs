//! The strict scan: one pass over the bytes, no allocation unless the text is refused. Leaves writing to its parent.

use jiff::civil::Date;

use super::{EPOCH, FIRST_MICRO, LAST_MICRO, MICROS_PER_DAY, MICROS_PER_SECOND, SECONDS_PER_DAY};
use crate::bad_record::shorten;

const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;

/// What is wrong with a text. Formatted only at the end, so that a text that fits costs no allocation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault<'a> {
    Shape,
    Year,
    NoSuchDay,
    NoTime,
    HasTime,
    Hour24,
    Second60,
    TimeOfDay,
    TooFine,
    NoOffset,
    HasOffset,
    /// What stands where the offset is due.
    Offset(&'a str),
    Behind(&'a str),
    OutsideYears,
}

impl Fault<'_> {
    /// The message, in which `wanted` is the type in words and `example` a text of it.
    pub(super) fn describe(self, text: &str, wanted: &str, example: &str) -> String {
        let why = match self {
            // A text with white space around it never fits, and is mended by taking that away whatever else is wrong.
            _ if text.trim() != text => "has white space around it; give it without",
            Self::Shape => {
                return format!(
                    "`{}` isn't {wanted}; RFC 3339 text is due, such as {example}",
                    shorten(text)
                );
            }
            Self::Year => "has a year outside 0001–9999; give a year of four digits within it",
            Self::NoSuchDay => "names a day that isn't in the calendar; give one that is",
            Self::NoTime => "has no time of day; give one, or declare the column as date",
            Self::HasTime => "has more than a date; declare the column as timestamp or timestamptz",
            Self::Hour24 => "has hour 24; give 00:00:00 of the day after",
            Self::Second60 => "has second 60, which a column can't hold exactly; give a second within 00–59",
            Self::TimeOfDay => "has a time of day outside 00:00:00–23:59:59; give one within it",
            Self::TooFine => {
                "has more than microseconds and would be altered; give at most six digits of a second"
            }
            Self::NoOffset => "has no offset; declare the column as timestamp or give the zone",
            Self::HasOffset => "has an offset; declare the column as timestamptz or leave the offset out",
            Self::OutsideYears => "is outside the years 0001–9999 once its offset is applied",
            Self::Offset(found) => {
                let found = shorten(found);
                return format!(
                    "`{}` ends in `{found}`, which isn't an offset; Z or ±hh:mm up to 23:59 is due",
                    shorten(text)
                );
            }
            Self::Behind(found) => {
                return format!(
                    "`{}` has `{}` behind it; {wanted} ends before that",
                    shorten(text),
                    shorten(found)
                );
            }
        };
        format!("`{}` {why}", shorten(text))
    }
}

/// An instant: date, time of day, offset.
pub(super) fn instant(text: &str) -> Result<i64, Fault<'_>> {
    let (civil, rest) = scan_civil(text)?;
    let offset_minutes = scan_offset(rest)?;
    let micros = civil - offset_minutes * MICROS_PER_MINUTE;
    if (FIRST_MICRO..=LAST_MICRO).contains(&micros) { Ok(micros) } else { Err(Fault::OutsideYears) }
}

/// A date and a time of day, and nothing behind them.
pub(super) fn civil_time(text: &str) -> Result<i64, Fault<'_>> {
    match scan_civil(text)? {
        (micros, "") => Ok(micros),
        (_, rest) if scan_offset(rest).is_ok() => Err(Fault::HasOffset),
        (_, rest) => Err(Fault::Behind(rest)),
    }
}

/// A date, and nothing behind it.
pub(super) fn date(text: &str) -> Result<i32, Fault<'_>> {
    match scan_date(text)? {
        (days, "") => Ok(days),
        (_, rest) if scan_time_of_day(rest).is_ok() => Err(Fault::HasTime),
        (_, rest) => Err(Fault::Behind(rest)),
    }
}

/// A date, its time of day and what follows them.
fn scan_civil(text: &str) -> Result<(i64, &str), Fault<'_>> {
    let (days, rest) = scan_date(text)?;
    if rest.is_empty() {
        return Err(Fault::NoTime);
    }
    let (micros, rest) = scan_time_of_day(rest)?;
    Ok((i64::from(days) * MICROS_PER_DAY + micros, rest))
}

/// `YYYY-MM-DD` and what follows it.
fn scan_date(text: &str) -> Result<(i32, &str), Fault<'_>> {
    let bytes = text.as_bytes();
    let scanned = number(bytes, 0, 4).zip(number(bytes, 5, 2)).zip(number(bytes, 8, 2));
    let Some(((year, month), day)) = scanned.filter(|_| bytes[4] == b'-' && bytes[7] == b'-') else {
        return Err(if has_wide_year(text) { Fault::Year } else { Fault::Shape });
    };
    if year == 0 {
        return Err(Fault::Year);
    }
    // Two and four digits always fit these integers.
    let date = Date::new(year as i16, month as i8, day as i8).map_err(|_| Fault::NoSuchDay)?;
    let days = date.duration_since(EPOCH).as_secs() / SECONDS_PER_DAY;
    Ok((days as i32, &text[10..]))
}

/// A date that is well written but for its year: `15000-12-31`, `-0044-03-15`, `+2026-01-01`.
fn has_wide_year(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']);
    let (year, rest) = unsigned.unwrap_or(text).split_once('-').unwrap_or_default();
    let wide = unsigned.is_some() || year.len() > 4;
    wide && year.len() >= 4 && year.bytes().all(|b| b.is_ascii_digit()) && rest.len() >= 5
}

/// `T`, `t` or a space, `hh:mm[:ss[.fraction]]`, and what follows them. In microseconds since midnight.
fn scan_time_of_day(text: &str) -> Result<(i64, &str), Fault<'_>> {
    let bytes = text.as_bytes();
    let scanned = number(bytes, 1, 2).zip(number(bytes, 4, 2));
    let Some((hour, minute)) = scanned.filter(|_| matches!(bytes[0], b'T' | b't' | b' ') && bytes[3] == b':')
    else {
        return Err(Fault::Shape);
    };
    let mut end = 6;
    let (mut second, mut micros) = (0, 0);
    if bytes.get(end) == Some(&b':') {
        second = number(bytes, end + 1, 2).ok_or(Fault::Shape)?;
        end += 3;
        if bytes.get(end) == Some(&b'.') {
            let digits = bytes[end + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 {
                return Err(Fault::Shape);
            }
            micros = scan_fraction(&bytes[end + 1..=end + digits])?;
            end += 1 + digits;
        }
    }
    match (hour, minute, second) {
        (24, _, _) => Err(Fault::Hour24),
        (0..=23, 0..=59, 60) => Err(Fault::Second60),
        (0..=23, 0..=59, 0..=59) => {
            Ok((((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND + micros, &text[end..]))
        }
        _ => Err(Fault::TimeOfDay),
    }
}

/// The digits behind the point, in microseconds. A digit other than 0 behind the sixth would be lost.
fn scan_fraction<'a>(digits: &[u8]) -> Result<i64, Fault<'a>> {
    if digits.iter().skip(6).any(|digit| *digit != b'0') {
        return Err(Fault::TooFine);
    }
    Ok((0..6).fold(0, |micros, at| micros * 10 + i64::from(digits.get(at).map_or(0, |digit| digit - b'0'))))
}

/// `Z`, `z`, `±hh:mm`, `±hhmm` or `±hh`, and nothing behind it. In minutes east of UTC.
fn scan_offset(text: &str) -> Result<i64, Fault<'_>> {
    let bytes = text.as_bytes();
    let east = match bytes {
        [] => return Err(Fault::NoOffset),
        b"Z" | b"z" => return Ok(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return Err(Fault::Offset(text)),
    };
    let minute = match bytes.len() {
        3 => Some(0),
        5 => number(bytes, 3, 2),
        6 if bytes[3] == b':' => number(bytes, 4, 2),
        _ => None,
    };
    match number(bytes, 1, 2).zip(minute) {
        Some((hour @ 0..=23, minute @ 0..=59)) => Ok(east * (hour * 60 + minute)),
        _ => Err(Fault::Offset(text)),
    }
}

/// Exactly so many ASCII digits from `start` on, as a number.
fn number(bytes: &[u8], start: usize, width: usize) -> Option<i64> {
    let digits = bytes.get(start..start + width)?;
    digits.iter().try_fold(0, |value, b| b.is_ascii_digit().then(|| value * 10 + i64::from(b - b'0')))
}
