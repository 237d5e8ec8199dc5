//! Held runs' rows and their payloads' pieces.

use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::errors::during;
use super::inbox::{Found, is_there, uuid, with_tables};
use crate::error::Result;
use crate::held::{self, Held, Hold, State};
use crate::inbox::{InboxKey, Settled};
use crate::repair::lost::Load;

/// One that was decided is held again when it comes again; one that waits, or was rejected, stays as it is.
const HOLD: &str = "\
INSERT INTO main.landonce_held AS h (key, pipeline, batch_digest, batch_id, run_id, source, reasons, outcome, is_complete)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (key) DO UPDATE SET state = 'held', held_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), decided_by = NULL,
       decided_at = NULL, run_id = excluded.run_id, source = excluded.source, reasons = excluded.reasons,
       outcome = excluded.outcome, is_complete = excluded.is_complete
WHERE h.state IN ('released', 'landed')";

const HELD: &str = "\
pipeline, batch_digest, batch_id, run_id, source, reasons, outcome, is_complete, state, held_at, decided_by";

/// Holds a payload: one transaction, begun and ended by the caller. Returns what has become of it.
pub(super) fn hold(
    connection: &Connection,
    hold: &Hold,
    payload: &mut (dyn std::io::Read + Send),
) -> Result<State> {
    let doing = "holding the payload";
    with_tables(connection, doing)?;
    let key = hold.key().0;
    let (reasons, outcome) = (held::json(&hold.reasons)?, held::json(&hold.outcome)?);
    let run_id = hold.run_id.hyphenated().to_string();
    let insert = || {
        connection.prepare_cached(HOLD)?.execute(params![
            key,
            hold.pipeline,
            hold.digest,
            hold.batch_id,
            run_id,
            hold.source,
            reasons,
            outcome,
            hold.is_complete
        ])
    };
    if insert().map_err(during(doing))? == 0 {
        let sql = "SELECT state FROM main.landonce_held WHERE key = ?1";
        let state: String =
            connection.query_row(sql, params![key], |row| row.get(0)).map_err(during(doing))?;
        return State::read(&state);
    }
    let sql =
        "INSERT INTO main.landonce_held_piece (key, nth, bytes) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    let mut nth = 0_i64;
    while let Some(bytes) = held::piece(payload)? {
        connection.execute(sql, params![key, nth, bytes]).map_err(during(doing))?;
        nth += 1;
    }
    Ok(State::Held)
}

/// Says what has become of a payload that is held; nothing when it isn't. Returns whether it was.
pub(super) fn decide(connection: &Connection, key: &InboxKey, state: State, run_id: Uuid) -> Result<bool> {
    let decide = || {
        let sql = "UPDATE main.landonce_held SET state = ?2, decided_by = ?3, decided_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') \
                   WHERE key = ?1 AND state = 'held'";
        let decided =
            connection.execute(sql, params![key.0, state.as_str(), run_id.hyphenated().to_string()])?;
        if decided > 0 {
            connection.execute("DELETE FROM main.landonce_held_piece WHERE key = ?1", params![key.0])?;
        }
        Ok(decided > 0)
    };
    decide().map_err(during("deciding a held run"))
}

/// What has become of a payload that was held.
pub(super) fn state(connection: &Connection, key: &InboxKey) -> Result<Option<State>> {
    let read = || {
        if !is_there(connection, "landonce_held")? {
            return Ok(None);
        }
        let sql = "SELECT state FROM main.landonce_held WHERE key = ?1";
        connection.query_row(sql, params![key.0], |row| row.get::<_, String>(0)).optional()
    };
    read().map_err(during("looking for a held run"))?.map(|state| State::read(&state)).transpose()
}

/// The last batches of a pipeline, newest first, back to the last that a person has released.
pub(super) fn earlier(connection: &Connection, pipeline: &str, most: usize) -> Result<Vec<Settled>> {
    let doing = "looking at earlier loads";
    let read = || {
        if !is_there(connection, "landonce_inbox")? || !is_there(connection, "landonce_held")? {
            return Ok(Vec::new());
        }
        let sql = "SELECT i.pipeline, i.batch_id, i.batch_digest, i.run_id, i.source, i.outcome, i.settled_at, \
                   EXISTS (SELECT 1 FROM main.landonce_held h WHERE h.decided_by = i.run_id AND h.state = 'released') \
                   FROM main.landonce_inbox i WHERE i.pipeline = ?1 AND i.settled_at IS NOT NULL \
                   ORDER BY i.settled_at DESC, i.key LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![pipeline, most as i64], |row| {
            Ok((Found::read(row)?, row.get::<_, bool>(7)?))
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let mut settled = Vec::new();
    for (found, is_released) in read().map_err(during(doing))? {
        settled.push(found.settled()?);
        if is_released {
            break;
        }
    }
    Ok(settled)
}

/// All batches of a pipeline, oldest first, each with whether a person has released it.
pub(super) fn landed(connection: &Connection, pipeline: &str) -> Result<Vec<Load>> {
    let doing = "looking at earlier loads";
    let read = || {
        if !is_there(connection, "landonce_inbox")? || !is_there(connection, "landonce_held")? {
            return Ok(Vec::new());
        }
        let sql = "SELECT i.pipeline, i.batch_id, i.batch_digest, i.run_id, i.source, i.outcome, i.settled_at, \
                   EXISTS (SELECT 1 FROM main.landonce_held h WHERE h.decided_by = i.run_id AND h.state = 'released') \
                   FROM main.landonce_inbox i WHERE i.pipeline = ?1 AND i.settled_at IS NOT NULL ORDER BY i.settled_at, i.key";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map([pipeline], |row| Ok((Found::read(row)?, row.get::<_, bool>(7)?)))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let found = read().map_err(during(doing))?;
    found
        .into_iter()
        .map(|(found, is_released)| Ok(Load { settled: found.settled()?, is_released }))
        .collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<held::Row> {
    let decided_by: Option<String> = row.get(10)?;
    Ok(held::Row {
        pipeline: row.get(0)?,
        digest: row.get(1)?,
        batch_id: row.get(2)?,
        run_id: uuid(row, 3)?,
        source: row.get(4)?,
        reasons: row.get(5)?,
        outcome: row.get(6)?,
        is_complete: row.get(7)?,
        state: row.get(8)?,
        held_at: row.get(9)?,
        decided_by: decided_by.and_then(|text| text.parse().ok()),
    })
}

/// Held runs, of one pipeline or of all, newest first; those that wait for a person, or all.
pub(super) fn held(connection: &Connection, pipeline: Option<&str>, is_all: bool) -> Result<Vec<Held>> {
    let rows = || {
        if !is_there(connection, "landonce_held")? {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {HELD} FROM main.landonce_held WHERE (?1 IS NULL OR pipeline = ?1) AND (?2 OR state = 'held') \
             ORDER BY held_at DESC, key"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params![pipeline, is_all], read)?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let rows = rows().map_err(during("reading held runs"))?;
    rows.into_iter().map(held::Row::held).collect()
}

/// A piece of a held payload; `None` behind the last.
pub(super) fn held_piece(connection: &Connection, key: &InboxKey, nth: u32) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT bytes FROM main.landonce_held_piece WHERE key = ?1 AND nth = ?2";
    let read = connection.query_row(sql, params![key.0, nth], |row| row.get(0)).optional();
    read.map_err(during("reading a held payload"))
}
