//! What a run speaks for as SQL: rows that are outside, and rows inside that the batch doesn't have.

use landonce_core::column::Type;
use landonce_core::plan::{Bound, Scope, StageColumn};

use super::tables::sql_type;
use super::{Render, STAGE, list};

impl Render<'_> {
    /// The target's columns that tell whether a row is inside.
    pub(super) fn scoped(&self) -> impl Iterator<Item = &str> {
        let scope = self.plan.scope.iter();
        scope
            .flat_map(|Scope { period, owner }| {
                period.iter().map(|span| span.column).chain(owner.iter().map(|owned| owned.column))
            })
            .map(|at| self.names[at].as_str())
    }

    /// The row `t` is none that the run speaks for; `given` names a record's column, which has the owner's value.
    pub(super) fn outside(&self, t: &str, given: impl Fn(StageColumn) -> String) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        let mut tests = Vec::new();
        if let Some(span) = &scope.period {
            tests.push(format!("({}) IS NOT TRUE", self.between(t, span.column, span.start, span.end)));
        }
        for owned in &scope.owner {
            let name = &self.names[owned.column];
            tests.push(format!("{t}.{name} IS DISTINCT FROM {}", given(StageColumn::Column(owned.column))));
        }
        (!tests.is_empty()).then(|| tests.join(" OR "))
    }

    /// How many rows inside the batch doesn't have; the owner's values are bound, in order.
    pub(in crate::postgres) fn count_missing(&self) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        Some(format!("SELECT count(*) FROM {} t WHERE {}", self.target, self.is_missing(scope)))
    }

    /// Deletes or retires them, locked in key order first. The run's id is bound behind the owner's values where it is used.
    pub(in crate::postgres) fn remove_missing(&self) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        let identity = self.identity();
        let keys = list(identity.iter().map(|(name, staged, _)| format!("t.{name} AS {staged}")));
        let order = list(identity.iter().map(|(name, _, _)| format!("t.{name}")));
        let doomed = format!(
            "\
WITH doomed AS MATERIALIZED (
  SELECT {keys}
  FROM {} t
  WHERE {}
  ORDER BY {order}
  FOR UPDATE OF t
)",
            self.target,
            self.is_missing(scope),
        );
        let (target, is_it) = (&self.target, self.matches("t", "d"));
        let Some(retired_at) = &self.retired_at else {
            return Some(format!("{doomed}\nDELETE FROM {target} t USING doomed d WHERE {is_it}"));
        };
        let mut sets = vec![format!("{retired_at} = pg_catalog.now()")];
        if let (Some(name), Some(tombstone)) = (&self.retired_by, &self.plan.tombstone) {
            let by_type = tombstone.by_type.as_deref().unwrap_or("uuid");
            sets.push(format!("{name} = CAST(${} AS {by_type})", scope.owner.len() + 1));
        }
        if let Some(revision) = &self.revision {
            sets.push(format!("{revision} = coalesce(t.{revision}, 0) + 1"));
        }
        let sets = sets.join(", ");
        Some(format!(
            "{doomed}\nUPDATE {target} t SET {sets}\nFROM doomed d WHERE {is_it} AND t.{retired_at} IS NULL"
        ))
    }

    /// How many rows inside are there and not retired, and how many are retired and staged; the owner's values are bound.
    pub(in crate::postgres) fn survey(&self) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        let inside = self.inside(scope);
        let inside =
            if inside.is_empty() { String::new() } else { format!(" WHERE {}", inside.join(" AND ")) };
        let Some(retired_at) = &self.retired_at else {
            return Some(format!("SELECT count(*), 0::bigint FROM {} t{inside}", self.target));
        };
        Some(format!(
            "SELECT count(*) FILTER (WHERE t.{retired_at} IS NULL), count(*) FILTER (WHERE t.{retired_at} IS NOT NULL AND s.is_there)\n\
             FROM {} t LEFT JOIN (SELECT s.*, true AS is_there FROM {STAGE} s) s ON {}{inside}",
            self.target,
            self.matches("t", "s"),
        ))
    }

    pub(super) fn is_missing(&self, scope: &Scope) -> String {
        let mut tests = self.inside(scope);
        if let Some(retired_at) = &self.retired_at {
            tests.push(format!("t.{retired_at} IS NULL"));
        }
        tests.push(format!("NOT EXISTS (SELECT FROM {STAGE} s WHERE {})", self.matches("t", "s")));
        tests.join("\n    AND ")
    }

    /// What a row that the run speaks for passes.
    fn inside(&self, scope: &Scope) -> Vec<String> {
        let mut tests = Vec::new();
        if let Some(span) = &scope.period {
            tests.push(self.between("t", span.column, span.start, span.end));
        }
        for (nth, owned) in scope.owner.iter().enumerate() {
            let name = &self.names[owned.column];
            let planned = &self.plan.columns[owned.column];
            // A parameter is a text; the column of a table that landonce has just made may be a number.
            let sql_type = planned.sql_type.clone().or_else(|| sql_type(&planned.ty).ok());
            let sql_type = sql_type.unwrap_or_else(|| "text".to_owned());
            tests.push(format!("t.{name} = CAST(${} AS {sql_type})", nth + 1));
        }
        tests
    }

    /// Half-open; the bounds have no character that would need quoting.
    fn between(&self, t: &str, column: usize, start: Bound, end: Bound) -> String {
        self.holds(&format!("{t}.{}", self.names[column]), column, start, end)
    }

    /// A value of a column lies between two bounds.
    pub(super) fn holds(&self, value: &str, column: usize, start: Bound, end: Bound) -> String {
        let planned = &self.plan.columns[column];
        let sql_type = planned.sql_type.as_deref().unwrap_or(match planned.ty {
            Type::Date => "date",
            Type::Timestamp => "timestamp",
            _ => "timestamptz",
        });
        let literal = |bound: Bound| format!("CAST('{}' AS {sql_type})", bound.text());
        format!("{value} >= {} AND {value} < {}", literal(start), literal(end))
    }
}
