//! What a store can fail with: a code, the phase it failed in, and advice from the one retry table.
//!
//! Codes decide, never message texts (they come in every language, and wrapped).

use landonce_core::retry::{self, Advice, Code, Phase};

/// A store's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of the database, the connection to it, or what was asked of it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The code that decides (a SQLSTATE, or an SQLite extended result code).
    pub code: Code,
    /// Where in the transaction it happened.
    pub phase: Phase,
    /// What failed, without secrets: `what: the database's own words (code)`.
    pub message: String,
    /// The constraint or column that the database named, if any.
    pub name: Option<String>,
    /// It failed while connecting: the place, the credentials or the network are at fault, not the batch.
    pub is_connect: bool,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A failure found by landonce itself, not by the database (bad URL, a name too long …). Never retried.
    pub fn refused(message: impl Into<String>) -> Self {
        Self {
            code: Code::Landonce,
            phase: Phase::BeforeCommit,
            message: message.into(),
            name: None,
            is_connect: false,
            source: None,
        }
    }

    /// The same failure, in another phase.
    #[must_use]
    pub fn in_phase(mut self, phase: Phase) -> Self {
        self.phase = phase;
        self
    }

    /// The same failure, with what was being done put before the message.
    #[must_use]
    pub fn while_doing(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// What to do about it: the retry table's answer.
    pub fn advice(&self) -> Advice {
        retry::advise(&self.code, self.phase)
    }
}
