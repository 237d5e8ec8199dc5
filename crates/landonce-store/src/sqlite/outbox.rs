//! The outbox: messages enqueued in the transaction of the rows, leased and settled by workers.
//!
//! There is one writer at a time, so each verb sees all that was done before it, and nothing comes in between.

mod act;
mod lease;
mod look;
mod settle;

use std::time::Duration;

use rusqlite::{Connection, params};

use super::Session;
use super::errors::during;
use super::inbox::is_there;
use crate::error::{Error, Result};
use crate::outbox::{Act, Depth, Entry, Lease, Leased, Message, Outbox, Verdict, Want, Which};
use crate::seam::{Access, Connection as _};

/// The store's clock, in the spelling of all times: they compare as texts.
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/// Seconds as a modifier of SQLite's time functions.
fn shift(seconds: f64) -> String {
    format!("{seconds:+.3} seconds")
}

const ENQUEUE: &str = "\
INSERT INTO main.landonce_outbox (id, producer, topic, lane, ordering, entity, kind, payload, run_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (id) DO NOTHING";

/// Enqueues messages that aren't there yet, in their order; returns how many.
pub(super) fn enqueue(connection: &Connection, messages: &[Message]) -> Result<u64> {
    let doing = "enqueuing messages";
    with_outbox(connection, doing)?;
    let mut statement = connection.prepare_cached(ENQUEUE).map_err(during(doing))?;
    let mut enqueued = 0;
    for message in messages {
        let values = params![
            message.id.to_string(),
            message.producer,
            message.topic,
            message.lane.to_string(),
            message.ordering,
            message.entity,
            message.kind,
            message.payload,
            message.run_id.map(|run_id| run_id.to_string()),
        ];
        enqueued += statement.execute(values).map_err(during(doing))? as u64;
    }
    Ok(enqueued)
}

fn has_outbox(connection: &Connection, doing: &str) -> Result<bool> {
    is_there(connection, "landonce_outbox").map_err(during(doing))
}

/// Fails with what to do when there is no outbox.
fn with_outbox(connection: &Connection, doing: &str) -> Result<()> {
    if has_outbox(connection, doing)? {
        return Ok(());
    }
    Err(Error::refused(format!("{doing}: landonce's own tables are missing; `landonce setup` makes them")))
}

impl Session {
    /// Runs a verb in a transaction of its own that has the write lock from its beginning.
    async fn verb<T>(
        &mut self,
        doing: &str,
        verb: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.begin(Access::Write).await?;
        let done =
            with_outbox(&self.connection, doing).and_then(|()| verb(&self.connection).map_err(during(doing)));
        match done {
            Ok(done) => self.commit().await.map(|()| done),
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    /// Looks; nothing where there are no tables.
    fn look<T: Default>(
        &self,
        doing: &str,
        look: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        if !has_outbox(&self.connection, doing)? {
            return Ok(T::default());
        }
        look(&self.connection).map_err(during(doing))
    }
}

impl Outbox for Session {
    async fn lease(&mut self, want: &Want<'_>) -> Result<Leased> {
        let doing = "leasing messages";
        let is_nothing = want.topics.is_empty() || want.most == 0 || want.most_of_a_lane == 0;
        if is_nothing || !has_outbox(&self.connection, doing)? {
            return Ok(Leased { next: want.behind, ..Leased::default() });
        }
        self.verb(doing, |connection| lease::lease(connection, want)).await
    }

    async fn renew(&mut self, leases: &[Lease], lease: Duration) -> Result<Vec<Lease>> {
        self.verb("renewing leases", |connection| settle::renew(connection, leases, lease)).await
    }

    async fn settle(&mut self, verdicts: &[Verdict]) -> Result<Vec<Lease>> {
        self.verb("settling messages", |connection| settle::settle(connection, verdicts)).await
    }

    async fn pause(&mut self, topic: &str, lasting: Duration, reason: &str) -> Result<()> {
        self.verb("pausing a topic", |connection| act::pause(connection, topic, lasting, reason)).await
    }

    async fn resume(&mut self, topic: &str) -> Result<()> {
        self.verb("resuming a topic", |connection| act::resume(connection, topic)).await
    }

    async fn next_due(&mut self, topics: &[String]) -> Result<Option<Duration>> {
        self.look("looking when the next message is due", |connection| lease::next_due(connection, topics))
    }

    async fn messages(&mut self, which: &Which, most: usize) -> Result<Vec<Entry>> {
        let range = which.id_range()?;
        let found =
            self.look("reading the outbox", |connection| look::messages(connection, which, range, most))?;
        found.into_iter().map(look::Found::entry).collect()
    }

    async fn act(&mut self, which: &Which, act: Act) -> Result<u64> {
        let range = which.id_range()?;
        self.verb("changing messages", |connection| act::act(connection, which, range, act)).await
    }

    async fn depth(&mut self) -> Result<Vec<Depth>> {
        self.look("counting messages", look::depth)
    }

    async fn prune(&mut self, older_than: Duration, most: u32) -> Result<u64> {
        self.verb("pruning messages", |connection| act::prune(connection, older_than, most)).await
    }
}
