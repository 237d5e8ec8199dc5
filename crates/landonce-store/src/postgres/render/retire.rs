//! Deletes that retire as SQL: the rows that delete records name are marked, not deleted, and how many come again is counted.

use super::derive::of_classes;
use super::stage::class;
use super::{Render, STAGE, list};

impl Render<'_> {
    /// Marks the rows that the batch's delete records name, locked in key order first; `$1` is the run, where the plan has a column
    /// for it. Returns how many were marked. `None` in a plan whose deletes delete.
    ///
    /// A row that is marked already keeps its mark and takes a newer delete's version: a put between the two stays stale.
    pub(in crate::postgres) fn retire(&self) -> Option<String> {
        let retired_at = self.retired_at.as_ref().filter(|_| self.plan.scope.is_none())?;
        let mut needed =
            self.identity().into_iter().map(|(_, staged, _)| format!("s.{staged}")).collect::<Vec<_>>();
        let mut tests = format!("t.{retired_at} IS NULL");
        let mut sets = vec![format!("{retired_at} = coalesce(t.{retired_at}, pg_catalog.now())")];
        if let (Some(name), Some(tombstone)) = (&self.retired_by, &self.plan.tombstone) {
            let by_type = tombstone.by_type.as_deref().unwrap_or("uuid");
            sets.push(format!("{name} = CASE WHEN d.is_new THEN CAST($1 AS {by_type}) ELSE t.{name} END"));
        }
        if let Some(revision) = &self.revision {
            sets.push(format!("{revision} = coalesce(t.{revision}, 0) + d.is_new::int"));
        }
        if let Some((name, staged)) = self.version() {
            needed.push(format!("s.{staged} AS given_version"));
            tests = format!("({tests} OR t.{name} < s.{staged}) AND (t.{name} > s.{staged}) IS NOT TRUE");
            sets.push(format!("{name} = coalesce(d.given_version, t.{name})"));
        }
        Some(format!(
            "\
WITH doomed AS MATERIALIZED (
  SELECT {}, t.{retired_at} IS NULL AS is_new
  FROM {target} t JOIN {STAGE} s ON {}
  WHERE s.landonce_is_delete AND {tests}
  ORDER BY {}
  FOR NO KEY UPDATE OF t
), marked AS (
  UPDATE {target} t SET {}
  FROM doomed d WHERE {}
  RETURNING d.is_new
)
SELECT count(*) FILTER (WHERE m.is_new) FROM marked m",
            list(needed),
            self.matches("t", "s"),
            self.key_order("s"),
            sets.join(", "),
            self.matches("t", "d"),
            target = self.target,
        ))
    }

    /// How many of the rows that are to be updated are retired.
    pub(in crate::postgres) fn returning(&self) -> Option<String> {
        let retired_at = self.retired_at.as_ref().filter(|_| self.plan.scope.is_none())?;
        Some(format!(
            "SELECT 0::bigint, count(*)\nFROM (SELECT s.* FROM {}) s JOIN {} t ON {}\nWHERE t.{retired_at} IS NOT NULL",
            of_classes(&[class::CHANGED]),
            self.target,
            self.matches("t", "s")
        ))
    }
}
