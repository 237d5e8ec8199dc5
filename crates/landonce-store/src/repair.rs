//! The contract between `repair` and a store, verb by verb: rows of a user's table that should not be there are marked,
//! references to them are moved to the rows that stay, and everything is written down before it is changed.
//!
//! A repair calls the verbs in this order, on one connection, once to look and once more to act:
//!
//! ```text
//! known → begin_repair → (rows, order)* → mark → marked → groups → move_references → collisions
//!       → [script_* → repoint → remove → constrain? → commit → constrain_after?]
//! ```
//!
//! To look ([`Access::ReadOnly`]), the database itself refuses writes and all questions see one snapshot. To act, the table
//! and those that point at it are locked against writers first, so that what was marked is what is there.
//!
//! Marks live in temporary tables and the work is done by statements over whole sets: a store never holds more than a
//! row of the user's in memory.

pub mod keys;
pub mod lost;
pub mod notices;

use std::time::Duration;

use landonce_core::plan::TableName;

use crate::error::Result;
use crate::seam::{Access, Connection};

pub use keys::{KeyColumn, Make, Read, Rekey, Shown};

/// What the catalogue says of a table that is to be repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The table, with its schema where there are schemas.
    pub table: TableName,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// The primary key's columns; empty without one.
    pub primary_key: Vec<String>,
    /// What names each row's own number, which is no column and grows in the order in which rows came (SQLite).
    pub row_number: Option<String>,
    /// Its unique indexes over plain columns that cover every row.
    pub unique: Vec<Unique>,
    /// Foreign keys that point at it, its own among them.
    pub references: Vec<Reference>,
    /// Triggers that fire when its rows are deleted.
    pub triggers: Vec<String>,
    /// Whether an index can be built beside writers, after the transaction.
    pub can_index_beside: bool,
    /// Whether a unique constraint can take two NULLs for the same value.
    pub can_guard_nulls: bool,
    /// Such a constraint is an index over expressions, which `ON CONFLICT (columns)` can't use.
    pub guards_nulls_by_expressions: bool,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, as the database spells it.
    pub sql_type: String,
    /// Whether it can be NULL.
    pub is_nullable: bool,
    /// The database computes it.
    pub is_generated: bool,
    /// It can hold a moment, so that its order is the order of time.
    pub is_moment: bool,
}

/// A unique index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unique {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// No two rows are equal in it even where they are NULL.
    pub is_null_safe: bool,
    /// It takes two NULLs for the same value, rather than having no NULLs.
    pub nulls_are_equal: bool,
}

/// A foreign key that points at the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Its name, or what tells it from others.
    pub name: String,
    /// The table that it belongs to.
    pub table: TableName,
    /// It is the repaired table itself.
    pub is_own: bool,
    /// Its columns.
    pub columns: Vec<String>,
    /// The columns that they point at, in the same order.
    pub referenced: Vec<String>,
    /// Columns that tell one of its table's rows from all others, never NULL; empty when there are none.
    pub row_key: Vec<String>,
    /// Its table's unique indexes that hold one of its columns.
    pub unique: Vec<Unique>,
    /// Triggers that fire when its table's rows are updated.
    pub triggers: Vec<String>,
    /// The database changes the pointing rows by itself when the row pointed at changes.
    pub follows_updates: bool,
}

/// What makes rows copies of each other, and which of them stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubled {
    /// What is equal in copies, two NULLs included.
    pub by: By,
    /// The column that decides, if one does; NULL is never first.
    pub keep: Option<Keep>,
}

/// What rows are copies by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// The values of columns.
    Columns(Vec<String>),
    /// The new keys that were given to rows by [`Rekey::give_keys`].
    NewKey,
}

/// Which of several copies stays. Equal ones are decided by the primary key, else by where the rows lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// The one with the smallest value in a column.
    Earliest(String),
    /// The one with the greatest.
    Latest(String),
}

/// How far a column's values are in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Rows in which it is NULL.
    pub nulls: u64,
    /// Rows in which it is no UUID of version 7.
    pub other_than_v7: u64,
}

