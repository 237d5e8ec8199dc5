//! Why an audit could not be made. What is wrong in the audited code is a [`crate::Finding`].

/// What went wrong: a path that isn't there, a database that can't be reached, a rule that doesn't exist.
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
