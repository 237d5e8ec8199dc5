//! The faults, and the one place that decides which of them fires at what the proxy has seen.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::wait;

/// What can go wrong on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A new connection is accepted and closed at once.
    CutAtConnect,
    /// Both sides are cut before the server gets the COMMIT: it rolls back.
    CutBeforeCommit,
    /// The server gets the COMMIT and its answer arrives, but isn't passed on; both sides are cut. Doesn't fire at a
    /// COMMIT that the server refuses.
    CutAfterCommit,
    /// The server gets a statement whose text has this in it, does it and, outside a transaction, commits it; where its answer ends,
    /// both sides are cut.
    CutAfterStatement(String),
    /// Both sides are cut before the server gets the n-th statement from now, counted from 1 over all connections: to
    /// sweep over every statement of a run until it no longer fires.
    CutAtStatement(u64),
    /// The same for the n-th frame of the client's, so that a cut can fall between a parse and its execution, or inside
    /// a COPY.
    CutAtFrame(u64),
    /// The server never gets a statement whose text has `matching` in it (in any case); the client gets an error with
    /// this SQLSTATE and a message in Russian. The transaction is then where a refusal leaves it: failed, or, after a
    /// refused COMMIT, rolled back.
    RefuseStatement {
        /// A part of the statement's text.
        matching: String,
        /// Five characters.
        sqlstate: String,
    },
    /// The connection goes silent, open, before the server gets a statement whose text has this in it, until
    /// [`super::Proxy::resume`].
    StallRequest(String),
    /// The same, but the server gets the statement and does it; its answer is what stays away.
    StallAnswer(String),
}

impl Fault {
    /// [`Fault::RefuseStatement`], once.
    pub fn refuse(matching: &str, sqlstate: &str) -> Self {
        Self::RefuseStatement { matching: matching.into(), sqlstate: sqlstate.into() }
    }

    /// Fires so many times instead of once.
    pub fn times(self, times: u64) -> Rule {
        Rule { times, ..self.into() }
    }

    /// Waits until the other one has fired for the first time.
    pub fn after(self, other: &Armed) -> Rule {
        Rule::from(self).after(other)
    }
}

/// A fault, how often it fires, and after what.
#[derive(Debug, Clone)]
pub struct Rule {
    fault: Fault,
    times: u64,
    after: Option<watch::Receiver<u64>>,
}

impl Rule {
    /// Waits until the other one has fired for the first time.
    #[must_use]
    pub fn after(self, other: &Armed) -> Self {
        Self { after: Some(other.fired.clone()), ..self }
    }
}

impl From<Fault> for Rule {
    fn from(fault: Fault) -> Self {
        Self { fault, times: 1, after: None }
    }
}

/// A fault that a proxy holds ready.
#[derive(Debug, Clone)]
pub struct Armed {
    fired: watch::Receiver<u64>,
}

impl Armed {
    /// How often it has fired.
    pub fn fired(&self) -> u64 {
        *self.fired.borrow()
    }

    /// Waits until it has fired at all.
    ///
    /// # Panics
    ///
    /// When it hasn't after so many seconds.
    pub async fn wait(&mut self, seconds: u64) {
        let fired = wait::within(seconds, "the fault to fire", self.fired.wait_for(|count| *count > 0)).await;
        assert!(fired.is_ok(), "the proxy is gone and the fault has not fired");
    }
}

/// What the proxy has seen and may break.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen<'a> {
    Connection,
    Frame,
    Statement { text: &'a str, is_commit: bool },
}

/// What to do about it.
#[derive(Debug)]
pub(super) enum Order {
    /// Cut both sides now.
    Cut,
    /// Cut when the commit is answered.
    CutAtAnswer(Charge),
    /// Cut when the answer ends.
    CutAtEnd(Charge),
    /// Answer with this SQLSTATE.
    Refuse(String),
    /// Forward nothing until resumed.
    StallRequest(Charge),
    /// Pass no answer on until resumed.
    StallAnswer(Charge),
}

/// A fault about to fire: taken from its rule, not yet counted.
#[derive(Debug)]
pub(super) struct Charge {
    rule: usize,
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<Loaded>,
    statements: Vec<String>,
    connections: u64,
}

#[derive(Debug)]
struct Loaded {
    rule: Rule,
    left: u64,
    seen: u64,
    fired: watch::Sender<u64>,
}

impl Faults {
    pub(super) fn arm(&self, rule: Rule) -> Armed {
        let (sender, fired) = watch::channel(0);
        self.state().rules.push(Loaded { left: rule.times, rule, seen: 0, fired: sender });
        Armed { fired }
    }

    /// Which fault fires at this, if any. Those that fire at once are counted here; a [`Charge`] is counted by
    /// [`Faults::fire`].
    pub(super) fn decide(&self, seen: Seen<'_>) -> Option<Order> {
        let mut state = self.state();
        match seen {
            Seen::Connection => state.connections += 1,
            Seen::Statement { text, .. } => state.statements.push(text.to_owned()),
            Seen::Frame => {}
        }
        // Every rule sees everything, so that one that counts doesn't miss what another one took.
        let mut order = None;
        for (at, loaded) in state.rules.iter_mut().enumerate() {
            let is_hit = loaded.is_hit(seen);
            if is_hit && order.is_none() {
                loaded.left -= 1;
                order = Some((at, loaded.rule.fault.clone()));
            }
        }
        let (rule, fault) = order?;
        let charge = Charge { rule };
        Some(match fault {
            Fault::CutAfterCommit => Order::CutAtAnswer(charge),
            Fault::CutAfterStatement(_) => Order::CutAtEnd(charge),
            Fault::StallRequest(_) => Order::StallRequest(charge),
            Fault::StallAnswer(_) => Order::StallAnswer(charge),
            at_once => {
                state.rules[rule].count();
                match at_once {
                    Fault::RefuseStatement { sqlstate, .. } => Order::Refuse(sqlstate),
                    _ => Order::Cut,
                }
            }
        })
    }

    /// The charge has gone off.
    pub(super) fn fire(&self, charge: &Charge) {
        self.state().rules[charge.rule].count();
    }

    /// The charge has not gone off and won't; its rule may fire another time.
    pub(super) fn give_back(&self, charge: &Charge) {
        self.state().rules[charge.rule].left += 1;
    }

    pub(super) fn statements(&self) -> Vec<String> {
        self.state().statements.clone()
    }

    pub(super) fn connections(&self) -> u64 {
        self.state().connections
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it was held would be the kit's own; what was counted so far is still what was seen.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loaded {
    fn count(&self) {
        self.fired.send_modify(|count| *count += 1);
    }

    fn is_hit(&mut self, seen: Seen<'_>) -> bool {
        if self.left == 0 || self.rule.after.as_ref().is_some_and(|other| *other.borrow() == 0) {
            return false;
        }
        match (&self.rule.fault, seen) {
            (Fault::CutAtConnect, Seen::Connection) => true,
            (Fault::CutBeforeCommit | Fault::CutAfterCommit, Seen::Statement { is_commit, .. }) => is_commit,
            (Fault::CutAtStatement(nth), Seen::Statement { .. }) | (Fault::CutAtFrame(nth), Seen::Frame) => {
                self.seen += 1;
                self.seen == *nth
            }
            (
                Fault::RefuseStatement { matching, .. }
                | Fault::CutAfterStatement(matching)
                | Fault::StallRequest(matching)
                | Fault::StallAnswer(matching),
                Seen::Statement { text, .. },
            ) => text.to_lowercase().contains(&matching.to_lowercase()),
            _ => false,
        }
    }
}
