//! The counts of a batch (X3): every record that was read is in exactly one of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a batch's records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Outcome {
    /// Records read, good and bad.
    pub read: u64,
    /// Rows that were not there before.
    pub inserted: u64,
    /// Rows whose content changed.
    pub updated: u64,
    /// Records whose content is there already (insert-once: whose identity is there already). Not touched.
    pub unchanged: u64,
    /// Records older than the row that is there.
    pub stale: u64,
    /// Records of the same version as the row that is there, but with other content. Kept in the quarantine.
    pub conflicts: u64,
    /// Records whose identity comes again in the same batch, folded into the one that counts.
    pub duplicates: u64,
    /// Bad records kept in the quarantine.
    pub quarantined: u64,
    /// Rows removed by delete records.
    pub deleted: u64,
    /// Rows of the period (or of the source) that the payload doesn't have, removed. No record stands for them: they are
    /// beside the sum.
    pub removed: u64,
    /// Rows that a complete payload doesn't have, marked as retired (J6). Beside the sum.
    pub retired: u64,
    /// Rows among the updated that had been retired and came again.
    pub restored: u64,
}

impl Outcome {
    /// The sum of all that became of the records; equals [`Outcome::read`] when every record is accounted for.
    pub const fn accounted(&self) -> u64 {
        self.inserted
            + self.updated
            + self.unchanged
            + self.stale
            + self.conflicts
            + self.duplicates
            + self.quarantined
            + self.deleted
    }

    /// Whether the batch changed the target at all.
    pub const fn is_change(&self) -> bool {
        self.inserted + self.updated + self.deleted + self.removed + self.retired > 0
    }
}
