//! What people see of the outbox: messages, and the figures of each topic.

use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::super::inbox::uuid;
use super::NOW;
use super::act::{FITS, ids};
use crate::error::Result;
use crate::outbox::{Depth, Entry, Message, State, Which, lasting};

/// An entry whose state isn't read yet.
pub(super) struct Found {
    entry: Entry,
    state: String,
}

impl Found {
    pub(super) fn entry(self) -> Result<Entry> {
        Ok(Entry { state: State::read(&self.state)?, ..self.entry })
    }
}

/// Messages, newest first.
pub(super) fn messages(
    connection: &Connection,
    which: &Which,
    (lowest, highest): (Uuid, Uuid),
    most: usize,
) -> rusqlite::Result<Vec<Found>> {
    let sql = format!(
        "SELECT id, producer, topic, lane, ordering, entity, kind, payload, run_id, seq, state, enqueued_at,\n\
         \x20 CASE WHEN state = 'pending' THEN due_at END, attempts, CASE WHEN leased_until > {NOW} THEN leased_by END, leased_until,\n\
         \x20 answer, sent_at, corrected_by\n\
         FROM main.landonce_outbox WHERE {FITS} ORDER BY seq DESC LIMIT ?7"
    );
    let state = which.state.map(State::as_str);
    let (lowest, highest) = (lowest.to_string(), highest.to_string());
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let values = params![which.topic, state, which.entity, ids(which), lowest, highest, most];
    connection.prepare_cached(&sql)?.query_map(values, found)?.collect()
}

fn found(row: &Row<'_>) -> rusqlite::Result<Found> {
    let leased_by: Option<String> = row.get(14)?;
    let leased_until: Option<String> = row.get(15)?;
    let some = |at: usize| {
        let is_null = row.get_ref(at)? == rusqlite::types::ValueRef::Null;
        if is_null { Ok(None) } else { uuid(row, at).map(Some) }
    };
    let message = Message {
        id: uuid(row, 0)?,
        producer: row.get(1)?,
        topic: row.get(2)?,
        lane: uuid(row, 3)?,
        ordering: row.get(4)?,
        entity: row.get(5)?,
        kind: row.get(6)?,
        payload: row.get(7)?,
        run_id: some(8)?,
    };
    let entry = Entry {
        message,
        seq: row.get(9)?,
        state: State::Pending,
        enqueued_at: row.get(11)?,
        due_at: row.get(12)?,
        attempts: row.get(13)?,
        leased: leased_by.zip(leased_until),
        answer: row.get(16)?,
        sent_at: row.get(17)?,
        corrected_by: some(18)?,
    };
    Ok(Found { entry, state: row.get(10)? })
}

/// The figures of each topic. What was sent isn't looked at: only the indexes of what is pending and of what is dead.
pub(super) fn depth(connection: &Connection) -> rusqlite::Result<Vec<Depth>> {
    let sql = format!(
        "WITH pending AS (\n\
         \x20 SELECT topic, count(*) AS pending, count(*) FILTER (WHERE leased_until > {NOW}) AS leased,\n\
         \x20   count(*) FILTER (WHERE attempts > 0) AS retrying, sum(attempts) AS attempts,\n\
         \x20   86400.0 * (julianday('now') - julianday(min(enqueued_at))) AS oldest\n\
         \x20 FROM main.landonce_outbox INDEXED BY landonce_outbox_pending WHERE state = 'pending' GROUP BY topic),\n\
         dead AS (SELECT topic, count(*) AS dead FROM main.landonce_outbox INDEXED BY landonce_outbox_dead\n\
         \x20 WHERE state = 'dead' GROUP BY topic),\n\
         paused AS (SELECT topic, 86400.0 * (julianday(until) - julianday('now')) AS paused, reason\n\
         \x20 FROM main.landonce_outbox_pause WHERE until > {NOW})\n\
         SELECT topic, coalesce(pending, 0), coalesce(leased, 0), coalesce(retrying, 0), coalesce(attempts, 0), oldest,\n\
         \x20 coalesce(dead, 0), paused, reason\n\
         FROM pending FULL JOIN dead USING (topic) FULL JOIN paused USING (topic) ORDER BY topic"
    );
    connection.prepare_cached(&sql)?.query_map([], topic)?.collect()
}

fn topic(row: &Row<'_>) -> rusqlite::Result<Depth> {
    let count = |at: usize| row.get::<_, i64>(at).map(|count| count as u64);
    Ok(Depth {
        topic: row.get(0)?,
        pending: count(1)?,
        leased: count(2)?,
        retrying: count(3)?,
        attempts: count(4)?,
        oldest: row.get::<_, Option<f64>>(5)?.map(lasting),
        dead: count(6)?,
        paused: row.get::<_, Option<f64>>(7)?.map(lasting).zip(row.get(8)?),
    })
}
