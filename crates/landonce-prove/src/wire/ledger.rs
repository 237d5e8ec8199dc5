//! What all connections of a run share: every statement that came and what answered it, and the faults, with the one place
//! that decides which of them fires at what.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::sql::Facts;
use super::{At, Entry, Fault, Kind};

/// How much of a statement's text is kept.
pub(super) const KEPT_TEXT: usize = 4096;
/// How much text is kept of all statements together before it is cut shorter: a run of millions must not fill the memory.
const ALL_TEXT: usize = 64 << 20;
const SHORT_TEXT: usize = 128;

/// A statement's text and what it does, shared by all its executions.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) text: Arc<str>,
    pub(super) facts: Facts,
}

/// A fault, and how far it is.
#[derive(Debug)]
pub(super) struct Trigger {
    pub(super) fault: Fault,
    /// Taken by a statement: fired, or about to.
    is_taken: AtomicBool,
    /// The statement's place in the ledger.
    at: OnceLock<usize>,
    fired: watch::Sender<bool>,
    released: watch::Sender<bool>,
}

impl Trigger {
    pub(super) fn has_fired(&self) -> bool {
        *self.fired.borrow()
    }

    pub(super) async fn fired(&self) {
        // The sender lives in this very struct: it can't be gone.
        let _ = self.fired.subscribe().wait_for(|fired| *fired).await;
    }

    pub(super) async fn released(&self) {
        let _ = self.released.subscribe().wait_for(|released| *released).await;
    }

    pub(super) fn release(&self) {
        self.released.send_replace(true);
    }

    fn place(&self) -> At {
        match self.fault {
            Fault::Cut(at)
            | Fault::CutAnswer(at)
            | Fault::Refuse(at, _)
            | Fault::Hold(at)
            | Fault::HoldAnswer(at) => at,
        }
    }

    pub(super) fn is_hold(&self) -> bool {
        matches!(self.fault, Fault::Hold(_) | Fault::HoldAnswer(_))
    }

    pub(super) fn is_for_answer(&self) -> bool {
        matches!(self.fault, Fault::CutAnswer(_) | Fault::HoldAnswer(_))
    }
}

/// A fault that a statement has taken: it fires, or is given back.
pub(super) type Charge = Arc<Trigger>;

/// The statements and the faults.
#[derive(Debug)]
pub(super) struct Ledger {
    started: Instant,
    counts_selects: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    records: Vec<Record>,
    triggers: Vec<Charge>,
    sessions: u32,
    writes: u64,
    kept_text: usize,
}

#[derive(Debug)]
struct Record {
    session: u32,
    write: u64,
    text: Arc<str>,
    kind: Kind,
    is_in_transaction: bool,
    tag: Option<Box<str>>,
    sqlstate: Option<Box<str>>,
    sent: Duration,
    answered: Option<Duration>,
}

