//! Asking the outbox: what is most urgent first, one thing at a time, again and again when the connection is lost.

use std::sync::atomic::Ordering;
use std::time::Duration;

use landonce_store::outbox::{Fate, Lease, Leased, Verdict};
use tokio::time::Instant;

use super::Worker;
use super::operation::{self, Ask, Done};
use crate::backoff;
use crate::desk::Desk;
use crate::error::Error;
use crate::summary::Event;

/// What became of messages is recorded when so many are together, or after so long, or when nothing else is under way.
const GROUP: usize = 256;
const GROUP_AFTER: Duration = Duration::from_millis(10);
/// The most in one transaction.
const GROUP_MOST: usize = 1_000;
/// With so much unrecorded no more is leased.
const UNRECORDED: usize = 4_000;
/// After a failure: the first wait and the longest.
const FIRST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(5);
/// How many failures in a row are the end, with `once`.
const ENOUGH: u32 = 8;
/// How long a worker that was told to stop tries to record what it knows.
const GRACE: Duration = Duration::from_secs(15);
/// A step of pruning, and how long until the next look when there was less.
const PRUNE: u32 = 1_000;
const PRUNE_NEXT: Duration = Duration::from_secs(1);
const PRUNE_LATER: Duration = Duration::from_mins(10);

impl<D: Desk, M: Fn() -> D> Worker<D, M> {
    /// Asks the most urgent thing, if nothing is being asked. Returns when there is something to ask next.
    pub(super) fn ask(&mut self, now: Instant) -> Option<Instant> {
        if self.operation.is_some() {
            return None;
        }
        if let Some(again_at) = self.trouble.again_at {
            if now < again_at {
                return Some(again_at);
            }
            self.trouble.again_at = None;
        }
        match self.most_urgent(now) {
            Ok(ask) => {
                self.has_settled = matches!(ask, Ask::Settle { .. });
                let desk = self.desk.take().unwrap_or_else(|| (self.make)());
                self.operation = Some(operation::start(desk, ask, self.name.clone()));
                None
            }
            Err(next) => next,
        }
    }

    /// The most urgent thing, or when there will be one.
    fn most_urgent(&mut self, now: Instant) -> Result<Ask, Option<Instant>> {
        let mut next = None;
        let mut later = |at: Instant| next = Some(next.map_or(at, |earlier: Instant| earlier.min(at)));
        // Before messages are given back, or another worker takes them up at once.
        if let Some((line, pause)) = self.pauses.pop_first() {
            let topics = self.lines[line].route.declared.topics.clone();
            return Ok(Ask::Pause { line, topics, pause });
        }
        if let Some((chunk, lease, leases)) = self.holdings.to_renew(now) {
            return Ok(Ask::Renew { chunk, leases, lease });
        }
        self.holdings.renew_at().map(&mut later);
        let hungry = self.hungry(now, &mut later);
        // When both are due they take turns.
        if self.has_settled
            && let Some(at) = hungry
        {
            return Ok(self.want(at));
        }
        if !self.verdicts.is_empty() {
            let due = self.said_at + GROUP_AFTER;
            if self.verdicts.len() >= GROUP || now >= due || self.flights.is_empty() {
                let rest = self.verdicts.split_off(self.verdicts.len().min(GROUP_MOST));
                return Ok(Ask::Settle { verdicts: std::mem::replace(&mut self.verdicts, rest) });
            }
            later(due);
        }
        if let Some(at) = hungry {
            return Ok(self.want(at));
        }
        if let (Some(prune_at), Some(older_than)) = (self.prune_at, self.shared.retention)
            && !self.is_stopping()
            && self.holdings.is_empty()
        {
            if prune_at <= now {
                return Ok(Ask::Prune { older_than, most: PRUNE });
            }
            later(prune_at);
        }
        Err(next)
    }

