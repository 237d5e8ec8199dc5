//! What SQLite said, as the store's one error: the extended result code decides, the words are for people.
//!
//! SQLite's own messages name tables, columns and constraints, never a row's values, so they can be shown whole.

use landonce_core::retry::{Code, Phase};

use crate::error::Error;

/// SQLITE_IOERR, the one family of codes after which nobody knows whether a COMMIT has reached the disk.
const IOERR: i32 = 10;

/// Turns the driver's errors into ours, with what was being done: for `map_err`.
pub(super) fn during(doing: &str) -> impl FnOnce(rusqlite::Error) -> Error + '_ {
    move |error| failed(error, doing)
}

/// An error of the driver, with what was being done.
pub(super) fn failed(error: rusqlite::Error, doing: &str) -> Error {
    let (code, said) = match &error {
        rusqlite::Error::SqliteFailure(cause, said) => {
            (Some(cause.extended_code), said.clone().unwrap_or_else(|| cause.to_string()))
        }
        // Its own Display shows the statement, which is long and says nothing to whoever runs a pipeline.
        rusqlite::Error::SqlInputError { error: cause, msg, .. } => (Some(cause.extended_code), msg.clone()),
        other => (None, other.to_string()),
    };
    let name = code.and_then(|_| named(&said));
    let message = match code {
        Some(code) => format!("{doing}: {said} ({code}){}", advice(code)),
        None => format!("{doing}: {said}"),
    };
    Error {
        code: code.map_or(Code::Landonce, Code::Sqlite),
        phase: Phase::BeforeCommit,
        message,
        name,
        is_connect: false,
        source: Some(Box::new(error)),
    }
}

/// An error of the driver in its own words, for whoever says what was being done.
pub(super) fn said(error: rusqlite::Error) -> Error {
    let error = failed(error, "");
    let message = error.message.trim_start_matches(": ").to_owned();
    Error { message, ..error }
}

/// The phase of a failed COMMIT. SQLite answers every COMMIT, but after a failed write or sync the answer isn't worth much.
pub(super) fn commit_phase(error: &Error) -> Phase {
    match error.code {
        Code::Sqlite(code) if code & 0xff != IOERR => Phase::CommitRefused,
        _ => Phase::CommitUnanswered,
    }
}

/// The column, constraint or index that a message names.
fn named(said: &str) -> Option<String> {
    let behind = |mark: &str| said.find(mark).map(|at| &said[at + mark.len()..]);
    let name = behind("constraint failed: ")
        .or_else(|| said.starts_with("cannot store ").then(|| behind(" column ")).flatten())?;
    let name = name.strip_prefix("index '").and_then(|name| name.strip_suffix('\'')).unwrap_or(name);
    Some(name.to_owned())
}

fn advice(code: i32) -> &'static str {
    match code {
        // SQLITE_READONLY_ROLLBACK, SQLITE_READONLY_RECOVERY
        776 | 264 => {
            return "; a writer was cut off in mid-transaction, and only one that may write can restore the file: any run does";
        }
        _ => {}
    }
    match code & 0xff {
        5 | 6 => "; another process holds the database's lock and did not let go in time",
        8 => "; the file, its folder or the connection doesn't allow writing",
        13 => "; the disk is full: make room and run again",
        14 => "; look whether the file and its folder may be read and written",
        26 => "; the file is there but is no SQLite database",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(sql: &str) -> Error {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE \"order\"(id INTEGER PRIMARY KEY, a TEXT NOT NULL, b TEXT, n INTEGER,
                   CONSTRAINT positive CHECK (n > 0), UNIQUE (a, n)) STRICT;
                 CREATE UNIQUE INDEX folded ON \"order\"(lower(b));
                 INSERT INTO \"order\" VALUES (1, 'a', 'secret', 1);",
            )
            .unwrap();
        failed(connection.execute_batch(sql).unwrap_err(), "writing")
    }

    #[test]
    fn the_constraint_is_named_and_no_value_is_shown() {
        for (values, code, name) in [
            ("2, 'a', 'other secret', 1", 2067, "order.a, order.n"),
            ("3, 'b', 'SECRET', 1", 2067, "folded"),
            ("4, NULL, 'x', 1", 1299, "order.a"),
            ("5, 'secret', 'x', -1", 275, "positive"),
            ("6, 'x', 'x', 'secret'", 3091, "order.n"),
        ] {
            let error = error_of(&format!("INSERT INTO \"order\" VALUES ({values})"));
            assert_eq!(error.code, Code::Sqlite(code), "{error}");
            assert_eq!(error.name.as_deref(), Some(name), "{error}");
            assert!(!error.to_string().contains("ecret"), "{error}");
            assert!(landonce_core::retry::blames_row(&error.code));
        }
    }

    #[test]
    fn a_commit_that_met_a_broken_disk_is_unanswered_and_any_other_is_refused() {
        let with = |code| Error { code: Code::Sqlite(code), ..Error::refused("") };
        assert_eq!(commit_phase(&with(1034)), Phase::CommitUnanswered); // SQLITE_IOERR_FSYNC
        assert_eq!(commit_phase(&with(787)), Phase::CommitRefused); // a deferred foreign key
        assert_eq!(commit_phase(&with(5)), Phase::CommitRefused);
    }

    #[test]
    fn a_statement_that_is_wrong_is_not_shown_whole() {
        let error = error_of("SELECT 'secret' FROM nowhere");
        assert_eq!(error.to_string(), "writing: no such table: nowhere (1)");
    }
}