/// What a statement has been given at its arrival.
#[derive(Debug)]
pub(super) struct Arrival {
    /// Its place in the ledger.
    pub(super) entry: usize,
    /// What fires before the server gets it, and what fires when it is answered.
    pub(super) charges: Vec<Charge>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { started: now(), counts_selects: AtomicBool::new(false), state: Mutex::default() }
    }

    pub(super) fn since_start(&self) -> Duration {
        now().saturating_duration_since(self.started)
    }

    pub(super) fn count_selects(&self, counts: bool) {
        self.counts_selects.store(counts, Ordering::Relaxed);
    }

    pub(super) fn counts_selects(&self) -> bool {
        self.counts_selects.load(Ordering::Relaxed)
    }

    /// The next connection's number.
    pub(super) fn session(&self) -> u32 {
        let mut state = self.state();
        state.sessions += 1;
        state.sessions
    }

    pub(super) fn arm(&self, fault: Fault) -> Charge {
        let trigger = Arc::new(Trigger {
            fault,
            is_taken: AtomicBool::new(false),
            at: OnceLock::new(),
            fired: watch::Sender::new(false),
            released: watch::Sender::new(false),
        });
        self.state().triggers.push(Arc::clone(&trigger));
        trigger
    }

    /// A statement has come.
    pub(super) fn arrive(
        &self,
        session: u32,
        statement: &Prepared,
        is_in_transaction: bool,
        is_write: bool,
    ) -> Arrival {
        let sent = self.since_start();
        let mut state = self.state();
        state.writes += u64::from(is_write);
        let (write, number) = (if is_write { state.writes } else { 0 }, state.records.len() as u64 + 1);
        let text = state.kept(&statement.text);
        let entry = state.records.len();
        state.records.push(Record {
            session,
            write,
            text,
            kind: statement.facts.kind,
            is_in_transaction,
            tag: None,
            sqlstate: None,
            sent,
            answered: None,
        });
        let charges = state.take(|place| match place {
            At::Write(nth) => is_write && write >= nth,
            At::Statement(nth) => number >= nth,
            At::Close(_) => false,
        });
        Arrival { entry, charges }
    }

    /// A client says good-bye.
    pub(super) fn close(&self) -> Vec<Charge> {
        let state = self.state();
        state.take(|place| matches!(place, At::Close(writes) if state.writes >= writes.max(1)))
    }

    /// The charge goes off, at this statement.
    pub(super) fn fire(&self, charge: &Charge, entry: Option<usize>) {
        if let Some(entry) = entry {
            // A charge goes off once.
            let _ = charge.at.set(entry);
        }
        self.state().triggers.retain(|trigger| !Arc::ptr_eq(trigger, charge));
        charge.fired.send_replace(true);
    }

    /// The charge has not gone off and won't at this statement; it waits for the next.
    pub(super) fn give_back(&self, charge: &Charge) {
        let _state = self.state();
        charge.is_taken.store(false, Ordering::Relaxed);
    }

    /// A statement is completed with this tag, or (`None`) has given a part of its rows.
    pub(super) fn answer(&self, entry: usize, tag: Option<&[u8]>) {
        let answered = self.since_start();
        let mut state = self.state();
        if let Some(record) = state.records.get_mut(entry) {
            record.answered = Some(answered);
            if let Some(tag) = tag {
                record.tag = Some(String::from_utf8_lossy(tag).into());
            }
        }
    }

    /// A statement has failed.
    pub(super) fn fail(&self, entry: usize, sqlstate: &str) {
        let answered = self.since_start();
        let mut state = self.state();
        if let Some(record) = state.records.get_mut(entry) {
            record.tag = None;
            record.sqlstate = Some(sqlstate.into());
            record.answered = Some(answered);
        }
    }

    pub(super) fn counts(&self) -> (u64, u64) {
        let state = self.state();
        (state.records.len() as u64, state.writes)
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.state().records.iter().zip(1..).map(|(record, number)| record.entry(number)).collect()
    }

    pub(super) fn fired_at(&self, trigger: &Trigger) -> Option<Entry> {
        let at = *trigger.at.get()?;
        self.state().records.get(at).map(|record| record.entry(at as u64 + 1))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under it panics; what was counted so far would still be what was seen.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the faults that are to fire at a place.
    fn take(&self, is_hit: impl Fn(At) -> bool) -> Vec<Charge> {
        // Mostly there is none, and an empty vector costs nothing.
        let mut taken = Vec::new();
        for trigger in &self.triggers {
            if is_hit(trigger.place()) && !trigger.is_taken.swap(true, Ordering::Relaxed) {
                taken.push(Arc::clone(trigger));
            }
        }
        taken
    }

    fn kept(&mut self, text: &Arc<str>) -> Arc<str> {
        if self.kept_text > ALL_TEXT && text.len() > SHORT_TEXT {
            return text[..text.floor_char_boundary(SHORT_TEXT)].into();
        }
        // Of a prepared statement's executions only the first costs; taking them all for dear is near enough.
        if Arc::strong_count(text) == 1 {
            self.kept_text += text.len();
        }
        Arc::clone(text)
    }
}

impl Record {
    fn entry(&self, statement: u64) -> Entry {
        Entry {
            session: self.session,
            statement,
            write: self.write,
            text: self.text.as_ref().into(),
            kind: self.kind,
            is_in_transaction: self.is_in_transaction,
            tag: self.tag.as_deref().map(Into::into),
            sqlstate: self.sqlstate.as_deref().map(Into::into),
            sent: self.sent,
            answered: self.answered,
        }
    }
}

fn now() -> Instant {
    Instant::now()
}
