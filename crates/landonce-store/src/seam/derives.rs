//! The verbs of derived tables: what a batch has touched, marks, and a period computed and applied as a difference.
//!
//! A batch that has derived tables calls [`Derives::share_base`] behind its claim, [`Derives::touched`] before and behind its
//! writes, and [`Derives::mark`] before it settles. Whoever computes calls [`Derives::own_base`] first:
//!
//! ```text
//! begin → own_base → unmark → (compute → apply)+ → mark? → commit
//! ```
//!
//! A base is shared by any number of batches, and owned by one computation while no batch is under way. So a mark that is
//! visible to the owner belongs to rows that are visible too; and a row that a batch moves away from a period either was seen
//! there by that batch, which then marks the period, or was put there by another one behind the last computation, which has
//! marked it itself.

use landonce_core::pipeline::Part;
use landonce_core::plan::{Bound, TableName, TablePlan};

use crate::due::{Due, Mark};
use crate::error::Result;

/// The verbs of derived tables.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Derives {
    /// Keeps every computation from this base out until the transaction ends; waits for one that is under way.
    async fn share_base(&mut self, base: &TableName) -> Result<()>;

    /// Waits for all batches and computations of this base, and keeps others out until the transaction ends.
    async fn own_base(&mut self, base: &TableName) -> Result<()>;

    /// The distinct values that a column has in the rows which the open stage is to change or has changed: NULL left out,
    /// times without a zone as their dates, instants as the start of their quarter of an hour
    /// ([`landonce_core::pipeline::QUARTER`]). `column` is an index into the plan's columns.
    async fn touched(&mut self, column: usize, look: Look) -> Result<Vec<Bound>>;

    /// Marks periods as due; a run marks each once.
    async fn mark(&mut self, marks: &[Mark<'_>]) -> Result<()>;

    /// The periods that a derived table is due for, by start. None where there are no tables of landonce's.
    async fn due(&mut self, pipeline: &str, derived: &str) -> Result<Vec<Due>>;

    /// Takes the marks of a recorded period away. Returns how many there were.
    async fn unmark(&mut self, pipeline: &str, derived: &str, due: &Due) -> Result<u64>;

    /// The distinct values of a column in all of the plan's table, in the form of [`Derives::touched`]; none when there is no
    /// table.
    async fn values(&mut self, plan: &TablePlan, column: usize) -> Result<Vec<Bound>>;

    /// Runs the query of a period ([`TablePlan::scope`]) into a temporary table, in the session's time zone `zone` where the
    /// store has one, and looks whether its rows can be that period's.
    async fn compute(&mut self, plan: &TablePlan, query: &[Part<'_>], zone: &str) -> Result<Computed>;

    /// Makes the period's rows those that were computed: deletes, updates and inserts only what differs. `touched` are columns
    /// whose changed values, old and new, are told.
    async fn apply(&mut self, plan: &TablePlan, touched: &[usize]) -> Result<Applied>;

    /// Holds the query of a period against the period's rows, both seen at one moment; at most `samples` differences are
    /// returned.
    async fn compare(
        &mut self,
        plan: &TablePlan,
        query: &[Part<'_>],
        zone: &str,
        samples: usize,
    ) -> Result<Compared>;
}

/// Which rows [`Derives::touched`] looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Those that are to be updated or deleted, as they are now. Call behind [`super::Work::classify`], before any write.
    Before,
    /// Those that the batch speaks for and doesn't have ([`super::Work::missing`]).
    Missing,
    /// Those that were inserted or updated, as they are now. Call behind the last write.
    After,
}

/// What a period's query gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Computed {
    /// How many rows.
    pub rows: u64,
    /// Why they can't be the period's.
    pub fault: Option<Fault>,
}

/// Why a query's rows can't be a period's; each with one of them, as a JSON array in the order of the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A column of the key is NULL.
    NullKey(String),
    /// The row is in another period, or in none.
    Outside(String),
    /// The key stands in several rows; only the key's columns are told.
    Repeated(String),
    /// A value is a binary floating-point number, and its column (named) is none: the sum of such numbers depends on the order
    /// in which they are added.
    Float(String),
}

/// What [`Derives::apply`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
    /// The distinct values of the columns that were asked for, as pairs with the column, in the form of
    /// [`Derives::touched`].
    pub touched: Vec<(usize, Bound)>,
}

/// What [`Derives::compare`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// How many rows differ.
    pub count: u64,
    /// Some of them, by key.
    pub samples: Vec<Difference>,
}

/// A row that the query and the table don't agree on; JSON arrays in the order of the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What the query gives; `None` when it has no such row.
    pub expected: Option<String>,
    /// What the table has; `None` when it has no such row.
    pub found: Option<String>,
}
