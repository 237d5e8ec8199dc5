//! Why a proof could not be made. What a pipeline did wrong is never an error: it is a [`crate::Finding`].

/// What went wrong on our side of the proof: the command never got its trial. The message says what, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// One sentence: what, where, what to do. No secret may be in it.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// The same with its cause, which the message doesn't repeat.
    pub(crate) fn because(
        message: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { message: message.into(), source: Some(source.into()) }
    }
}

/// A result whose error is [`Error`].
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The message and its causes, for a report.
    pub(crate) fn whole(&self) -> String {
        let mut whole = self.message.clone();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            whole.push_str(": ");
            whole.push_str(&cause.to_string());
            source = cause.source();
        }
        whole
    }
}
