//! The outbox: messages enqueued in the transaction of the rows, leased and settled by workers.

mod act;
mod lease;
mod look;
mod settle;

use std::time::Duration;

use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::Session;
use super::inbox::{is_missing, without_tables};
use super::link::{Link, Params};
use crate::error::Result;
use crate::outbox::{Act, Depth, Entry, Lease, Leased, Message, Outbox, Verdict, Want, Which};
use crate::seam::{Access, Connection as _};

/// The ways through the partial indexes are known to be right however the table has grown since it was analysed, and the
/// guesses about a walk's length must not start a compiler.
const BY_INDEX: &str =
    "; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off";

/// In the order given: `seq` grows with it.
const ENQUEUE: &str = "\
INSERT INTO landonce.outbox (id, producer, topic, lane, ordering, entity, kind, payload, run_id)
SELECT m.id, m.producer, m.topic, m.lane, m.ordering, m.entity, m.kind, m.payload, m.run_id
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::uuid[])
  WITH ORDINALITY m (id, producer, topic, lane, ordering, entity, kind, payload, run_id, nth)
ORDER BY m.nth
ON CONFLICT (id) DO NOTHING";

/// Enqueues messages that aren't there yet, in their order; returns how many.
pub(super) async fn enqueue(link: &Link<'_>, messages: &[Message]) -> Result<u64> {
    let texts = |of: fn(&Message) -> &str| messages.iter().map(of).collect::<Vec<&str>>();
    let uuids = |of: fn(&Message) -> Uuid| messages.iter().map(of).collect::<Vec<Uuid>>();
    let orderings: Vec<Option<&str>> = messages.iter().map(|message| message.ordering.as_deref()).collect();
    let runs: Vec<Option<Uuid>> = messages.iter().map(|message| message.run_id).collect();
    let params: Params<'_> = &[
        (&uuids(|message| message.id), Pg::UUID_ARRAY),
        (&texts(|message| &message.producer), Pg::TEXT_ARRAY),
        (&texts(|message| &message.topic), Pg::TEXT_ARRAY),
        (&uuids(|message| message.lane), Pg::UUID_ARRAY),
        (&orderings, Pg::TEXT_ARRAY),
        (&texts(|message| &message.entity), Pg::TEXT_ARRAY),
        (&texts(|message| &message.kind), Pg::TEXT_ARRAY),
        (&texts(|message| &message.payload), Pg::TEXT_ARRAY),
        (&runs, Pg::UUID_ARRAY),
    ];
    link.execute("enqueuing messages", ENQUEUE, params).await.map_err(without_tables)
}

impl Session {
    /// Ends a verb's transaction, as the verb has ended.
    async fn ended<T>(&mut self, done: Result<T>) -> Result<T> {
        match done {
            Ok(done) => self.commit().await.map(|()| done),
            Err(error) => {
                self.rollback().await;
                Err(without_tables(error))
            }
        }
    }

    /// As [`Session::ended`], for a verb that finds nothing where there are no tables.
    async fn looked<T: Default>(&mut self, done: Result<T>) -> Result<T> {
        match done {
            Err(error) if is_missing(&error) => {
                self.rollback().await;
                Ok(T::default())
            }
            done => self.ended(done).await,
        }
    }
}

impl Outbox for Session {
    async fn lease(&mut self, want: &Want<'_>) -> Result<Leased> {
        let nothing = Leased { next: want.behind, ..Leased::default() };
        if want.topics.is_empty() || want.most == 0 || want.most_of_a_lane == 0 {
            return Ok(nothing);
        }
        self.begin_with(Access::Write, BY_INDEX).await?;
        let leased = lease::lease(&self.link(), want).await.map(Some);
        Ok(self.looked(leased).await?.unwrap_or(nothing))
    }

    async fn renew(&mut self, leases: &[Lease], lease: Duration) -> Result<Vec<Lease>> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        self.begin_with(Access::Write, BY_INDEX).await?;
        let lost = settle::renew(&self.link(), leases, lease).await;
        self.ended(lost).await
    }

    async fn settle(&mut self, verdicts: &[Verdict]) -> Result<Vec<Lease>> {
        if verdicts.is_empty() {
            return Ok(Vec::new());
        }
        self.begin_with(Access::Write, BY_INDEX).await?;
        let lost = settle::settle(&self.link(), verdicts).await;
        self.ended(lost).await
    }

    async fn pause(&mut self, topic: &str, lasting: Duration, reason: &str) -> Result<()> {
        self.begin(Access::Write).await?;
        let paused = act::pause(&self.link(), topic, lasting, reason).await;
        self.ended(paused).await
    }

    async fn resume(&mut self, topic: &str) -> Result<()> {
        self.begin(Access::Write).await?;
        let resumed = act::resume(&self.link(), topic).await;
        self.ended(resumed).await
    }

    async fn next_due(&mut self, topics: &[String]) -> Result<Option<Duration>> {
        if topics.is_empty() {
            return Ok(None);
        }
        self.begin_with(Access::Write, BY_INDEX).await?;
        let due = lease::next_due(&self.link(), topics).await;
        self.looked(due).await
    }

    async fn messages(&mut self, which: &Which, most: usize) -> Result<Vec<Entry>> {
        self.begin(Access::Write).await?;
        let entries = look::messages(&self.link(), which, most).await;
        self.looked(entries).await
    }

    async fn act(&mut self, which: &Which, act: Act) -> Result<u64> {
        self.begin(Access::Write).await?;
        let done = act::act(&self.link(), which, act).await;
        self.ended(done).await
    }

    async fn depth(&mut self) -> Result<Vec<Depth>> {
        self.begin_with(Access::Write, BY_INDEX).await?;
        let depth = look::depth(&self.link()).await;
        self.looked(depth).await
    }

    async fn prune(&mut self, older_than: Duration, most: u32) -> Result<u64> {
        self.begin(Access::Write).await?;
        let pruned = act::prune(&self.link(), older_than, most).await;
        self.ended(pruned).await
    }
}
