//! How far a query has been read: the highest value of its growing column, exactly.
//!
//! Values are compared as what they are: numbers whole and exact, times by their instant, other texts by their bytes. A number with a
//! fraction counts as the whole number below it: where a run goes on is never above what has landed, at most below.

use std::cmp::Ordering;
use std::time::Duration;

use landonce_core::pipeline::Overlap;
use landonce_core::time;
use serde::{Deserialize, Serialize};

/// A value of the growing column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Mark {
    /// A whole number; of one with a fraction the next below.
    Number(i128),
    /// A date or time as its database writes it, in UTC or without a zone: `2026-03-01 12:30:00.5+00`.
    Time(String),
    /// A text that its database orders by its bytes.
    Text(String),
}

impl Mark {
    /// A number, from its digits.
    pub(super) fn number(text: &str) -> Result<Self, String> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let number: i128 = whole.parse().map_err(|_| format!("`{text}` is no number to go on from"))?;
        let is_below = text.starts_with('-') && fraction.bytes().any(|digit| digit != b'0');
        Ok(Self::Number(number - i128::from(is_below)))
    }

    /// A date or time.
    pub(super) fn time(text: &str) -> Result<Self, String> {
        Moment::read(text)?;
        Ok(Self::Time(text.to_owned()))
    }

    /// How it stands to another one; an error where the two can't be compared.
    pub(super) fn compare(&self, other: &Self) -> Result<Ordering, String> {
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => Ok(one.cmp(two)),
            (Self::Text(one), Self::Text(two)) => Ok(one.as_bytes().cmp(two.as_bytes())),
            (Self::Time(one), Self::Time(two)) => {
                Ok(Moment::read(one)?.micros().cmp(&Moment::read(two)?.micros()))
            }
            (one, two) => Err(format!("{} and {} can't be compared", one.shown(), two.shown())),
        }
    }

    /// What a run goes on from: this, less the overlap.
    pub(super) fn less(&self, overlap: Overlap) -> Result<Self, String> {
        match (overlap, self) {
            (Overlap::None, _) => Ok(self.clone()),
            (Overlap::Number(number), Self::Number(value)) => Ok(Self::Number(value - i128::from(number))),
            (Overlap::Time(time), Self::Time(text)) => Ok(Self::Time(Moment::read(text)?.before(time))),
            // Texts of one form, as they are kept where there are no types: the same order before and after.
            (Overlap::Time(time), Self::Text(text)) => Ok(Self::Text(Moment::read(text)?.before(time))),
            (Overlap::Number(_), _) => {
                Err(format!("the overlap is a number, and {} is none: `5m`, say", self.shown()))
            }
            (Overlap::Time(_), Self::Number(_)) => {
                Err(format!("the overlap is a length of time, and {} is a number: `1000`, say", self.shown()))
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Time(text) | Self::Text(text) => format!("`{text}`"),
        }
    }
}

/// A date, or a civil time with what stands behind it, as it was written.
struct Moment<'t> {
    /// Microseconds since 1970.
    civil: i64,
    /// What stands between date and time; nothing where there is no time.
    between: Option<char>,
    /// Digits behind the second; `None` without a point.
    digits: Option<usize>,
    /// The offset, as it is written.
    behind: &'t str,
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

impl<'t> Moment<'t> {
    fn read(text: &'t str) -> Result<Self, String> {
        let none = || format!("`{text}` is no date or time to go on from (`2026-03-01 12:30:00`)");
        if let Ok(days) = time::date(text) {
            return Ok(Self {
                civil: i64::from(days) * MICROS_PER_DAY,
                between: None,
                digits: None,
                behind: "",
            });
        }
        let between = text.chars().nth(10).ok_or_else(none)?;
        let clock = text.get(11..).ok_or_else(none)?;
        let end =
            clock.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.'))).unwrap_or(clock.len());
        let behind = &clock[end..];
        // An offset that isn't UTC's would have to be compared by instant, and its database compares something else.
        if !matches!(behind, "" | "Z" | "+00" | "+00:00" | "+0000") {
            return Err(format!("`{text}` isn't in UTC, so it can't be gone on from"));
        }
        let digits = clock[..end].split_once('.').map(|(_, digits)| digits.len());
        let most = text.len() - behind.len() - digits.unwrap_or(0).saturating_sub(6);
        let civil = time::timestamp(&text[..most]).map_err(|_| none())?;
        Ok(Self { civil, between: Some(between), digits, behind })
    }

    fn micros(&self) -> i64 {
        self.civil
    }

    /// So long before, in the same form; what the form can't say is cut off, so it is earlier rather than later.
    fn before(&self, long: Duration) -> String {
        let long = i64::try_from(long.as_micros()).unwrap_or(i64::MAX);
        let civil = self.civil.saturating_sub(long);
        let mut text = String::new();
        time::write_timestamp(civil, &mut text);
        let Some(between) = self.between else {
            text.truncate(10);
            return text;
        };
        let seconds = text.len() - 7;
        text.truncate(self.digits.map_or(seconds, |digits| seconds + 1 + digits.min(6)));
        text.replace_range(10..11, between.encode_utf8(&mut [0; 4]));
        text.push_str(self.behind);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn less(text: &str, overlap: Duration) -> String {
        match Mark::time(text).unwrap().less(Overlap::Time(overlap)).unwrap() {
            Mark::Time(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_overlap_is_taken_off_in_the_form_that_the_value_has() {
        let minutes = Duration::from_mins(5);
        for (text, want) in [
            ("2026-03-01 00:02:00.123456+00", "2026-02-28 23:57:00.123456+00"),
            ("2026-03-01 00:02:00+00", "2026-02-28 23:57:00+00"),
            ("2026-03-01T00:02:00.5Z", "2026-02-28T23:57:00.5Z"),
            ("2026-03-01 00:02:00", "2026-02-28 23:57:00"),
            ("2026-03-01T00:02:00.123456789Z", "2026-02-28T23:57:00.123456Z"),
            ("2026-03-01", "2026-02-28"),
        ] {
            assert_eq!(less(text, minutes), want);
        }
        assert_eq!(Mark::Number(5).less(Overlap::Number(7)), Ok(Mark::Number(-2)));
        assert!(Mark::Number(5).less(Overlap::Time(minutes)).unwrap_err().contains("is a number"));
        assert!(Mark::time("2026-03-01").unwrap().less(Overlap::Number(1)).is_err());
    }

    #[test]
    fn numbers_count_whole_and_exact() {
        assert_eq!(Mark::number("9007199254740993.9"), Ok(Mark::Number(9_007_199_254_740_993)));
        assert_eq!(Mark::number("-1.5"), Ok(Mark::Number(-2)));
        assert_eq!(Mark::number("-1.0"), Ok(Mark::Number(-1)));
        assert_eq!(Mark::number("-0.5"), Ok(Mark::Number(-1)));
        assert!(Mark::number("NaN").is_err());
    }

    #[test]
    fn what_has_no_place_in_the_order_is_refused() {
        for text in ["infinity", "0044-03-15 00:00:00 BC", "2026-03-01 00:00:00+02", "0000-00-00", "soon"] {
            assert!(Mark::time(text).is_err(), "{text}");
        }
        let (one, two) =
            (Mark::time("2026-03-01 00:00:00.1+00").unwrap(), Mark::time("2026-03-01 00:00:00+00").unwrap());
        assert_eq!(one.compare(&two), Ok(Ordering::Greater));
        assert!(one.compare(&Mark::Number(1)).is_err());
    }
}
