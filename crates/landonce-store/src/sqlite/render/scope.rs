//! What a run speaks for as SQL: rows that are outside, and rows inside that the batch doesn't have.

use landonce_core::plan::{Bound, Scope, StageColumn};

use super::{Render, STAGE, list, parameter, staged};

impl Render<'_> {
    /// The row `t` is none that the run speaks for; the record's owner columns are among `columns`.
    pub(super) fn outside(&self, columns: &[StageColumn]) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        let mut tests = Vec::new();
        if let Some(span) = &scope.period {
            tests.push(format!("({}) IS NOT TRUE", self.between(span.column, span.start, span.end)));
        }
        for owned in &scope.owner {
            let given = parameter(columns, StageColumn::Column(owned.column));
            tests.push(format!("t.{} IS NOT {given}", self.names[owned.column]));
        }
        (!tests.is_empty()).then(|| tests.join(" OR "))
    }

    /// How many rows inside the batch doesn't have; the owner's values are bound, in order.
    pub(in crate::sqlite) fn count_missing(&self) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        Some(format!("SELECT count(*) FROM {} AS t WHERE {}", self.target, self.is_missing(scope)))
    }

    /// Deletes or retires them. The run's id is bound behind the owner's values where it is used.
    pub(in crate::sqlite) fn remove_missing(&self) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        let is_missing = self.is_missing(scope);
        let Some(retired_at) = &self.retired_at else {
            return Some(format!("DELETE FROM {} AS t WHERE {is_missing}", self.target));
        };
        // Six digits, as all times here have.
        let mut sets = vec![format!("{retired_at} = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'")];
        if let Some(retired_by) = &self.retired_by {
            sets.push(format!("{retired_by} = ?{}", scope.owner.len() + 1));
        }
        if let Some(revision) = &self.revision {
            sets.push(format!("{revision} = coalesce({revision}, 0) + 1"));
        }
        Some(format!("UPDATE {} AS t SET {}\nWHERE {is_missing}", self.target, sets.join(", ")))
    }

    /// How many rows inside are there and not retired, and how many are retired and staged; the owner's values are bound.
    pub(in crate::sqlite) fn survey(&self) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        let inside = self.inside(scope);
        let inside =
            if inside.is_empty() { String::new() } else { format!(" WHERE {}", inside.join(" AND ")) };
        let Some(retired_at) = &self.retired_at else {
            return Some(format!("SELECT count(*), 0 FROM {} AS t{inside}", self.target));
        };
        Some(format!(
            "SELECT count(*) FILTER (WHERE t.{retired_at} IS NULL), count(*) FILTER (WHERE t.{retired_at} IS NOT NULL AND {})\n\
             FROM {} AS t{inside}",
            self.is_staged(),
            self.target,
        ))
    }

    pub(super) fn is_missing(&self, scope: &Scope) -> String {
        let mut tests = self.inside(scope);
        if let Some(retired_at) = &self.retired_at {
            tests.push(format!("t.{retired_at} IS NULL"));
        }
        tests.push(format!("{} IS NOT TRUE", self.is_staged()));
        tests.join("\n  AND ")
    }

    /// The batch has the row `t`.
    fn is_staged(&self) -> String {
        let names = list(self.identity().map(|key| format!("t.{}{}", key.name, key.collate)));
        let keys = list(self.identity().map(|key| format!("s.{}", staged(key.column))));
        // A set of the stage's identities is made once; joined with row by row the stage has no index to be found by.
        format!("(({names}) IN (SELECT {keys} FROM {STAGE} s))")
    }

    /// What a row that the run speaks for passes.
    fn inside(&self, scope: &Scope) -> Vec<String> {
        let mut tests = Vec::new();
        if let Some(span) = &scope.period {
            tests.push(self.between(span.column, span.start, span.end));
        }
        for (nth, owned) in scope.owner.iter().enumerate() {
            tests.push(format!("t.{} = ?{}", self.names[owned.column], nth + 1));
        }
        tests
    }

    /// Half-open. Times have one width, so their texts are in the order of time; they need no quoting. A text of another form
    /// (another writer's `2026-03-02 00:00:00`) isn't in that order: it lies in no period, and is never taken for a row of one.
    pub(super) fn between(&self, column: usize, start: Bound, end: Bound) -> String {
        self.holds(&format!("t.{}", self.names[column]), start, end)
    }

    #[expect(clippy::unused_self, reason = "reads as a part of between")]
    pub(super) fn holds(&self, value: &str, start: Bound, end: Bound) -> String {
        let form: String =
            start.text().chars().map(|one| if one.is_ascii_digit() { '?' } else { one }).collect();
        format!("{value} >= '{}' AND {value} < '{}' AND {value} GLOB '{form}'", start.text(), end.text())
    }
}
