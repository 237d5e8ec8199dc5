//! What people do with messages: due again, discarded, deleted; and topics that pause.

use std::time::Duration;

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::{NOW, shift};
use crate::outbox::{Act, State, Which, answer, seconds};

/// [`Which`] as ?1 to ?6. An empty list of ids is all of them.
pub(super) const FITS: &str = "\
(?1 IS NULL OR topic = ?1) AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR entity = ?3)
  AND (?4 IS NULL OR id IN (SELECT value FROM json_each(?4))) AND id BETWEEN ?5 AND ?6";

/// The ids as a JSON text; NULL for all of them.
pub(super) fn ids(which: &Which) -> Option<String> {
    let quoted: Vec<String> = which.ids.iter().map(|id| format!("\"{id}\"")).collect();
    (!quoted.is_empty()).then(|| format!("[{}]", quoted.join(",")))
}

/// Does something with messages, in the transaction begun; returns how many it was done with.
pub(super) fn act(
    connection: &Connection,
    which: &Which,
    (lowest, highest): (Uuid, Uuid),
    act: Act,
) -> rusqlite::Result<u64> {
    // Revived: whoever holds an old lease of it is told that it is lost.
    let revived = format!(
        "state = 'pending', attempts = 0, due_at = {NOW}, fence = fence + 1, leased_by = NULL, leased_until = NULL, sent_at = NULL"
    );
    let (set, of) = match act {
        Act::Retry => (format!("due_at = {NOW}"), format!("state = 'pending' AND due_at > {NOW}")),
        Act::Redrive => (revived, "state IN ('dead', 'discarded')".to_owned()),
        Act::Resend => (revived, "state IN ('dead', 'discarded', 'sent')".to_owned()),
        // When it was discarded is when it isn't due any more: that is what pruning goes by.
        Act::Discard => (
            format!("state = 'discarded', due_at = {NOW}, leased_by = NULL, leased_until = NULL"),
            format!(
                "(state = 'dead' OR state = 'pending' AND (leased_until IS NULL OR leased_until <= {NOW}))"
            ),
        ),
    };
    let sql = format!("UPDATE main.landonce_outbox SET {set} WHERE {of}\n  AND {FITS}");
    let state = which.state.map(State::as_str);
    let values =
        params![which.topic, state, which.entity, ids(which), lowest.to_string(), highest.to_string()];
    Ok(connection.execute(&sql, values)? as u64)
}

/// Deletes what was done with so long ago, in the order of the rows, which is that of time: the first row that is too young ends
/// the walk.
pub(super) fn prune(connection: &Connection, older_than: Duration, most: u32) -> rusqlite::Result<u64> {
    let before = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?1)";
    let sql = format!(
        "DELETE FROM main.landonce_outbox WHERE seq IN (\n\
         \x20 SELECT o.seq FROM main.landonce_outbox o\n\
         \x20 WHERE o.seq < coalesce((SELECT y.seq FROM main.landonce_outbox y WHERE y.enqueued_at >= {before} ORDER BY y.seq LIMIT 1),\n\
         \x20                        9223372036854775807)\n\
         \x20   AND (o.state = 'sent' AND o.sent_at < {before} OR o.state = 'discarded' AND o.due_at < {before})\n\
         \x20 ORDER BY o.seq LIMIT ?2)"
    );
    Ok(connection.execute(&sql, params![shift(-seconds(older_than)), most])? as u64)
}

/// A topic pauses; the longer pause stays.
pub(super) fn pause(
    connection: &Connection,
    topic: &str,
    lasting: Duration,
    reason: &str,
) -> rusqlite::Result<()> {
    let sql = "\
INSERT INTO main.landonce_outbox_pause AS p (topic, until, reason) VALUES (?1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?2), ?3)
ON CONFLICT (topic) DO UPDATE SET until = excluded.until, reason = excluded.reason WHERE p.until < excluded.until";
    connection.execute(sql, params![topic, shift(seconds(lasting)), answer(reason)]).map(drop)
}

/// A topic goes on.
pub(super) fn resume(connection: &Connection, topic: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM main.landonce_outbox_pause WHERE topic = ?1", [topic]).map(drop)
}