    /// The destination whose turn it is to be asked for.
    fn hungry(&mut self, now: Instant, later: &mut impl FnMut(Instant)) -> Option<usize> {
        if self.is_stopping() || self.verdicts.len() >= UNRECORDED {
            return None;
        }
        let count = self.lines.len();
        let mut found = None;
        for at in (0..count).map(|nth| (nth + self.turn) % count) {
            let line = &mut self.lines[at];
            let paused = line.route.limits().paused_until(now);
            if let Some(until) = paused {
                if self.shared.is_once && self.holdings.of(at) == 0 {
                    line.is_drained = true;
                }
                later(until);
            } else if line.is_hungry(now) {
                found = found.or(Some(at));
            } else if !line.is_drained && line.ask_at > now {
                later(line.ask_at);
            }
        }
        found
    }

    /// More messages of a destination; or, where there were none, whether there are.
    fn want(&mut self, at: usize) -> Ask {
        self.turn = (at + 1) % self.lines.len();
        let line = &self.lines[at];
        let topics = line.route.declared.topics.clone();
        match (line.is_idle, self.shared.is_once) {
            (true, false) => return Ask::Due { line: at, topics },
            (true, true) if line.is_in_doubt => return Ask::Held { line: at, topics },
            _ => {}
        }
        let lease = line.route.lease();
        Ask::Lease { line: at, topics, lease, most: line.most(), behind: line.behind }
    }

    /// An answer has come.
    pub(super) fn done(&mut self, desk: D, done: Done) {
        let now = Instant::now();
        let failed = match done {
            Done::Paused { told: Ok(()), .. } => None,
            Done::Paused { line, pause, told: Err(error) } => {
                self.pauses.entry(line).or_insert(pause);
                Some(error)
            }
            Done::Renewed { chunk, asked_at, told } => match told {
                Ok(lost) => {
                    self.holdings.renewed(chunk, asked_at);
                    for lease in lost {
                        self.lost(lease);
                    }
                    None
                }
                Err(error) => Some(error),
            },
            Done::Settled { verdicts, told } => match told {
                Ok(lost) => {
                    self.settled(verdicts, &lost, now);
                    None
                }
                Err(error) => {
                    let later = std::mem::replace(&mut self.verdicts, verdicts);
                    self.verdicts.extend(later);
                    Some(error)
                }
            },
            Done::Leased { line, lease, asked_at, told } => match told {
                Ok(leased) => {
                    self.leased(line, lease, asked_at, leased);
                    None
                }
                Err(error) => Some(error),
            },
            Done::Due { line, told } => match told {
                Ok(Some(Duration::ZERO)) => {
                    self.lines[line].wake(now);
                    None
                }
                Ok(due) => {
                    self.lines[line].rest(now, due);
                    None
                }
                Err(error) => Some(error),
            },
            // What somebody else holds comes back when that one is killed: it isn't done with before it is settled.
            Done::Held { line, told } => match told {
                Ok(is_held) => {
                    let line = &mut self.lines[line];
                    line.is_in_doubt = false;
                    line.is_free = !is_held;
                    line.rest(now, None);
                    if line.is_free {
                        line.ask_at = now;
                    }
                    None
                }
                Err(error) => Some(error),
            },
            Done::Pruned { most, told } => match told {
                Ok(pruned) => {
                    self.pruned(pruned >= u64::from(most), now);
                    None
                }
                Err(error) => Some(error),
            },
        };
        match failed {
            None => self.worked(desk),
            Some(error) => self.failed(error, now),
        }
    }

    fn leased(&mut self, at: usize, lease: Duration, asked_at: Instant, leased: Leased) {
        let Leased { messages, next } = leased;
        if messages.is_empty() {
            let line = &mut self.lines[at];
            line.rest(Instant::now(), None);
            if self.shared.is_once && self.holdings.of(at) == 0 {
                // Nobody held anything before it was looked again: so nothing is left.
                line.is_drained = line.is_free;
                line.is_in_doubt = !line.is_free;
                line.ask_at = asked_at;
            }
            return;
        }
        let chunk = self.holdings.add(at, &messages, asked_at, lease);
        self.lines[at].take(messages, chunk, next, asked_at);
    }

