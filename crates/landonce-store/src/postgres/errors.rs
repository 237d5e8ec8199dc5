//! What the server or the wire said, as the store's one error: the code decides, the words are for people.
//!
//! A server's words can carry the row's values: DETAIL always does and is never shown, and the messages of class 22
//! quote the value at their end, which is cut off.

use std::error::Error as _;

use landonce_core::retry::{Code, Phase};
use tokio_postgres::error::{DbError, Severity};

use super::link::Lost;
use crate::error::Error;

/// A connection that is gone without a code.
const CONNECTION_FAILURE: &str = "08006";

/// An error of the driver, with what was being done.
pub(super) fn failed(error: &tokio_postgres::Error, lost: &Lost, doing: &str) -> Error {
    let (code, said, name) = if let Some(db) = error.as_db_error() {
        (Code::SqlState(db.code().code().to_owned()), words(db), name(db))
    } else {
        let (code, said) = lost_or_misused(error, lost);
        (code, said, None)
    };
    let advice = match &code {
        Code::SqlState(state) => advice(state),
        _ => "",
    };
    let message =
        if doing.is_empty() { format!("{said}{advice}") } else { format!("{doing}: {said}{advice}") };
    Error { code, phase: Phase::BeforeCommit, message, name, is_connect: false, source: None }
}

/// The phase of a failed COMMIT. Only an error that leaves the session alive says that it didn't happen: a session that
/// was told to end can have committed just before.
pub(super) fn commit_phase(error: &tokio_postgres::Error) -> Phase {
    let is_answer = error.as_db_error().is_some_and(|db| {
        let state = db.code().code();
        let is_fatal = match db.parsed_severity() {
            Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
            None => false,
        };
        !is_fatal && !state.starts_with("08") && !state.starts_with("57P") && state != "40003"
    });
    if is_answer { Phase::CommitRefused } else { Phase::CommitUnanswered }
}

/// The server's message and code, without the row's values.
pub(super) fn words(db: &DbError) -> String {
    let state = db.code().code();
    let message = db.message();
    let shown = if state.starts_with("22") { without_value(message) } else { message };
    format!("{shown} ({state})")
}

/// The constraint, column or type that the server named.
pub(super) fn name(db: &DbError) -> Option<String> {
    db.constraint().or_else(|| db.column()).or_else(|| db.datatype()).map(str::to_owned)
}

/// How far a COPY had come: its row, from 0, and which of our temporary tables' columns. Only its context tells, in any
/// language: `COPY landonce_stage, line 57, column c3`. A hint, never what decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CopiedTo {
    pub(super) row: Option<usize>,
    pub(super) column: Option<usize>,
}

/// How far a failed COPY had come.
pub(super) fn copied_to(error: &tokio_postgres::Error) -> CopiedTo {
    error.as_db_error().and_then(DbError::where_).map(copied_in).unwrap_or_default()
}

fn copied_in(context: &str) -> CopiedTo {
    // A trigger's own context stands before it.
    let Some(line) = context.lines().rfind(|line| line.starts_with("COPY ")) else {
        return CopiedTo::default();
    };
    let words = || line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let row = words().filter_map(|word| word.parse::<usize>().ok()).next_back();
    let column = words().filter_map(|word| word.strip_prefix('c')?.parse().ok()).next_back();
    CopiedTo { row: row.and_then(|line| line.checked_sub(1)), column }
}

/// Messages of class 22 end in `: "the value"`; names come before, without a colon.
fn without_value(message: &str) -> &str {
    message.find(": ").map_or(message, |at| &message[..at])
}

fn lost_or_misused(error: &tokio_postgres::Error, lost: &Lost) -> (Code, String) {
    let connection_failure = || Code::SqlState(CONNECTION_FAILURE.to_owned());
    if error.is_closed() {
        return match lost.get() {
            // 57P01 and its like reach the connection, not the query.
            Some((code, said)) => (code.clone(), format!("the connection is gone: {said}")),
            None => (connection_failure(), format!("the connection is gone ({CONNECTION_FAILURE})")),
        };
    }
    let said = chain(error);
    match error.source().and_then(|source| source.downcast_ref::<std::io::Error>()) {
        Some(io)
            if !matches!(io.kind(), std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData) =>
        {
            (connection_failure(), format!("{said} ({CONNECTION_FAILURE})"))
        }
        _ => (Code::Landonce, said),
    }
}

/// What ended the connection's task, for the queries that find it gone.
pub(super) fn cause_of_loss(error: &tokio_postgres::Error) -> (Code, String) {
    match error.as_db_error() {
        Some(db) => (Code::SqlState(db.code().code().to_owned()), words(db)),
        None => (
            Code::SqlState(CONNECTION_FAILURE.to_owned()),
            format!("{} ({CONNECTION_FAILURE})", chain(error)),
        ),
    }
}

/// The driver keeps what happened in the sources of its error.
pub(super) fn chain(error: &tokio_postgres::Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        said = format!("{said}: {cause}");
        source = cause.source();
    }
    said
}

fn advice(state: &str) -> &'static str {
    match state {
        "42704" => "; make the type first (geometry is PostGIS's: CREATE EXTENSION postgis)",
        "53100" => "; the server's disk is full: make room and run again",
        "42P10" => {
            "; the target has no unique index on the identity's columns that ON CONFLICT can use (a view with INSTEAD OF \
             triggers can't be written to this way)"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_copy_is_found_in_any_language() {
        let to = |row, column| CopiedTo { row, column };
        assert_eq!(copied_in("COPY landonce_stage, line 57, column c3"), to(Some(56), Some(3)));
        assert_eq!(copied_in("COPY landonce_rows, Zeile 2, Spalte c12"), to(Some(1), Some(12)));
        assert_eq!(copied_in("PL/pgSQL function f() line 9 at RAISE\nCOPY t, line 4"), to(Some(3), None));
        assert_eq!(copied_in("SQL statement \"SELECT 1\""), CopiedTo::default());
        assert_eq!(copied_in("COPY t"), CopiedTo::default());
    }

    #[test]
    fn values_at_the_end_of_a_message_are_cut_off() {
        for (said, shown) in [
            ("invalid input value for enum mood: \"secret\"", "invalid input value for enum mood"),
            ("date/time field value out of range: \"1-1-1\"", "date/time field value out of range"),
            ("value too long for type character varying(5)", "value too long for type character varying(5)"),
            (
                "invalid byte sequence for encoding \"UTF8\": 0x00",
                "invalid byte sequence for encoding \"UTF8\"",
            ),
        ] {
            assert_eq!(without_value(said), shown);
        }
    }
}
