//! Held runs' rows and their payloads' pieces.

use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::inbox::{self, SETTLED, is_missing, without_tables};
use super::link::{Link, Params};
use crate::error::{Error, Result};
use crate::held::{self, Held, Hold, State};
use crate::inbox::{InboxKey, Settled};
use crate::repair::lost::Load;

/// One that was decided is held again when it comes again; one that waits, or was rejected, stays as it is.
const HOLD: &str = "\
INSERT INTO landonce.held AS h (key, pipeline, batch_digest, batch_id, run_id, source, reasons, outcome, is_complete)
VALUES ($1, $2, $3, $4, $5, $6, $7::text::jsonb, $8::text::jsonb, $9)
ON CONFLICT (key) DO UPDATE SET state = 'held', held_at = clock_timestamp(), decided_by = NULL, decided_at = NULL,
       run_id = EXCLUDED.run_id, source = EXCLUDED.source, reasons = EXCLUDED.reasons, outcome = EXCLUDED.outcome,
       is_complete = EXCLUDED.is_complete
WHERE h.state IN ('released', 'landed')";

const HELD: &str = "\
pipeline, batch_digest, batch_id, run_id, source, reasons::text, outcome::text, is_complete, state,
       to_char(held_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), decided_by";

/// Holds a payload: one transaction, begun and ended by the caller. Returns what has become of it.
pub(super) async fn hold(
    link: &Link<'_>,
    hold: &Hold,
    payload: &mut (dyn std::io::Read + Send),
) -> Result<State> {
    let doing = "holding the payload";
    let key = hold.key();
    let (key, digest) = (key.0.as_slice(), hold.digest.as_slice());
    let (reasons, outcome) = (held::json(&hold.reasons)?, held::json(&hold.outcome)?);
    let params: Params<'_> = &[
        (&key, Pg::BYTEA),
        (&hold.pipeline, Pg::TEXT),
        (&digest, Pg::BYTEA),
        (&hold.batch_id, Pg::TEXT),
        (&hold.run_id, Pg::UUID),
        (&hold.source, Pg::TEXT),
        (&reasons, Pg::TEXT),
        (&outcome, Pg::TEXT),
        (&hold.is_complete, Pg::BOOL),
    ];
    if link.execute(doing, HOLD, params).await.map_err(without_tables)? == 0 {
        let state =
            link.one(doing, "SELECT state FROM landonce.held WHERE key = $1", &[(&key, Pg::BYTEA)]).await?;
        return State::read(state.get(0));
    }
    let insert =
        "INSERT INTO landonce.held_piece (key, nth, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let mut nth = 0_i32;
    while let Some(bytes) = held::piece(payload)? {
        link.execute(doing, insert, &[(&key, Pg::BYTEA), (&nth, Pg::INT4), (&bytes, Pg::BYTEA)]).await?;
        nth += 1;
    }
    Ok(State::Held)
}

/// Says what has become of a payload that is held; nothing when it isn't. Returns whether it was.
pub(super) async fn decide(link: &Link<'_>, key: &InboxKey, state: State, run_id: Uuid) -> Result<bool> {
    let doing = "deciding a held run";
    let update = "UPDATE landonce.held SET state = $2, decided_by = $3, decided_at = clock_timestamp() WHERE key = $1 AND state = 'held'";
    let key = key.0.as_slice();
    let params: Params<'_> = &[(&key, Pg::BYTEA), (&state.as_str(), Pg::TEXT), (&run_id, Pg::UUID)];
    let decided = link.execute(doing, update, params).await.map_err(without_tables)?;
    if decided > 0 {
        link.execute(doing, "DELETE FROM landonce.held_piece WHERE key = $1", &[(&key, Pg::BYTEA)]).await?;
    }
    Ok(decided > 0)
}

/// What has become of a payload that was held.
pub(super) async fn state(link: &Link<'_>, key: &InboxKey) -> Result<Option<State>> {
    let key = key.0.as_slice();
    let sql = "SELECT state FROM landonce.held WHERE key = $1";
    match link.query("looking for a held run", sql, &[(&key, Pg::BYTEA)]).await {
        Err(error) if is_missing(&error) => Ok(None),
        rows => rows?.first().map(|row| State::read(row.get(0))).transpose(),
    }
}

/// The last batches of a pipeline, newest first, back to the last that a person has released.
pub(super) async fn earlier(link: &Link<'_>, pipeline: &str, most: usize) -> Result<Vec<Settled>> {
    let doing = "looking at earlier loads";
    // The names are one table's each: those of the inbox need no prefix but the pipeline's and the run's.
    let sql = format!(
        "SELECT {SETTLED}, (SELECT count(*) > 0 FROM landonce.held h WHERE h.decided_by = landonce.inbox.run_id AND h.state = 'released')\n\
         FROM landonce.inbox WHERE pipeline = $1 AND outcome IS NOT NULL ORDER BY settled_at DESC, key LIMIT $2"
    );
    let most = most as i64;
    let rows = match link.query(doing, &sql, &[(&pipeline, Pg::TEXT), (&most, Pg::INT8)]).await {
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        rows => rows?,
    };
    let mut settled = Vec::new();
    for row in &rows {
        settled.push(inbox::settled(row)?);
        if row.get(7) {
            break;
        }
    }
    Ok(settled)
}

/// All batches of a pipeline, oldest first, each with whether a person has released it.
pub(super) async fn landed(link: &Link<'_>, pipeline: &str) -> Result<Vec<Load>> {
    let sql = format!(
        "SELECT {SETTLED}, (SELECT count(*) > 0 FROM landonce.held h WHERE h.decided_by = landonce.inbox.run_id AND h.state = 'released')\n\
         FROM landonce.inbox WHERE pipeline = $1 AND outcome IS NOT NULL ORDER BY settled_at, key"
    );
    match link.query("looking at earlier loads", &sql, &[(&pipeline, Pg::TEXT)]).await {
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        rows => rows?
            .iter()
            .map(|row| Ok(Load { settled: inbox::settled(row)?, is_released: row.get(7) }))
            .collect(),
    }
}

fn read(row: &Row) -> Result<Held> {
    held::Row {
        pipeline: row.get(0),
        digest: row.get(1),
        batch_id: row.get(2),
        run_id: row.get(3),
        source: row.get(4),
        reasons: row.get(5),
        outcome: row.get(6),
        is_complete: row.get(7),
        state: row.get(8),
        held_at: row.get(9),
        decided_by: row.get(10),
    }
    .held()
}

/// Held runs, of one pipeline or of all, newest first; those that wait for a person, or all.
pub(super) async fn held(link: &Link<'_>, pipeline: Option<&str>, is_all: bool) -> Result<Vec<Held>> {
    let sql = format!(
        "SELECT {HELD}\nFROM landonce.held WHERE ($1::text IS NULL OR pipeline = $1) AND ($2 OR state = 'held')\n\
         ORDER BY held_at DESC, key"
    );
    let rows = link.query("reading held runs", &sql, &[(&pipeline, Pg::TEXT), (&is_all, Pg::BOOL)]).await;
    match rows {
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        rows => rows?.iter().map(read).collect(),
    }
}

/// A piece of a held payload; `None` behind the last.
pub(super) async fn held_piece(link: &Link<'_>, key: &InboxKey, nth: u32) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT bytes FROM landonce.held_piece WHERE key = $1 AND nth = $2";
    let (key, nth) = (key.0.as_slice(), i32::try_from(nth).map_err(|_| Error::refused("no such piece"))?);
    let rows = link.query("reading a held payload", sql, &[(&key, Pg::BYTEA), (&nth, Pg::INT4)]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}
