//! The failures that each kind of server is made to answer with, by the codes that it gives them.

use crate::database::Kind;
use crate::wire::{At, Fault};

/// What the server says, or that it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    what: &'static str,
    /// A SQLSTATE; of MySQL and MariaDB the error's number, which tells apart what their SQLSTATEs don't.
    pub(super) code: &'static str,
    /// Nothing is said: the connection is lost, which clients give this code.
    is_cut: bool,
    /// Tried in the middle of a run too, not at its ends alone.
    pub(super) is_everywhere: bool,
    /// The server asks for the transaction to be run again.
    pub(super) asks_again: bool,
}

impl Refusal {
    /// `a deadlock (40P01)`.
    pub(super) fn words(self) -> String {
        format!("{} ({})", self.what, self.code)
    }

    /// The fault that brings it.
    pub(super) fn fault(self, at: At) -> Fault {
        if self.is_cut { Fault::Cut(at) } else { Fault::Refuse(at, self.code) }
    }

    const fn says(what: &'static str, code: &'static str) -> Self {
        Self { what, code, is_cut: false, is_everywhere: false, asks_again: false }
    }

    const fn cut(code: &'static str) -> Self {
        Self { is_cut: true, is_everywhere: true, ..Self::says("a lost connection", code) }
    }

    const fn asking_again(self) -> Self {
        Self { asks_again: true, ..self }
    }

    const fn everywhere(self) -> Self {
        Self { is_everywhere: true, ..self }
    }
}

/// Passing failures: the same statement would go through the next time.
pub(super) fn passing(kind: Kind) -> &'static [Refusal] {
    const POSTGRES: [Refusal; 4] = [
        Refusal::says("a serialization failure", "40001").asking_again().everywhere(),
        Refusal::says("a deadlock", "40P01").asking_again(),
        Refusal::says("a statement timeout", "57014"),
        Refusal::cut("08006"),
    ];
    const MYSQL: [Refusal; 4] = [
        Refusal::says("a deadlock", "1213").asking_again().everywhere(),
        Refusal::says("a lock wait timeout", "1205").asking_again(),
        Refusal::says("a statement timeout", "1969"),
        Refusal::cut("2013"),
    ];
    match kind {
        Kind::Postgres => &POSTGRES,
        Kind::Mysql => &MYSQL,
        Kind::Sqlite => &[],
    }
}

/// A constraint is violated: the same data will violate it again. And the SQLSTATE that it comes with.
pub(super) fn lasting(kind: Kind) -> (Refusal, &'static str) {
    match kind {
        Kind::Postgres | Kind::Sqlite => (Refusal::says("a violated constraint", "23514"), "23514"),
        Kind::Mysql => (Refusal::says("a violated constraint", "1048"), "23000"),
    }
}
