//! Webhooks as they are meant: whose they are, how that is shown, where an event's id is, and what its record has beside its body.
//!
//! What a request becomes is in `taken.rs`: a function of its headers and its body. Clocks, connections and the environment are
//! the server's.

mod check;
mod taken;

use thiserror::Error;

use crate::webhook::{BadSecret, Held, IdFrom, Scheme};

pub(super) use check::resolve;
pub use taken::{NoEvent, Taken};

/// The shortest secret whose bytes are the key: what is shorter is a placeholder, or can be guessed from one signature.
const SHORTEST: usize = 8;

/// A sender's webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    scheme: Scheme,
    /// The names of their environment variables.
    secrets: Vec<String>,
    event_id: EventId,
    added: Vec<Added>,
    group: Option<usize>,
}

/// What a repeat of an event is recognised by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventId {
    /// The sender's id.
    Sender(IdFrom),
    /// The content.
    Content,
}

/// A field that the record has beside those of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub from: AddedFrom,
}

/// What an added field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddedFrom {
    /// The event's id.
    EventId,
    /// A header's value; null where it isn't sent.
    Header(String),
    /// What lies in the body at the end of these names; null where nothing does.
    Field(Vec<String>),
}

/// Why a hook's secrets can't be held. Names the variable, never its value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoSecret {
    /// It isn't in the environment.
    #[error("the environment variable `{0}` isn't set; it holds a secret of the hook")]
    Missing(String),
    /// It is no secret of the scheme.
    #[error("the environment variable `{variable}`: {source}")]
    Bad {
        /// The variable's name.
        variable: String,
        /// What is wrong with its value.
        source: BadSecret,
    },
}

impl Hook {
    /// How the sender shows that a request is its own.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// What a repeat is recognised by.
    pub fn event_id(&self) -> &EventId {
        &self.event_id
    }

    /// The fields that the record has beside those of the body.
    pub fn added(&self) -> &[Added] {
        &self.added
    }

    /// The most events that share a transaction; `None` where each has its own.
    pub fn group(&self) -> Option<usize> {
        self.group
    }

    /// The secrets, as the environment has them.
    ///
    /// # Errors
    /// The first variable that isn't set, or holds no secret of this scheme.
    pub fn hold(&self, environment: impl Fn(&str) -> Option<String>) -> Result<Vec<Held>, NoSecret> {
        let one = |variable: &String| {
            let text = environment(variable).ok_or_else(|| NoSecret::Missing(variable.clone()))?;
            // The other schemes have a least length of their own.
            let is_short = !matches!(self.scheme, Scheme::Standard { .. } | Scheme::Bearer)
                && (1..SHORTEST).contains(&text.trim().len());
            let held = if is_short { Err(BadSecret::Short) } else { self.scheme.secret(&text) };
            held.map_err(|source| NoSecret::Bad { variable: variable.clone(), source })
        };
        self.secrets.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests;
