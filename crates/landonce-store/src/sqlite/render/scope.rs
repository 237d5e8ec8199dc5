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

    /// Deletes them.
    pub(in crate::sqlite) fn remove_missing(&self) -> Option<String> {
        let scope = self.plan.scope.as_ref()?;
        Some(format!("DELETE FROM {} AS t WHERE {}", self.target, self.is_missing(scope)))
    }

    fn is_missing(&self, scope: &Scope) -> String {
        let mut tests = Vec::new();
        if let Some(span) = &scope.period {
            tests.push(self.between(span.column, span.start, span.end));
        }
        for (nth, owned) in scope.owner.iter().enumerate() {
            tests.push(format!("t.{} = ?{}", self.names[owned.column], nth + 1));
        }
        let names = list(self.identity().map(|key| format!("t.{}{}", key.name, key.collate)));
        let keys = list(self.identity().map(|key| format!("s.{}", staged(key.column))));
        // A set of the stage's identities is made once; joined with row by row the stage has no index to be found by.
        tests.push(format!("(({names}) IN (SELECT {keys} FROM {STAGE} s)) IS NOT TRUE"));
        tests.join("\n  AND ")
    }

    /// Half-open. Times have one width, so their texts are in the order of time; they need no quoting.
    fn between(&self, column: usize, start: Bound, end: Bound) -> String {
        let name = &self.names[column];
        format!("t.{name} >= '{}' AND t.{name} < '{}'", start.text(), end.text())
    }
}
