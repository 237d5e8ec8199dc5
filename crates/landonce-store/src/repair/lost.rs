//! The contract between `repair lost` and a store: which loads have landed, and the rows that some of them have retired.
//!
//! ```text
//! landed → known → begin_repair → landed → retired* → [script_retired → restore → commit]
//! ```

use uuid::Uuid;

use super::{Known, Repair, Sink};
use crate::error::Result;
use crate::inbox::Settled;

/// A load that has landed, and whether a person has released it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// What the inbox has of it.
    pub settled: Settled,
    /// It was held, and a person has let it land.
    pub is_released: bool,
}

/// How a table marks rows as retired. A row's run is the one that retired it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// When; NULL in a row that is there.
    pub at: String,
    /// By which run.
    pub by: String,
    /// The type of that column, as the catalogue spells it.
    pub by_type: String,
    /// What counts a row's changes.
    pub revision: Option<String>,
    /// What tells a row from all others, never NULL.
    pub identity: Vec<String>,
    /// What a row is shown by.
    pub shown: Vec<String>,
}

/// The verbs of bringing retired rows back.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Restore: Repair {
    /// All loads of a pipeline, oldest first. None where there are no tables of landonce's.
    async fn landed(&mut self, pipeline: &str) -> Result<Vec<Load>>;

    /// How many rows are retired by a run until now, and the first `most` of them by [`Marks::shown`].
    async fn retired(
        &mut self,
        known: &Known,
        marks: &Marks,
        run: Uuid,
        most: usize,
    ) -> Result<(u64, Vec<Vec<Option<String>>>)>;

    /// Writes the script whole but for [`Repair::script_end`]: it retires the runs' rows again, as they are retired now.
    async fn script_retired(
        &mut self,
        known: &Known,
        marks: &Marks,
        runs: &[Uuid],
        sink: Sink<'_>,
    ) -> Result<()>;

    /// Brings the rows back that these runs have retired, in one statement. Returns how many.
    async fn restore(&mut self, known: &Known, marks: &Marks, runs: &[Uuid]) -> Result<u64>;
}
