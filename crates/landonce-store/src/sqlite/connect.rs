//! Where to connect: a file, opened to write or to look.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::Session;
use super::errors::during;
use crate::error::{Error, Result};
use crate::seam::Access;

/// How long a writer waits for another one's transaction to end, unless told otherwise.
const BUSY_TIMEOUT: Duration = Duration::from_mins(1);

/// Page caches in KiB. A batch of some ten thousand records stays in memory; a million spill into a temporary file, so
/// that memory is bounded whatever the batch's size. The first also bounds what a sort holds.
const MAIN_CACHE: i32 = 8 * 1024;
const TEMP_CACHE: i32 = 8 * 1024;

/// More statements than a batch needs, so that none is prepared twice.
const STATEMENTS: usize = 64;

/// An SQLite database: a file that may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    path: PathBuf,
    busy_timeout: Duration,
}

impl Database {
    /// The database in a file. Nothing is opened or made yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), busy_timeout: BUSY_TIMEOUT }
    }

    /// The same database, with another limit to waiting for a writer; a minute by default.
    #[must_use]
    pub fn with_busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it to read and write; makes the file if there is none, but not its folder.
    pub fn connect(&self) -> Result<Session> {
        self.open(Access::Write)
    }

    /// Opens it to read: SQLite itself then refuses to change the file, and temporary tables still work. A file that
    /// doesn't exist is a database without tables, and isn't made.
    ///
    /// Looking into a database in WAL mode may leave an empty `-wal` and a `-shm` file beside it, as every reader does;
    /// the next writer takes them away.
    pub fn connect_read_only(&self) -> Result<Session> {
        self.open(Access::ReadOnly)
    }

    /// Opens it for one of both.
    pub fn open(&self, access: Access) -> Result<Session> {
        let connection = self.connection(access).map_err(|error| Error { is_connect: true, ..error })?;
        Ok(Session::new(connection, self.clone(), access))
    }

    pub(super) fn connection(&self, access: Access) -> Result<Connection> {
        let shown = self.path.display();
        let doing = format!("opening the database {shown}");
        if self.path.as_os_str().is_empty() || self.path == Path::new(":memory:") {
            return Err(Error::refused(format!(
                "{doing}: a file is due; what is only in memory is gone when the run ends, and its inbox with it"
            )));
        }
        if self.path.is_dir() {
            return Err(Error::refused(format!("{doing}: it is a folder; name a file in it")));
        }
        // An empty file is what another process has just made, or nothing at all.
        let is_new = std::fs::metadata(&self.path).map_or(true, |file| file.len() == 0);
        let flags = match access {
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Access::ReadOnly if is_new => return self.prepared(stand_in(&doing)?, &doing),
            Access::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        if let Some(folder) =
            self.path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        {
            return Err(Error::refused(format!(
                "{doing}: the folder {} doesn't exist; make it first",
                folder.display()
            )));
        }
        let connection = Connection::open_with_flags(&self.path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(during(&doing))?;
        let connection = self.prepared(connection, &doing)?;
        if access == Access::Write {
            if is_new {
                write_ahead(&connection).map_err(during(&doing))?;
            }
            // A batch that is committed survives a power cut. EXTRA is FULL and, where there is a rollback journal, also
            // syncs the folder once the journal is gone.
            connection.pragma_update(None, "synchronous", "EXTRA").map_err(during(&doing))?;
        }
        Ok(connection)
    }

    fn prepared(&self, connection: Connection, doing: &str) -> Result<Connection> {
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let settings = || {
            connection.busy_timeout(self.busy_timeout)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.pragma_update(None, "cache_size", -MAIN_CACHE)?;
            connection.pragma_update(Some("temp"), "cache_size", -TEMP_CACHE)?;
            // The file isn't looked at before the first read: whether it is a database is told here, not in mid-batch.
            connection.pragma_query_value(None, "schema_version", |_| Ok(()))
        };
        settings().map_err(during(doing))?;
        Ok(connection)
    }
}

/// A database without tables, in place of a file that doesn't exist and must not be made.
fn stand_in(doing: &str) -> Result<Connection> {
    Connection::open_in_memory().map_err(during(doing))
}

/// A database that we make is in WAL mode, so that `status` reads while a run writes. An existing one keeps what its
/// owner has chosen.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
        // Two processes made the file at once: the other one is switching it right now.
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opened_to_look_sqlite_itself_keeps_the_file_and_temporary_tables_work() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::new(folder.path().join("a.db"));
        database.connection(Access::Write).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        let connection = database.connection(Access::ReadOnly).unwrap();
        for sql in
            ["INSERT INTO t VALUES (1)", "CREATE TABLE u (a)", "DROP TABLE t", "PRAGMA user_version = 7"]
        {
            let error = connection.execute_batch(sql).unwrap_err();
            assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::ReadOnly), "{sql}");
        }
        connection
            .execute_batch("BEGIN; CREATE TEMP TABLE s (a); INSERT INTO s VALUES (1); ROLLBACK")
            .unwrap();
    }

    #[test]
    fn what_is_committed_is_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let connection = Database::new(folder.path().join("a.db")).connection(Access::Write).unwrap();
        let of =
            |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((of("synchronous"), of("foreign_keys"), of("busy_timeout")), (3, 1, 60_000));
    }
}
