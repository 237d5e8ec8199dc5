//! An outbox in memory, that keeps the contract of `landonce_store::outbox` on the test's clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use landonce::{Error, Pending};
use landonce_store::outbox::{Depth, Fate, Lease, Leased, Parcel, Verdict, Want};
use tokio::time::Instant;
use uuid::Uuid;

use super::fake::pass;
use crate::desk::Desk;

#[derive(Debug, Clone, Default)]
pub(super) struct Book(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    rows: Vec<Row>,
    pauses: BTreeMap<String, Instant>,
    is_failing: bool,
    is_silent: bool,
    old: u64,
    prunes: Vec<u64>,
    leases: usize,
    settles: usize,
}

#[derive(Debug)]
struct Row {
    id: Uuid,
    topic: String,
    lane: Uuid,
    state: &'static str,
    enqueued_at: Instant,
    due_at: Instant,
    attempts: u32,
    fence: i64,
    leased_until: Option<Instant>,
}

impl Row {
    fn take_over(&mut self) {
        self.fence += 1;
        self.leased_until = Some(Instant::now() + Duration::from_hours(1));
    }

    fn is_leased(&self) -> bool {
        self.leased_until.is_some_and(|until| until > Instant::now())
    }
}

impl Book {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    pub(super) fn desk(&self) -> Self {
        self.clone()
    }

    pub(super) fn lane(&self, lane: u32) -> Uuid {
        let _ = self;
        Uuid::from_u128(u128::from(lane))
    }

    pub(super) fn enqueue(&self, topic: &str, lane: u32) -> Uuid {
        let now = Instant::now();
        let mut inner = self.inner();
        let id = Uuid::from_u128(inner.rows.len() as u128 + 1);
        inner.rows.push(Row {
            id,
            topic: topic.into(),
            lane: self.lane(lane),
            state: "pending",
            enqueued_at: now,
            due_at: now,
            attempts: 0,
            fence: 0,
            leased_until: None,
        });
        id
    }

    /// Pending, sent, dead.
    pub(super) fn state_counts(&self) -> (usize, usize, usize) {
        let inner = self.inner();
        let count = |state| inner.rows.iter().filter(|row| row.state == state).count();
        (count("pending"), count("sent"), count("dead"))
    }

    pub(super) fn leased(&self) -> usize {
        self.inner().rows.iter().filter(|row| row.is_leased()).count()
    }

    pub(super) fn attempts(&self, id: Uuid) -> u32 {
        self.inner().rows.iter().find(|row| row.id == id).unwrap().attempts
    }

    pub(super) fn pause(&self, topic: &str) -> Option<Duration> {
        self.inner().pauses.get(topic).map(|until| *until - Instant::now())
    }

    /// Another worker has the message, for a long time.
    pub(super) fn take_over(&self, id: Uuid) {
        self.inner().rows.iter_mut().filter(|row| row.id == id).for_each(Row::take_over);
    }

    pub(super) fn take_over_all(&self) {
        self.inner().rows.iter_mut().filter(|row| row.state == "pending").for_each(Row::take_over);
    }

    pub(super) fn fail(&self, is_failing: bool) {
        self.inner().is_failing = is_failing;
    }

    /// It answers nothing from now on.
    pub(super) fn say_nothing(&self) {
        self.inner().is_silent = true;
    }

    pub(super) fn sent_long_ago(&self, count: u64) {
        self.inner().old = count;
    }

    /// How often it was asked for messages, and told what became of some.
    pub(super) fn asked(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.leases, inner.settles)
    }

    pub(super) fn prunes(&self) -> Vec<u64> {
        self.inner().prunes.clone()
    }

    fn with<'a, T: Send + 'a>(&'a self, verb: impl FnOnce(&mut Inner) -> T + Send + 'a) -> Pending<'a, T> {
        Box::pin(async move {
            pass(Duration::from_millis(1)).await;
            if self.inner().is_silent {
                std::future::pending::<()>().await;
            }
            let mut inner = self.inner();
            if inner.is_failing {
                return Err(Error::from(landonce_store::Error::refused("the connection is lost")));
            }
            Ok(verb(&mut inner))
        })
    }
}

/// The lanes that give something, and what: of each the beginning that is due.
fn free(inner: &Inner, topics: &[String]) -> Vec<(Uuid, Vec<usize>)> {
    let now = Instant::now();
    let is_paused = |topic: &String| inner.pauses.get(topic).is_some_and(|until| *until > now);
    let pending = |row: &Row| row.state == "pending" && topics.contains(&row.topic) && !is_paused(&row.topic);
    let lanes: BTreeSet<Uuid> = inner.rows.iter().filter(|row| pending(row)).map(|row| row.lane).collect();
    let mut free = Vec::new();
    for lane in lanes {
        let of_lane: Vec<usize> = (0..inner.rows.len())
            .filter(|at| inner.rows[*at].lane == lane && pending(&inner.rows[*at]))
            .collect();
        let rows = || of_lane.iter().map(|at| &inner.rows[*at]);
        if rows().all(|row| !row.is_leased()) && rows().next().is_some_and(|row| row.due_at <= now) {
            free.push((lane, of_lane));
        }
    }
    free
}

