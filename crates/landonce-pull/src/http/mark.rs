//! How far a feed has been read: the highest value of a field, compared as what it is.

use std::cmp::Ordering;
use std::time::Duration;

use landonce_core::number::Decimal;
use landonce_core::pipeline::http::Overlap;
use landonce_core::time;

use super::envelope;

/// What is read again when nothing is declared, where the field is a time: whoever writes rows takes their time first and commits
/// later.
const OVERLAP: Duration = Duration::from_mins(1);
const DAY: u128 = 86_400_000_000;

/// A value of the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    text: String,
    order: Order,
}

/// What values are compared as.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Order {
    /// Microseconds since 1970 in UTC.
    Instant(i64),
    /// Microseconds since 1970-01-01T00:00:00, in whatever zone the source means.
    Civil(i64),
    /// Days since 1970-01-01.
    Day(i32),
    /// Exactly.
    Number(Decimal<'static>),
    /// Byte by byte.
    Text,
}

impl Mark {
    /// From a JSON value as written; `None` for null.
    pub(super) fn of(json: &[u8]) -> Result<Option<Self>, &'static str> {
        match json.first() {
            Some(b'n') => Ok(None),
            Some(b'"' | b'-' | b'0'..=b'9') => match envelope::text(json) {
                Some(text) if !text.is_empty() => Ok(Some(Self::read(text))),
                _ => Err("is an empty text"),
            },
            _ => Err("is neither a text nor a number"),
        }
    }

    /// From a value's text.
    pub(super) fn read(text: String) -> Self {
        let short = microseconds(&text);
        let order = if let Some(number) = Decimal::parse(&text) {
            Order::Number(number.into_owned())
        } else if let Ok(instant) = time::timestamptz(&short) {
            Order::Instant(instant)
        } else if let Ok(civil) = time::timestamp(&short) {
            Order::Civil(civil)
        } else if let Ok(day) = time::date(&text) {
            Order::Day(day)
        } else {
            Order::Text
        };
        Self { text, order }
    }

    /// The value's text, as the source gave it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Which is higher; `None` when they are of different kinds.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (&self.order, &other.order) {
            (Order::Instant(one), Order::Instant(other)) | (Order::Civil(one), Order::Civil(other)) => {
                one.cmp(other)
            }
            (Order::Day(one), Order::Day(other)) => one.cmp(other),
            (Order::Number(one), Order::Number(other)) => compare(one, other),
            (Order::Text, Order::Text) => self.text.cmp(&other.text),
            _ => return None,
        })
    }

    /// The value, or this moment (microseconds since 1970 in UTC) where it is an instant behind it.
    pub(super) fn no_later_than(&self, moment: i64) -> Self {
        match self.order {
            Order::Instant(at) if at > moment => {
                let mut text = String::new();
                time::write_timestamptz(moment, &mut text);
                Self { text, order: Order::Instant(moment) }
            }
            _ => self.clone(),
        }
    }

    /// What the next run asks from: the value less the overlap, rounded down.
    pub(super) fn less(&self, overlap: Overlap) -> Result<String, String> {
        let time = match overlap {
            Overlap::Default => OVERLAP,
            Overlap::Time(time) => time,
            Overlap::Number(0) => Duration::ZERO,
            Overlap::Number(number) => return self.less_number(number),
        };
        if time.is_zero() {
            return Ok(self.text.clone());
        }
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        // Whole seconds, which every API reads; rounding down only reads a little more.
        let floor = |at: i64| at.saturating_sub(micros).div_euclid(1_000_000) * 1_000_000;
        let mut out = String::new();
        match &self.order {
            Order::Instant(at) => {
                time::write_timestamptz(floor(*at), &mut out);
                Ok(out.replace(".000000", ""))
            }
            Order::Civil(at) => {
                time::write_timestamp(floor(*at), &mut out);
                Ok(out.replace(".000000", ""))
            }
            Order::Day(day) => {
                let days = i32::try_from(time.as_micros().div_ceil(DAY)).unwrap_or(i32::MAX);
                time::write_date(day.saturating_sub(days), &mut out);
                Ok(out)
            }
            Order::Number(_) | Order::Text if overlap == Overlap::Default => Ok(self.text.clone()),
            Order::Number(_) => Err(format!(
                "the highest value, {}, is a number: an overlap of time can't be taken from it; write a number as `overlap`",
                self.text
            )),
            Order::Text => Err(format!(
                "the highest value, `{}`, is no time: an overlap can't be taken from it; write `overlap: 0s`",
                self.text
            )),
        }
    }

    fn less_number(&self, less: i64) -> Result<String, String> {
        let whole = match &self.order {
            Order::Number(number) => number.to_i64(),
            _ => None,
        };
        whole.and_then(|whole| whole.checked_sub(less)).map(|less| less.to_string()).ok_or_else(|| {
            format!(
                "the highest value, `{}`, is no whole number: an overlap of {less} can't be taken from it",
                self.text
            )
        })
    }
}

