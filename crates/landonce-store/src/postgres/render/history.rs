//! Keeping every version of a row as SQL. A version is known by the row's revision, which counts its real changes.

use landonce_core::plan::TablePlan;

use super::{Render, list};
use crate::error::Result;
use crate::postgres::quote;

/// The history's table.
pub(in crate::postgres) fn table(plan: &TablePlan) -> Result<Option<String>> {
    plan.history.as_ref().map(quote::table).transpose()
}

impl Render<'_> {
    /// Makes the history: the target's columns, and from when to when they were so. Whoever comes second, between the look and
    /// this, is to fail here: one that went on would make a second index.
    pub(in crate::postgres) fn create_history(&self) -> Result<Option<String>> {
        let Some(history) = table(self.plan)? else { return Ok(None) };
        let keys = list(self.identity().into_iter().map(|(name, _, _)| name.to_owned()));
        Ok(Some(format!(
            "CREATE TABLE {history} (LIKE {}, valid_from timestamptz NOT NULL, valid_to timestamptz);\n\
             CREATE UNIQUE INDEX ON {history} ({keys}) WHERE valid_to IS NULL",
            self.target
        )))
    }

    /// Closes the versions that are no more, then opens those that have come.
    pub(in crate::postgres) fn keep_history(&self) -> Result<Option<[String; 2]>> {
        let (Some(history), Some(revision)) = (table(self.plan)?, &self.revision) else { return Ok(None) };
        let is_it = self
            .identity()
            .iter()
            .map(|(name, _, nullable)| {
                super::same_column(&format!("t.{name}"), &format!("h.{name}"), *nullable)
            })
            .collect::<Vec<_>>()
            .join(" AND ");
        let standing = self
            .retired_at
            .as_ref()
            .map(|retired_at| format!(" AND t.{retired_at} IS NULL"))
            .unwrap_or_default();
        let columns = list(
            self.key
                .iter()
                .chain(&self.digest)
                .chain(&self.names)
                .chain(&self.run_id)
                .chain(&self.revision)
                .cloned(),
        );
        let given = list(
            self.key
                .iter()
                .chain(&self.digest)
                .chain(&self.names)
                .chain(&self.run_id)
                .chain(&self.revision)
                .map(|name| format!("t.{name}")),
        );
        Ok(Some([
            format!(
                "UPDATE {history} h SET valid_to = pg_catalog.now()\nWHERE h.valid_to IS NULL AND NOT EXISTS (\n  \
                 SELECT FROM {} t WHERE {is_it} AND t.{revision} = h.{revision}{standing}\n)",
                self.target
            ),
            format!(
                "INSERT INTO {history} ({columns}, valid_from)\nSELECT {given}, pg_catalog.now() FROM {} t\n\
                 WHERE NOT EXISTS (SELECT FROM {history} h WHERE h.valid_to IS NULL AND {is_it}){standing}",
                self.target
            ),
        ]))
    }
}
