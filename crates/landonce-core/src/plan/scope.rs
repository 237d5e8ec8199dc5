//! What a run speaks for: the rows of one period, perhaps of one owner, in place of single records.

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

#[cfg(test)]
mod tests {
    use super::*;

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
