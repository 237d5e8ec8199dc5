//! Derived tables as they are meant: checked, and each behind what it is computed from.

mod query;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::check::{self, Checked, fault, name, names_are_distinct};
use super::{DeclaredColumn, PipelineError, Target, fits};
use crate::column::Type;
use crate::period::{Calendar, Every, Period};
use crate::plan::{Bound, TableName};
use crate::spec::{ColumnSpec, DeriveSpec};

pub use query::{Part, Query};

/// A table that a query computes, period by period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// The table.
    pub table: TableName,
    /// What it is computed from.
    pub base: Base,
    /// The field or column of the base that tells which period a row counts in.
    pub of: String,
    /// Its columns.
    pub columns: Vec<DeclaredColumn>,
    /// Which of them identify a row.
    pub key: Vec<usize>,
    /// The column that lies in the period; one of the key.
    pub field: usize,
    /// The periods.
    pub calendar: Calendar,
    /// How many periods behind a changed one change with it.
    pub reach: u16,
    /// The query of one period.
    pub query: Query,
}

/// What a derived table is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The pipeline's target.
    Target,
    /// A derived table, by its place in [`super::Pipeline::derived`], which is an earlier one.
    Derived(usize),
}

/// The store tells a touched instant by the quarter of an hour that it is in: periods begin with one, except in a few zones
/// before 1972.
pub const QUARTER: i64 = 15 * 60 * 1_000_000;

/// The longest reach: a year of days, and a day of a leap year.
const MOST_REACH: u16 = 366;

impl Derived {
    /// Its name: as it is declared, so that a mark is found whatever the schema is called that the name is looked up in.
    pub fn name(&self) -> String {
        self.table.to_string()
    }

    /// Adds the periods that a touched value of the base counts in, by their starts.
    ///
    /// [`Bound::Timestamptz`] stands for its whole [`QUARTER`]. A value outside the calendar's years is in no period.
    pub fn touch(&self, at: Bound, periods: &mut BTreeMap<Timestamp, Period>) {
        self.spread(at, self.reach, periods);
    }

    /// Adds the periods that a value of the derived table's own field is in, in the same form.
    pub fn hold(&self, at: Bound, periods: &mut BTreeMap<Timestamp, Period>) {
        self.spread(at, 0, periods);
    }

    fn spread(&self, at: Bound, reach: u16, periods: &mut BTreeMap<Timestamp, Period>) {
        let mut add = |at: Bound| {
            let Some(mut period) = at.period(&self.calendar) else { return };
            for _ in 0..reach {
                let Ok(next) = self.calendar.next(&period) else { break };
                periods.insert(period.start(), std::mem::replace(&mut period, next));
            }
            periods.insert(period.start(), period);
        };
        add(at);
        if let Bound::Timestamptz(start) = at {
            add(Bound::Timestamptz(start + QUARTER - 1));
        }
    }

