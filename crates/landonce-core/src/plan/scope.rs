//! What a run speaks for: the rows of one period, perhaps of one owner, in place of single records.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

use crate::column::Type;
use crate::period::{Calendar, Period};
use crate::time;
use crate::value::Value;

/// The rows of the target that a run speaks for: after it they are exactly the payload's. All others are out of its reach,
/// whatever the payload says of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The rows of a period.
    pub period: Option<Span>,
    /// The rows that have these values.
    pub owner: Vec<Owned>,
}

/// The rows whose column lies between two bounds. NULL lies nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// An index into [`super::TablePlan::columns`].
    pub column: usize,
    /// The first value.
    pub start: Bound,
    /// The first value behind.
    pub end: Bound,
}

/// A bound of a [`Span`], in the kind of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamptz(i64),
    /// Microseconds since 1970-01-01T00:00:00, without a zone.
    Timestamp(i64),
}

/// A column that has one value in all rows of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// An index into [`super::TablePlan::columns`].
    pub column: usize,
    /// The value's text.
    pub value: String,
}

/// The columns that mark a row as retired (J6). NULL in a row that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// When, by the database's clock.
    pub at: String,
    /// By which run; `None` in a table that has no such column.
    pub by: Option<String>,
    /// The catalogue's type of that column; `None` when landonce makes the table.
    pub by_type: Option<String>,
}

impl Span {
    /// The rows of a period by a column of this type. Civil times are read as the zone's own.
    pub fn of(column: usize, ty: &Type, period: &Period) -> Self {
        let (start, end) = match ty {
            Type::Date => (Bound::Date(days(period.date())), Bound::Date(days(period.until()))),
            Type::Timestamp => {
                (Bound::Timestamp(midnight(period.date())), Bound::Timestamp(midnight(period.until())))
            }
            _ => (
                Bound::Timestamptz(period.start().as_microsecond()),
                Bound::Timestamptz(period.end().as_microsecond()),
            ),
        };
        Self { column, start, end }
    }

    /// Whether a value lies between the bounds: the start does, the end doesn't.
    pub fn holds(&self, value: &Value<'_>) -> bool {
        Bound::of(value).is_some_and(|at| self.start <= at && at < self.end)
    }
}

impl Bound {
    /// A value as a bound; `None` for those that lie in no period.
    pub fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Date(days) => Some(Self::Date(*days)),
            Value::Timestamptz(micros) => Some(Self::Timestamptz(*micros)),
            Value::Timestamp(micros) => Some(Self::Timestamp(*micros)),
            _ => None,
        }
    }

    /// The period of a calendar that it is in.
    pub fn period(self, calendar: &Calendar) -> Option<Period> {
        let period = match self {
            Self::Timestamptz(micros) => calendar.containing(Timestamp::from_microsecond(micros).ok()?),
            Self::Date(days) => calendar.containing_date(date(days)?),
            Self::Timestamp(micros) => {
                calendar.containing_date(date(micros.div_euclid(DAY).try_into().ok()?)?)
            }
        };
        period.ok()
    }

    /// The value as SQLite keeps it and PostgreSQL reads it: digits, `-`, `:`, `T`, `.` and `Z` only.
    pub fn text(self) -> String {
        let mut text = String::new();
        match self {
            Self::Date(days) => time::write_date(days, &mut text),
            Self::Timestamptz(micros) => time::write_timestamptz(micros, &mut text),
            Self::Timestamp(micros) => time::write_timestamp(micros, &mut text),
        }
        text
    }
}

/// A day's microseconds.
const DAY: i64 = 86_400_000_000;

/// Days since 1970-01-01.
pub(crate) fn days(date: Date) -> i32 {
    (midnight(date) / DAY) as i32
}

/// Microseconds from 1970-01-01T00:00:00 to a date's 00:00, as if all days had 24 hours.
fn midnight(date: Date) -> i64 {
    // Years 1 to 9999 fit by far; a date outside them is no period's.
    Offset::UTC
        .to_timestamp(DateTime::from_parts(date, Time::midnight()))
        .map_or(0, Timestamp::as_microsecond)
}

fn date(days: i32) -> Option<Date> {
    Date::constant(1970, 1, 1).checked_add(jiff::Span::new().try_days(days).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_from_1970_both_ways() {
        assert_eq!(days(Date::constant(1970, 1, 2)), 1);
        assert_eq!(days(Date::constant(1969, 12, 31)), -1);
        assert_eq!(days(Date::constant(1, 1, 1)), -719_162);
    }

    #[test]
    fn a_span_is_half_open_and_holds_its_own_kind_only() {
        let day = Span { column: 0, start: Bound::Date(10), end: Bound::Date(11) };
        assert!(day.holds(&Value::Date(10)));
        for outside in [Value::Date(9), Value::Date(11), Value::Null, Value::Timestamp(10)] {
            assert!(!day.holds(&outside), "{outside:?}");
        }
    }

    #[test]
    fn a_bound_is_spelled_as_values_are() {
        assert_eq!(Bound::Date(1).text(), "1970-01-02");
        assert_eq!(Bound::Timestamptz(1).text(), "1970-01-01T00:00:00.000001Z");
        assert_eq!(Bound::Timestamp(0).text(), "1970-01-01T00:00:00.000000");
    }
}
