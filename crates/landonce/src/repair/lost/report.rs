//! What looking for lost rows found and did. Its JSON has these names.

use std::path::PathBuf;

use landonce_core::outcome::Outcome;
use serde::Serialize;
use uuid::Uuid;

use crate::repair::{Cell, Status};

/// What looking for lost rows found, and what was or would be brought back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LostReport {
    /// What became of it.
    pub status: Status,
    /// The pipeline.
    pub pipeline: String,
    /// The table.
    pub table: String,
    /// How far below the median is too far: 0.2 is a fifth.
    pub share: f64,
    /// How many loads were looked at.
    pub loads: u64,
    /// Those that fell short, took rows away, and are not made up for.
    pub findings: Vec<LostLoad>,
    /// Loads that fell short and took rows away, with a full load since, or with all their rows back.
    pub made_up_for: u64,
    /// Rows that were brought back by themselves.
    pub restored: u64,
    /// What became of the full payload that was landed.
    pub landed: Option<Outcome>,
    /// What else whoever applies it should know.
    pub notes: Vec<String>,
    /// Why it can't be applied.
    pub refusals: Vec<String>,
    /// The script that takes it back, once rows are brought back.
    pub script: Option<PathBuf>,
}

/// A load that fell short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostLoad {
    /// Its run.
    pub run_id: Uuid,
    /// Its batch.
    pub batch_id: String,
    /// Where it came from.
    pub source: String,
    /// When it landed.
    pub landed_at: String,
    /// A person has released it.
    pub is_released: bool,
    /// How many records it had.
    pub read: u64,
    /// The median of the loads before it; `None` where there are none.
    pub median: Option<u64>,
    /// Of how many loads that is.
    pub earlier: u64,
    /// Rows that it retired.
    pub retired: u64,
    /// Rows that it deleted, which the table no longer has.
    pub removed: u64,
    /// Rows that are retired by it until now.
    pub lost: u64,
    /// The first of those, by their identity.
    pub first_rows: Vec<Vec<Cell>>,
    /// Loads that landed since, none of which is a full one: if there are many, the source may have shrunk rightly.
    pub later_loads: u64,
    /// The last load before it that was none of these.
    pub before: Option<BeforeLoad>,
}

/// The load before one that fell short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BeforeLoad {
    /// Its batch.
    pub batch_id: String,
    /// The SHA-256 of its payload, in hex.
    pub digest: String,
    /// When it landed.
    pub landed_at: String,
    /// How many records it had.
    pub read: u64,
}