    /// The periods that a recorded interval covers (microseconds since 1970, half-open): one, unless the calendar was declared
    /// otherwise meanwhile.
    pub fn covering(&self, start: i64, end: i64) -> Vec<Period> {
        let at = |micros| Timestamp::from_microsecond(micros).ok();
        let (Some(start), Some(end)) = (at(start), at(end)) else { return Vec::new() };
        let last = end.checked_sub(SignedDuration::from_micros(1)).unwrap_or(start).max(start);
        match (self.calendar.containing(start), self.calendar.containing(last)) {
            (Ok(first), Ok(last)) => {
                self.calendar.between(&first, &last).map(Iterator::collect).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

/// Checks all declared derived tables, and puts each behind what it is computed from.
pub(super) fn resolve(specs: Vec<DeriveSpec>, target: &Target) -> Checked<Vec<Derived>> {
    let mut tables = vec![target.table.clone()];
    for spec in &specs {
        let table = check::table("derive.table", &spec.table)?;
        if tables.contains(&table) {
            return fault("derive.table", format!("`{table}` is the name of two tables of this pipeline"));
        }
        tables.push(table);
    }
    let mut waiting = specs;
    let mut placed: Vec<Derived> = Vec::new();
    while !waiting.is_empty() {
        let (ready, rest): (Vec<DeriveSpec>, Vec<DeriveSpec>) =
            waiting.into_iter().partition(|spec| base(spec, target, &placed).is_some());
        if ready.is_empty() {
            return Err(unfounded(&rest, &tables));
        }
        waiting = rest;
        for spec in ready {
            if let Some(base) = base(&spec, target, &placed) {
                let derived = one(spec, base, target, &placed)?;
                placed.push(derived);
            }
        }
    }
    Ok(placed)
}

/// What a derived table is computed from, if that has its place already.
fn base(spec: &DeriveSpec, target: &Target, placed: &[Derived]) -> Option<Base> {
    match &spec.from {
        None => Some(Base::Target),
        Some(from) if *from == target.table.to_string() => Some(Base::Target),
        Some(from) => placed.iter().position(|derived| derived.name() == *from).map(Base::Derived),
    }
}

/// None of the rest can be placed: one names no table, or they go round in a circle.
fn unfounded(rest: &[DeriveSpec], tables: &[TableName]) -> PipelineError {
    let known: Vec<String> = tables.iter().map(ToString::to_string).collect();
    let unknown = rest.iter().filter_map(|spec| spec.from.as_ref()).find(|from| !known.contains(from));
    let message = if let Some(from) = unknown {
        format!("`{from}` is no table of this pipeline; known are {}", known.join(", "))
    } else {
        let names: Vec<&str> = rest.iter().map(|spec| spec.table.as_str()).collect();
        format!("{} are computed from each other in a circle; one of them must come first", names.join(", "))
    };
    PipelineError { key: "derive.from", message }
}

fn one(spec: DeriveSpec, base: Base, target: &Target, placed: &[Derived]) -> Checked<Derived> {
    let table = check::table("derive.table", &spec.table)?;
    let columns = columns(&table, spec.columns.0)?;
    let at = |key: &'static str, column: &str| {
        columns.iter().position(|known| known.name == column).ok_or_else(|| PipelineError {
            key,
            message: format!("`{column}` is no column of `{table}`; declare it under `columns`"),
        })
    };
    names_are_distinct("derive.key", &spec.key)?;
    let key = spec.key.iter().map(|column| at("derive.key", column)).collect::<Checked<Vec<usize>>>()?;
    let field = at("derive.period.field", &spec.period.field)?;
    if !key.contains(&field) {
        return fault(
            "derive.key",
            format!(
                "`{}` tells the period of a row of `{table}`, so it is a part of the key: otherwise two periods could want one row",
                spec.period.field
            ),
        );
    }
    for &at in &key {
        if !columns[at].ty.is_identity() {
            let DeclaredColumn { name, ty, .. } = &columns[at];
            return fault(
                "derive.key",
                format!("`{name}` is a {ty} column; a key needs values with one exact spelling"),
            );
        }
    }
    let every = spec.period.every;
    let calendar = Calendar::new(every, &spec.period.tz)
        .map_err(|error| PipelineError { key: "derive.period.tz", message: error.to_string() })?;
    let of = spec.of.unwrap_or_else(|| spec.period.field.clone());
    lies_in_a_period("derive.period.field", &columns[field].name, &columns[field].ty, every)?;
    let (known, is_closed) = match base {
        Base::Target => (target.columns.as_slice(), false),
        Base::Derived(at) => (placed[at].columns.as_slice(), true),
    };
    match known
        .iter()
        .find(|column| column.field == of)
        .or_else(|| known.iter().find(|column| column.name == of))
    {
        Some(column) => lies_in_a_period("derive.of", &of, &column.ty, every)?,
        None if is_closed => {
            let base = spec.from.unwrap_or_default();
            return fault(
                "derive.of",
                format!(
                    "`{of}` is no column of `{base}`; name the one that tells the period that a row counts in"
                ),
            );
        }
        // The target's catalogue may know it: that is looked at when a run marks.
        None => {}
    }
    let reach = spec.reach.unwrap_or_default();
    if reach > MOST_REACH {
        return fault(
            "derive.reach",
            format!("{reach} periods: every change would compute that many; at most {MOST_REACH}"),
        );
    }
    Ok(Derived {
        query: Query::parse(&table, &spec.sql)?,
        table,
        base,
        of,
        columns,
        key,
        field,
        calendar,
        reach,
    })
}

fn columns(table: &TableName, specs: Vec<(String, ColumnSpec)>) -> Checked<Vec<DeclaredColumn>> {
    let mut columns: Vec<DeclaredColumn> = Vec::new();
    for (column, spec) in specs {
        name("derive.columns", &column)?;
        if columns.iter().any(|known| known.name == column) {
            return fault("derive.columns", format!("`{column}` names two columns of `{table}`"));
        }
        if spec.field.is_some() || spec.round.is_some() {
            return fault(
                "derive.columns",
                format!(
                    "`{column}` of `{table}` is what the query calls so; `field` and `round` are for records"
                ),
            );
        }
        if matches!(spec.ty, Type::Float { .. }) {
            return fault(
                "derive.columns",
                format!(
                    "`{column}` of `{table}` is a float: a sum of floats depends on the order in which they are added, so that two \
                     runs differ; use decimal"
                ),
            );
        }
        columns.push(DeclaredColumn { field: column.clone(), name: column, ty: spec.ty, round: None });
    }
    Ok(columns)
}

fn lies_in_a_period(key: &'static str, name: &str, ty: &Type, every: Every) -> Checked<()> {
    if fits(ty, every) {
        return Ok(());
    }
    let due = if every.holds_whole_days() { "date, timestamptz or timestamp" } else { "timestamptz" };
    fault(key, format!("`{name}` is a {ty} column; {due} is due for periods of a {every}"))
}

#[cfg(test)]
mod tests;
