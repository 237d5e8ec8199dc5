//! Reads a SQLite database whole, in one read transaction of a connection of its own.
//!
//! A value has its type in its text, as SQL writes it: `1`, `1.0`, `'1'` and `x'31'` are four values. What a run that was
//! killed has left half done is rolled back by the first who opens the file: here, as it would be by the next run.

mod catalog;

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use self::catalog::Found;
use super::name;
use super::row::{self, Writer};
use super::{Snapshot, Table};
use crate::error::{Error, Result};

/// How long another writer may take.
const BUSY: std::time::Duration = std::time::Duration::from_secs(30);

/// Reads everything into files in this folder, which exists and is empty.
///
/// A file that isn't there is an empty database: to open it would make it.
///
/// Fails when the file isn't a database, when another holds its lock for long, and when the disk is full.
pub fn read(file: &Path, folder: &Path) -> Result<Snapshot> {
    let failed = |error| Error::because(format!("reading {} failed", file.display()), error);
    if !file.exists() {
        return Ok(Snapshot::default());
    }
    // Not read-only: then a journal that a killed run has left couldn't be rolled back.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    connection.execute_batch("PRAGMA query_only = ON; BEGIN").map_err(failed)?;
    let catalog = catalog::read(&connection).map_err(failed)?;
    let mut snapshot = Snapshot {
        tables: std::collections::BTreeMap::new(),
        sequences: catalog.sequences,
        prepared: Vec::new(),
        objects: catalog.objects,
    };
    for (number, found) in catalog.tables.into_iter().enumerate() {
        let name = name::join([found.name.as_str()]);
        let (file, rows) = rows(&connection, &found, &name, Writer::create(folder, number)?)?;
        let Found { columns, key, unique, incarnation, .. } = found;
        snapshot.tables.insert(name, Table { columns, rows, key, unique, incarnation, file });
    }
    Ok(snapshot)
}

fn rows(connection: &Connection, found: &Found, name: &str, mut writer: Writer) -> Result<(PathBuf, u64)> {
    let failed = |error| Error::because(format!("reading the rows of {name} failed"), error);
    let columns: Vec<String> = found
        .rowid
        .iter()
        .map(|rowid| (*rowid).to_owned())
        .chain(found.columns.iter().map(|column| name::quote(&column.name)))
        .collect();
    let query = format!("SELECT {} FROM main.{}", columns.join(", "), name::quote(&found.name));
    let mut statement = connection.prepare(&query).map_err(failed)?;
    let mut cursor = statement.query([]).map_err(failed)?;
    let mut line = Vec::new();
    while let Some(row) = cursor.next().map_err(failed)? {
        line.clear();
        let skipped = usize::from(found.rowid.is_some());
        if found.rowid.is_some() {
            literal(row.get_ref(0).map_err(failed)?, &mut line);
        }
        for column in 0..found.columns.len() {
            line.push(b'\t');
            literal(row.get_ref(column + skipped).map_err(failed)?, &mut line);
        }
        line.push(b'\n');
        writer.lines(&line)?;
    }
    writer.finish()
}

/// A value as SQL writes it. The shortest digits that read back as the same double end in `.0` where they could be an
/// integer's.
fn literal(value: ValueRef<'_>, line: &mut Vec<u8>) {
    match value {
        ValueRef::Null => line.extend(row::NULL),
        ValueRef::Integer(number) => line.extend(number.to_string().bytes()),
        ValueRef::Real(number) => line.extend(format!("{number:?}").bytes()),
        ValueRef::Text(text) => {
            line.push(b'\'');
            row::escape(text, line);
            line.push(b'\'');
        }
        ValueRef::Blob(bytes) => {
            line.extend(b"x'");
            line.extend(hex::encode(bytes).bytes());
            line.push(b'\'');
        }
    }
}
