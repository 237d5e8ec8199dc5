//! Why a statement isn't written: what is wrong, and what to do instead.

/// A statement that can't be said so that it means the same on every store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {fix}")]
pub struct Refused {
    what: String,
    fix: String,
}

impl Refused {
    /// What is refused and why, and what to do; neither ends in a full stop.
    pub fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }

    /// What is refused, and why.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do instead.
    pub fn fix(&self) -> &str {
        &self.fix
    }
}
