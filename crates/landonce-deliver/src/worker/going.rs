//! Handing over: each lane's next message, one at a time; and what an answer means for the message and for those behind it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use landonce_store::outbox::{Fate, Lease, Parcel};
use tokio::time::Instant;

use super::flight::{self, Landed, Lane};
use super::operation::Pause;
use super::{NEVER, Worker};
use crate::backoff;
use crate::desk::Desk;
use crate::destination::Answer;
use crate::limits::{Ended, Wait};
use crate::summary::Event;

/// What keeps messages from going.
#[derive(Debug, Default)]
pub(super) struct Going {
    /// The time, until then.
    pub(super) until: Option<Instant>,
    /// Others that are under way, perhaps another worker's.
    pub(super) waits_for_another: bool,
}

impl<D: Desk, M: Fn() -> D> Worker<D, M> {
    /// Hands over what may go now.
    pub(super) fn hand_over(&mut self, now: Instant) -> Going {
        let mut going = Going::default();
        let (count, turn) = (self.lines.len(), self.turn);
        for at in (0..count).map(|nth| (nth + turn) % count) {
            if self.lines[at].ready.is_empty() {
                continue;
            }
            let paused = self.lines[at].route.limits().paused_until(now);
            if self.is_stopping() || paused.is_some() {
                self.give_back_all(at);
                continue;
            }
            if self.trouble.failed > 0 {
                // What is acknowledged now could not be recorded.
                continue;
            }
            while !self.lines[at].ready.is_empty() {
                let line = &self.lines[at];
                let most = line.route.declared.destination.takes().max(1).min(line.ready.len());
                let admitted = line.route.limits().admit(now, most);
                match admitted {
                    Ok(most) => self.start(at, most, now),
                    Err(Wait::Until(until)) => {
                        going.until = Some(going.until.map_or(until, |earlier| earlier.min(until)));
                        break;
                    }
                    Err(Wait::ForAnother) => {
                        going.waits_for_another = true;
                        break;
                    }
                }
            }
        }
        going
    }

    /// Starts to hand over the next messages of up to so many lanes.
    fn start(&mut self, at: usize, most: usize, now: Instant) {
        let (mut parcels, mut lanes) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut until = now + NEVER;
        while parcels.len() < most
            && let Some(mut lane) = self.lines[at].ready.pop_front()
        {
            let Some(parcel) = lane.parcels.pop_front() else { continue };
            self.lines[at].waiting -= 1;
            let chunk = self.holdings.chunk(lane.chunk);
            match chunk.filter(|_| self.holdings.has(lease(&parcel))) {
                Some(chunk) => {
                    until = until.min(chunk.until);
                    parcels.push(parcel);
                    lanes.push(lane);
                }
                // Somebody else has it now, and what is behind it must wait for that.
                None => self.give_back(at, &lane),
            }
        }
        let route = Arc::clone(&self.lines[at].route);
        if parcels.is_empty() {
            route.ended(&Ended::Unused);
            return;
        }
        self.flights.push(flight::start(at, route, parcels, lanes, until));
    }

    /// A handing over has ended.
    pub(super) fn landed(&mut self, landed: Landed) {
        let Landed { line: at, parcels, lanes, answers } = landed;
        let route = Arc::clone(&self.lines[at].route);
        let Some(answers) = answers else {
            route.ended(&Ended::Unused);
            self.shared.freed.notify_waiters();
            tracing::warn!(
                destination = route.declared.name,
                "leases ran out before their messages were handed over"
            );
            for (parcel, lane) in parcels.iter().zip(lanes) {
                self.say(lease(parcel), Fate::Untried);
                self.give_back(at, &lane);
            }
            return;
        };
        let lasting = route.ended(&ended(&answers));
        self.shared.freed.notify_waiters();
        if let Some(lasting) = lasting {
            self.pause(at, lasting, &answers);
        }
        let now = Instant::now();
        let mut answers = answers.into_iter();
        for (parcel, lane) in parcels.into_iter().zip(lanes) {
            let answer = answers.next().unwrap_or_else(|| Answer::Later {
                told: "the destination said nothing of it".to_owned(),
                after: None,
                is_for_all: false,
            });
            let told = match &answer {
                Answer::Later { told, .. } => told.clone(),
                Answer::Taken { .. } | Answer::Never { .. } => String::new(),
            };
            let fate = self.fate(at, &parcel, answer, now);
            self.tell_failed(at, &parcel, &told, &fate, now);
            tracing::debug!(destination = route.declared.name, id = %parcel.id, ?fate, "handed over");
            let is_done_with = matches!(fate, Fate::Sent { .. } | Fate::Dead { .. });
            self.say(lease(&parcel), fate);
            if is_done_with && !lane.parcels.is_empty() {
                self.lines[at].ready.push_back(lane);
            } else {
                self.give_back(at, &lane);
            }
        }
    }

