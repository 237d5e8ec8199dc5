//! Rows of a SQLite query, on a thread of its own. The file is opened for reading only; one statement sees one moment.

use std::path::Path;
use std::time::Duration;

use landonce_core::json::Tape;
use landonce_core::pipeline::QueryFeed;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::bound::{self, Bound};
use super::mark::Mark;
use super::reader::{Failure, Rows};
use super::row::{Cell, Columns, Row, double};
use crate::error::Error;

/// How long a writer is waited for.
const BUSY: Duration = Duration::from_secs(30);
/// Steps of SQLite's machine between two looks whether anybody still listens.
const STEPS: i32 = 100_000;

/// Reads all rows.
pub(super) fn read(path: &Path, feed: &QueryFeed, since: Option<&Bound>, rows: &Rows) {
    let ended = rows_of(path, feed, since, rows);
    // Nobody listening is no fault.
    let _ = rows.blocking_send(ended.map(|()| None));
}

fn rows_of(path: &Path, feed: &QueryFeed, since: Option<&Bound>, to: &Rows) -> Result<(), Failure> {
    let place = path.display().to_string();
    let failed = |error: rusqlite::Error| explained(&place, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    let listener = to.clone();
    connection.progress_handler(STEPS, Some(move || listener.is_closed())).map_err(failed)?;
    let mut statement = connection.prepare(&feed.sql(|_| "?".to_owned())).map_err(failed)?;
    // An attached database, a temporary table, a setting: the file's mode doesn't keep from those.
    if !statement.readonly() {
        return Err(Error::Refused(format!(
            "{place}: the statement writes; the database is only read, so write nothing in `source.query.sql`"
        ))
        .into());
    }
    let names = statement.column_names().map(str::to_owned).collect();
    let columns = Columns::new(feed, names)?;
    let values = bound::values(feed, since).into_iter().map(value).collect::<Result<Vec<_>, _>>()?;
    let mut found = statement.query(rusqlite::params_from_iter(values)).map_err(failed)?;
    let mut tape = Tape::default();
    while let Some(row) = found.next().map_err(failed)? {
        let mut cells = Vec::with_capacity(columns.count());
        for at in 0..columns.count() {
            cells.push(row.get_ref(at).map_err(failed)?);
        }
        let mark = match columns.since() {
            None => None,
            Some(at) => mark(cells[at])
                .map_err(|why| Error::Unreadable(format!("{place}: source.query.since.column: {why}")))?,
        };
        let text = columns.record(cells.into_iter().map(cell), &mut tape);
        if to.blocking_send(Ok(Some(Row { text, mark }))).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

fn cell(value: ValueRef<'_>) -> Cell<'_> {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Number(number.to_string()),
        ValueRef::Real(number) => double(number),
        ValueRef::Text(text) => Cell::Text(text),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes),
    }
}

/// A value of the growing column. Texts have the order of their bytes; numbers and texts in one column are no order to go on in.
fn mark(value: ValueRef<'_>) -> Result<Option<Mark>, String> {
    Ok(match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(Mark::Number(number.into())),
        ValueRef::Real(number) if number.is_finite() => Some(Mark::Number(number.floor() as i128)),
        ValueRef::Text(text) => {
            let text = std::str::from_utf8(text).map_err(|_| "a value isn't UTF-8".to_owned())?;
            Some(Mark::Text(text.to_owned()))
        }
        ValueRef::Real(_) | ValueRef::Blob(_) => return Err("a value is neither number nor text".to_owned()),
    })
}

fn value(bound: Bound) -> Result<Value, Error> {
    Ok(match bound {
        Bound::Number(number) => Value::Integer(i64::try_from(number).map_err(|_| {
            Error::Declared(format!("source.query: {number} is beyond the integers that SQLite has"))
        })?),
        Bound::Text(text) => Value::Text(text),
    })
}

fn explained(place: &str, error: &rusqlite::Error) -> Failure {
    let told = format!("{place}: {error}");
    let is_passing = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OperationInterrupted)
    );
    if is_passing {
        return Error::Away(told).into();
    }
    if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) {
        return Error::Refused(format!(
            "{told}; the database is only read: write nothing in `source.query.sql`"
        ))
        .into();
    }
    Error::Refused(told).into()
}
