//! What batches share: places at work, the keys under way, room for bodies, and the gate before every COMMIT. All of it is bounded,
//! and what is beyond a bound is told to come again; nothing waits.

mod gate;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use landonce::Code;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;
use crate::problem::Problem;
pub(super) use gate::Gate;

/// Who delivers to which pipeline.
type Share = (String, String);
/// A pipeline and a batch of it.
type Key = (String, String);

/// What all batches share.
#[derive(Debug)]
pub(crate) struct Desk {
    places: Arc<Semaphore>,
    shares: Arc<Mutex<HashMap<Share, usize>>>,
    per_pipeline: usize,
    keys: Arc<Mutex<HashSet<Key>>>,
    spooled: Arc<AtomicU64>,
    most_spooled: u64,
    gate: Gate,
}

impl Desk {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            places: Arc::new(Semaphore::new(limits.concurrency)),
            shares: Arc::default(),
            per_pipeline: limits.per_pipeline,
            keys: Arc::default(),
            spooled: Arc::default(),
            most_spooled: limits.spool,
            gate: Gate::new(),
        }
    }

    /// A place for a batch, from its first byte to its outcome.
    pub(super) fn place(&self, who: &str, pipeline: &str) -> Result<Place, Problem> {
        let share = (who.to_owned(), pipeline.to_owned());
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let count = shares.entry(share.clone()).or_default();
        if *count >= self.per_pipeline {
            let told = format!("{count} batches of this pipeline are at work for `{who}`; no more at once");
            return Err(Problem::passing(StatusCode::TOO_MANY_REQUESTS, Code::L1032, told, 1));
        }
        let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() else {
            let told = "as many batches are at work as the server takes";
            return Err(Problem::passing(StatusCode::SERVICE_UNAVAILABLE, Code::L1032, told, 1));
        };
        *count += 1;
        Ok(Place { share, shares: Arc::clone(&self.shares), room: None, _permit: permit })
    }

    /// The key of a batch, unless it is under way already.
    pub(super) fn key(&self, pipeline: &str, id: &str) -> Result<UnderWay, Problem> {
        let key = (pipeline.to_owned(), id.to_owned());
        if !self.keys.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone()) {
            let told = "another request is landing the same batch; its outcome is known in a moment";
            return Err(Problem::passing(StatusCode::CONFLICT, Code::L1031, told, 1));
        }
        Ok(UnderWay { key, keys: Arc::clone(&self.keys) })
    }

    /// Room for a body: none yet.
    pub(super) fn room(&self) -> Room {
        Room { taken: 0, all: Arc::clone(&self.spooled), most: self.most_spooled }
    }

    /// What stands between a batch and its COMMIT.
    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// How many batches are at work.
    pub(crate) fn len(&self) -> usize {
        self.gate.len()
    }

    /// Waits until no batch is at work.
    pub(crate) async fn is_empty(&self) {
        self.gate.is_empty().await;
    }

    /// Lets no COMMIT be sent any more; how many batches were undone by that.
    pub(crate) fn shut(&self) -> usize {
        self.gate.shut()
    }
}

/// A batch's place.
#[derive(Debug)]
pub(super) struct Place {
    share: Share,
    shares: Arc<Mutex<HashMap<Share, usize>>>,
    room: Option<Room>,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// Keeps the room of the body as long as the place.
    pub(super) fn holds(&mut self, room: Room) {
        self.room = Some(room);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = shares.get_mut(&self.share) {
            *count -= 1;
            if *count == 0 {
                shares.remove(&self.share);
            }
        }
    }
}

/// A key that is under way.
#[derive(Debug)]
pub(super) struct UnderWay {
    key: Key,
    keys: Arc<Mutex<HashSet<Key>>>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// Room that a body takes on the disk.
#[derive(Debug, Default)]
pub(super) struct Room {
    taken: u64,
    all: Arc<AtomicU64>,
    most: u64,
}

impl Room {
    /// Takes more of it.
    pub(super) fn more(&mut self, bytes: u64) -> Result<(), Problem> {
        let before = self.all.fetch_add(bytes, Ordering::Relaxed);
        self.taken += bytes;
        if before + bytes > self.most {
            let told = "the bodies that are arriving take all the room there is for them";
            return Err(Problem::passing(StatusCode::SERVICE_UNAVAILABLE, Code::L1032, told, 5));
        }
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk() -> Desk {
        Desk::new(&Limits { concurrency: 2, per_pipeline: 1, spool: 10, ..Limits::default() })
    }

    #[test]
    fn places_are_bounded_and_given_back() {
        let desk = desk();
        let one = desk.place("a", "p").unwrap();
        assert_eq!(desk.place("a", "p").unwrap_err().status, 429);
        let _two = desk.place("b", "p").unwrap();
        assert_eq!(desk.place("c", "p").unwrap_err().status, 503);
        drop(one);
        assert!(desk.place("a", "p").is_ok());
    }

    #[test]
    fn a_key_is_under_way_once() {
        let desk = desk();
        let one = desk.key("p", "k").unwrap();
        assert_eq!(desk.key("p", "k").unwrap_err().status, 409);
        assert!(desk.key("q", "k").is_ok());
        drop(one);
        assert!(desk.key("p", "k").is_ok());
    }

    #[test]
    fn room_is_bounded_and_given_back_also_by_one_who_asked_for_too_much() {
        let desk = desk();
        let mut one = desk.room();
        one.more(8).unwrap();
        let mut two = desk.room();
        assert_eq!(two.more(3).unwrap_err().status, 503);
        drop(two);
        one.more(2).unwrap();
        drop(one);
        desk.room().more(10).unwrap();
    }
}
