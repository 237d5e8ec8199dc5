//! What people see of the outbox: messages, and the figures of each topic.

use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;

use super::super::link::{Link, Params};
use super::act::FITS;
use crate::error::Result;
use crate::outbox::{Depth, Entry, Message, State, Which, lasting};

/// A time as RFC 3339 in UTC.
fn shown(column: &str) -> String {
    format!("to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
}

/// Messages, newest first.
pub(super) async fn messages(link: &Link<'_>, which: &Which, most: usize) -> Result<Vec<Entry>> {
    let [enqueued_at, due_at, leased_until, sent_at] =
        ["enqueued_at", "due_at", "leased_until", "sent_at"].map(shown);
    let sql = format!(
        "SELECT id, producer, topic, lane, ordering, entity, kind, payload, run_id, seq, state, {enqueued_at},\n\
         \x20 CASE WHEN state = 'pending' THEN {due_at} END, attempts,\n\
         \x20 CASE WHEN leased_until > clock_timestamp() THEN leased_by END, {leased_until}, answer, {sent_at}, corrected_by\n\
         FROM landonce.outbox WHERE {FITS} ORDER BY seq DESC LIMIT $7"
    );
    let (lowest, highest) = which.id_range()?;
    let state = which.state.map(State::as_str);
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let params: Params<'_> = &[
        (&which.topic, Pg::TEXT),
        (&state, Pg::TEXT),
        (&which.entity, Pg::TEXT),
        (&which.ids, Pg::UUID_ARRAY),
        (&lowest, Pg::UUID),
        (&highest, Pg::UUID),
        (&most, Pg::INT8),
    ];
    link.query("reading the outbox", &sql, params).await?.iter().map(entry).collect()
}

fn entry(row: &Row) -> Result<Entry> {
    let leased_by: Option<String> = row.get(14);
    Ok(Entry {
        message: Message {
            id: row.get(0),
            producer: row.get(1),
            topic: row.get(2),
            lane: row.get(3),
            ordering: row.get(4),
            entity: row.get(5),
            kind: row.get(6),
            payload: row.get(7),
            run_id: row.get(8),
        },
        seq: row.get(9),
        state: State::read(row.get(10))?,
        enqueued_at: row.get(11),
        due_at: row.get(12),
        attempts: row.get::<_, i32>(13) as u32,
        leased: leased_by.zip(row.get(15)),
        answer: row.get(16),
        sent_at: row.get(17),
        corrected_by: row.get(18),
    })
}

/// What was sent isn't looked at: only the indexes of what is pending and of what is dead.
const DEPTH: &str = "\
WITH pending AS (
  SELECT topic, count(*) AS pending, count(*) FILTER (WHERE leased_until > clock_timestamp()) AS leased,
    count(*) FILTER (WHERE attempts > 0) AS retrying, sum(attempts)::bigint AS attempts,
    extract(epoch FROM clock_timestamp() - min(enqueued_at))::float8 AS oldest
  FROM landonce.outbox WHERE state = 'pending' GROUP BY topic),
dead AS (SELECT topic, count(*) AS dead FROM landonce.outbox WHERE state = 'dead' GROUP BY topic),
paused AS (
  SELECT topic, extract(epoch FROM until - clock_timestamp())::float8 AS paused, reason
  FROM landonce.outbox_pause WHERE until > clock_timestamp())
SELECT topic, coalesce(pending, 0), coalesce(leased, 0), coalesce(retrying, 0), coalesce(attempts, 0), oldest, coalesce(dead, 0),
  paused, reason
FROM pending FULL JOIN dead USING (topic) FULL JOIN paused USING (topic) ORDER BY topic COLLATE \"C\"";

/// The figures of each topic.
pub(super) async fn depth(link: &Link<'_>) -> Result<Vec<Depth>> {
    let rows = link.query("counting messages", DEPTH, &[]).await?;
    Ok(rows.iter().map(topic).collect())
}

fn topic(row: &Row) -> Depth {
    let count = |at: usize| row.get::<_, i64>(at) as u64;
    Depth {
        topic: row.get(0),
        pending: count(1),
        leased: count(2),
        retrying: count(3),
        attempts: count(4),
        oldest: row.get::<_, Option<f64>>(5).map(lasting),
        dead: count(6),
        paused: row.get::<_, Option<f64>>(7).map(lasting).zip(row.get(8)),
    }
}
