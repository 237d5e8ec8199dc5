//! Events land: many in one transaction, each with its own claim, receipt and failure. The short way of `land.rs`, in its steps.
//!
//! 1. claim and 3. write are one statement of the store's ([`landonce_store::seam::Events`]), 4. apply and tell follow for the rows that
//!    came new, 6. settle is done with the claim unless the outcome is another than the expected one, 7. COMMIT.
//! 2. Whatever can't land so (a row that the database refuses, a version in conflict) is taken out, and goes the long way by itself: it
//!    lands there, or fails there in a batch's words.
//! 3. Events of one id or of one record wait for each other's transaction, in order.

mod inside;
mod pool;
mod read;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use landonce_core::pipeline::{OnBad, Pipeline};
use landonce_core::plan::TablePlan;
use landonce_core::retry::Code;
use landonce_store::seam::Events as _;
use uuid::Uuid;

use super::{Options, Tries, again, give_up, plan_for};
use crate::batch::{Batch, OneEvent};
use crate::error::{Error, Repr};
use crate::events::Event;
use crate::receipt::Receipt;
use crate::retry::RetryPolicy;
use crate::store::Store;
use inside::{Then, inside};
pub(crate) use pool::{Lends, Maker, One, Several};
use read::{Reader, Ready};

/// The most events that share a transaction.
const MOST_TOGETHER: usize = 500;
/// How long a plan is used before the catalogue is asked again: a column that was added is filled from then on.
const PLAN_AGE: Duration = Duration::from_mins(5);

/// What all transactions of an inlet share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) retry: RetryPolicy,
    planned: Mutex<Option<Planned>>,
}

/// A plan with what hangs on it.
struct Planned {
    plan: Arc<TablePlan>,
    made_at: Instant,
}

/// What has become of a transaction.
enum Ended {
    /// It has landed; of each event.
    Landed(Vec<Result<Receipt, Error>>),
    /// One of the events is at fault, nobody knows which.
    Refused,
    /// These can't land this way.
    But(Vec<usize>),
    /// The table isn't as it was.
    Stale(Error),
}

impl Shared {
    pub(crate) fn new(store: Store, pipeline: Arc<Pipeline>, retry: RetryPolicy) -> Self {
        Self { store, pipeline, retry, planned: Mutex::new(None) }
    }

    /// Whether its events can go the short way, as far as the declaration tells.
    fn is_short(&self) -> bool {
        let pipeline = &self.pipeline;
        pipeline.derived().is_empty()
            && pipeline.archive().is_none()
            && pipeline.write().delete_when.is_none()
            && !pipeline.identity().keeps_repeats
    }

    fn known(&self) -> Option<Arc<TablePlan>> {
        let planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = planned.as_ref().filter(|planned| planned.made_at.elapsed() < PLAN_AGE);
        fresh.map(|planned| Arc::clone(&planned.plan))
    }

    /// The plan; asked of the catalogue when it is old, or known to be wrong. `None` while there is no table.
    async fn plan<L: Lends>(&self, lends: &L, is_wrong: bool) -> Result<Option<Arc<TablePlan>>, Error> {
        if let Some(known) = self.known().filter(|_| !is_wrong) {
            return Ok(Some(known));
        }
        let started = Instant::now();
        let mut tries = Tries { attempts: 0, was_connected: false, ..Tries::once() };
        let plan = loop {
            tries.attempts += 1;
            let failed = match self.look_up(lends).await {
                Ok(plan) => break plan,
                Err(failed) => failed,
            };
            let Some(wait) = again(&failed, &self.retry, &mut tries, started) else {
                return Err(give_up(failed, &tries, started));
            };
            tokio::time::sleep(wait).await;
        };
        if plan.create {
            return Ok(None);
        }
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        // What is prepared for an equal plan stays, unless it turned out to be wrong.
        let same = planned.take().filter(|planned| !is_wrong && *planned.plan == plan);
        let plan = same.map_or_else(|| Arc::new(plan), |planned| planned.plan);
        *planned = Some(Planned { plan: Arc::clone(&plan), made_at: Instant::now() });
        Ok(Some(plan))
    }

    async fn look_up<L: Lends>(&self, lends: &L) -> Result<TablePlan, Error> {
        let mut lent = lends.lend(self.retry.deadline).await?;
        lent.is_spoiled = true;
        let plan = plan_for(&mut lent.session, &self.pipeline).await?;
        lent.is_spoiled = false;
        Ok(plan)
    }
}

/// Lands events; the results are in their order.
pub(crate) async fn land<L: Lends>(
    shared: &Shared,
    lends: &L,
    events: &[Event],
) -> Vec<Result<Receipt, Error>> {
    let mut landing = Landing {
        shared,
        events,
        runs: events.iter().map(|_| Uuid::now_v7()).collect(),
        results: events.iter().map(|_| None).collect(),
    };
    let mut is_wrong = false;
    while landing.has_open() {
        match landing.go(lends, is_wrong).await {
            // The plan is made anew once; then whatever is wrong is told.
            Err(Stale(_)) if !is_wrong => is_wrong = true,
            Err(Stale(error)) => landing.fail(&error),
            Ok(()) => {}
        }
    }
    landing.told()
}

