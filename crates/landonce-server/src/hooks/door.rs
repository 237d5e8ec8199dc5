//! A hook's way into the store: opened when it is first needed, as wide as it may be, and never an endless queue.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use landonce::events::{Event, Inlet, Width};
use landonce::{Error, Pipeline, Receipt, Store};
use landonce_core::pipeline::Hook;
use landonce_core::webhook::Held;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use super::answer;
use super::group::Group;
use crate::problem::Problem;

/// The most events of a hook that wait for their transaction. At any rate that a store keeps up with, that is far below a second's.
const MOST_WAITING: usize = 1024;
/// Of a group: one prepares its transaction while the other waits for its commit.
const COMMITTERS: usize = 2;
/// A store that was away isn't asked anew by every event that waits.
const LEFT_ALONE: Duration = Duration::from_secs(1);

/// A pipeline that takes webhooks.
pub(super) struct Door {
    store: Store,
    pipeline: Pipeline,
    hook: Hook,
    secrets: Vec<Held>,
    width: Width,
    way: OnceCell<Way>,
    waiting: Arc<Semaphore>,
    failed: Mutex<Option<(Instant, Problem)>>,
}

enum Way {
    /// Each event has its own transaction.
    Alone(Inlet),
    /// Events that wait at the same time share one.
    Group(Group),
}

impl Door {
    /// `width`: for events that have a transaction each.
    pub(super) fn new(
        store: &Store,
        pipeline: &Pipeline,
        hook: &Hook,
        secrets: Vec<Held>,
        width: Width,
    ) -> Self {
        Self {
            width,
            store: store.clone(),
            pipeline: pipeline.clone(),
            hook: hook.clone(),
            secrets,
            way: OnceCell::new(),
            waiting: Arc::new(Semaphore::new(MOST_WAITING)),
            failed: Mutex::new(None),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.pipeline.name()
    }

    pub(super) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    pub(super) fn hook(&self) -> &Hook {
        &self.hook
    }

    pub(super) fn secrets(&self) -> &[Held] {
        &self.secrets
    }

    pub(super) fn is_open(&self) -> bool {
        self.way.initialized()
    }

    /// Connects, unless it is connected.
    pub(super) async fn open(&self) -> Result<(), Error> {
        self.way.get_or_try_init(|| self.connect()).await.map(drop)
    }

    async fn connect(&self) -> Result<Way, Error> {
        Ok(match self.hook.group() {
            None => Way::Alone(Inlet::open(&self.store, &self.pipeline, self.width).await?),
            Some(most) => {
                let committers = if self.store.has_one_writer() { 1 } else { COMMITTERS };
                let width = Width { connections: committers };
                let inlet = Inlet::open(&self.store, &self.pipeline, width).await?;
                Way::Group(Group::new(&inlet, most, committers))
            }
        })
    }

    /// [`Door::connect`] for an event: where it failed a moment ago, it fails at once.
    async fn way(&self) -> Result<&Way, Problem> {
        let connect = async || {
            let failed = |at: &(Instant, Problem)| at.0.elapsed() < LEFT_ALONE;
            // Events that waited here while it failed are let out by its failure.
            let before = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some((_, problem)) = before.filter(failed) {
                return Err(problem);
            }
            self.connect().await.map_err(|error| {
                let problem = answer::failed(self.name(), &error);
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some((Instant::now(), problem.clone()));
                problem
            })
        };
        self.way.get_or_try_init(connect).await
    }

    /// Lands an event, in a task of its own: a sender who hangs up gets a duplicate when it sends again, and no transaction is left
    /// half way by it.
    pub(super) async fn land(self: &Arc<Self>, event: Event) -> Result<Receipt, Problem> {
        let permit = Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| answer::overloaded())?;
        match self.way().await? {
            Way::Group(group) => group.land(event, permit).await,
            Way::Alone(inlet) => alone(self.name(), inlet.clone(), event, permit).await,
        }
    }
}

async fn alone(
    name: &str,
    inlet: Inlet,
    event: Event,
    permit: OwnedSemaphorePermit,
) -> Result<Receipt, Problem> {
    let landing = tokio::spawn(async move {
        let _permit = permit;
        inlet.land(vec![event]).await
    });
    match landing.await.map(|landed| landed.map(|mut receipts| receipts.pop())) {
        Ok(Ok(Some(Ok(receipt)))) => Ok(receipt),
        Ok(Ok(Some(Err(error))) | Err(error)) => Err(answer::failed(name, &error)),
        // It panicked, or told nothing of the event.
        Ok(Ok(None)) | Err(_) => Err(answer::unknown()),
    }
}
