//! Whole databases as exact text, to compare before and after (J2, J8): every user table, every row, never a count alone.
//!
//! Two dumps of one kind of store compare with `==`; [`Dump::assert_same`] fails with the rows that differ. Values that
//! may differ by right (a clock's, a run's id) are left out by name with [`Dump::without`], so that nothing else is.
//! What a re-run must not even touch, though it left the values alone, is told by [`physical`]; what it must not leave
//! open, by [`leftovers`].

mod diff;
mod from_postgres;
mod from_sqlite;
mod leftovers;
mod physical;

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest, Sha256};

pub use diff::Diff;
pub use from_postgres::{Tables, postgres};
pub use from_sqlite::sqlite;
pub use leftovers::{assert_no_leftovers, leftovers};
pub use physical::{PhysicalRow, physical};

/// The most rows that `Debug` shows of a table.
const SHOWN: usize = 10;

/// What a database held: tables by name (`schema.table` in PostgreSQL), rows in an order that depends on nothing but
/// their values.
#[derive(Clone, PartialEq, Eq)]
pub struct Dump {
    tables: BTreeMap<String, Table>,
}

/// What a table held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Table {
    columns: Vec<String>,
    /// Values in the order of the columns; `None` is NULL. Sorted.
    rows: Vec<Row>,
}

type Row = Vec<Option<String>>;

impl Dump {
    fn new(tables: impl IntoIterator<Item = (String, Table)>) -> Self {
        let mut tables: BTreeMap<_, _> = tables.into_iter().collect();
        for table in tables.values_mut() {
            table.rows.sort_unstable();
        }
        Self { tables }
    }

    /// The dump less these columns, given as (table, column). A table that isn't there is passed over: it may not be
    /// there yet.
    ///
    /// # Panics
    ///
    /// When a table is there but has no such column: a misspelt name must not leave a comparison wider than meant.
    #[must_use]
    pub fn without(mut self, columns: &[(&str, &str)]) -> Self {
        for (name, column) in columns {
            let Some(table) = self.tables.get_mut(*name) else { continue };
            let at = table.columns.iter().position(|has| has == column).unwrap_or_else(|| {
                panic!("{name} has no column `{column}`; it has {}", table.columns.join(", "))
            });
            table.columns.remove(at);
            for row in &mut table.rows {
                row.remove(at);
            }
            table.rows.sort_unstable();
        }
        self
    }

    /// The dump less these tables.
    #[must_use]
    pub fn without_tables(mut self, names: &[&str]) -> Self {
        self.tables.retain(|name, _| !names.contains(&name.as_str()));
        self
    }

    /// The tables' names, in order.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// How many rows a table has, or `None` when there is no such table.
    pub fn rows(&self, table: &str) -> Option<usize> {
        self.tables.get(table).map(|table| table.rows.len())
    }

    /// What `later` has that this dump doesn't, and the other way round.
    pub fn diff<'a>(&'a self, later: &'a Self) -> Diff<'a> {
        Diff::new(self, later)
    }

    /// # Panics
    ///
    /// When the dumps differ, with the tables, columns and rows that do.
    #[track_caller]
    pub fn assert_same(&self, later: &Self) {
        assert!(self == later, "the database changed (- before, + after)\n{}", self.diff(later));
    }
}

impl fmt::Debug for Dump {
    /// The first rows of each table, and a digest for the rest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, table) in &self.tables {
            writeln!(f, "{name}: {} rows, sha256 {}", table.rows.len(), table.digest())?;
            for row in table.rows.iter().take(SHOWN) {
                writeln!(f, "  {}", table.show(row))?;
            }
            if table.rows.len() > SHOWN {
                writeln!(f, "  … and {} more", table.rows.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}

impl Table {
    /// A row for people: `a=1 b="x" c=NULL`. The values of a SQLite dump carry their type already.
    fn show(&self, row: &Row) -> String {
        let values = self.columns.iter().zip(row).map(|(column, value)| match value {
            Some(value) => format!("{column}={value:?}"),
            None => format!("{column}=NULL"),
        });
        values.collect::<Vec<_>>().join(" ")
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for value in self.rows.iter().flatten() {
            let length = value.as_ref().map_or(-1, |value| value.len() as i64);
            hash.update(length.to_be_bytes());
            hash.update(value.as_deref().unwrap_or_default());
        }
        hex::encode(&hash.finalize()[..8])
    }
}