    /// Tells of an attempt that failed and has a next one, now and then. A dead letter is told of when the outbox knows.
    fn tell_failed(&self, at: usize, parcel: &Parcel, answer: &str, fate: &Fate, now: Instant) {
        let route = &self.lines[at].route;
        let next = match fate {
            Fate::Sent { .. } | Fate::Dead { .. } => return,
            Fate::Again { after, .. } => *after,
            Fate::Untried => route.limits().paused_until(now).map_or(Duration::ZERO, |until| until - now),
        };
        if let Some(left_out) = route.tells() {
            tracing::info!(
                destination = route.declared.name,
                topic = parcel.topic,
                id = %parcel.id,
                attempt = parcel.attempts.saturating_add(1),
                answer,
                ?next,
                left_out,
                "an attempt failed"
            );
        }
    }

    /// What an answer means for a message.
    fn fate(&self, at: usize, parcel: &Parcel, answer: Answer, now: Instant) -> Fate {
        let retry = &self.lines[at].route.declared.policy.retry;
        let (told, after, is_for_all) = match answer {
            Answer::Taken { told } => return Fate::Sent { answer: told },
            Answer::Never { told } => return Fate::Dead { answer: told },
            Answer::Later { told, after, is_for_all } => (told, after, is_for_all),
        };
        let held =
            self.holdings.chunk_of(lease(parcel)).map_or(Duration::ZERO, |chunk| now - chunk.leased_at);
        let is_too_old = parcel.age + held >= retry.deadline;
        let is_last = !is_for_all && parcel.attempts.saturating_add(1) >= retry.attempts;
        if is_too_old || is_last {
            return Fate::Dead { answer: told };
        }
        if is_for_all {
            // The destination pauses; this message has done nothing to be tried less often for.
            return Fate::Untried;
        }
        Fate::Again { after: backoff::wait(retry, parcel.attempts, after), answer: told }
    }

    /// The destination pauses: here at once, elsewhere as soon as the outbox knows.
    fn pause(&mut self, at: usize, lasting: Duration, answers: &[Answer]) {
        let reason = answers.iter().rev().find_map(|answer| match answer {
            Answer::Later { told, .. } | Answer::Never { told } => Some(told.clone()),
            Answer::Taken { .. } => None,
        });
        let reason = reason.unwrap_or_default();
        let destination = self.lines[at].route.declared.name.clone();
        tracing::warn!(destination, ?lasting, reason, "the destination pauses");
        (self.shared.hear)(Event::Paused { destination, lasting, reason: reason.clone() });
        self.pauses.insert(at, Pause { until: Instant::now() + lasting, reason });
    }

    /// Gives back what is left of a lane, untried.
    pub(super) fn give_back(&mut self, at: usize, lane: &Lane) {
        self.lines[at].waiting -= lane.parcels.len();
        for parcel in &lane.parcels {
            self.say(lease(parcel), Fate::Untried);
        }
    }

    fn give_back_all(&mut self, at: usize) {
        while let Some(lane) = self.lines[at].ready.pop_front() {
            self.give_back(at, &lane);
        }
    }

    /// A lease turned out to be lost, or is settled; what it means for its destination's counts is the caller's to say.
    pub(super) fn count_lost(&self, at: usize) {
        self.lines[at].route.counts.lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// A message's lease.
pub(super) fn lease(parcel: &Parcel) -> Lease {
    Lease { id: parcel.id, fence: parcel.fence }
}

/// What answers mean for the destination as a whole.
fn ended(answers: &[Answer]) -> Ended {
    let mut asked = None;
    let mut is_taken = false;
    for answer in answers {
        match answer {
            Answer::Later { is_for_all: true, after, .. } => {
                asked = asked.max(Some(after.unwrap_or_default()));
            }
            Answer::Taken { .. } => is_taken = true,
            Answer::Later { .. } | Answer::Never { .. } => {}
        }
    }
    match (asked, is_taken) {
        (Some(asked), _) => Ended::ForAll(Some(asked)),
        (None, true) => Ended::Taken,
        (None, false) => Ended::Failed,
    }
}
