//! What a catalogue says of a table that exists.

use super::TableName;
use crate::column::Type;

/// A table, view or partitioned table as the catalogue describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableShape {
    /// Its name, with the schema resolved where the store has schemas.
    pub table: TableName,
    /// Its columns, in table order.
    pub columns: Vec<ShapeColumn>,
    /// The unique indexes that can enforce an identity: complete (no WHERE), on plain columns, checked at once.
    pub unique: Vec<UniqueIndex>,
    /// It is a view: it can be written through, but its uniqueness is that of a table we can't see from here.
    pub is_view: bool,
    /// The catalogue knows storage classes, not types (SQLite): a declared type decides what the text means.
    pub is_loosely_typed: bool,
}

/// A column as the catalogue describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeColumn {
    /// Its name.
    pub name: String,
    /// Its type in our words, domains resolved to what they stand on; `None` when it is none that landonce writes.
    pub ty: Option<Type>,
    /// Its SQL type, as a cast spells it.
    pub sql_type: String,
    /// It takes NULL.
    pub nullable: bool,
    /// The database fills it (generated always, identity always, a rowid alias): never written.
    pub is_generated: bool,
    /// It has a default, so that leaving it out is no error.
    pub has_default: bool,
    /// Equality in the database is finer or the same as equality of bytes: `false` for citext, char(n), a
    /// case-folding or non-deterministic collation, where two identities may be one row.
    pub is_exact: bool,
}

/// A unique index or primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueIndex {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// Two NULLs are the same (`NULLS NOT DISTINCT`), or no column takes NULL.
    pub is_null_safe: bool,
    /// It is the primary key.
    pub is_primary: bool,
}

impl TableShape {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&ShapeColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The unique index on exactly these columns, in any order.
    pub fn unique_on(&self, columns: &[&str]) -> Option<&UniqueIndex> {
        self.unique.iter().find(|index| {
            index.columns.len() == columns.len()
                && columns.iter().all(|want| index.columns.iter().any(|has| has == want))
        })
    }
}
