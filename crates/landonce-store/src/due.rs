//! Marks: the periods that derived tables are due for. A batch leaves them in its own transaction; whoever computes a period
//! takes its marks away in the transaction of the rows.

use uuid::Uuid;

/// A period that a derived table is due for, as a run leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The pipeline's name.
    pub pipeline: &'a str,
    /// The derived table, as it is declared.
    pub derived: &'a str,
    /// The period's label.
    pub label: &'a str,
    /// Its first instant, in microseconds since 1970 in UTC.
    pub start: i64,
    /// The first instant behind it.
    pub end: i64,
    /// The run that touched it.
    pub run_id: Uuid,
}

/// A period that a derived table is due for, as it is found: however many runs have marked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The period's label.
    pub label: String,
    /// Its first instant, in microseconds since 1970 in UTC, as it was recorded.
    pub start: i64,
    /// The first instant behind it.
    pub end: i64,
}
