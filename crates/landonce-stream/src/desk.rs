//! The desk: takes parts in the store, cuts what comes into batches, lands them, and tells what has landed.
//!
//! Every part has a lane (`lane`): one batch that fills, on the source's thread, and one on its way, in a task of the runtime
//! (`landing`). [`crate::source`] is the contract with whoever drives it.

mod filling;
mod landing;
mod lane;
mod taking;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use landonce::{Outcome, Pipeline, Store};
use landonce_core::pipeline::Message;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::decode::Decode;
use crate::error::Error;
use crate::source::{PartName, Room, Start};
use crate::tally::Tally;
use lane::{Lane, Rules};

/// How long the database waits in the middle of a batch for a worker that says nothing more, before it lets go of the part: whoever
/// takes the part over waits for that transaction's end.
const SILENCE: Duration = Duration::from_secs(30);

/// How a desk works.
#[derive(Clone)]
pub struct Settings {
    /// The most transactions at once; SQLite has one whatever this says.
    pub at_once: usize,
    /// The most bytes of messages in memory.
    pub memory: u64,
    /// How long transactions under way are waited for when their part goes elsewhere, or the worker ends.
    pub patience: Duration,
    /// It ends when every part that it has is landed to its end.
    pub until_end: bool,
    /// What makes JSON of bytes that aren't.
    pub decode: Option<Arc<dyn Decode>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            at_once: 4,
            memory: 256 << 20,
            patience: Duration::from_secs(30),
            until_end: false,
            decode: None,
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("at_once", &self.at_once).finish_non_exhaustive()
    }
}

/// Where messages are landed. Cheap to clone; every clone is the same desk.
#[derive(Clone)]
pub struct Desk(Arc<Shared>);

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("owner", &self.0.owner).finish_non_exhaustive()
    }
}

/// A part that was taken: where to begin, and where its messages go.
#[derive(Debug)]
pub struct Given {
    /// The part.
    pub part: PartName,
    /// Where to begin.
    pub start: Start,
    /// Where its messages go.
    pub intake: Intake,
}

/// Where a part's messages go.
#[derive(Clone)]
pub struct Intake(Arc<Lane>);

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Intake").field(&self.0.name).finish()
    }
}

impl Intake {
    /// Takes a message, and says whether more may come.
    pub fn take(&self, message: &Message<'_>) -> Room {
        self.0.take(message)
    }

    /// Whether more may come, after [`Room::Full`].
    pub fn has_room(&self) -> bool {
        self.0.has_room()
    }

    /// Says where the part is begun at, before any message, where nothing has been landed and that isn't its first message: the position
    /// is put there, so that whoever comes next begins there, too.
    pub fn begins_at(&self, next: u64) {
        self.0.jump(next, None);
    }

    /// Says that no message of the part is before `next` that hasn't been handed over, where numbers are those of several parts: the
    /// position of a part that is quiet moves on with the others. `mark` is that of what stands before `next`, if it is known. Does
    /// nothing while messages wait to be landed: they say it then.
    pub fn passed(&self, next: u64, mark: Option<Vec<u8>>) {
        self.0.jump(next, mark);
    }

    /// Says that there is nothing more at the moment: with [`Settings::until_end`] this is where to stop.
    pub fn reached_end(&self, desk: &Desk) {
        self.0.end();
        desk.0.look_for_the_end();
    }
}

struct Shared {
    pipeline: Pipeline,
    store: Store,
    rules: Arc<Rules>,
    owner: String,
    /// Tells this worker's batches from those of others in the same epoch of a part that was forgotten meanwhile.
    token: String,
    patience: Duration,
    turns: Semaphore,
    parts: Mutex<BTreeMap<PartName, Slot>>,
    given: Mutex<Vec<Given>>,
    landed: Mutex<BTreeMap<PartName, u64>>,
    gone: Mutex<Vec<PartName>>,
    tally: Mutex<Tally>,
    failed: Mutex<Option<Error>>,
    has_failed: AtomicBool,
    is_stopping: watch::Sender<bool>,
    runtime: Handle,
}