    fn lost(&mut self, lease: Lease) {
        if let Some(at) = self.holdings.remove(lease) {
            self.count_lost(at);
            tracing::warn!(id = %lease.id, "a lease is lost: another worker has the message now");
        }
    }

    fn settled(&mut self, verdicts: Vec<Verdict>, lost: &[Lease], now: Instant) {
        for lease in lost {
            self.lost(*lease);
        }
        let mut touched = vec![false; self.lines.len()];
        for Verdict { lease, fate } in verdicts {
            // What was lost is not there any more.
            let Some(at) = self.holdings.remove(lease) else { continue };
            touched[at] = true;
            let route = &self.lines[at].route;
            match fate {
                Fate::Sent { .. } => route.counts.sent.fetch_add(1, Ordering::Relaxed),
                Fate::Again { .. } => route.counts.again.fetch_add(1, Ordering::Relaxed),
                Fate::Untried => continue,
                Fate::Dead { answer } => {
                    let destination = route.declared.name.clone();
                    tracing::warn!(destination, id = %lease.id, answer, "a dead letter");
                    (self.shared.hear)(Event::Dead { destination, id: lease.id, answer });
                    route.counts.dead.fetch_add(1, Ordering::Relaxed)
                }
            };
        }
        // A lane gives nothing while anything of it is held: now it may.
        for (at, is_touched) in touched.into_iter().enumerate() {
            if is_touched && self.lines[at].is_idle && self.holdings.of(at) == 0 {
                self.lines[at].wake(now);
            }
        }
    }

    fn pruned(&mut self, is_full: bool, now: Instant) {
        self.prunes = self.prunes.saturating_sub(1);
        self.prune_at = if self.shared.is_once {
            Some(now).filter(|_| is_full && self.prunes > 0)
        } else {
            Some(now + if is_full { PRUNE_NEXT } else { PRUNE_LATER })
        };
    }

    fn worked(&mut self, desk: D) {
        self.desk = Some(desk);
        self.trouble.has_worked = true;
        if self.trouble.failed > 0 {
            self.trouble.failed = 0;
            self.trouble.last = None;
            tracing::info!("the outbox can be read again");
            (self.shared.hear)(Event::Recovered);
        }
    }

    /// The connection is made anew, after a while; what couldn't be recorded stays to be.
    fn failed(&mut self, error: landonce::Error, now: Instant) {
        let after = backoff::stretched(backoff::doubled(FIRST, MOST, self.trouble.failed));
        self.trouble.failed += 1;
        self.trouble.again_at = Some(now + after);
        tracing::warn!(%error, ?after, "the outbox can't be read");
        (self.shared.hear)(Event::Trouble { told: error.to_string(), after });
        self.trouble.last = Some(error);
        self.desk = None;
    }

    /// Until when a worker that was told to stop tries.
    pub(super) fn gives_up_at(&self) -> Option<Instant> {
        self.stopped_at.map(|stopped_at| stopped_at + GRACE).filter(|at| *at > Instant::now())
    }

    /// The error to end with, when there is no sense in trying on and nothing is under way.
    pub(super) fn given_up(&mut self) -> Option<Error> {
        if !self.flights.is_empty() {
            return None;
        }
        let is_late = self.stopped_at.is_some_and(|stopped_at| stopped_at.elapsed() >= GRACE);
        if is_late && self.operation.is_some() {
            return Some(Error::Silent { held: self.holdings.len() });
        }
        let is_over = match self.stopped_at {
            _ if self.trouble.failed == 0 || self.operation.is_some() => false,
            Some(_) => is_late,
            None => !self.trouble.has_worked || (self.shared.is_once && self.trouble.failed >= ENOUGH),
        };
        if !is_over {
            return None;
        }
        let source = self.trouble.last.take()?;
        let unrecorded =
            self.verdicts.iter().filter(|verdict| !matches!(verdict.fate, Fate::Untried)).count();
        Some(if unrecorded > 0 { Error::Unrecorded { unrecorded, source } } else { Error::Store(source) })
    }
}
