//! The counts of a batch (X3): every record that was read is in exactly one of them.

use std::ops::AddAssign;

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
    /// Rows removed by delete records, or retired by them (`write.deleted: retire`).
    pub deleted: u64,
    /// Rows of the period (or of the source) that the payload doesn't have, removed. No record stands for them: they are
    /// beside the sum.
    pub removed: u64,
    /// Rows that a complete payload doesn't have, marked as retired (J6); or those among the deleted that were marked. Beside the
    /// sum.
    pub retired: u64,
    /// Rows among the updated that had been retired and came again.
    pub restored: u64,
}

impl AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.unchanged += other.unchanged;
        self.stale += other.stale;
        self.conflicts += other.conflicts;
        self.duplicates += other.duplicates;
        self.quarantined += other.quarantined;
        self.deleted += other.deleted;
        self.removed += other.removed;
        self.retired += other.retired;
        self.restored += other.restored;
    }
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
        self.changed() > 0
    }

    /// Rows that the batch changed.
    pub const fn changed(&self) -> u64 {
        // A delete record that retires is in both counts; rows that a payload doesn't have are in one.
        let gone = if self.retired > self.deleted { self.retired } else { self.deleted };
        self.inserted + self.updated + self.removed + gone
    }
}
