//! What tells two records of one identity apart: their content, and which is newer.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use landonce_core::plan::{Absent, TablePlan};
use landonce_core::record::Row;
use landonce_core::value::Value;

/// What tells that two records of one identity differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    /// The digest, where the table has one.
    pub(super) digest: Option<[u8; 32]>,
    /// The columns that the record has and that are compared, by their places.
    columns: BTreeMap<usize, String>,
}

impl Content {
    pub(super) fn of(plan: &TablePlan, row: &Row<'_>) -> Self {
        let is_compared = |at: &usize| {
            let is_there = plan.absent == Absent::Replace || *at >= 63 || row.present & (1 << *at) != 0;
            is_there && !plan.unguarded.contains(at)
        };
        let columns = (0..row.values.len())
            .filter(is_compared)
            .map(|at| (at, format!("{:?}", row.values[at])))
            .collect();
        Self { digest: row.digest, columns }
    }

    /// The row with this record's columns put over it.
    pub(super) fn over(&self, before: &Self) -> Self {
        let mut columns = before.columns.clone();
        columns.extend(self.columns.clone());
        Self { digest: self.digest, columns }
    }

    pub(super) fn is_in(&self, row: &Self, absent: Absent) -> bool {
        match (absent, self.digest, row.digest) {
            (Absent::Replace, Some(one), Some(other)) => one == other,
            _ => self.columns.iter().all(|(at, value)| row.columns.get(at) == Some(value)),
        }
    }
}

/// A version, in its own order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Version {
    Whole(i64),
    Decimal(String),
    Float(f64),
    Text(String),
}

impl Version {
    pub(super) fn of(value: &Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Integer(number) | Value::Timestamptz(number) | Value::Timestamp(number) => {
                Self::Whole(*number)
            }
            Value::Date(days) => Self::Whole(i64::from(*days)),
            Value::Decimal(number) => Self::Decimal(number.to_plain()),
            Value::Float(number) => Self::Float(*number),
            Value::Text(text) => Self::Text(text.to_string()),
            _ => return None,
        })
    }

    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => Some(one.cmp(other)),
            (Self::Float(one), Self::Float(other)) => one.partial_cmp(other),
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            (Self::Decimal(one), Self::Decimal(other)) => Some(plain(one, other)),
            _ => None,
        }
    }
}

/// The order of two decimals in plain digits.
fn plain(one: &str, other: &str) -> Ordering {
    let parts = |text: &str| {
        let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
        (is_negative, whole.trim_start_matches('0').to_owned(), rest.trim_end_matches('0').to_owned())
    };
    let (a, b) = (parts(one), parts(other));
    let size = (a.1.len(), &a.1, &a.2).cmp(&(b.1.len(), &b.1, &b.2));
    match (a.0, b.0) {
        (false, false) => size,
        (true, true) => size.reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_ordered_by_their_value() {
        let ordered = ["-10.5", "-9", "-0.1", "0", "0.09", "0.1", "1", "9.99", "10", "100.5"];
        for pair in ordered.windows(2) {
            assert_eq!(plain(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(plain(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
        assert_eq!(plain("1.0", "1"), Ordering::Equal);
    }
}
