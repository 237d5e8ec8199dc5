//! Derived tables as SQL: the values that a batch touches, a period's rows computed, applied, and compared.

use landonce_core::column::Type;
use landonce_core::pipeline::Part;
use landonce_core::plan::{Bound, Match, Span, StageColumn};

use super::{DERIVED, Render, STAGE, TODO, list, staged};
use crate::error::{Error, Result};
use crate::postgres::quote;
use crate::postgres::render::class;
use crate::seam::Look;

/// What a period's query is compared in.
const COMPARED: &str = "pg_temp.landonce_compared";

impl Render<'_> {
    /// The distinct values of a column in the rows that a batch changes; `None` when none can be.
    pub(in crate::postgres) fn touched(&self, column: usize, look: Look, is_all_new: bool) -> Option<String> {
        let unit = self.unit(column, &format!("t.{}", self.names[column]));
        let from = match look {
            Look::Missing => {
                let missing = self.is_missing(self.plan.scope.as_ref()?);
                return Some(format!("SELECT DISTINCT {unit} FROM {} t WHERE {missing}", self.target));
            }
            Look::Before if is_all_new => return None,
            Look::Before => of_classes(&[class::CHANGED, class::DELETE]),
            Look::After if is_all_new => format!("{STAGE} s{}", self.but_deletes()),
            Look::After => of_classes(&[class::NEW, class::CHANGED]),
        };
        Some(format!(
            "SELECT DISTINCT {unit}\nFROM (SELECT s.* FROM {from}) s JOIN {} t ON {}",
            self.target,
            self.matches("t", "s")
        ))
    }

    /// The distinct values of a column in all of the table.
    pub(in crate::postgres) fn values(&self, column: usize) -> String {
        let unit = self.unit(column, &format!("t.{}", self.names[column]));
        format!("SELECT DISTINCT {unit} FROM {} t", self.target)
    }

    /// A time as a whole number: its day, or its quarter of an hour, since 1970. NULL for what isn't finite.
    fn unit(&self, column: usize, value: &str) -> String {
        match self.plan.columns[column].ty {
            Type::Timestamptz => format!(
                "CASE WHEN isfinite({value}::timestamptz) THEN floor(extract(epoch FROM {value}::timestamptz) / 900)::bigint END"
            ),
            _ => format!(
                "CASE WHEN isfinite({value}::timestamp) THEN (({value}::timestamp)::date - DATE '1970-01-01')::bigint END"
            ),
        }
    }

    /// Makes the temporary table for a period's rows, in the table's own types.
    pub(in crate::postgres) fn create_derived(&self) -> String {
        let columns = list(self.names.iter().enumerate().map(|(at, name)| format!("t.{name} AS c{at}")));
        format!(
            "DROP TABLE IF EXISTS {DERIVED};\nCREATE TEMPORARY TABLE {} ON COMMIT DROP AS\nSELECT {columns} FROM {} t\nWITH NO DATA",
            DERIVED.trim_start_matches("pg_temp."),
            self.target
        )
    }

    /// Runs a period's query into it.
    pub(in crate::postgres) fn compute(&self, query: &[Part<'_>]) -> String {
        format!("INSERT INTO {DERIVED} ({})\n{}", self.own_columns(), self.select("", query))
    }

    /// What can't be the period's: a row without a key, one of another period, a key that stands twice; NULL for none.
    pub(in crate::postgres) fn faults(&self) -> Result<String> {
        let keys: Vec<String> =
            self.identity().into_iter().map(|(_, staged, _)| format!("s.{staged}")).collect();
        let row = json((0..self.names.len()).map(|at| format!("s.c{at}")));
        let is_null = keys.iter().map(|key| format!("{key} IS NULL")).collect::<Vec<_>>().join(" OR ");
        let inside = self.within(self.span()?, |at| format!("s.c{at}"));
        let key = json(keys.iter().cloned());
        Ok(format!(
            "\
SELECT (SELECT {row} FROM {DERIVED} s WHERE {is_null} LIMIT 1),
       (SELECT {row} FROM {DERIVED} s WHERE ({inside}) IS NOT TRUE LIMIT 1),
       (SELECT {key} FROM {DERIVED} s GROUP BY {} HAVING count(*) > 1 LIMIT 1)",
            list(keys)
        ))
    }

    /// The distinct values of a column, old and new, in the rows that differ.
    pub(in crate::postgres) fn differing(&self, column: usize) -> Result<String> {
        let inside = self.within(self.span()?, |at| format!("t.{}", self.names[at]));
        let same = format!("{} AND NOT {}", self.matches("t", "s"), self.differs_here());
        Ok(format!(
            "\
SELECT {} FROM {target} t WHERE {inside} AND NOT EXISTS (SELECT FROM {DERIVED} s WHERE {same})
UNION
SELECT {} FROM {DERIVED} s WHERE NOT EXISTS (SELECT FROM {target} t WHERE {same})",
            self.unit(column, &format!("t.{}", self.names[column])),
            self.unit(column, &format!("s.c{column}")),
            target = self.target,
        ))
    }

    /// Deletes the period's rows that were not computed.
    pub(in crate::postgres) fn delete_vanished(&self) -> Result<String> {
        Ok(format!(
            "DELETE FROM {} t WHERE {}\n  AND NOT EXISTS (SELECT FROM {DERIVED} s WHERE {})",
            self.target,
            self.within(self.span()?, |at| format!("t.{}", self.names[at])),
            self.matches("t", "s")
        ))
    }

    /// Updates those that differ; `None` when a row is all key.
    pub(in crate::postgres) fn update_differing(&self) -> Option<String> {
        let updated = self.updated();
        if updated.is_empty() {
            return None;
        }
        let sets = list(updated.into_iter().map(|at| format!("{} = s.c{at}", self.names[at])));
        Some(format!(
            "UPDATE {} t SET {sets}\nFROM {DERIVED} s WHERE {} AND {}",
            self.target,
            self.matches("t", "s"),
            self.differs_here()
        ))
    }

    /// Inserts those that aren't there, in key order.
    pub(in crate::postgres) fn insert_computed(&self) -> String {
        format!(
            "INSERT INTO {target} ({})\nSELECT {} FROM {DERIVED} s\nWHERE NOT EXISTS (SELECT FROM {target} t WHERE {})\nORDER BY {}",
            list(self.names.iter().cloned()),
            list((0..self.names.len()).map(|at| format!("s.c{at}"))),
            self.matches("t", "s"),
            self.key_order("s"),
            target = self.target,
        )
    }

    /// Makes the temporary table for a comparison.
    pub(in crate::postgres) fn create_compared(&self) -> String {
        let columns = list(self.names.iter().enumerate().map(|(at, name)| format!("t.{name} AS c{at}")));
        format!(
            "DROP TABLE IF EXISTS {COMPARED};\nCREATE TEMPORARY TABLE {} ON COMMIT DROP AS\nSELECT false AS is_query, {columns} \
             FROM {} t\nWITH NO DATA",
            COMPARED.trim_start_matches("pg_temp."),
            self.target
        )
    }

    /// Fills it from the query and from the table: one statement, so that both are seen at one moment.
    pub(in crate::postgres) fn fill_compared(&self, query: &[Part<'_>]) -> Result<String> {
        let columns = self.own_columns();
        Ok(format!(
            "\
WITH q AS (INSERT INTO {COMPARED} (is_query, {columns})
{}
), t AS (INSERT INTO {COMPARED} (is_query, {columns})
SELECT false, {} FROM {} t WHERE {}
)
SELECT 1",
            self.select("true, ", query),
            list(self.names.iter().map(|name| format!("t.{name}"))),
            self.target,
            self.within(self.span()?, |at| format!("t.{}", self.names[at])),
        ))
    }

    /// The rows that the two don't agree on: how many, what the query gives, what the table has; the first `$1` of them. Rows
    /// of one key are paired in turn, so that one that comes twice is found.
    pub(in crate::postgres) fn compared(&self) -> String {
        let keys: Vec<String> = self.identity().into_iter().map(|(_, staged, _)| staged).collect();
        let side = |of: &str| {
            format!(
                "(SELECT *, row_number() OVER (PARTITION BY {}) AS nth FROM {COMPARED} WHERE {of})",
                list(keys.clone())
            )
        };
        let on = keys.iter().map(|key| format!("q.{key} = t.{key}")).collect::<Vec<_>>().join(" AND ");
        let row = |of: &str| {
            let row = json((0..self.names.len()).map(|at| format!("{of}.c{at}")));
            format!("CASE WHEN {of}.nth IS NOT NULL THEN {row} END")
        };
        let differs = self.guarded().into_iter().map(|at| {
            let compare = &self.facts.columns[at].compare;
            super::distinct(&format!("q.c{at}"), &format!("t.c{at}"), compare)
        });
        let tests = ["q.nth IS NULL".to_owned(), "t.nth IS NULL".to_owned()].into_iter().chain(differs);
        let order = list(keys.iter().map(|key| format!("coalesce(q.{key}, t.{key})")));
        format!(
            "SELECT count(*) OVER (), {}, {}\nFROM {} q FULL JOIN {} t ON {on} AND q.nth = t.nth\nWHERE {}\nORDER BY {order} LIMIT $1",
            row("q"),
            row("t"),
            side("is_query"),
            side("NOT is_query"),
            tests.collect::<Vec<_>>().join(" OR "),
        )
    }

    fn own_columns(&self) -> String {
        list((0..self.names.len()).map(|at| staged(StageColumn::Column(at))))
    }

    /// The query's columns in the plan's order. A line end keeps a comment at the query's end from taking the bracket with it.
    fn select(&self, before: &str, query: &[Part<'_>]) -> String {
        let columns = list(self.names.iter().map(|name| format!("q.{name}")));
        format!("SELECT {before}{columns} FROM (\n{}\n) q", spelled(query))
    }

    fn differs_here(&self) -> String {
        self.differs("t", |column| format!("s.{}", staged(column)))
    }

    fn span(&self) -> Result<&Span> {
        let span = self.plan.scope.as_ref().and_then(|scope| scope.period.as_ref());
        debug_assert!(
            matches!(self.plan.matching, Match::Columns(_)),
            "a derived table is matched by its key's columns"
        );
        span.ok_or_else(|| Error::refused(format!("the plan of {} is of no period", self.plan.table)))
    }

    fn within(&self, span: &Span, value: impl Fn(usize) -> String) -> String {
        self.holds(&value(span.column), span.column, span.start, span.end)
    }
}

/// Statistics for the planner.
pub(in crate::postgres) fn analyze_derived() -> String {
    format!("ANALYZE {DERIVED}")
}

/// The staged records of these classes.
pub(super) fn of_classes(classes: &[i16]) -> String {
    let classes = list(classes.iter().map(ToString::to_string));
    format!("{TODO} d JOIN {STAGE} s ON s.landonce_offset = d.landonce_offset WHERE d.class IN ({classes})")
}

/// A period's query with its literals. They have no character that would need quoting.
fn spelled(query: &[Part<'_>]) -> String {
    let part = |part: &Part<'_>| match part {
        Part::Sql(sql) => (*sql).to_owned(),
        Part::At(at @ Bound::Date(_)) => format!("DATE '{}'", at.text()),
        Part::At(at @ Bound::Timestamp(_)) => format!("TIMESTAMP '{}'", at.text()),
        Part::At(at @ Bound::Timestamptz(_)) => format!("TIMESTAMPTZ '{}'", at.text()),
        Part::Text(text) => quote::literal(text),
    };
    query.iter().map(part).collect()
}

fn json(values: impl Iterator<Item = String>) -> String {
    format!("json_build_array({})::text", list(values))
}

#[cfg(test)]
mod snapshots;
