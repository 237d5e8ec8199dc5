//! Derived tables as SQL: the values that a batch touches, a period's rows computed, applied, and compared.

use landonce_core::column::Type;
use landonce_core::pipeline::Part;
use landonce_core::plan::{Span, StageColumn};

use super::{DERIVED, RAW, Render, STAGE, TODO, list, staged};
use crate::error::{Error, Result};
use crate::seam::Look;
use crate::sqlite::catalog::Affinity;
use crate::sqlite::render::class;

/// What a period's query is compared in.
const COMPARED: &str = "temp.landonce_compared";
/// An instant as landonce writes it.
const INSTANT: &str = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:*Z";

impl Render<'_> {
    /// The distinct values of a column in the rows that a batch changes.
    pub(in crate::sqlite) fn touched(&self, column: usize, look: Look) -> Option<String> {
        let unit = self.unit(column, &format!("t.{}", self.names[column]));
        let classes = match look {
            Look::Missing => {
                let missing = self.is_missing(self.plan.scope.as_ref()?);
                return Some(format!("SELECT DISTINCT {unit} FROM {} AS t WHERE {missing}", self.target));
            }
            Look::Before => [class::CHANGED, class::DELETE],
            Look::After => [class::NEW, class::CHANGED],
        };
        let is_it =
            self.identity().map(|key| format!("t.{}{} = s.{}", key.name, key.collate, staged(key.column)));
        Some(format!(
            "SELECT DISTINCT {unit}\nFROM {TODO} AS d CROSS JOIN {STAGE} AS s ON s.rowid = d.staged CROSS JOIN {} AS t ON {}\nWHERE d.class IN ({})",
            self.target,
            is_it.collect::<Vec<_>>().join(" AND "),
            list(classes.iter().map(ToString::to_string)),
        ))
    }

    /// The distinct values of a column in all of the table.
    pub(in crate::sqlite) fn values(&self, column: usize) -> String {
        let unit = self.unit(column, &format!("t.{}", self.names[column]));
        format!("SELECT DISTINCT {unit} FROM {} AS t", self.target)
    }

    /// A time's text to the day, or to the minute: so many distinct ones are read. What isn't written as landonce writes an
    /// instant is read whole.
    fn unit(&self, column: usize, value: &str) -> String {
        match self.plan.columns[column].ty {
            Type::Timestamptz => {
                format!(
                    "CASE WHEN {value} GLOB '{INSTANT}' THEN substr({value}, 1, 16) || 'Z' ELSE {value} END"
                )
            }
            _ => format!("substr({value}, 1, 10)"),
        }
    }

    /// Makes the temporary tables for a period's rows: as the query gives them, then in the table's own types.
    pub(in crate::sqlite) fn compute(&self, query: &[Part<'_>]) -> Vec<String> {
        vec![
            drop_derived(),
            format!("CREATE TABLE {RAW} AS {}", self.select("", query)),
            format!("CREATE TABLE {DERIVED} ({})", list(self.own_columns())),
            format!("INSERT INTO {DERIVED} SELECT * FROM {RAW}"),
        ]
    }

    /// The name of a column in which a floating-point number came; NULL for none.
    pub(in crate::sqlite) fn floats(&self) -> String {
        let tests = self.plan.columns.iter().enumerate().map(|(at, column)| {
            let name = column.name.replace('\'', "''");
            format!("(SELECT '{name}' FROM {RAW} WHERE typeof(c{at}) = 'real' LIMIT 1)")
        });
        format!("SELECT coalesce({}, NULL)", list(tests))
    }

    /// What can't be the period's: a row without a key, one of another period, a key that stands twice; NULL for none.
    pub(in crate::sqlite) fn faults(&self) -> Result<String> {
        let keys: Vec<String> =
            self.identity().map(|key| format!("s.{}{}", staged(key.column), key.collate)).collect();
        let row = json((0..self.names.len()).map(|at| format!("s.c{at}")));
        let is_null = keys.iter().map(|key| format!("{key} IS NULL")).collect::<Vec<_>>().join(" OR ");
        let span = self.span()?;
        let value = format!("s.c{}", span.column);
        let key = json(keys.iter().cloned());
        // A text of another width isn't a time as landonce writes it, however it sorts.
        let width = span.start.text().len();
        Ok(format!(
            "\
SELECT (SELECT {row} FROM {DERIVED} s WHERE {is_null} LIMIT 1),
       (SELECT {row} FROM {DERIVED} s WHERE ({} AND length({value}) = {width}) IS NOT TRUE LIMIT 1),
       (SELECT {key} FROM {DERIVED} s GROUP BY {} HAVING count(*) > 1 LIMIT 1)",
            self.holds(&value, span.start, span.end),
            list(keys),
        ))
    }

    /// The distinct values of a column, old and new, in the rows that differ.
    pub(in crate::sqlite) fn differing(&self, column: usize) -> Result<String> {
        let span = self.span()?;
        let same = format!("{} AND NOT {}", self.is_same(), self.differs_from(|at| format!("s.c{at}")));
        Ok(format!(
            "\
SELECT {} FROM {target} AS t WHERE {} AND NOT EXISTS (SELECT 1 FROM {DERIVED} AS s WHERE {same})
UNION
SELECT {} FROM {DERIVED} AS s WHERE NOT EXISTS (SELECT 1 FROM {target} AS t WHERE {same})",
            self.unit(column, &format!("t.{}", self.names[column])),
            self.between(span.column, span.start, span.end),
            self.unit(column, &format!("s.c{column}")),
            target = self.target,
        ))
    }

    /// Deletes the period's rows that were not computed.
    pub(in crate::sqlite) fn delete_vanished(&self) -> Result<String> {
        let span = self.span()?;
        Ok(format!(
            "DELETE FROM {} AS t WHERE {}\n  AND NOT EXISTS (SELECT 1 FROM {DERIVED} AS s WHERE {})",
            self.target,
            self.between(span.column, span.start, span.end),
            self.is_same()
        ))
    }

    /// Updates those that differ; `None` when a row is all key.
    pub(in crate::sqlite) fn update_differing(&self) -> Option<String> {
        let others: Vec<usize> = (0..self.names.len()).filter(|at| !self.is_identity(*at)).collect();
        if others.is_empty() {
            return None;
        }
        let sets = list(others.iter().map(|at| format!("{} = s.c{at}", self.names[*at])));
        Some(format!(
            "UPDATE OR ABORT {} AS t SET {sets}\nFROM {DERIVED} AS s WHERE {} AND {}",
            self.target,
            self.is_same(),
            self.differs_from(|at| format!("s.c{at}"))
        ))
    }

    /// Inserts those that aren't there, in key order.
    pub(in crate::sqlite) fn insert_computed(&self) -> String {
        let order = self.identity().map(|key| format!("s.{}", staged(key.column)));
        format!(
            "INSERT OR ABORT INTO {target} ({})\nSELECT {} FROM {DERIVED} AS s\nWHERE NOT EXISTS (SELECT 1 FROM {target} AS t WHERE {})\nORDER BY {}",
            list(self.names.iter().cloned()),
            list((0..self.names.len()).map(|at| format!("s.c{at}"))),
            self.is_same(),
            list(order),
            target = self.target,
        )
    }

    /// Fills the temporary table of a comparison from what was computed and from the table.
    pub(in crate::sqlite) fn fill_compared(&self) -> Result<Vec<String>> {
        let span = self.span()?;
        Ok(vec![
            format!("CREATE TABLE {COMPARED} (is_query, {})", list(self.own_columns())),
            format!("INSERT INTO {COMPARED} SELECT 1, s.* FROM {DERIVED} s"),
            format!(
                "INSERT INTO {COMPARED} SELECT 0, {} FROM {} AS t WHERE {}",
                list(self.names.iter().map(|name| format!("t.{name}"))),
                self.target,
                self.between(span.column, span.start, span.end)
            ),
        ])
    }

    /// The rows that the two don't agree on: how many, what the query gives, what the table has; the first `?1` of them. Rows
    /// of one key are paired in turn, so that one that comes twice is found.
    pub(in crate::sqlite) fn compared(&self) -> String {
        let keys: Vec<(String, String)> =
            self.identity().map(|key| (staged(key.column), key.collate.clone())).collect();
        let parts = list(keys.iter().map(|(key, collate)| format!("{key}{collate}")));
        let side = |of: u8| {
            format!(
                "(SELECT *, row_number() OVER (PARTITION BY {parts}) AS nth FROM {COMPARED} WHERE is_query = {of})"
            )
        };
        let on: Vec<String> =
            keys.iter().map(|(key, collate)| format!("q.{key}{collate} = t.{key}")).collect();
        let row = |of: &str| {
            let row = json((0..self.names.len()).map(|at| format!("{of}.c{at}")));
            format!("CASE WHEN {of}.nth IS NOT NULL THEN {row} END")
        };
        let differs = (0..self.names.len())
            .filter(|at| !self.is_identity(*at))
            .map(|at| self.distinct(at, &format!("q.c{at}"), &format!("t.c{at}")));
        let tests = ["q.nth IS NULL".to_owned(), "t.nth IS NULL".to_owned()].into_iter().chain(differs);
        format!(
            "SELECT count(*) OVER (), {}, {}\nFROM {} AS q FULL JOIN {} AS t ON {} AND q.nth = t.nth\nWHERE {}\nORDER BY {} LIMIT ?1",
            row("q"),
            row("t"),
            side(1),
            side(0),
            on.join(" AND "),
            tests.collect::<Vec<_>>().join(" OR "),
            list(keys.iter().map(|(key, _)| format!("coalesce(q.{key}, t.{key})"))),
        )
    }

    /// Our columns with the affinity of the table's, so that what it would store as one value is one value here.
    fn own_columns(&self) -> Vec<String> {
        let column = |(at, column): (usize, &landonce_core::plan::PlanColumn)| {
            let affinity = match &column.sql_type {
                Some(sql_type) => Affinity::of(sql_type),
                None => Affinity::of(super::tables::made(&column.ty)),
            };
            format!("{} {}", staged(StageColumn::Column(at)), affinity.keyword())
        };
        self.plan.columns.iter().enumerate().map(column).collect()
    }

    /// The query's columns in the plan's order. A line end keeps a comment at the query's end from taking the bracket with it.
    fn select(&self, before: &str, query: &[Part<'_>]) -> String {
        let columns = list(self.names.iter().enumerate().map(|(at, name)| format!("q.{name} AS c{at}")));
        format!("SELECT {before}{columns} FROM (\n{}\n) AS q", spelled(query))
    }

    fn is_same(&self) -> String {
        let test =
            self.identity().map(|key| format!("t.{}{} = s.{}", key.name, key.collate, staged(key.column)));
        test.collect::<Vec<_>>().join(" AND ")
    }

    fn differs_from(&self, new: impl Fn(usize) -> String) -> String {
        let tests: Vec<String> = (0..self.names.len())
            .filter(|at| !self.is_identity(*at))
            .map(|at| self.distinct(at, &format!("t.{}", self.names[at]), &new(at)))
            .collect();
        if tests.is_empty() { "(false)".to_owned() } else { format!("({})", tests.join(" OR ")) }
    }

    fn span(&self) -> Result<&Span> {
        let span = self.plan.scope.as_ref().and_then(|scope| scope.period.as_ref());
        span.ok_or_else(|| Error::refused(format!("the plan of {} is of no period", self.plan.table)))
    }
}

/// Drops the temporary tables.
pub(in crate::sqlite) fn drop_derived() -> String {
    format!(
        "DROP TABLE IF EXISTS {RAW};\nDROP TABLE IF EXISTS {DERIVED};\nDROP TABLE IF EXISTS {COMPARED};\n"
    )
}

/// A period's query with its literals, spelled as landonce stores such values. They have no character that would need
/// quoting.
fn spelled(query: &[Part<'_>]) -> String {
    let part = |part: &Part<'_>| match part {
        Part::Sql(sql) => (*sql).to_owned(),
        Part::At(at) => format!("'{}'", at.text()),
        Part::Text(text) => format!("'{}'", text.replace('\'', "''")),
    };
    query.iter().map(part).collect()
}

/// Values as a JSON array; bytes, which JSON hasn't, as hex digits.
fn json(values: impl Iterator<Item = String>) -> String {
    let value =
        |value: String| format!("CASE WHEN typeof({value}) = 'blob' THEN hex({value}) ELSE {value} END");
    format!("json_array({})", list(values.map(value)))
}

#[cfg(test)]
mod snapshots;