/// The table isn't as it was planned.
struct Stale(Error);

/// Events on their way.
struct Landing<'a> {
    shared: &'a Shared,
    events: &'a [Event],
    runs: Vec<Uuid>,
    results: Vec<Option<Result<Receipt, Error>>>,
}

impl Landing<'_> {
    fn has_open(&self) -> bool {
        self.results.iter().any(Option::is_none)
    }

    fn fail(&mut self, error: &Error) {
        for slot in self.results.iter_mut().filter(|slot| slot.is_none()) {
            *slot = Some(Err(same(error)));
        }
    }

    fn told(self) -> Vec<Result<Receipt, Error>> {
        let nothing = || Err(Error::internal("nothing has become of an event"));
        self.results.into_iter().map(|told| told.unwrap_or_else(nothing)).collect()
    }

    /// Lands what is open, transaction by transaction.
    async fn go<L: Lends>(&mut self, lends: &L, is_wrong: bool) -> Result<(), Stale> {
        let plan = match self.shared.plan(lends, is_wrong).await {
            Ok(plan) => plan.filter(|_| self.shared.is_short()),
            Err(error) => {
                self.fail(&error);
                return Ok(());
            }
        };
        let Some(plan) = plan else {
            for at in 0..self.events.len() {
                self.go_long(at, None).await;
            }
            return Ok(());
        };
        let mut waiting = self.read(&plan).await;
        while !waiting.is_empty() {
            let group = together(&mut waiting);
            self.group(lends, &plan, group).await?;
        }
        Ok(())
    }

    /// Reads what is open. What is bad fails, or is kept by the long way.
    async fn read(&mut self, plan: &TablePlan) -> Vec<Ready> {
        let mut ready = Vec::with_capacity(self.events.len());
        let mut kept = Vec::new();
        let mut reader = Reader::new(&self.shared.pipeline, plan);
        for (at, event) in self.events.iter().enumerate() {
            if self.results[at].is_some() {
                continue;
            }
            match reader.read(at, event, self.runs[at]) {
                Ok(one) => ready.push(one),
                Err(_) if self.is_kept(event) => kept.push(at),
                Err(bad) => self.results[at] = Some(Err(read::bad(event, bad))),
            }
        }
        for at in kept {
            self.go_long(at, None).await;
        }
        ready
    }

    /// A bad event goes into the quarantine. An empty one is nothing that could be kept.
    fn is_kept(&self, event: &Event) -> bool {
        matches!(self.shared.pipeline.on_bad(), OnBad::Quarantine(_)) && !event.body.trim_ascii().is_empty()
    }

    /// One group: in one transaction, or in several where one event is at fault.
    async fn group<L: Lends>(
        &mut self,
        lends: &L,
        plan: &Arc<TablePlan>,
        group: Vec<Ready>,
    ) -> Result<(), Stale> {
        let mut pending = vec![group];
        while let Some(mut some) = pending.pop() {
            match self.transaction(lends, plan, &some).await {
                Ok(Ended::Landed(receipts)) => {
                    for (ready, receipt) in some.iter().zip(receipts) {
                        self.results[ready.at] = Some(receipt);
                    }
                }
                Ok(Ended::Refused) if some.len() > 1 => {
                    let second = some.split_off(some.len() / 2);
                    pending.extend([second, some]);
                }
                Ok(Ended::Refused) => {
                    for ready in some {
                        self.go_long(ready.at, Some(&ready)).await;
                    }
                }
                Ok(Ended::But(these)) => {
                    let (mut aside, mut others) = (Vec::new(), Vec::new());
                    for (at, ready) in some.into_iter().enumerate() {
                        if these.contains(&at) { aside.push(ready) } else { others.push(ready) }
                    }
                    for ready in aside {
                        self.go_long(ready.at, Some(&ready)).await;
                    }
                    if !others.is_empty() {
                        pending.push(others);
                    }
                }
                Ok(Ended::Stale(error)) => return Err(Stale(error)),
                Err(error) => {
                    for ready in some {
                        self.results[ready.at] = Some(Err(same(&error)));
                    }
                }
            }
        }
        Ok(())
    }

    /// A transaction, until it has landed or can't.
    async fn transaction<L: Lends>(
        &self,
        lends: &L,
        plan: &Arc<TablePlan>,
        group: &[Ready],
    ) -> Result<Ended, Error> {
        let policy = &self.shared.retry;
        let started = Instant::now();
        let mut tries = Tries { attempts: 0, was_connected: false, ..Tries::once() };
        loop {
            tries.attempts += 1;
            let within = policy.deadline.saturating_sub(started.elapsed());
            let failed = match self.attempt(lends, plan, group, within, &mut tries).await {
                Ok(ended) => return Ok(ended),
                Err(failed) => failed,
            };
            let Some(wait) = again(&failed, policy, &mut tries, started) else {
                return Err(give_up(failed, &tries, started));
            };
            tracing::info!(attempt = tries.attempts, error = %failed, "again after {} ms", wait.as_millis());
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt<L: Lends>(
        &self,
        lends: &L,
        plan: &Arc<TablePlan>,
        group: &[Ready],
        within: Duration,
        tries: &mut Tries,
    ) -> Result<Ended, Error> {
        let mut lent = lends.lend(within).await?;
        // Until it is known to be in no transaction; also when nobody waits for this any more.
        lent.is_spoiled = true;
        let pool::Kept { session, way, .. } = &mut *lent;
        let then = Then::new(&self.shared.pipeline, plan)?;
        if way.as_ref().is_none_or(|(of, _)| !Arc::ptr_eq(of, plan)) {
            *way = None;
            match session.way(plan, then.wants_rows()).await {
                Ok(made) => *way = Some((Arc::clone(plan), made)),
                Err(error) if is_stale(&error) => return Ok(Ended::Stale(error.into())),
                Err(error) => return Err(error.into()),
            }
        }
        let ended = match way {
            Some((_, Some(way))) => inside(session, way, plan, &then, group, tries).await,
            _ => Ok(Ended::But((0..group.len()).collect())),
        };
        // A transaction that has ended in an answer leaves nothing behind on its connection.
        lent.is_spoiled = ended.is_err();
        ended
    }

    /// One event as a batch of its own, by the long way.
    async fn go_long(&mut self, at: usize, ready: Option<&Ready>) {
        if self.results[at].is_some() {
            return;
        }
        let told = self.long(at, ready).await;
        self.results[at] = Some(told);
    }

    async fn long(&self, at: usize, ready: Option<&Ready>) -> Result<Receipt, Error> {
        let event = &self.events[at];
        let read = match ready {
            Some(ready) => Some(ready.claim.clone()),
            None => self.read_for_long(at).await?,
        };
        let mut batch = Batch::from_bytes(event.source.clone(), read::line(&event.body));
        if let Some(id) = read.as_ref().map(|claim| claim.batch_id.clone()).or_else(|| event.id.clone()) {
            batch = batch.with_id(id);
        }
        let one = OneEvent {
            digest: read.as_ref().map(|claim| claim.digest),
            subject: read.and_then(|claim| claim.subject),
        };
        let options =
            Options { run_id: Some(self.runs[at]), retry: self.shared.retry.clone(), ..Options::default() };
        let pipeline = Arc::new(self.shared.pipeline.as_ref().clone().of_events());
        self.shared.store.ingest(&pipeline, &batch.of_one(one), &options).await
    }

    /// The claim of an event that wasn't read for the short way; `None` for a bad one that is kept.
    async fn read_for_long(&self, at: usize) -> Result<Option<landonce_store::inbox::Claim>, Error> {
        let event = &self.events[at];
        let plan = self.shared.store.planned(&self.shared.pipeline).await?;
        let mut reader = Reader::new(&self.shared.pipeline, &plan);
        match reader.read(at, event, self.runs[at]) {
            Ok(ready) => Ok(Some(ready.claim)),
            Err(_) if self.is_kept(event) => Ok(None),
            Err(bad) => Err(read::bad(event, bad)),
        }
    }
}

/// The next events that can share a transaction: of distinct ids and distinct records, and none before one that it must follow.
fn together(waiting: &mut Vec<Ready>) -> Vec<Ready> {
    let mut taken: HashSet<[u8; 32]> = HashSet::new();
    let mut records = HashSet::new();
    let (mut group, mut later) = (Vec::new(), Vec::new());
    for ready in waiting.drain(..) {
        let is_new_id = taken.insert(ready.claim.key().0);
        let is_new_record = records.insert(ready.key.0);
        if is_new_id && is_new_record && group.len() < MOST_TOGETHER {
            group.push(ready);
        } else {
            later.push(ready);
        }
    }
    *waiting = later;
    group
}

/// A column or a table that isn't there any more, or is of another type.
fn is_stale(error: &landonce_store::Error) -> bool {
    matches!(&error.code, Code::SqlState(state) if matches!(state.as_str(), "42703" | "42P01" | "42804" | "42P10" | "0A000"))
        || matches!(&error.code, Code::Sqlite(1))
}

/// The failure that several events share.
fn same(error: &Error) -> Error {
    let store = |error: &landonce_store::Error| landonce_store::Error {
        code: error.code.clone(),
        phase: error.phase,
        message: error.message.clone(),
        name: error.name.clone(),
        is_connect: error.is_connect,
        source: None,
    };
    match error.repr() {
        Repr::Store(error) => store(error).into(),
        Repr::Exhausted { attempts, elapsed_ms, last } => {
            Repr::Exhausted { attempts: *attempts, elapsed_ms: *elapsed_ms, last: store(last) }.into()
        }
        Repr::Unresolved { last } => Repr::Unresolved { last: last.clone() }.into(),
        Repr::Plan(error) => error.clone().into(),
        Repr::Internal(message) => Error::internal(message.clone()),
        _ => Error::internal(error.to_string()),
    }
}
