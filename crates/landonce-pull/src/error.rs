//! Why nothing could be fetched.

use landonce::Code;

/// Why nothing could be fetched. Holds no secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was declared can't be done.
    #[error("{0}")]
    Declared(String),
    /// The source doesn't answer, or fails, for a reason that passes; it was asked until the time was over.
    #[error("{0}")]
    Away(String),
    /// The source refuses: asking again doesn't help.
    #[error("{0}")]
    Refused(String),
    /// What it answers isn't what was declared, so it is neither records nor an end.
    #[error("{0}")]
    Unreadable(String),
    /// Its parts don't fit together: pages that run in a circle, totals that don't add up.
    #[error("{0}")]
    Inconsistent(String),
    /// The program that is read failed: how, and its last words.
    #[error("{0}")]
    Program(String),
    /// A batch didn't land.
    #[error(transparent)]
    Landing(#[from] landonce::Error),
}

impl Error {
    /// The code: stable, with a page of its own.
    pub fn code(&self) -> Code {
        match self {
            Self::Declared(_) => Code::L0102,
            Self::Away(_) => Code::L1121,
            Self::Refused(_) => Code::L1122,
            Self::Unreadable(_) => Code::L1123,
            Self::Inconsistent(_) => Code::L1124,
            Self::Program(_) => Code::L1125,
            Self::Landing(error) => error.code(),
        }
    }
}
