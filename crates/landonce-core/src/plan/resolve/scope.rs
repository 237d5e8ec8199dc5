//! The rows that a run speaks for, as bounds and values of columns.

use super::Resolved;
use crate::period::Period;
use crate::pipeline::{PeriodOf, Pipeline, Whole, fits};
use crate::plan::{From, Owned, PlanColumn, Scope, Span};
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
    Ok(Span::of(column, ty, period))
}
