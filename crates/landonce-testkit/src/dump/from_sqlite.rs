//! A SQLite database's dump. Each value is written as its SQL literal, so that 1, 1.0, '1' and x'31' stay four things.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Dump, Table};

/// Dumps every user table as of one moment, on a connection of its own that can't write. Only what a crash has left half
/// done in the file is undone first, as the database's next user would do.
///
/// # Panics
///
/// When the file can't be read as a database.
pub fn sqlite(path: impl AsRef<Path>) -> Dump {
    let path = path.as_ref();
    let dump = match read(path, OpenFlags::SQLITE_OPEN_READ_ONLY) {
        // There is a journal to roll back, which only a writer may.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
            read(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        }
        dump => dump,
    };
    dump.unwrap_or_else(|error| panic!("dumping {}: {error}", path.display()))
}

fn read(path: &Path, how: OpenFlags) -> rusqlite::Result<Dump> {
    let connection = Connection::open_with_flags(path, how)?;
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.execute_batch("PRAGMA query_only = on; BEGIN")?;
    let names: Vec<String> = connection
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut dumped = Vec::new();
    for name in names {
        let mut select = connection.prepare(&format!("SELECT * FROM \"{}\"", name.replace('"', "\"\"")))?;
        let columns: Vec<String> = select.column_names().map(Into::into).collect();
        let mut table = Table { columns, rows: Vec::new() };
        let width = table.columns.len();
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let values = (0..width).map(|at| row.get_ref(at).map(literal)).collect::<Result<_, _>>()?;
            table.rows.push(values);
        }
        drop(rows);
        dumped.push((name, table));
    }
    Ok(Dump::new(dumped))
}

fn literal(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        // Rust's own spelling reads back as the same double, and always has a point or an exponent.
        ValueRef::Real(number) => Some(format!("{number:?}")),
        ValueRef::Text(bytes) => Some(match str::from_utf8(bytes) {
            Ok(text) => format!("'{}'", text.replace('\'', "''")),
            Err(_) => format!("cast(x'{}' as text)", hex::encode(bytes)),
        }),
        ValueRef::Blob(bytes) => Some(format!("x'{}'", hex::encode(bytes))),
    }
}
