//! The retry table (I6, I7): one pure function from (code, phase) to again, resolve or never.
//!
//! The unit of a retry is the whole transaction, never a statement. *Resolve* is for the one case in which nobody knows:
//! COMMIT was sent and no answer came (X4). SQLSTATEs follow PostgreSQL's appendix A; SQLite's are its extended result
//! codes.

/// A database's code for a failure.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Code {
    /// Five characters, as in the SQL standard. A connection that is gone without a code is 08006.
    SqlState(String),
    /// SQLite's extended result code.
    Sqlite(i32),
    /// Not the database's: landonce itself refused.
    Landonce,
}

/// Where in the transaction a failure happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// COMMIT had not been sent: nothing has landed.
    BeforeCommit,
    /// COMMIT was sent and no answer came: it may have landed.
    CommitUnanswered,
    /// COMMIT was answered with an error: nothing has landed.
    CommitRefused,
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Advice {
    /// Run the whole transaction again.
    Again,
    /// Run the whole transaction again, but only once for this code.
    Once,
    /// Look into the inbox first: it may have landed.
    Resolve,
    /// Run it again only if the caller has said that time-outs are to be retried (57014).
    IfTimeoutsRetried,
    /// The data or the statement is at fault: a retry would fail the same way.
    Never,
    /// The disk is full: no retry helps until somebody makes room.
    NoSpace,
}

/// The table.
pub fn advise(code: &Code, phase: Phase) -> Advice {
    let advice = match code {
        Code::SqlState(state) => sqlstate(state),
        Code::Sqlite(code) => sqlite(*code),
        Code::Landonce => Advice::Never,
    };
    // Without an answer to COMMIT no code tells what happened; with one, the code tells all.
    if phase == Phase::CommitUnanswered { Advice::Resolve } else { advice }
}

fn sqlstate(state: &str) -> Advice {
    match state {
        // serialization failure, deadlock; lock not available (our own lock_timeout)
        "40001" | "40P01" | "55P03" => Advice::Again,
        // the outcome of the statement is unknown, but before COMMIT that is a rollback
        "40003" => Advice::Again,
        // too many connections, cannot connect now (starting up), shutting down, crashed, idle time-outs
        "53300" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Advice::Again,
        // a failover left us on a read-only server: the next connection may find the primary
        "25006" => Advice::Again,
        "57014" => Advice::IfTimeoutsRetried,
        "53100" => Advice::NoSpace,
        "XX000" => Advice::Once,
        // the server (or a pooler) dropped a statement or a table under us: a fresh transaction finds the new one
        "26000" => Advice::Again,
        _ if state.starts_with("08") => Advice::Again,
        _ => Advice::Never,
    }
}

fn sqlite(code: i32) -> Advice {
    match code & 0xff {
        // SQLITE_BUSY, SQLITE_LOCKED
        5 | 6 => Advice::Again,
        // SQLITE_FULL
        13 => Advice::NoSpace,
        // SQLITE_IOERR: once; a disk that came back
        10 => Advice::Once,
        // SQLITE_SCHEMA: the schema changed under a prepared statement
        17 => Advice::Again,
        _ => Advice::Never,
    }
}

/// Whether a code says that a row, not the statement, is at fault: the row can be left out and the others written.
pub fn blames_row(code: &Code) -> bool {
    match code {
        // 22: data exception; 23: integrity constraint; 44: WITH CHECK OPTION; P0001: a trigger's RAISE
        Code::SqlState(state) => {
            state.starts_with("22") || state.starts_with("23") || state.starts_with("44") || state == "P0001"
        }
        // SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG
        Code::Sqlite(code) => matches!(code & 0xff, 18..=20),
        Code::Landonce => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(code: &str) -> Advice {
        advise(&Code::SqlState(code.into()), Phase::BeforeCommit)
    }

    #[test]
    fn retried_classes() {
        for code in ["40001", "40P01", "08006", "08001", "08003", "57P01", "53300", "55P03", "25006"] {
            assert_eq!(state(code), Advice::Again, "{code}");
        }
        assert_eq!(state("XX000"), Advice::Once);
        assert_eq!(state("57014"), Advice::IfTimeoutsRetried);
    }

    #[test]
    fn never_retried_classes() {
        for code in [
            "23505", "23502", "23514", "23P90", "22001", "22003", "22P02", "22012", "42P01", "42601", "0A000",
        ] {
            assert_eq!(state(code), Advice::Never, "{code}");
        }
    }

    #[test]
    fn an_unanswered_commit_is_resolved_whatever_the_code() {
        for code in ["08006", "57P01", "40001"] {
            assert_eq!(advise(&Code::SqlState(code.into()), Phase::CommitUnanswered), Advice::Resolve);
        }
        assert_eq!(advise(&Code::SqlState("40001".into()), Phase::CommitRefused), Advice::Again);
    }

    #[test]
    fn sqlite_codes_map_to_the_same_classes() {
        let advice = |code| advise(&Code::Sqlite(code), Phase::BeforeCommit);
        assert_eq!(advice(5), Advice::Again); // SQLITE_BUSY
        assert_eq!(advice(517), Advice::Again); // SQLITE_BUSY_SNAPSHOT
        assert_eq!(advice(13), Advice::NoSpace);
        assert_eq!(advice(1555), Advice::Never); // primary key: the signal, not a failure
        assert_eq!(advice(2067), Advice::Never); // unique index: the same
    }
}
