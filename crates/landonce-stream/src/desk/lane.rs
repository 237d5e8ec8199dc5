//! A lane: a part that is ours, with one batch that fills and at most one that is on its way.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use landonce_core::bad_record::BadRecord;
use landonce_core::pipeline::{Cut, Message, Shape, Shaped};
use tokio::sync::Notify;

use super::filling::{Filling, Sealed};
use crate::decode::{Decode, Undecoded};
use crate::source::{PartName, Room};

/// What all lanes of a desk have in common.
pub(super) struct Rules {
    pub(super) shape: Shape,
    pub(super) decode: Option<Arc<dyn Decode>>,
    pub(super) cut: Cut,
    /// The longest record, in bytes.
    pub(super) limit: u32,
    /// The most bytes that all lanes together hold.
    pub(super) most: u64,
    /// How many they hold.
    pub(super) held: AtomicU64,
    /// The desk ends: what is there is landed without waiting for more.
    pub(super) is_draining: AtomicBool,
    /// The end of a part, as it is seen now, is where to stop.
    pub(super) until_end: bool,
}

/// A part that is ours.
pub(super) struct Lane {
    pub(super) name: PartName,
    pub(super) epoch: u64,
    rules: Arc<Rules>,
    state: Mutex<State>,
    /// Wakes whoever lands: there is something, or it is over.
    pub(super) wake: Notify,
    is_gone: AtomicBool,
}

struct State {
    filling: Filling,
    /// Bytes of the batch on its way.
    flying: Option<u64>,
    has_ended: bool,
    text: Vec<u8>,
    decoded: Decoded,
}

#[derive(Default)]
struct Decoded {
    key: Vec<u8>,
    value: Vec<u8>,
}

/// What whoever lands is to do.
pub(super) enum Look {
    /// A batch is due.
    Due,
    /// Look again then, or when woken.
    At(Instant),
    /// Look again when woken.
    Idle,
    /// Nothing more is to be landed.
    Over,
}

