//! Why a stream can't be consumed any further. What passes is waited for, and is no error.

use landonce::Code;

/// Why a stream can't be consumed any further. Holds no secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source can't be opened as it is declared.
    #[error("{0}")]
    Declared(String),
    /// The broker refuses, or has never answered.
    #[error("{0}")]
    Broker(String),
    /// What stands at the place that was landed last isn't what was landed: the stream was made anew, or cut.
    #[error("{0}")]
    Recreated(String),
    /// Messages that were not landed yet aren't there any more.
    #[error("{0}")]
    Lost(String),
    /// The stored position is none of this source.
    #[error("{0}")]
    Position(String),
    /// A batch didn't land, for a reason that doesn't pass.
    #[error(transparent)]
    Landing(#[from] landonce::Error),
    /// A bug.
    #[error("a bug in landonce: {0}. Please report it")]
    Internal(String),
}

impl Error {
    /// The code: stable, with a page of its own.
    pub fn code(&self) -> Code {
        match self {
            Self::Declared(_) => Code::L1101,
            Self::Broker(_) => Code::L1102,
            Self::Recreated(_) => Code::L1103,
            Self::Lost(_) => Code::L1104,
            Self::Position(_) => Code::L1105,
            Self::Landing(error) => error.code(),
            Self::Internal(_) => Code::L0901,
        }
    }
}
