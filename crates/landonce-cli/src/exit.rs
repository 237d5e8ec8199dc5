//! Exit codes: a promise to scripts.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well; a skipped duplicate is that too.
    Fine,
    /// It ran, and found something that a person should look at.
    Findings,
    /// It could not do what was asked.
    CouldNot,
    /// It was stopped by a signal: 128 and the signal's number, as shells have it.
    Signal(u8),
}

impl Exit {
    /// The code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::CouldNot => 2,
            Self::Signal(number) => 128 + number,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
