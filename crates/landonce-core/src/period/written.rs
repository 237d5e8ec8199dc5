//! What a text names, before any zone is asked. Strict, as all of [`crate::time`].

use jiff::civil::{Date, DateTime, ISOWeekDate, Time, Weekday};
use jiff::tz::Offset;
use jiff::{SignedDuration, Span, Timestamp};

use super::{Every, PeriodError};
use crate::bad_record::shorten;
use crate::time;

/// A text that names a period, or an end of one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Written {
    /// `2026-03`: its first day.
    Month(Date),
    /// `2026-W09`: its Monday.
    Week(Date),
    /// `2026-03-01`.
    Day(Date),
    /// `2026-03-01T05`, with or without an offset.
    Hour(DateTime, Option<Offset>),
    /// A date and time without an offset.
    Civil(DateTime),
    /// A date and time with its offset.
    Instant(Timestamp),
}

impl Written {
    /// The day that it begins, written with or without its 00:00.
    pub(super) fn day(self) -> Option<Date> {
        match self {
            Self::Day(day) => Some(day),
            Self::Hour(civil, None) | Self::Civil(civil) if civil.time() == Time::midnight() => {
                Some(civil.date())
            }
            _ => None,
        }
    }
}

/// How far an interval reaches from its start.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reach {
    /// `P1D`: by the calendar.
    Calendar(Span),
    /// `PT1H`: so much time.
    Exact(SignedDuration),
}

/// Reads a label, a date, a date and time, or an instant.
pub(super) fn read(text: &str, every: Every) -> Result<Written, PeriodError> {
    if let Some((year, rest)) = text.split_once('-').filter(|(year, _)| is_number(year, 4)) {
        if is_number(rest, 2) {
            return Ok(Written::Month(date(&format!("{text}-01"), text)?));
        }
        if let Some(week) = rest.strip_prefix('W').filter(|week| is_number(week, 2)) {
            return monday(year, week).map(Written::Week).ok_or_else(|| {
                unreadable(text, "names a week that isn't in the calendar of ISO 8601; give one that is")
            });
        }
    }
    let Some((day, behind)) = text.split_at_checked(10).filter(|(day, _)| looks_like_date(day)) else {
        return Err(unreadable(
            text,
            &format!(
                "isn't a period; give a label such as {}, the instant at which one starts, or an interval start/end",
                every.example()
            ),
        ));
    };
    if behind.is_empty() {
        return Ok(Written::Day(date(text, text)?));
    }
    let hour = behind.strip_prefix(['T', 't', ' ']).and_then(|hour| hour.split_at_checked(2));
    if let Some((hour, offset)) = hour.filter(|(hour, rest)| is_number(hour, 2) && !rest.starts_with(':')) {
        let named = civil(&format!("{day}T{hour}:00"), text)?;
        return Ok(Written::Hour(named, read_offset(offset, text)?));
    }
    match time::timestamp(text) {
        Ok(_) => Ok(Written::Civil(civil(text, text)?)),
        Err(_) => Ok(Written::Instant(instant(text)?)),
    }
}

/// Reads a duration of one part: `P1D`, `P1W`, `P1M`, `PT24H`.
pub(super) fn read_reach(text: &str) -> Result<Reach, PeriodError> {
    let due = "isn't a duration of one part, such as P1D, P1W, P1M or PT1H";
    let (parts, is_time) = match text.strip_prefix("PT") {
        Some(parts) => (parts, true),
        None => (text.strip_prefix('P').unwrap_or_default(), false),
    };
    let split = parts.len().saturating_sub(1);
    let (digits, unit) = parts.split_at_checked(split).unwrap_or_default();
    if !(1..=4).any(|width| is_number(digits, width)) {
        return Err(unreadable(text, due));
    }
    let count: i32 = digits.parse().map_err(|_| unreadable(text, due))?;
    let long = i64::from(count);
    Ok(match (is_time, unit) {
        (false, "D") => Reach::Calendar(Span::new().try_days(count)?),
        (false, "W") => Reach::Calendar(Span::new().try_weeks(count)?),
        (false, "M") => Reach::Calendar(Span::new().try_months(count)?),
        (false, "Y") => Reach::Calendar(Span::new().try_years(count)?),
        (true, "H") => Reach::Exact(SignedDuration::from_secs(long * 3600)),
        (true, "M") => Reach::Exact(SignedDuration::from_secs(long * 60)),
        (true, "S") => Reach::Exact(SignedDuration::from_secs(long)),
        _ => return Err(unreadable(text, due)),
    })
}

fn unreadable(text: &str, why: &str) -> PeriodError {
    PeriodError::Unreadable(format!("`{}` {why}", shorten(text)))
}

fn is_number(text: &str, width: usize) -> bool {
    text.len() == width && text.bytes().all(|b| b.is_ascii_digit())
}

/// Ten bytes as in 2026-03-01. What is wrong with their numbers is told by [`crate::time`].
fn looks_like_date(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, b)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() })
}

fn date(spelled: &str, text: &str) -> Result<Date, PeriodError> {
    let days = time::date(spelled).map_err(|why| about(&why, spelled, text))?;
    Date::constant(1970, 1, 1)
        .checked_add(SignedDuration::from_hours(24 * i64::from(days)))
        .map_err(PeriodError::from)
}

fn civil(spelled: &str, text: &str) -> Result<DateTime, PeriodError> {
    let micros = time::timestamp(spelled).map_err(|why| about(&why, spelled, text))?;
    Ok(Offset::UTC.to_datetime(Timestamp::from_microsecond(micros)?))
}

fn instant(text: &str) -> Result<Timestamp, PeriodError> {
    let micros = time::timestamptz(text).map_err(PeriodError::Unreadable)?;
    Ok(Timestamp::from_microsecond(micros)?)
}

/// An error about a completed spelling, as one about the text that was given.
fn about(why: &str, spelled: &str, text: &str) -> PeriodError {
    PeriodError::Unreadable(why.replacen(spelled, &shorten(text), 1))
}

/// `Z`, `±hh:mm` and their like, and `±hh:mm:ss` as local mean times have it. Nothing is no offset.
fn read_offset(offset: &str, text: &str) -> Result<Option<Offset>, PeriodError> {
    if offset.is_empty() {
        return Ok(None);
    }
    let (minutes, seconds) = match offset.split_at_checked(6) {
        Some((minutes, seconds)) if !seconds.is_empty() => {
            let seconds = seconds.strip_prefix(':').filter(|seconds| is_number(seconds, 2));
            let seconds = seconds.and_then(|seconds| seconds.parse().ok()).filter(|seconds| *seconds < 60);
            (minutes, seconds.ok_or_else(|| unreadable(text, "ends in something that isn't an offset"))?)
        }
        _ => (offset, 0),
    };
    // 1970-01-02 in UTC, moved by the offset.
    let moved = time::timestamptz(&format!("1970-01-02T00:00{minutes}"))
        .map_err(|_| unreadable(text, "ends in something that isn't an offset; Z or ±hh:mm is due"))?;
    let west = (moved / 1_000_000 - 86_400) as i32;
    let seconds = if offset.starts_with('-') { seconds } else { -seconds };
    Ok(Some(Offset::from_seconds(-(west + seconds))?))
}

fn monday(year: &str, week: &str) -> Option<Date> {
    let (year, week) = (year.parse().ok()?, week.parse().ok()?);
    ISOWeekDate::new(year, week, Weekday::Monday).ok().map(ISOWeekDate::date).filter(|_| year > 0)
}
