//! Why nothing could be delivered at all. What becomes of single messages is no error: it is in the outbox.

use landonce_core::spec::SpecError;

/// Why nothing could be delivered at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's words.
        source: std::io::Error,
    },
    /// The file doesn't parse.
    #[error("{path}: {source}")]
    Spec {
        /// The file.
        path: String,
        /// What is wrong, and where.
        source: SpecError,
    },
    /// The file parses, and what it says can't be.
    #[error("{path}: {fault}")]
    Declared {
        /// The file.
        path: String,
        /// What is wrong.
        fault: Fault,
    },
    /// The outbox's database can't be reached, or refuses.
    #[error("the outbox can't be read: {0}")]
    Store(#[from] landonce::Error),
    /// A worker ended unasked: a bug. What it held is delivered by others when its leases have run out.
    #[error(
        "a worker ended unasked ({0}); what it held is delivered when its leases have run out. Please report this"
    )]
    Worker(String),
    /// The outbox's database says nothing, for longer than a stop waits.
    #[error(
        "the store doesn't answer: what became of up to {held} messages may not be recorded. Those that were sent are sent again, each \
         with the same id"
    )]
    Silent {
        /// How many messages were held.
        held: usize,
    },
    /// Messages were sent, and what the receiver said of them could not be recorded.
    #[error(
        "what became of {unrecorded} messages could not be recorded: {source}. They will be sent again, each with the same id"
    )]
    Unrecorded {
        /// How many.
        unrecorded: usize,
        /// The database's last words.
        source: landonce::Error,
    },
}

/// What is wrong with a key's value. Never holds the value of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {told}")]
pub struct Fault {
    /// The key, with those that it is in: `destinations.crew-app.http.url`.
    pub key: String,
    /// What is wrong, and what to do.
    pub told: String,
}

impl Fault {
    /// A fault of a key.
    pub(crate) fn new(key: impl Into<String>, told: impl Into<String>) -> Self {
        Self { key: key.into(), told: told.into() }
    }

    /// The same fault, of a key inside of `outer`.
    pub(crate) fn within(mut self, outer: &str) -> Self {
        self.key = format!("{outer}.{}", self.key);
        self
    }
}
