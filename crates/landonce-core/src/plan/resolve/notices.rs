//! Notifications held against a catalogue: the columns that tell a real change, and those that the declaration names.

use super::{Resolved, Resolver};
use crate::notice::Teller;
use crate::plan::TablePlan;

impl Resolver<'_> {
    /// Whether the changes that are to be told can be.
    pub(super) fn notices(&self, plan: &TablePlan) -> Resolved<()> {
        if self.pipeline.notifications().is_empty() {
            return Ok(());
        }
        let managed = &self.pipeline.target.managed;
        let missing = [
            (
                &plan.revision,
                &managed.revision,
                "revision",
                "counts a row's real changes",
                "bigint NOT NULL DEFAULT 1",
            ),
            (&plan.run_id, &managed.run_id, "run_id", "names the run that made the last one", "text"),
        ];
        for (has, name, key, does, ty) in missing {
            if has.is_some() {
                continue;
            }
            let ty = match self.shape {
                Some(shape) if key == "run_id" && !shape.is_loosely_typed => "uuid",
                _ => ty,
            };
            return Err(format!(
                "`notify` tells changes by a column `{name}`, which {does}, and there is none; add it ({ty}), or name another under \
                 `target.managed.{key}`"
            ));
        }
        Teller::new(self.pipeline, plan).map(|_| ())
    }
}