/// How many rows are marked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marked {
    /// Groups of copies.
    pub groups: u64,
    /// Rows that are to go: all of a group but the one that stays.
    pub rows: u64,
    /// Those among them that differ from the row that stays, in a column that was asked about.
    pub differing: u64,
}

/// Copies of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The row that stays: its columns as text.
    pub kept: Vec<Option<String>>,
    /// Rows that are to go, the first ones of them.
    pub gone: Vec<Vec<Option<String>>>,
}

/// What pointing at the rows that stay would do to a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Rows that point at a row that is to go.
    pub rows: u64,
    /// Those among them that can't be pointed at the row that stays, because the key is NULL there.
    pub lost: u64,
}

/// Rows that would be equal under a unique index once they point at the row that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The index.
    pub index: String,
    /// Its columns' values, as they would be.
    pub values: Vec<Option<String>>,
    /// The rows, by their own key as it is now.
    pub rows: Vec<String>,
}

/// A unique constraint that is to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// Rows with a NULL in these are there, so two NULLs must count as equal.
    pub guards_nulls: bool,
}

/// Takes the script's bytes as they come.
pub type Sink<'s> = &'s mut (dyn FnMut(&[u8]) -> std::io::Result<()> + Send);

/// The verbs of a repair.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Repair: Connection {
    /// What the catalogue says of a table. Fails for what can't be repaired (a view, a foreign table, a partition).
    async fn known(&mut self, table: &TableName) -> Result<Option<Known>>;

    /// Begins. To write, waits at most `wait` for each lock.
    async fn begin_repair(&mut self, known: &Known, access: Access, wait: Duration) -> Result<()>;

    /// How many rows the table has, and in how many of them one of the columns is NULL.
    async fn rows(&mut self, known: &Known, columns: &[String]) -> Result<(u64, u64)>;

    /// How far a column's values are in the order of time.
    async fn order(&mut self, known: &Known, column: &str) -> Result<Order>;

    /// Marks the rows that are to go.
    async fn mark(&mut self, known: &Known, doubled: &Doubled) -> Result<()>;

    /// Counts the marked rows; `compared` are the columns in which a difference is told.
    async fn marked(&mut self, known: &Known, compared: &[String]) -> Result<Marked>;

    /// The first groups, at most `most` of them and as many copies of each.
    async fn groups(&mut self, known: &Known, most: usize) -> Result<Vec<Group>>;

    /// Finds what a reference's rows point at now and would point at then.
    async fn move_reference(&mut self, known: &Known, at: usize) -> Result<Moved>;

    /// Groups of a reference's rows that a unique index would refuse then: how many, and the first `most`.
    async fn collisions(&mut self, known: &Known, at: usize, most: usize) -> Result<(u64, Vec<Collision>)>;

    /// Writes what brings the marked rows back. With columns to tell copies by, it begins the script and checks that it runs
    /// on the state that the repair left; without any, [`Rekey::script_keys`] has done both. `constraint` is what the repair
    /// adds, and the script takes away.
    async fn script_rows(
        &mut self,
        known: &Known,
        by: &[String],
        constraint: Option<&Constraint>,
        sink: Sink<'_>,
    ) -> Result<()>;

    /// Writes what points a reference's rows back. Call before [`Repair::repoint`] of the same.
    async fn script_reference(&mut self, known: &Known, at: usize, sink: Sink<'_>) -> Result<()>;

    /// The script's last words.
    fn script_end(&self) -> &'static str;

    /// Points a reference's rows at the rows that stay.
    async fn repoint(&mut self, known: &Known, at: usize) -> Result<u64>;

    /// Deletes the marked rows.
    async fn remove(&mut self, known: &Known) -> Result<u64>;

    /// Adds the constraint, in the transaction.
    async fn constrain(&mut self, known: &Known, constraint: &Constraint) -> Result<()>;

    /// Adds the constraint beside writers, after the transaction. Leaves nothing behind when it can't.
    async fn constrain_after(&mut self, known: &Known, constraint: &Constraint) -> Result<()>;
}
