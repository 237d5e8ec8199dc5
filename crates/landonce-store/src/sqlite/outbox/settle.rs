//! What became of leased messages, and leases that are held longer.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::{NOW, shift};
use crate::outbox::{Fate, Lease, Verdict, seconds};

/// A lease that ran out still counts while nobody has taken over: the fence is the same. One that was given back doesn't, so that
/// what is said twice counts once.
const HELD: &str = "id = ?1 AND fence = ?2 AND state = 'pending' AND leased_until IS NOT NULL";

/// Settles, in the transaction begun. Returns the leases that are lost.
pub(super) fn settle(connection: &Connection, verdicts: &[Verdict]) -> rusqlite::Result<Vec<Lease>> {
    let sql = format!(
        "UPDATE main.landonce_outbox SET\n\
         \x20 state = CASE WHEN ?3 IN ('sent', 'dead') THEN ?3 ELSE 'pending' END,\n\
         \x20 attempts = attempts + (?3 <> 'untried'),\n\
         \x20 due_at = CASE WHEN ?3 = 'again' THEN strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?4) ELSE due_at END,\n\
         \x20 sent_at = CASE WHEN ?3 = 'sent' THEN {NOW} ELSE sent_at END,\n\
         \x20 answer = coalesce(?5, answer), leased_by = NULL, leased_until = NULL\n\
         WHERE {HELD}"
    );
    let mut update = connection.prepare_cached(&sql)?;
    let mut lost = Vec::new();
    for Verdict { lease, fate } in verdicts {
        let id = lease.id.to_string();
        let values = params![id, lease.fence, fate.word(), shift(fate.after()), fate.answer()];
        if update.execute(values)? == 0 && !is_in_effect(connection, &id, lease.fence, fate)? {
            lost.push(*lease);
        }
    }
    Ok(lost)
}

fn is_in_effect(connection: &Connection, id: &str, fence: i64, fate: &Fate) -> rusqlite::Result<bool> {
    let sql = "\
SELECT 1 FROM main.landonce_outbox WHERE id = ?1 AND fence = ?2 AND leased_until IS NULL
  AND state = CASE WHEN ?3 IN ('sent', 'dead') THEN ?3 ELSE 'pending' END";
    let found = connection.prepare_cached(sql)?.query_row(params![id, fence, fate.word()], |_| Ok(()));
    Ok(found.optional()?.is_some())
}

/// Holds leases for so much longer. Returns those that are lost.
pub(super) fn renew(
    connection: &Connection,
    leases: &[Lease],
    lease: Duration,
) -> rusqlite::Result<Vec<Lease>> {
    let sql = format!(
        "UPDATE main.landonce_outbox SET leased_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?3) WHERE {HELD}"
    );
    let mut update = connection.prepare_cached(&sql)?;
    let until = shift(seconds(lease));
    let mut lost = Vec::new();
    for one in leases {
        if update.execute(params![one.id.to_string(), one.fence, until])? == 0 {
            lost.push(*one);
        }
    }
    Ok(lost)
}
