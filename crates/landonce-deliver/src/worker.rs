//! A worker: leases messages, hands them over lane by lane, and tells the outbox what became of them.
//!
//! One task, one connection. What it asks of the outbox goes on beside what is being handed over: more is leased before there is
//! nothing left, acknowledgements are recorded in groups while others arrive. Between two events it does, in this order:
//!
//! 1. hand over what may go (`going.rs`): each lane's next message, if the destination's limits let it;
//! 2. ask the outbox one thing (`asking.rs`), the most urgent: a pause, a renewal, what became of messages, more messages;
//! 3. wait until something has happened.

mod asking;
mod flight;
mod going;
mod holdings;
mod hush;
mod line;
mod operation;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use landonce_store::outbox::{Fate, Lease, Verdict};
use tokio::sync::watch;
use tokio::time::Instant;

use self::flight::Flight;
use self::holdings::Holdings;
pub(crate) use self::hush::Hush;
use self::line::Line;
use self::operation::{Operation, Pause};
use crate::desk::Desk;
use crate::error::Error;
use crate::route::Shared;

/// The longest that a worker waits for nothing.
const NEVER: Duration = Duration::from_hours(1);

/// A worker with its connection to the outbox, which `make` makes anew after every failure.
pub(crate) struct Worker<D, M> {
    shared: Arc<Shared>,
    /// Host, process and number.
    name: String,
    make: M,
    desk: Option<D>,
    operation: Option<Operation<D>>,
    lines: Vec<Line>,
    flights: FuturesUnordered<Flight>,
    holdings: Holdings,
    verdicts: Vec<Verdict>,
    /// When the first of them was said.
    said_at: Instant,
    /// Pauses that the outbox doesn't know of yet, by line.
    pauses: BTreeMap<usize, Pause>,
    trouble: Trouble,
    /// Whose turn it is to be asked for, and to be handed over.
    turn: usize,
    has_settled: bool,
    prune_at: Option<Instant>,
    /// Steps of pruning that are left, with `once`.
    prunes: u32,
    stopped_at: Option<Instant>,
}

/// What the connection to the outbox is like.
#[derive(Debug, Default)]
struct Trouble {
    /// It has answered once.
    has_worked: bool,
    /// How many questions in a row have failed.
    failed: u32,
    /// When the next one is asked.
    again_at: Option<Instant>,
    last: Option<landonce::Error>,
}

impl<D: Desk, M: Fn() -> D> Worker<D, M> {
    pub(crate) fn new(shared: Arc<Shared>, name: String, is_first: bool, make: M) -> Self {
        let now = Instant::now();
        let lines = shared.routes.iter().map(|route| Line::new(Arc::clone(route), now)).collect();
        Self {
            prune_at: shared.retention.filter(|_| is_first).map(|_| now),
            prunes: if shared.is_once { 20 } else { u32::MAX },
            shared,
            name,
            desk: Some(make()),
            make,
            operation: None,
            lines,
            flights: FuturesUnordered::new(),
            holdings: Holdings::default(),
            verdicts: Vec::new(),
            said_at: now,
            pauses: BTreeMap::new(),
            trouble: Trouble::default(),
            turn: 0,
            has_settled: false,
            stopped_at: None,
        }
    }

    /// Delivers until it is told to stop; with `once`, until nothing can be leased and nobody else holds anything.
    ///
    /// # Errors
    /// When the outbox couldn't be read at all, or what became of messages couldn't be recorded in the end.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let mut sleep = pin!(tokio::time::sleep(NEVER));
        loop {
            if self.stopped_at.is_none() && *stop.borrow_and_update() {
                self.stopped_at = Some(Instant::now());
            }
            // Listened for before anything is tried, so that what is freed meanwhile isn't missed.
            let mut freed = pin!(shared.freed.notified());
            freed.as_mut().enable();
            let now = Instant::now();
            let going = self.hand_over(now);
            let asking = self.ask(now);
            if self.is_done() {
                return Ok(());
            }
            if let Some(error) = self.given_up() {
                return Err(error);
            }
            let until = going
                .until
                .into_iter()
                .chain(asking)
                .chain(self.gives_up_at())
                .fold(now + NEVER, Instant::min);
            if sleep.deadline() != until {
                sleep.as_mut().reset(until);
            }
            tokio::select! {
                Some(landed) = self.flights.next(), if !self.flights.is_empty() => {
                    self.landed(landed);
                    while let Some(Some(landed)) = self.flights.next().now_or_never() {
                        self.landed(landed);
                    }
                }
                (desk, done) = next(&mut self.operation) => {
                    self.operation = None;
                    self.done(desk, done);
                }
                () = &mut sleep => {}
                () = freed, if going.waits_for_another => {}
                // The other end is dropped when nobody can say stop any more: then nobody does.
                _ = stop.changed(), if self.stopped_at.is_none() && stop.has_changed().is_ok() => {}
            }
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopped_at.is_some()
    }

    fn is_done(&self) -> bool {
        let is_over =
            self.is_stopping() || (self.shared.is_once && self.lines.iter().all(|line| line.is_drained));
        is_over
            && self.flights.is_empty()
            && self.operation.is_none()
            && self.verdicts.is_empty()
            && self.pauses.is_empty()
            && (self.is_stopping() || self.prune_at.is_none())
    }

    /// Says what became of a message; the outbox hears of it with others.
    fn say(&mut self, lease: Lease, fate: Fate) {
        if self.verdicts.is_empty() {
            self.said_at = Instant::now();
        }
        self.verdicts.push(Verdict { lease, fate });
    }
}

/// The question's answer, when there is a question.
async fn next<D>(operation: &mut Option<Operation<D>>) -> (D, operation::Done) {
    match operation {
        Some(operation) => operation.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod book;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod hush_tests;
#[cfg(test)]
mod tests;