/// The text without digits behind the microsecond: a lower bound may be lower.
fn microseconds(text: &str) -> String {
    let Some((before, behind)) = text.split_once('.') else { return text.to_owned() };
    let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    format!("{before}.{}{}", &behind[..digits.min(6)], &behind[digits..])
}

fn compare(one: &Decimal<'_>, other: &Decimal<'_>) -> Ordering {
    let sign = |number: &Decimal<'_>| match (number.digits.is_empty(), number.negative) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    let by_sign = sign(one).cmp(&sign(other));
    if by_sign.is_ne() || sign(one) == 0 {
        return by_sign;
    }
    let highest = |number: &Decimal<'_>| i64::from(number.exponent) + number.digits.len() as i64;
    // Digits have no zeros at their end: the longer of two that begin alike is the larger.
    let larger = highest(one).cmp(&highest(other)).then_with(|| one.digits.cmp(&other.digits));
    if one.negative { larger.reverse() } else { larger }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(text: &str) -> Mark {
        Mark::read(text.to_owned())
    }

    #[test]
    fn values_are_compared_as_what_they_are() {
        for (lower, higher) in [
            ("2026-03-01T12:00:00+02:00", "2026-03-01T11:00:00Z"),
            ("2026-03-01T12:00:00.1234567Z", "2026-03-01T12:00:00.123457Z"),
            ("2026-03-01 11:59:59", "2026-03-01T12:00:00"),
            ("2026-02-28", "2026-03-01"),
            ("9", "10"),
            ("-10", "-9"),
            ("0", "0.5"),
            ("9007199254740992", "9007199254740993"),
            ("1.25e2", "125.1"),
            ("a9", "b1"),
        ] {
            assert_eq!(mark(lower).compare(&mark(higher)), Some(Ordering::Less), "{lower} {higher}");
            assert_eq!(mark(higher).compare(&mark(lower)), Some(Ordering::Greater), "{lower} {higher}");
        }
        assert_eq!(mark("1e2").compare(&mark("100.0")), Some(Ordering::Equal));
        assert_eq!(mark("2026-03-01").compare(&mark("2026-03-01T00:00:00Z")), None);
    }

    #[test]
    fn the_overlap_is_taken_from_times_and_numbers() {
        let less = |text: &str, overlap| mark(text).less(overlap);
        let minutes = Overlap::Time(Duration::from_mins(5));
        assert_eq!(less("2026-03-01T12:03:00.5+01:00", minutes).unwrap(), "2026-03-01T10:58:00Z");
        assert_eq!(less("2026-03-01T12:03:00Z", Overlap::Default).unwrap(), "2026-03-01T12:02:00Z");
        assert_eq!(less("2026-03-01 12:03:00", minutes).unwrap(), "2026-03-01T11:58:00");
        assert_eq!(less("2026-03-01", minutes).unwrap(), "2026-02-28");
        assert_eq!(less("1700", Overlap::Number(300)).unwrap(), "1400");
        assert_eq!(less("1700", Overlap::Default).unwrap(), "1700");
        assert_eq!(
            less("2026-03-01T12:03:00.123Z", Overlap::Time(Duration::ZERO)).unwrap(),
            "2026-03-01T12:03:00.123Z"
        );
        assert!(less("1700", minutes).is_err());
        assert!(less("abc", minutes).is_err());
        assert!(less("2026-03-01", Overlap::Number(3)).is_err());
    }

    #[test]
    fn an_instant_is_no_later_than_the_reading_began() {
        let began = 1_772_323_200_000_000; // 2026-03-01T00:00:00Z
        for (given, kept) in [
            ("2999-01-01T00:00:00Z", "2026-03-01T00:00:00"),
            ("2026-02-28T23:59:59Z", "2026-02-28T23:59:59Z"),
            ("2999-01-01", "2999-01-01"),
            ("99999999999999", "99999999999999"),
        ] {
            let text = mark(given).no_later_than(began).text().to_owned();
            assert!(text.starts_with(kept), "{given}: {text}");
            assert_eq!(mark(&text), mark(given).no_later_than(began));
        }
    }

    #[test]
    fn null_is_no_value_and_lists_are_none() {
        assert_eq!(Mark::of(b"null"), Ok(None));
        assert!(Mark::of(b"[1]").is_err() && Mark::of(b"\"\"").is_err() && Mark::of(b"true").is_err());
    }
}
