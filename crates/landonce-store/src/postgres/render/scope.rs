//! What a run speaks for as SQL: rows that are outside, and rows inside that the batch doesn't have.

use landonce_core::column::Type;
use landonce_core::plan::{Bound, Scope, StageColumn};

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

    /// Deletes them, locked in key order first.
    pub(in crate::postgres) fn remove_missing(&self) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        let identity = self.identity();
        let keys = list(identity.iter().map(|(name, staged, _)| format!("t.{name} AS {staged}")));
        let order = list(identity.iter().map(|(name, _, _)| format!("t.{name}")));
        Some(format!(
            "\
WITH doomed AS MATERIALIZED (
  SELECT {keys}
  FROM {target} t
  WHERE {}
  ORDER BY {order}
  FOR UPDATE OF t
)
DELETE FROM {target} t USING doomed d WHERE {}",
            self.is_missing(scope),
            self.matches("t", "d"),
            target = self.target,
        ))
    }

    fn is_missing(&self, scope: &Scope) -> String {
        let mut tests = Vec::new();
        if let Some(span) = &scope.period {
            tests.push(self.between("t", span.column, span.start, span.end));
        }
        for (nth, owned) in scope.owner.iter().enumerate() {
            let name = &self.names[owned.column];
            tests.push(match &self.plan.columns[owned.column].sql_type {
                Some(sql_type) => format!("t.{name} = CAST(${} AS {sql_type})", nth + 1),
                None => format!("t.{name} = ${}", nth + 1),
            });
        }
        tests.push(format!("NOT EXISTS (SELECT FROM {STAGE} s WHERE {})", self.matches("t", "s")));
        tests.join("\n    AND ")
    }

    /// Half-open; the bounds have no character that would need quoting.
    fn between(&self, t: &str, column: usize, start: Bound, end: Bound) -> String {
        let name = &self.names[column];
        let planned = &self.plan.columns[column];
        let sql_type = planned.sql_type.as_deref().unwrap_or(match planned.ty {
            Type::Date => "date",
            Type::Timestamp => "timestamp",
            _ => "timestamptz",
        });
        let literal = |bound: Bound| format!("CAST('{}' AS {sql_type})", bound.text());
        format!("{t}.{name} >= {} AND {t}.{name} < {}", literal(start), literal(end))
    }
}
