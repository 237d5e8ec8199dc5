//! A whole database at one moment, on disk: every table, every column, every row as exact text, and physical evidence.
//!
//! Rows are written as they stream in, one file a table, so memory stays constant; a comparison reads the files again.
//! [`postgres`], [`sqlite`] and `mysql` read a database; [`calibrate`] tells which columns count; [`within`] and [`across`]
//! compare. What a difference means is for `judge` to say.

mod changed;
mod content;
mod difference;
mod multiset;
#[cfg(feature = "mysql")]
pub mod mysql;
mod name;
pub mod postgres;
mod roles;
mod row;
mod sample;
pub mod sqlite;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::Result;

/// A database at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// By name as people write it: `public.orders`, or `orders` where there are no schemas. Partitions are part of their
    /// root. landonce's and the server's own schemas are left out; landonce's inbox and the like are not: they are tables.
    pub tables: BTreeMap<String, Table>,
    /// Sequences: name → last value.
    pub sequences: BTreeMap<String, String>,
    /// Global ids of transactions that are prepared and neither committed nor rolled back.
    pub prepared: Vec<String>,
    /// Other objects by kind and name (views, functions, indexes, large objects), to tell what a run has left.
    pub objects: Vec<String>,
}

/// One table.
#[derive(Debug, Clone)]
pub struct Table {
    /// In the order of the table.
    pub columns: Vec<Column>,
    /// How many rows there are.
    pub rows: u64,
    /// The columns of the primary key, else of one unique index whose columns are NOT NULL; empty without any.
    pub key: Vec<String>,
    /// Every set of columns that is unique by an index without a predicate or expression.
    pub unique: Vec<Vec<String>>,
    /// A table is another one when it has been dropped and made again (oid; SQLite: root page and SQL).
    pub incarnation: String,
    /// The rows: a line each, COPY text format: `version`, a tab, then the columns. `version` is what changes when a row is
    /// rewritten (ctid and xmin); empty where the database can't tell.
    pub file: PathBuf,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The database's name of its type.
    pub type_name: String,
    /// Filled by a sequence (serial, identity, AUTOINCREMENT, a rowid alias) or a default such as gen_random_uuid().
    pub is_generated: bool,
    /// The default's expression, if any.
    pub default: Option<String>,
    /// The table and column that a foreign key of it points to.
    pub references: Option<(String, String)>,
}

/// Which columns count, by table. Made by [`calibrate`].
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// Columns that vary by themselves between two clean runs in two clones.
    pub varying: BTreeMap<String, Vec<String>>,
    /// Columns filled by a sequence, and foreign keys to them.
    pub generated: BTreeMap<String, Vec<String>>,
    /// What the user leaves out, by table; a table that is left out whole has the one column `*`.
    pub ignored: BTreeMap<String, Vec<String>>,
    /// What the user wanted left out and isn't there, as it was given.
    pub unmatched: Vec<String>,
    /// Tables that the two clean runs left with different contents whatever columns are left out: can't be judged across
    /// clones.
    pub unstable: Vec<String>,
}

/// What two clean runs of the command in two clones have left: which columns vary, which are generated.
/// `ignore` holds `table.column`, `table.*` and `*.column`, with or without the schema, in the database's own case; names
/// with a dot in double quotes.
pub fn calibrate(one: &Snapshot, other: &Snapshot, ignore: &[String]) -> Result<Content> {
    content::calibrate(one, other, ignore)
}

/// How two snapshots differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Tables that differ in anything, by name.
    pub tables: BTreeMap<String, TableDifference>,
    /// Tables that only the first, or only the second has.
    pub vanished: Vec<String>,
    /// See `vanished`.
    pub appeared: Vec<String>,
    /// Tables that can't be compared across clones, see [`Content::unstable`].
    pub skipped: Vec<String>,
    /// Prepared transactions that only the second has.
    pub prepared: Vec<String>,
    /// Other objects that only the second has.
    pub objects_appeared: Vec<String>,
    /// Other objects that only the first has.
    pub objects_vanished: Vec<String>,
}

/// How one table differs. Rows are matched as multisets over the columns that count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableDifference {
    /// Rows before.
    pub rows_before: u64,
    /// Rows after.
    pub rows_after: u64,
    /// Rows whose content is only in the second, and of those: how many have content that is in the first as well (so there
    /// are more copies of it now).
    pub added: u64,
    /// See `added`.
    pub doubled: u64,
    /// Rows whose content is only in the first.
    pub removed: u64,
    /// Of the added and removed: pairs with an equal key (primary key, or a unique set that counts).
    pub changed: u64,
    /// Columns in which the changed pairs differ.
    pub changed_columns: Vec<String>,
    /// Rows with equal content that differ in a varying column (only compared within one clone).
    pub restamped: u64,
    /// The varying columns in which they differ.
    pub restamped_columns: Vec<String>,
    /// Rows with equal content under other generated ids (only compared within one clone).
    pub renumbered: u64,
    /// Rows with equal content that were written anew (only compared within one clone).
    pub rewritten: u64,
    /// Whether the table was dropped and made again (only told within one clone).
    pub recreated: bool,
    /// Columns that only the second has: nothing else is said about them.
    pub columns_added: Vec<String>,
    /// Columns that only the first has.
    pub columns_dropped: Vec<String>,
    /// Up to ten of various kinds, each shortened to 300 characters, as `column=value, …`.
    pub samples: Vec<Sample>,
}

/// A row as evidence.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Sample {
    /// What became of it.
    pub change: Change,
    /// The row; for a changed or restamped one `key=…: column: before → after, …`.
    pub row: String,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    Added,
    /// It is new, and a row with the same content was there before.
    Doubled,
    /// It is gone.
    Removed,
    /// It has other content.
    Changed,
    /// It has another stamp.
    Restamped,
}

/// Two moments of one clone: everything counts but what is ignored, and rewritten rows are told.
///
/// A row is counted once, by the first that is true of it: it has no partner with equal content (`added`, `removed`), none
/// with an equal stamp as well (`restamped`), none with equal ids as well (`renumbered`), none with an equal version as well
/// (`rewritten`).
pub fn within(before: &Snapshot, after: &Snapshot, content: &Content) -> Result<Difference> {
    difference::within(before, after, content)
}

/// The same moment of two clones: varying and generated columns are left out, and physical evidence.
pub fn across(expected: &Snapshot, found: &Snapshot, content: &Content) -> Result<Difference> {
    difference::across(expected, found, content)
}

impl Snapshot {
    /// Whether anything at all is different from another moment of the same clone, or of what it was cloned from: a row, a
    /// row's version, a sequence, a table, an object. Nothing is ignored: it tells whether a run wrote.
    pub fn differs_from(&self, base: &Self) -> Result<bool> {
        difference::is_any(base, self)
    }
}
