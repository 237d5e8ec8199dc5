//! What a repair found and did. Its JSON has these names; the command line's words for people are its own.

use std::path::PathBuf;

use serde::Serialize;

/// What became of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is nothing to repair; nothing was written.
    Clean,
    /// There is something to repair; nothing was written.
    Planned,
    /// It can't be repaired as asked ([`Report::refusals`]); nothing was written.
    Refused,
    /// It is repaired.
    Applied,
}

/// What a repair found, and what it did or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What became of it.
    pub status: Status,
    /// The table.
    pub table: String,
    /// The natural key's columns.
    pub key: Vec<String>,
    /// Rows in the table before.
    pub rows: u64,
    /// Rows with a NULL in the key.
    pub null_keys: u64,
    /// Identities that have more than one row.
    pub groups: u64,
    /// Rows that go: all of a group but one.
    pub duplicates: u64,
    /// Those among them whose content differs from the row that stays.
    pub differing: u64,
    /// Which row of a group stays, and why that one.
    pub kept_by: KeptBy,
    /// The first groups.
    pub first_groups: Vec<ShownGroup>,
    /// Foreign keys that point at the table.
    pub references: Vec<ReferenceReport>,
    /// The unique constraint on the key.
    pub constraint: ConstraintReport,
    /// What else whoever applies it should know.
    pub notes: Vec<String>,
    /// Why it can't be applied.
    pub refusals: Vec<String>,
    /// The script that takes it back, once it is applied.
    pub script: Option<PathBuf>,
}

/// Which row of several stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptBy {
    /// The rule: `earliest loaded_at`.
    pub rule: String,
    /// Why this one.
    pub why: String,
}

/// Rows of one identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownGroup {
    /// The key's values.
    pub key: Vec<Cell>,
    /// The row that stays.
    pub stays: Vec<Cell>,
    /// Rows that go, the first ones of them.
    pub goes: Vec<Vec<Cell>>,
}

/// A column's value as text; `None` is NULL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The column.
    pub column: String,
    /// Its value.
    pub value: Option<String>,
}

/// A foreign key that points at the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReferenceReport {
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// The columns that tell its table's rows apart, in the order of [`ClashingRows::rows`].
    pub row_key: Vec<String>,
    /// Rows that point at a row that goes, and then at the one that stays.
    pub rows: u64,
    /// Groups of its rows that would then be equal under a unique index.
    pub clashes: u64,
    /// The first of those.
    pub first_clashes: Vec<ClashingRows>,
}

/// Rows that a unique index would refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClashingRows {
    /// The index.
    pub index: String,
    /// Its columns' values, as they would be.
    pub values: Vec<Option<String>>,
    /// The rows, by their own key as it is now.
    pub rows: Vec<String>,
}

/// The unique constraint on the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConstraintReport {
    /// Whether it is there.
    pub state: Added,
    /// Its name, or that of the index that does the same.
    pub name: Option<String>,
    /// What it can't do, or why it was not added.
    pub note: Option<String>,
}

/// Whether a constraint is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Added {
    /// It was there before.
    Present,
    /// It isn't there, and would be added.
    Missing,
    /// It isn't there, and nobody asked for it.
    NotAsked,
    /// It was added.
    Added,
    /// The rows are repaired, and it could not be added.
    Failed,
}

/// What giving keys anew found, and what it did or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeysReport {
    /// The column with the old keys.
    pub old_column: String,
    /// The column that takes the new keys.
    pub new_column: String,
    /// It isn't there, and is added.
    pub is_new_column: bool,
    /// Rows that get another key than they have.
    pub changed: u64,
    /// Rows whose old key isn't what the old declaration makes of them.
    pub unverified: u64,
    /// The first of those.
    pub first_unverified: Vec<Unverified>,
    /// Rows of which no new key can be made.
    pub unkeyed: u64,
    /// The first of those: the old key, and why.
    pub first_unkeyed: Vec<Unverified>,
    /// Rows that get one key, what points at them, the constraint, the notes: as for duplicates. `duplicates` are the rows that
    /// go (`--dedupe`) or stand in the way.
    #[serde(flatten)]
    pub rows: Report,
}

/// A row, by its old key, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unverified {
    /// The key that is stored.
    pub stored: Option<String>,
    /// What the declaration makes of the row, or why it makes nothing.
    pub made: String,
}
