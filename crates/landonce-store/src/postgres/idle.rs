//! Connections that are kept between batches, where batches come often and are small: a connection costs as much as one of them.

use std::sync::{Arc, Mutex, PoisonError};

use super::Session;

/// Sessions that nobody uses now, in no transaction.
#[derive(Clone)]
pub(super) struct Idle {
    sessions: Arc<Mutex<Vec<Session>>>,
    most: usize,
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Idle").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Idle {
    pub(super) fn new(most: usize) -> Self {
        Self { sessions: Arc::default(), most }
    }

    /// One that hasn't ended meanwhile.
    pub(super) fn take(&self) -> Option<Session> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| !session.is_closed());
        sessions.pop()
    }

    /// Keeps one, unless enough are kept, or it isn't fit to be used again.
    pub(super) fn put(&self, session: Session) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() < self.most && !session.is_closed() && !session.is_begun {
            sessions.push(session);
        }
    }
}
