//! Which messages can be leased now, and leasing them.
//!
//! Lanes are walked by leaping through the index of what is pending, from head to head: a lane costs one descent however long it
//! is, and what was sent costs nothing.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::super::inbox::uuid;
use super::{NOW, shift};
use crate::outbox::{Leased, Parcel, Want, lasting, seconds};

/// The head of the first lane of a topic behind another one, and whether it is free to lease: due, and nothing of its lane under
/// way.
fn head_sql() -> String {
    format!(
        "SELECT o.lane, o.due_at <= {NOW} AND NOT EXISTS (\n\
         \x20 SELECT 1 FROM main.landonce_outbox l WHERE l.lane = o.lane AND l.leased_until IS NOT NULL AND l.leased_until > {NOW}),\n\
         \x20 86400.0 * (julianday(max(o.due_at, coalesce((SELECT max(l.leased_until) FROM main.landonce_outbox l\n\
         \x20   WHERE l.lane = o.lane AND l.leased_until IS NOT NULL), ''))) - julianday('now'))\n\
         FROM main.landonce_outbox o INDEXED BY landonce_outbox_pending\n\
         WHERE o.state = 'pending' AND o.topic = ?1 AND o.lane > ?2 ORDER BY o.lane, o.seq LIMIT 1"
    )
}

struct Head {
    lane: String,
    is_free: bool,
    /// How long until it is free, or less than zero.
    after: f64,
}

fn head(connection: &Connection, sql: &str, topic: &str, behind: &str) -> rusqlite::Result<Option<Head>> {
    let read = |row: &Row<'_>| Ok(Head { lane: row.get(0)?, is_free: row.get(1)?, after: row.get(2)? });
    connection.prepare_cached(sql)?.query_row(params![topic, behind], read).optional()
}

/// How much longer a topic pauses.
fn paused(connection: &Connection, topic: &str) -> rusqlite::Result<Option<f64>> {
    let sql = format!(
        "SELECT 86400.0 * (julianday(until) - julianday('now')) FROM main.landonce_outbox_pause WHERE topic = ?1 AND until > {NOW}"
    );
    connection.prepare_cached(&sql)?.query_row([topic], |row| row.get(0)).optional()
}

/// A topic, and the head that the walk has come to.
struct Walk<'t> {
    topic: &'t str,
    at: Option<Head>,
}

/// Leases messages that are due, in the transaction begun.
pub(super) fn lease(connection: &Connection, want: &Want<'_>) -> rusqlite::Result<Leased> {
    let mut leased = Leased { next: want.behind, ..Leased::default() };
    let mut topics: Vec<&str> = Vec::new();
    for topic in want.topics {
        if !topics.contains(&topic.as_str()) && paused(connection, topic)?.is_none() {
            topics.push(topic);
        }
    }
    let sql = head_sql();
    let behind = want.behind.hyphenated().to_string();
    // From where the last walk ended to the last lane, then from the first lane to there.
    for (from, to) in [(behind.as_str(), None), ("", Some(behind.as_str()))] {
        let mut walks = Vec::new();
        for topic in &topics {
            walks.push(Walk { topic, at: head(connection, &sql, topic, from)? });
        }
        loop {
            let within = |head: &Head| to.is_none_or(|to| head.lane.as_str() <= to);
            let lane_of =
                |walk: &Walk<'_>| walk.at.as_ref().filter(|head| within(head)).map(|head| head.lane.clone());
            let first =
                walks.iter_mut().filter(|walk| lane_of(walk).is_some()).min_by_key(|walk| lane_of(walk));
            let Some((walk, head_at)) = first.and_then(|walk| walk.at.take().map(|at| (walk, at))) else {
                break;
            };
            if head_at.is_free {
                let most = want.most_of_a_lane.min(want.most - leased.messages.len() as u32);
                take(connection, want, walk.topic, &head_at.lane, most, &mut leased)?;
                if leased.messages.len() as u32 >= want.most {
                    return Ok(leased);
                }
            }
            walk.at = head(connection, &sql, walk.topic, &head_at.lane)?;
        }
    }
    Ok(leased)
}

/// Leases the beginning of a lane: up to the first message that isn't due.
fn take(
    connection: &Connection,
    want: &Want<'_>,
    topic: &str,
    lane: &str,
    most: u32,
    leased: &mut Leased,
) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT seq, due_at <= {NOW} FROM main.landonce_outbox INDEXED BY landonce_outbox_pending\n\
         WHERE state = 'pending' AND topic = ?1 AND lane = ?2 ORDER BY seq LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![topic, lane, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(i64, bool)> = rows.collect::<rusqlite::Result<_>>()?;
    let sql = "\
UPDATE main.landonce_outbox SET fence = fence + 1, leased_by = ?2, leased_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?3)
WHERE seq = ?1
RETURNING id, fence, seq, topic, lane, entity, kind, payload, attempts, 86400.0 * (julianday('now') - julianday(enqueued_at))";
    let mut lease = connection.prepare_cached(sql)?;
    let until = shift(seconds(want.lease));
    for (seq, _) in rows.into_iter().take_while(|(_, is_due)| *is_due) {
        let one = lease.query_row(params![seq, want.worker, until], parcel)?;
        leased.next = one.lane;
        leased.messages.push(one);
    }
    Ok(())
}

fn parcel(row: &Row<'_>) -> rusqlite::Result<Parcel> {
    Ok(Parcel {
        id: uuid(row, 0)?,
        fence: row.get(1)?,
        seq: row.get(2)?,
        topic: row.get(3)?,
        lane: uuid(row, 4)?,
        entity: row.get(5)?,
        kind: row.get(6)?,
        payload: row.get(7)?,
        attempts: row.get(8)?,
        age: lasting(row.get(9)?),
    })
}

/// How long until something can be leased.
pub(super) fn next_due(connection: &Connection, topics: &[String]) -> rusqlite::Result<Option<Duration>> {
    let sql = head_sql();
    let mut next: Option<f64> = None;
    for topic in topics {
        let paused = paused(connection, topic)?;
        let mut behind = String::new();
        while let Some(head) = head(connection, &sql, topic, &behind)? {
            if head.is_free && paused.is_none() {
                return Ok(Some(Duration::ZERO));
            }
            let after = head.after.max(paused.unwrap_or(0.0));
            next = Some(next.map_or(after, |next| next.min(after)));
            behind = head.lane;
        }
    }
    Ok(next.map(lasting))
}
