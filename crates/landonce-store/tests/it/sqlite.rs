//! SQLite keeps the contract; and what only SQLite can get wrong: files, locks, affinities, collations, its triggers.

mod files;
mod joined;
mod tables;

use std::path::PathBuf;

use landonce_store::sqlite::{Database, Session};
use rusqlite::types::ValueRef;

use crate::conformance::{Bench, Dialect, every_promise};

every_promise!(fresh);

/// A folder of one test's own, with a database in it.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
}

pub(crate) async fn fresh() -> Folder {
    Folder { folder: tempfile::tempdir().unwrap() }
}

impl Folder {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("a.db")
    }

    pub(crate) fn database(&self) -> Database {
        Database::new(self.path())
    }

    /// The user's own connection.
    pub(crate) fn open(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    /// The names of the files that are there.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Bench for Folder {
    type Connection = Session;
    const DIALECT: Dialect = Dialect::Sqlite;

    async fn connect(&mut self) -> Session {
        self.database().connect().unwrap()
    }

    async fn connect_to_look(&mut self) -> Session {
        self.database().connect_read_only().unwrap()
    }

    async fn run(&mut self, sql: &str) {
        self.open().execute_batch(sql).unwrap();
    }

    async fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        rows(&self.open(), sql)
    }
}

pub(crate) fn rows(connection: &rusqlite::Connection, sql: &str) -> Vec<Vec<String>> {
    let mut statement = connection.prepare(sql).unwrap();
    let width = statement.column_count();
    let rows =
        statement.query_map([], |row| (0..width).map(|at| Ok(shown(row.get_ref(at)?))).collect()).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

fn shown(cell: ValueRef<'_>) -> String {
    match cell {
        ValueRef::Null => "∅".to_owned(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => value.to_string(),
        ValueRef::Text(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        ValueRef::Blob(bytes) => hex::encode(bytes),
    }
}
