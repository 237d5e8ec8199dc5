//! Deletes that retire as SQL: the rows that delete records name are marked, not deleted, and how many come again is counted.

use landonce_core::plan::StageColumn;

use super::{Render, STAGE, TODO, class, staged};

impl Render<'_> {
    /// Marks a row, by the cells of [`Render::deletes`] and, behind them, the run where the plan has a column for it. `None` in a plan
    /// whose deletes delete.
    pub(in crate::sqlite) fn retire(&self) -> Option<String> {
        let retired_at = self.retired_at.as_ref().filter(|_| self.plan.scope.is_none())?;
        let columns = self.deleted_by();
        // Six digits, as all times here have.
        let mut sets = vec![format!("{retired_at} = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'")];
        if let Some(retired_by) = &self.retired_by {
            sets.push(format!("{retired_by} = ?{}", columns.len() + 1));
        }
        if let Some(revision) = &self.revision {
            sets.push(format!("{revision} = coalesce({revision}, 0) + 1"));
        }
        if let Some(version) = self.version() {
            let given = super::parameter(&columns, version.column);
            sets.push(format!("{0} = coalesce({given}, {0})", version.name));
        }
        let identity = self.is_it(&columns);
        Some(format!(
            "UPDATE {} AS t SET {}\nWHERE {identity} AND t.{retired_at} IS NULL",
            self.target,
            sets.join(", ")
        ))
    }

    /// Gives a row that is marked already the version of a newer delete, by the cells of [`Render::deletes`]: a put between the two stays
    /// stale.
    pub(in crate::sqlite) fn retire_again(&self) -> Option<String> {
        let retired_at = self.retired_at.as_ref().filter(|_| self.plan.scope.is_none())?;
        let version = self.version()?;
        let columns = self.deleted_by();
        let given = super::parameter(&columns, version.column);
        Some(format!(
            "UPDATE {} AS t SET {} = {given}\nWHERE {} AND t.{retired_at} IS NOT NULL AND {}",
            self.target,
            version.name,
            self.is_it(&columns),
            version.is_older(&given)
        ))
    }

    /// What a delete is told by: the identity, and the version where the row keeps it.
    pub(super) fn deleted_by(&self) -> Vec<StageColumn> {
        let identity = self.identity().map(|key| key.column);
        let retires = self.retired_at.is_some() && self.plan.scope.is_none();
        let version = self.version().filter(|_| retires).map(|version| version.column);
        let mut columns: Vec<StageColumn> = identity.collect();
        columns.extend(version.filter(|version| !columns.contains(version)));
        columns
    }

    /// How many of the rows that are to be updated are retired.
    pub(in crate::sqlite) fn returning(&self) -> Option<String> {
        let retired_at = self.retired_at.as_ref().filter(|_| self.plan.scope.is_none())?;
        let test = |key: super::IdentityColumn<'_>| {
            format!("t.{}{} = s.{}", key.name, key.collate, staged(key.column))
        };
        let is_it = self.identity().map(test).collect::<Vec<_>>().join(" AND ");
        Some(format!(
            "SELECT 0, count(*) FROM {TODO} AS d CROSS JOIN {STAGE} AS s ON s.rowid = d.staged CROSS JOIN {} AS t ON {is_it}\n\
             WHERE d.class = {} AND t.{retired_at} IS NOT NULL",
            self.target,
            class::CHANGED
        ))
    }
}
