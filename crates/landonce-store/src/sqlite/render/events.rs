//! Events as SQL: the claim that is settled as it is made, and what is asked of a row that has come new.

use super::{Render, list};

/// Claims an event and settles it: key, pipeline, batch id, digest, run, source, outcome.
pub(in crate::sqlite) const CLAIM: &str = "\
INSERT INTO main.landonce_inbox (key, pipeline, batch_id, batch_digest, run_id, source, outcome, settled_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
ON CONFLICT (key) DO NOTHING";

/// Settles a claim with another outcome.
pub(in crate::sqlite) const RESTATE: &str = "UPDATE main.landonce_inbox SET outcome = ?2 WHERE key = ?1";

impl Render<'_> {
    /// The columns of the row with the identity that is bound, by the numbers of a row's columns.
    pub(in crate::sqlite) fn row_of(&self) -> String {
        format!(
            "SELECT {} FROM {} AS t WHERE {}",
            list(self.names.iter().map(|name| format!("t.{name}"))),
            self.target,
            self.is_it(&self.plan.row_columns())
        )
    }
}
