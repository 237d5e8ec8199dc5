//! Notifications as SQL: rows remembered before they are written, and what has really happened to them.

use landonce_core::plan::StageColumn;

use super::{CHANGES, OLD, Render, STAGE, TODO, class, list, staged};
use crate::seam::Look;

/// Beside the names of staged columns, in our tables.
const REVISION: &str = "landonce_revision";
const IS_RETIRED: &str = "landonce_is_retired";
/// More than any revision.
const GONE: i64 = i64::MAX;

impl Render<'_> {
    /// Makes the table for rows as they were, in the affinities of the target's columns.
    pub(in crate::sqlite) fn create_old(&self) -> String {
        format!("CREATE TABLE {OLD} AS SELECT {} FROM {} AS t WHERE 0", self.as_ours(), self.target)
    }

    /// Remembers rows in key order; `None` when none can be to be written. The owner's values are bound for
    /// [`Look::Missing`].
    pub(in crate::sqlite) fn remember(&self, look: Look) -> Option<String> {
        let from = match look {
            Look::After => return None,
            Look::Missing => {
                let missing = self.is_missing(self.plan.scope.as_ref()?);
                format!("{} AS t\nWHERE {missing}", self.target)
            }
            Look::Before => format!(
                "{TODO} AS d CROSS JOIN {STAGE} AS s ON s.rowid = d.staged CROSS JOIN {} AS t ON {}\nWHERE d.class IN ({}, {})",
                self.target,
                self.is_staged_as("s"),
                class::CHANGED,
                class::DELETE
            ),
        };
        Some(format!("INSERT INTO {OLD} SELECT {} FROM {from}", self.as_ours()))
    }

    /// Makes and fills the table of what has happened; `?1` is the run that wrote.
    pub(in crate::sqlite) fn fill_changes(&self, has_old: bool) -> [String; 2] {
        let keys = |of: &str| {
            list(
                self.identity()
                    .enumerate()
                    .map(|(at, key)| format!("{of}.{}{} AS k{at}", staged(key.column), key.collate)),
            )
        };
        let revision = self.revision.as_deref().unwrap_or("NULL");
        let run_id = self.run_id.as_deref().unwrap_or("NULL");
        let mut parts = Vec::new();
        if has_old {
            // A row that is gone has no revision to be found.
            parts.push(format!(
                "  SELECT o.rowid AS old, NULL AS staged, {}\n  FROM {OLD} AS o\n  WHERE coalesce((SELECT coalesce(t.{revision}, 0) FROM {} AS t WHERE {}), {GONE}) > coalesce(o.{REVISION}, 0)",
                keys("o"),
                self.target,
                self.is_staged_as("o"),
            ));
        }
        parts.push(format!(
            "  SELECT NULL AS old, s.rowid AS staged, {}\n  FROM {TODO} AS d CROSS JOIN {STAGE} AS s ON s.rowid = d.staged CROSS JOIN {} AS t ON {}\n  WHERE d.class = {} AND t.{run_id} = ?1",
            keys("s"),
            self.target,
            self.is_staged_as("s"),
            class::NEW,
        ));
        let order = list(self.identity().enumerate().map(|(at, key)| format!("c.k{at}{}", key.collate)));
        [
            format!("CREATE TABLE {CHANGES} (id INTEGER PRIMARY KEY, old, staged)"),
            format!(
                "INSERT INTO {CHANGES} (old, staged)\nSELECT c.old, c.staged FROM (\n{}\n) AS c ORDER BY {order}",
                parts.join("\n  UNION ALL\n")
            ),
        ]
    }

    /// The next changes behind `?1`, at most `?2`: the id, whether there is an old row, whether there is a new one, and then of
    /// each, the old one first: the key (where it is hashed), the columns, the revision, whether it is retired.
    pub(in crate::sqlite) fn next_changes(&self, has_old: bool) -> String {
        let width = usize::from(self.key.is_some()) + self.names.len() + 2;
        let old = if has_old { self.ours("o") } else { list(vec!["NULL".to_owned(); width]) };
        let (join, key): (String, Box<dyn Fn(StageColumn) -> String>) = if has_old {
            let key = |column| format!("coalesce(o.{0}, s.{0})", staged(column));
            (format!("LEFT JOIN {OLD} AS o ON o.rowid = c.old LEFT JOIN"), Box::new(key))
        } else {
            ("CROSS JOIN".to_owned(), Box::new(|column| format!("s.{}", staged(column))))
        };
        let is_it: Vec<String> = self
            .identity()
            .map(|identity| format!("t.{}{} = {}", identity.name, identity.collate, key(identity.column)))
            .collect();
        let first = self.identity().next().map(|identity| format!("t.{}", identity.name)).unwrap_or_default();
        format!(
            "SELECT c.id, c.old IS NOT NULL, {first} IS NOT NULL, {old}, {}\nFROM {CHANGES} AS c {join} {STAGE} AS s ON s.rowid = c.staged LEFT JOIN {} AS t ON {}\nWHERE c.id > ?1 ORDER BY c.id LIMIT ?2",
            self.as_ours(),
            self.target,
            is_it.join(" AND "),
        )
    }

    /// The row `t` of the target under the names of our tables.
    fn as_ours(&self) -> String {
        let key = self.key.iter().map(|key| format!("t.{key} AS {}", staged(StageColumn::Key)));
        let columns = self.names.iter().enumerate().map(|(at, name)| format!("t.{name} AS c{at}"));
        let revision =
            self.revision.as_ref().map_or_else(|| "NULL".to_owned(), |revision| format!("t.{revision}"));
        let is_retired = self
            .retired_at
            .as_ref()
            .map_or_else(|| "0".to_owned(), |retired_at| format!("t.{retired_at} IS NOT NULL"));
        list(
            key.chain(columns)
                .chain([format!("{revision} AS {REVISION}"), format!("{is_retired} AS {IS_RETIRED}")]),
        )
    }

    /// A row of ours, in the same order.
    fn ours(&self, of: &str) -> String {
        let key = self.key.iter().map(|_| format!("{of}.{}", staged(StageColumn::Key)));
        let columns = (0..self.names.len()).map(|at| format!("{of}.c{at}"));
        list(key.chain(columns).chain([format!("{of}.{REVISION}"), format!("{of}.{IS_RETIRED}")]))
    }

    /// The row `t` of the target is the one that a row of ours names.
    fn is_staged_as(&self, of: &str) -> String {
        let test = |key: super::IdentityColumn<'_>| {
            format!("t.{}{} = {of}.{}", key.name, key.collate, staged(key.column))
        };
        self.identity().map(test).collect::<Vec<_>>().join(" AND ")
    }
}

#[cfg(test)]
mod snapshots;
