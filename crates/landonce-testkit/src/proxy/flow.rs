//! Which answer belongs to which request: requests come in groups, and the server ends its answer to each with a
//! `ReadyForQuery`. A simple query is a group; extended requests are one up to their Sync.
//!
//! The frontend's side counts groups as it sends them and leaves an [`Edit`] for an answer; the backend's side asks of
//! each frame of an answer what to do with it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::fault::Charge;
use super::frame::Frame;

/// A change to the answer of one group.
#[derive(Debug)]
pub(super) enum Edit {
    /// Cut the connection when a COMMIT's completion comes.
    CutAtCommit(Charge),
    /// Cut the connection at the answer's end.
    CutAtEnd(Charge),
    /// Stop when a completion or an error comes.
    Stall(Charge),
    /// Put this frame in the place of the server's error.
    ReplaceError(Bytes),
    /// Leave out the `ReadyForQuery`.
    HideReady,
    /// Leave out the completion: the statement is not the client's.
    HideCompletion,
}

/// What to do with a frame of the server's.
#[derive(Debug)]
pub(super) enum Passing {
    Pass,
    Hide,
    Replace(Bytes),
    /// Cut both sides, and the frame with them.
    Cut(Charge),
    /// Pass it on once the proxy is resumed.
    Stall(Charge),
}

/// The requests and answers of one connection.
#[derive(Debug)]
pub(super) struct Flow {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The group that is being sent. The start-up was group 0.
    sending: u64,
    /// The group that is being answered.
    answering: u64,
    is_simple: bool,
    /// By group, in the order of the groups.
    edits: VecDeque<(u64, Edit)>,
}

impl Flow {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State { sending: 1, answering: 0, is_simple: true, edits: VecDeque::new() }),
        }
    }

    /// Leaves an edit for the answer to the group being sent. To be called before the request goes out.
    pub(super) fn edit(&self, edit: Edit) {
        let mut state = self.state();
        let group = state.sending;
        state.edits.push_back((group, edit));
    }

    /// A statement is being sent.
    pub(super) fn statement(&self, is_simple: bool) {
        self.state().is_simple = is_simple;
    }

    /// The group's end (a simple query, a Sync, a function call) is being sent.
    pub(super) fn end_group(&self) {
        self.state().sending += 1;
    }

    /// What to do with a frame of the answer; and the charges that can't go off any more, at the answer's end.
    pub(super) fn answer(&self, frame: Frame<'_>) -> (Passing, Vec<Charge>) {
        let mut state = self.state();
        match frame.tag {
            b'Z' => return state.end_answer(),
            // CopyInResponse. After an extended request the server ignores the Sync that came along with it, and answers
            // the one after the data. A client doesn't go on before it knows, so that Sync was the latest group's end.
            b'G' if !state.is_simple => state.sending -= 1,
            _ => {}
        }
        let answering = state.answering;
        let hit = state
            .edits
            .iter()
            .position(|(group, edit)| *group == answering && edit.is_for(frame))
            .and_then(|at| state.edits.remove(at));
        let passing = match hit {
            Some((_, Edit::CutAtCommit(charge))) => Passing::Cut(charge),
            Some((_, Edit::Stall(charge))) => Passing::Stall(charge),
            Some((_, Edit::ReplaceError(error))) => Passing::Replace(error),
            Some((group, hide)) => {
                // Notices may come before the completion: it stays until the answer's end.
                state.edits.push_front((group, hide));
                Passing::Hide
            }
            None => Passing::Pass,
        };
        (passing, Vec::new())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn end_answer(&mut self) -> (Passing, Vec<Charge>) {
        let (mut passing, mut unused) = (Passing::Pass, Vec::new());
        while let Some((group, edit)) = self.edits.pop_front() {
            if group > self.answering {
                self.edits.push_front((group, edit));
                break;
            }
            match edit {
                Edit::HideReady => passing = Passing::Hide,
                Edit::CutAtEnd(charge) => passing = Passing::Cut(charge),
                Edit::CutAtCommit(charge) | Edit::Stall(charge) => unused.push(charge),
                Edit::ReplaceError(_) | Edit::HideCompletion => {}
            }
        }
        self.answering += 1;
        (passing, unused)
    }
}

impl Edit {
    fn is_for(&self, frame: Frame<'_>) -> bool {
        match self {
            Self::CutAtCommit(_) => frame.tag == b'C' && frame.body == b"COMMIT\0",
            // CommandComplete, EmptyQueryResponse, PortalSuspended, ErrorResponse, the COPY responses
            Self::Stall(_) => matches!(frame.tag, b'C' | b'I' | b's' | b'E' | b'G' | b'H'),
            Self::ReplaceError(_) => frame.tag == b'E',
            Self::HideCompletion => matches!(frame.tag, b'C' | b'N'),
            Self::HideReady | Self::CutAtEnd(_) => false,
        }
    }
}
