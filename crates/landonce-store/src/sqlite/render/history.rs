//! Keeping every version of a row as SQL. A version is known by the row's revision, which counts its real changes.

use super::{Render, list, target};
use crate::error::Result;

/// The time that is written, with six digits as all times here have.
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'";

impl Render<'_> {
    fn history(&self) -> Result<Option<String>> {
        self.plan.history.as_ref().map(target).transpose()
    }

    /// Makes the history: the target's columns, and from when to when they were so.
    pub(in crate::sqlite) fn create_history(&self) -> Result<Option<String>> {
        let (Some(history), Some(plan)) = (self.history()?, &self.plan.history) else { return Ok(None) };
        let keys = list(self.identity().map(|key| format!("{}{}", key.name, key.collate)));
        let schema = super::quoted(plan.schema.as_deref().unwrap_or("main"))?;
        let index = super::quoted(&format!("landonce_open_{}", plan.name))?;
        Ok(Some(format!(
            "CREATE TABLE IF NOT EXISTS {history} AS SELECT t.*, {NOW} AS valid_from, {NOW} AS valid_to FROM {} AS t WHERE 0;\n\
             CREATE UNIQUE INDEX IF NOT EXISTS {schema}.{index} ON {} ({keys}) WHERE valid_to IS NULL;\n",
            self.target,
            super::quoted(&plan.name)?
        )))
    }

    /// Closes the versions that are no more, then opens those that have come.
    pub(in crate::sqlite) fn keep_history(&self) -> Result<Option<[String; 2]>> {
        let (Some(history), Some(revision)) = (self.history()?, &self.revision) else { return Ok(None) };
        let is_it = self
            .identity()
            .map(|key| format!("t.{0}{1} IS h.{0}", key.name, key.collate))
            .collect::<Vec<_>>()
            .join(" AND ");
        let standing = self
            .retired_at
            .as_ref()
            .map(|retired_at| format!(" AND t.{retired_at} IS NULL"))
            .unwrap_or_default();
        let all = || {
            self.key.iter().chain(&self.digest).chain(&self.names).chain(&self.run_id).chain(&self.revision)
        };
        let columns = list(all().cloned());
        let given = list(all().map(|name| format!("t.{name}")));
        Ok(Some([
            format!(
                "UPDATE {history} AS h SET valid_to = {NOW}\nWHERE h.valid_to IS NULL AND NOT EXISTS (\n  \
                 SELECT 1 FROM {} AS t WHERE {is_it} AND t.{revision} = h.{revision}{standing}\n)",
                self.target
            ),
            format!(
                "INSERT INTO {history} ({columns}, valid_from)\nSELECT {given}, {NOW} FROM {} AS t\n\
                 WHERE NOT EXISTS (SELECT 1 FROM {history} AS h WHERE h.valid_to IS NULL AND {is_it}){standing}",
                self.target
            ),
        ]))
    }
}
