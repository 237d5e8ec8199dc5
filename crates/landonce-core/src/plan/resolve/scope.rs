//! The rows that a run speaks for, as bounds and values of columns.

use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

use super::Resolved;
use crate::column::Type;
use crate::period::Period;
use crate::pipeline::{PeriodOf, Pipeline, Whole, fits};
use crate::plan::{Bound, From, Owned, PlanColumn, Scope, Span};
use crate::record;

pub(super) fn resolve(pipeline: &Pipeline, columns: &[PlanColumn]) -> Resolved<Option<Scope>> {
    let Some(whole) = pipeline.whole() else { return Ok(None) };
    let period = match whole {
        Whole::Period(of) => {
            let period = pipeline.period().ok_or_else(|| {
                format!(
                    "is loaded by periods of a {}, and this run was given none: say which (`--period {}`)",
                    of.calendar.every(),
                    of.calendar.every().example()
                )
            })?;
            Some(span(of, period, columns)?)
        }
        Whole::Snapshot(_) => None,
    };
    let owner = whole.owner().iter().map(|(field, value)| {
        let column = find(columns, field).ok_or_else(|| {
            format!("`write.owner`: `{field}` has no column; declare one, for example `columns: {{{field}: text}}`")
        })?;
        let value = record::owner_text(value, &columns[column].ty).unwrap_or_else(|| value.clone());
        Ok(Owned { column, value })
    });
    Ok(Some(Scope { period, owner: owner.collect::<Resolved<_>>()? }))
}

fn find(columns: &[PlanColumn], field: &str) -> Option<usize> {
    columns.iter().position(|column| column.from == From::Field(field.to_owned()))
}

fn span(of: &PeriodOf, period: &Period, columns: &[PlanColumn]) -> Resolved<Span> {
    let field = &of.field;
    let column = find(columns, field).ok_or_else(|| {
        format!(
            "`write.period.field`: `{field}` has no column; declare one with its type, for example `columns: {{{field}: timestamptz}}`"
        )
    })?;
    let ty = &columns[column].ty;
    if !fits(ty, period.every()) {
        let due =
            if period.every().holds_whole_days() { "date, timestamptz or timestamp" } else { "timestamptz" };
        return Err(format!("`write.period.field`: `{field}` is {ty}; {due} is due"));
    }
    let bounds = match ty {
        Type::Date => (Bound::Date(days(period.date())), Bound::Date(days(period.until()))),
        Type::Timestamp => {
            (Bound::Timestamp(midnight(period.date())), Bound::Timestamp(midnight(period.until())))
        }
        _ => (
            Bound::Timestamptz(period.start().as_microsecond()),
            Bound::Timestamptz(period.end().as_microsecond()),
        ),
    };
    Ok(Span { column, start: bounds.0, end: bounds.1 })
}

/// Days since 1970-01-01.
fn days(date: Date) -> i32 {
    (midnight(date) / 86_400_000_000) as i32
}

/// Microseconds from 1970-01-01T00:00:00 to a date's 00:00, as if all days had 24 hours.
fn midnight(date: Date) -> i64 {
    // Years 1 to 9999 fit by far; a date outside them is no period's.
    Offset::UTC
        .to_timestamp(DateTime::from_parts(date, jiff::civil::Time::midnight()))
        .map_or(0, jiff::Timestamp::as_microsecond)
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
}