/// The row that a lease is of, if it counts.
fn held(inner: &mut Inner, lease: Lease) -> Option<&mut Row> {
    let is_held = |row: &&mut Row| {
        row.id == lease.id && row.fence == lease.fence && row.state == "pending" && row.leased_until.is_some()
    };
    inner.rows.iter_mut().find(is_held)
}

impl Desk for Book {
    fn lease<'a>(&'a mut self, want: &'a Want<'a>) -> Pending<'a, Leased> {
        self.with(|inner| {
            inner.leases += 1;
            let now = Instant::now();
            let mut messages = Vec::new();
            let mut next = want.behind;
            let (behind, before): (Vec<_>, Vec<_>) =
                free(inner, want.topics).into_iter().partition(|(lane, _)| *lane > want.behind);
            for (lane, rows) in behind.into_iter().chain(before) {
                for at in rows.into_iter().take(want.most_of_a_lane as usize) {
                    if messages.len() < want.most as usize {
                        let row = &mut inner.rows[at];
                        row.fence += 1;
                        row.leased_until = Some(now + want.lease);
                        next = lane;
                        messages.push(Parcel {
                            id: row.id,
                            fence: row.fence,
                            seq: at as i64,
                            topic: row.topic.clone(),
                            lane,
                            entity: "{}".into(),
                            kind: "updated".into(),
                            payload: "{}".into(),
                            attempts: row.attempts,
                            age: now - row.enqueued_at,
                        });
                    }
                }
            }
            Leased { messages, next }
        })
    }

    fn renew<'a>(&'a mut self, leases: &'a [Lease], lease: Duration) -> Pending<'a, Vec<Lease>> {
        self.with(move |inner| {
            let mut lost = Vec::new();
            for one in leases {
                match held(inner, *one) {
                    Some(row) => row.leased_until = Some(Instant::now() + lease),
                    None => lost.push(*one),
                }
            }
            lost
        })
    }

    fn settle<'a>(&'a mut self, verdicts: &'a [Verdict]) -> Pending<'a, Vec<Lease>> {
        self.with(move |inner| {
            inner.settles += 1;
            let mut lost = Vec::new();
            for Verdict { lease, fate } in verdicts {
                let Some(row) = held(inner, *lease) else {
                    lost.push(*lease);
                    continue;
                };
                row.leased_until = None;
                row.attempts += u32::from(!matches!(fate, Fate::Untried));
                match fate {
                    Fate::Sent { .. } => row.state = "sent",
                    Fate::Dead { .. } => row.state = "dead",
                    Fate::Again { after, .. } => row.due_at = Instant::now() + *after,
                    Fate::Untried => {}
                }
            }
            lost
        })
    }

    fn pause<'a>(&'a mut self, topic: &'a str, lasting: Duration, _reason: &'a str) -> Pending<'a, ()> {
        self.with(move |inner| {
            let until = Instant::now() + lasting;
            let paused = inner.pauses.entry(topic.to_owned()).or_insert(until);
            *paused = until.max(*paused);
        })
    }

    fn next_due<'a>(&'a mut self, topics: &'a [String]) -> Pending<'a, Option<Duration>> {
        self.with(move |inner| {
            if !free(inner, topics).is_empty() {
                return Some(Duration::ZERO);
            }
            let now = Instant::now();
            let pending =
                inner.rows.iter().filter(|row| row.state == "pending" && topics.contains(&row.topic));
            let due = |row: &Row| {
                let paused = inner.pauses.get(&row.topic).copied().unwrap_or(now);
                row.due_at.max(paused).max(row.leased_until.unwrap_or(now)).duration_since(now)
            };
            pending.map(due).min()
        })
    }

    fn depth(&mut self) -> Pending<'_, Vec<Depth>> {
        self.with(|inner| {
            let topics: BTreeSet<String> = inner.rows.iter().map(|row| row.topic.clone()).collect();
            let now = Instant::now();
            let depth = |topic: String| {
                let rows = || inner.rows.iter().filter(|row| row.topic == topic);
                let pending = || rows().filter(|row| row.state == "pending");
                Depth {
                    pending: pending().count() as u64,
                    leased: pending().filter(|row| row.is_leased()).count() as u64,
                    retrying: pending().filter(|row| row.attempts > 0).count() as u64,
                    attempts: pending().map(|row| u64::from(row.attempts)).sum(),
                    oldest: pending().map(|row| now - row.enqueued_at).max(),
                    dead: rows().filter(|row| row.state == "dead").count() as u64,
                    paused: inner
                        .pauses
                        .get(&topic)
                        .filter(|until| **until > now)
                        .map(|until| (*until - now, "x".into())),
                    topic,
                }
            };
            topics.into_iter().map(depth).collect()
        })
    }

    fn prune(&mut self, _older_than: Duration, most: u32) -> Pending<'_, u64> {
        self.with(move |inner| {
            let pruned = inner.old.min(u64::from(most));
            inner.old -= pruned;
            inner.prunes.push(pruned);
            pruned
        })
    }
}