impl Lane {
    pub(super) fn new(name: PartName, epoch: u64, rules: Arc<Rules>) -> Self {
        let state = State {
            filling: Filling::new(rules.limit),
            flying: None,
            has_ended: false,
            text: Vec::new(),
            decoded: Decoded::default(),
        };
        Self {
            name,
            epoch,
            rules,
            state: Mutex::new(state),
            wake: Notify::new(),
            is_gone: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message.
    pub(super) fn take(&self, message: &Message<'_>) -> Room {
        if self.is_gone() || self.rules.is_draining.load(Ordering::Acquire) {
            return Room::Gone;
        }
        let mut state = self.state();
        let was_empty = state.filling.is_empty();
        let before = if was_empty { 0 } else { state.filling.size() };
        if let Err(why) = state.put(message, &self.rules) {
            return Room::Later(why);
        }
        state.has_ended = false;
        let held = self.rules.held.fetch_add(state.filling.size() - before, Ordering::AcqRel);
        let is_full = state.filling.is_full(&self.rules.cut);
        drop(state);
        if was_empty || is_full {
            self.wake.notify_one();
        }
        if is_full || held > self.rules.most { Room::Full } else { Room::More }
    }

    /// Whether more may be handed over.
    pub(super) fn has_room(&self) -> bool {
        !self.rules.is_crowded() && !self.state().filling.is_full(&self.rules.cut)
    }

    /// Moves the position though nothing has come.
    pub(super) fn jump(&self, next: u64, mark: Option<Vec<u8>>) {
        let mut state = self.state();
        if state.filling.is_empty() && !self.is_gone() {
            state.filling.jump(next, mark);
            self.rules.held.fetch_add(state.filling.size(), Ordering::AcqRel);
        }
        drop(state);
        self.wake.notify_one();
    }

    /// The source has nothing more of the part at the moment.
    pub(super) fn end(&self) {
        self.state().has_ended = true;
        self.wake.notify_one();
    }

    /// Whether the source was at its end and all before it has landed.
    pub(super) fn is_finished(&self) -> bool {
        let state = self.state();
        state.has_ended && state.filling.is_empty() && state.flying.is_none()
    }

    /// What is to be done now.
    pub(super) fn look(&self) -> Look {
        if self.is_gone() {
            return Look::Over;
        }
        let state = self.state();
        let is_draining = self.rules.is_draining.load(Ordering::Acquire);
        let Some(due_at) = state.filling.due_at(&self.rules.cut) else {
            return if is_draining { Look::Over } else { Look::Idle };
        };
        let is_due = is_draining
            || (self.rules.until_end && state.has_ended)
            || state.filling.is_full(&self.rules.cut)
            || self.rules.is_crowded()
            || Instant::now() >= due_at;
        if is_due { Look::Due } else { Look::At(due_at) }
    }

    /// Cuts the batch, which is on its way from here on.
    pub(super) fn seal(&self) -> Option<Sealed> {
        let mut state = self.state();
        if self.is_gone() || state.filling.is_empty() {
            return None;
        }
        state.flying = Some(state.filling.size());
        Some(state.filling.seal("", ""))
    }

    /// The batch isn't on its way any more.
    pub(super) fn arrived(&self) {
        let flying = self.state().flying.take();
        self.rules.held.fetch_sub(flying.unwrap_or_default(), Ordering::AcqRel);
    }

    /// It isn't ours any more: what hasn't landed is dropped, and nothing more is taken.
    pub(super) fn leave(&self) {
        let mut state = self.state();
        self.is_gone.store(true, Ordering::Release);
        if !state.filling.is_empty() {
            self.rules.held.fetch_sub(state.filling.size(), Ordering::AcqRel);
            state.filling = Filling::new(self.rules.limit);
        }
        drop(state);
        self.wake.notify_one();
    }

    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }
}

impl Rules {
    fn is_crowded(&self) -> bool {
        self.held.load(Ordering::Acquire) > self.most
    }
}

impl State {
    /// Puts a message into the batch; what can't be told now is an error with the reason.
    fn put(&mut self, message: &Message<'_>, rules: &Rules) -> Result<(), String> {
        if let Some(value) = message.value.filter(|value| value.len() > rules.limit as usize) {
            // Kept as a bad record by its length; nobody reads it first.
            self.filling.record(message, value);
            return Ok(());
        }
        let shaped = match &rules.decode {
            None => rules.shape.shape(message, &mut self.text),
            Some(decode) => match self.decoded.of(decode.as_ref(), message) {
                Ok(decoded) => rules.shape.shape(&decoded, &mut self.text),
                Err(Undecoded::Bad(why)) => Err(why),
                Err(Undecoded::Later(why)) => return Err(why),
            },
        };
        match shaped {
            Ok(Shaped::Record) => self.filling.record(message, &self.text),
            Ok(Shaped::Nothing) => self.filling.nothing(message),
            Err(why) => self.filling.bad(message, &why),
        }
        Ok(())
    }
}

impl Decoded {
    /// The message with its value, and perhaps its key, as JSON text.
    fn of<'m>(&'m mut self, decode: &dyn Decode, message: &Message<'m>) -> Result<Message<'m>, Undecoded> {
        self.key.clear();
        self.value.clear();
        let mut decoded = *message;
        if let Some(key) = message.key
            && decode.key(message.topic, key, &mut self.key).map_err(|why| why.under("key"))?
        {
            decoded.key = Some(&self.key);
        }
        if let Some(value) = message.value {
            decode.value(message.topic, value, &mut self.value)?;
            decoded.value = Some(&self.value);
        }
        Ok(decoded)
    }
}

impl Undecoded {
    fn under(self, place: &str) -> Self {
        match self {
            Self::Bad(why) if why.field.is_empty() => Self::Bad(BadRecord { field: place.to_owned(), ..why }),
            other => other,
        }
    }
}