/// A part that is to be ours.
enum Slot {
    /// The store is asked for it.
    Taking(JoinHandle<()>),
    /// It is.
    Ours(Arc<Lane>, JoinHandle<()>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    /// A desk that lands a pipeline's messages in a store. To be made inside a runtime, which does the landing.
    pub fn new(pipeline: &Pipeline, store: &Store, settings: Settings) -> Self {
        let source = pipeline.declared().source();
        let rules = Rules {
            shape: source.shape.clone(),
            decode: settings.decode,
            cut: source.cut,
            limit: u32::try_from(source.max_record).unwrap_or(u32::MAX - 1),
            most: settings.memory,
            held: AtomicU64::new(0),
            is_draining: AtomicBool::new(false),
            until_end: settings.until_end,
        };
        let token = format!("{:08x}", rand::random::<u32>());
        let at_once = if store.has_one_writer() { 1 } else { settings.at_once.max(1) };
        Self(Arc::new(Shared {
            pipeline: pipeline.of_stream(),
            store: store.keeping_connections(at_once).letting_go_after(SILENCE),
            rules: Arc::new(rules),
            owner: format!("{}:{}:{token}", taking::host(), std::process::id()),
            token,
            patience: settings.patience,
            turns: Semaphore::new(at_once),
            parts: Mutex::default(),
            given: Mutex::default(),
            landed: Mutex::default(),
            gone: Mutex::default(),
            tally: Mutex::default(),
            failed: Mutex::default(),
            has_failed: AtomicBool::new(false),
            is_stopping: watch::Sender::new(false),
            runtime: Handle::current(),
        }))
    }

    /// The runtime, for sources that wait for futures: they may block on it.
    pub fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// Whether it ends where the parts end now.
    pub fn is_until_end(&self) -> bool {
        self.0.rules.until_end
    }

    /// Begins to take a part over, as long as it takes: [`Desk::starts`] tells when it is ours. A part that is asked for already, or is
    /// ours, is left as it is.
    pub fn assign(&self, part: &PartName) {
        let mut parts = lock(&self.0.parts);
        if !parts.contains_key(part) {
            let task = self.0.runtime.spawn(taking::take(Arc::clone(&self.0), part.clone()));
            parts.insert(part.clone(), Slot::Taking(task));
        }
    }

    /// The parts that have become ours since this was asked last.
    pub fn starts(&self) -> Vec<Given> {
        std::mem::take(&mut *lock(&self.0.given))
    }

    /// [`Desk::assign`] and [`Desk::starts`] for sources that block: waits for all of them, but not longer than `patience`. `None` then
    /// (they go on being asked for), and when the desk stops.
    pub fn assigned(&self, parts: &[PartName], patience: Duration) -> Option<Vec<Given>> {
        for part in parts {
            self.assign(part);
        }
        let all = async {
            loop {
                let is_there = |part| lock(&self.0.given).iter().any(|given| &given.part == part);
                if parts.iter().all(is_there) {
                    return true;
                }
                if self.is_stopping() {
                    return false;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let all = self.0.runtime.block_on(async { timeout(patience, all).await });
        (all == Ok(true)).then(|| self.starts())
    }

    /// The broker gives the parts to somebody else: nothing more is taken, what is on its way is waited for (not for ever), and the rest
    /// is dropped. Blocks.
    pub fn revoke(&self, parts: &[PartName]) {
        let tasks: Vec<_> = parts.iter().filter_map(|part| self.0.leave(part)).collect();
        self.0.runtime.block_on(ended(tasks, self.0.patience));
    }

    /// The parts are somebody else's already: dropped at once. A transaction that is under way finds the part in another epoch.
    pub fn lose(&self, parts: &[PartName]) {
        for task in parts.iter().filter_map(|part| self.0.leave(part)) {
            task.abort();
        }
    }

    /// How far parts have been landed since this was asked last: the numbers of the next messages. It may be committed at the broker.
    pub fn landed(&self) -> BTreeMap<PartName, u64> {
        std::mem::take(&mut *lock(&self.0.landed))
    }

    /// Parts that somebody else has taken in the store, though the broker may still say that they are ours. Whoever has them from the
    /// broker after a while may [`Desk::assign`] them again.
    pub fn gone(&self) -> Vec<PartName> {
        std::mem::take(&mut *lock(&self.0.gone))
    }

    /// Whether the worker is to end: nothing more is taken.
    pub fn is_stopping(&self) -> bool {
        *self.0.is_stopping.borrow()
    }

    /// Waits until the worker is to end.
    pub async fn stopped(&self) {
        // The sender lives in the desk.
        let _ = self.0.is_stopping.subscribe().wait_for(|is| *is).await;
    }

    /// Ends the worker: nothing more is taken, and [`Desk::drain`] lands what is there.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Ends the worker for a reason that no waiting mends.
    pub fn fail(&self, error: Error) {
        self.0.fail(error);
    }

    /// Once the desk stops: waits for what was taken to land, not for ever, and lets all parts go. After a failure, only for what is under way.
    /// Blocks.
    pub fn drain(&self) {
        self.0.stop();
        if self.0.has_failed() {
            for slot in lock(&self.0.parts).values() {
                if let Slot::Ours(lane, _) = slot {
                    lane.leave();
                }
            }
        }
        let slots = std::mem::take(&mut *lock(&self.0.parts));
        let tasks = slots.into_values().map(|slot| match slot {
            Slot::Taking(task) => {
                task.abort();
                task
            }
            Slot::Ours(_, task) => task,
        });
        self.0.runtime.block_on(ended(tasks.collect(), self.0.patience));
    }

    /// What has been landed so far.
    pub fn tally(&self) -> Tally {
        *lock(&self.0.tally)
    }

    /// How many bytes of messages are held.
    pub fn held(&self) -> u64 {
        self.0.rules.held.load(Ordering::Acquire)
    }

    /// Why it has failed, if it has; told once.
    pub(crate) fn failure(&self) -> Option<Error> {
        lock(&self.0.failed).take()
    }
}

/// Waits for tasks, and ends those that take longer.
async fn ended(tasks: Vec<JoinHandle<()>>, patience: Duration) {
    let until = tokio::time::Instant::now() + patience;
    for task in tasks {
        let stop = task.abort_handle();
        if tokio::time::timeout_at(until, task).await.is_err() {
            tracing::warn!(
                "a transaction takes longer than is waited for; what it had not committed is read again"
            );
            stop.abort();
        }
    }
}

impl Shared {
    /// Takes a part out; its task ends by itself once nothing is on its way.
    fn leave(&self, part: &PartName) -> Option<JoinHandle<()>> {
        let slot = lock(&self.parts).remove(part)?;
        lock(&self.given).retain(|given| &given.part != part);
        match slot {
            Slot::Taking(task) => {
                task.abort();
                None
            }
            Slot::Ours(lane, task) => {
                lane.leave();
                Some(task)
            }
        }
    }

    fn landed(&self, part: &PartName, next: u64, messages: u64, outcome: &Outcome) {
        lock(&self.landed).insert(part.clone(), next);
        lock(&self.tally).landed(messages, outcome);
    }

    fn fenced(&self, part: &PartName) {
        lock(&self.parts).remove(part);
        lock(&self.tally).fenced += 1;
        lock(&self.gone).push(part.clone());
    }

    fn waited(&self) {
        lock(&self.tally).waits += 1;
    }

    fn stop(&self) {
        self.rules.is_draining.store(true, Ordering::Release);
        self.is_stopping.send_replace(true);
        for slot in lock(&self.parts).values() {
            if let Slot::Ours(lane, _) = slot {
                lane.wake.notify_one();
            }
        }
    }

    fn fail(&self, error: Error) {
        lock(&self.failed).get_or_insert(error);
        self.has_failed.store(true, Ordering::Release);
        self.stop();
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Stops where every part is landed to its end, if that is the wish.
    fn look_for_the_end(&self) {
        if !self.rules.until_end {
            return;
        }
        let parts = lock(&self.parts);
        let is_over = !parts.is_empty()
            && parts.values().all(|slot| matches!(slot, Slot::Ours(lane, _) if lane.is_finished()));
        drop(parts);
        if is_over {
            self.stop();
        }
    }
}
