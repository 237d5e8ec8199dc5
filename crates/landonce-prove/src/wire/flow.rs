//! Which answer belongs to which request of one connection, and where its transaction stands.
//!
//! The frontend's side puts down what it expects before it sends; the backend's side asks of each frame of an answer what
//! to do with it. After an error the server skips everything up to the next Sync, and so does this queue. During a COPY
//! FROM the server ignores a Sync, and counts the one after the data.

mod answer;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::ledger::{Charge, Ledger};
use super::sql::Facts;

/// The requests and answers of one connection.
#[derive(Debug)]
pub(super) struct Flow {
    state: Mutex<State>,
}

/// What to do with a frame of the server's.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Pass it on, and all that was kept before it.
    Pass,
    /// Keep it until it is known whether the client may see it.
    Keep,
    /// It isn't for the client.
    Hide,
    /// This instead.
    Replace(Bytes),
    /// The statements (by their place in the ledger) are answered: these go off, before the frame passes.
    Fire(Vec<(Charge, usize)>),
}

/// An answer to come.
#[derive(Debug)]
enum Expect {
    /// To Parse, Bind, Describe or Close, by its tag.
    Step(u8),
    Execute(Running),
    /// To a simple query or a function call.
    Query(Running),
    /// To a query of the proxy's own.
    Ours,
    /// The `ReadyForQuery` of the start-up or of a Sync.
    Ready {
        is_hidden: bool,
    },
    /// None: here the client has ended the data of a COPY.
    CopyEnd,
}

/// A statement that is being executed.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// Its place in the ledger.
    pub(super) entry: usize,
    /// Whether a block is open after it, if it changes that.
    pub(super) opens: Option<bool>,
    pub(super) is_commit: bool,
    /// The server is made to fail instead; its error becomes this.
    pub(super) refusal: Option<(Charge, &'static str)>,
    /// What goes off when it is answered.
    pub(super) charges: Vec<Charge>,
    /// The `ReadyForQuery` of this query isn't for the client: one of ours follows.
    pub(super) hides_ready: bool,
    pub(super) has_failed: bool,
}

#[derive(Debug)]
struct State {
    ledger: Arc<Ledger>,
    queue: VecDeque<Expect>,
    /// `I`, `T` or `E`, as the answers so far tell.
    status: u8,
    /// The server takes the data of a COPY whose end the client hasn't sent.
    is_copying: bool,
    /// The statement that was answered last: an error at the Sync is its.
    last: Option<usize>,
    /// What goes off when the implicit transaction has been committed.
    at_ready: Vec<(Charge, usize)>,
    /// The answers of that transaction are kept from the client.
    keeps: bool,
    /// A block is open behind what has been sent.
    is_open: bool,
    /// Something sent in the transaction that is open there may have written.
    has_written: bool,
}

/// What a statement finds when it comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) is_in_transaction: bool,
    pub(super) is_write: bool,
}

impl Flow {
    pub(super) fn new(ledger: Arc<Ledger>) -> Self {
        let state = State {
            ledger,
            queue: VecDeque::from([Expect::Ready { is_hidden: false }]),
            status: b'I',
            is_copying: false,
            last: None,
            at_ready: Vec::new(),
            keeps: false,
            is_open: false,
            has_written: false,
        };
        Self { state: Mutex::new(state) }
    }

    /// A statement has come: whether it counts as a write there.
    pub(super) fn place(&self, facts: Facts, is_simple: bool) -> Place {
        let mut state = self.state();
        let is_in_transaction = state.is_open;
        let is_select_counted = facts.selects && state.ledger.counts_selects();
        // A COMMIT of what is known to have failed is a ROLLBACK.
        let has_failed = state.status == b'E' && !state.awaits_statements();
        let commits_writes = facts.commits_earlier && state.has_written && !has_failed;
        state.has_written |= is_select_counted;
        state.has_written = facts.leaves_written.unwrap_or(state.has_written);
        state.is_open = facts.opens.unwrap_or(state.is_open);
        if is_simple && !state.is_open {
            state.has_written = false;
        }
        Place { is_in_transaction, is_write: facts.writes || commits_writes || is_select_counted }
    }

    /// A Parse, Bind, Describe or Close is being sent.
    pub(super) fn step(&self, tag: u8) {
        self.state().queue.push_back(Expect::Step(tag));
    }

    /// An Execute is being sent.
    pub(super) fn execute(&self, running: Running) {
        self.state().queue.push_back(Expect::Execute(running));
    }

    /// A simple query or a function call is being sent.
    pub(super) fn query(&self, running: Running) {
        self.state().queue.push_back(Expect::Query(running));
    }

    /// A query of the proxy's own is being sent. Its `ReadyForQuery` is for the client.
    pub(super) fn ours(&self) {
        self.state().queue.push_back(Expect::Ours);
    }

    /// A Sync is being sent.
    pub(super) fn sync(&self, is_hidden: bool) {
        let mut state = self.state();
        if state.is_copying {
            return;
        }
        if !state.is_open {
            state.has_written = false;
        }
        state.queue.push_back(Expect::Ready { is_hidden });
    }

    /// A CopyDone or CopyFail is being sent.
    pub(super) fn copy_end(&self) {
        let mut state = self.state();
        state.is_copying = false;
        state.queue.push_back(Expect::CopyEnd);
    }

    /// A statement won't be sent.
    pub(super) fn forget(&self, running: Running) {
        self.state().drop_unanswered(Expect::Query(running));
    }

    /// What to do with a frame of an answer.
    pub(super) fn answer(&self, tag: u8, body: &[u8]) -> Verdict {
        self.state().answer(tag, body)
    }

    /// The connection has ended: what hasn't gone off is given back.
    pub(super) fn end(&self) {
        let mut state = self.state();
        while let Some(expect) = state.queue.pop_front() {
            state.drop_unanswered(expect);
        }
        state.give_back_at_ready();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
