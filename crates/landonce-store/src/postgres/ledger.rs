//! The ledger's rows: looked up, listed, entered by a load, marked by a failure.
//!
//! A concurrent twin waits for the row, and then finds that `loads` isn't what it expected.

use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::inbox::{is_missing, without_tables};
use super::link::{Link, Params};
use crate::error::Result;
use crate::ledger::{Entry, Failed, Failure, Load, Loaded, check, strange, without_nul};

/// The columns of [`Entry`], in its order.
const ENTRY: &str = "\
pipeline, label, start_us, end_us, loads, batch_digest, is_complete, batch_id, run_id, row_count,
       to_char(loaded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),
       failed_run_id, failed_code, failed_message,
       to_char(failed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";

/// The first load; a failed attempt may be there already.
const FIRST: &str = "\
INSERT INTO landonce.ledger AS l (pipeline, label, start_us, end_us, loads, batch_digest, is_complete, batch_id, run_id,
    row_count, loaded_at)
VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, clock_timestamp())
ON CONFLICT (pipeline, label) DO UPDATE SET start_us = excluded.start_us, end_us = excluded.end_us, loads = 1,
    batch_digest = excluded.batch_digest, is_complete = excluded.is_complete, batch_id = excluded.batch_id,
    run_id = excluded.run_id, row_count = excluded.row_count, loaded_at = excluded.loaded_at,
    failed_run_id = NULL, failed_code = NULL, failed_message = NULL, failed_at = NULL
WHERE l.loads = 0";

/// A later one, if no other has come in between.
const LATER: &str = "\
UPDATE landonce.ledger SET start_us = $3, end_us = $4, loads = loads + 1, batch_digest = $5, is_complete = $6,
    batch_id = $7, run_id = $8, row_count = $9, loaded_at = clock_timestamp(),
    failed_run_id = NULL, failed_code = NULL, failed_message = NULL, failed_at = NULL
WHERE pipeline = $1 AND label = $2 AND loads = $10";

const FAIL: &str = "\
INSERT INTO landonce.ledger (pipeline, label, start_us, end_us, failed_run_id, failed_code, failed_message, failed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
ON CONFLICT (pipeline, label) DO UPDATE SET failed_run_id = excluded.failed_run_id, failed_code = excluded.failed_code,
    failed_message = excluded.failed_message, failed_at = excluded.failed_at";

/// One look, without a lock. `None` also when there is no ledger.
pub(super) async fn period(link: &Link<'_>, pipeline: &str, label: &str) -> Result<Option<Entry>> {
    let sql = format!("SELECT {ENTRY}\nFROM landonce.ledger WHERE pipeline = $1 AND label = $2");
    let params: Params<'_> = &[(&pipeline, Pg::TEXT), (&label, Pg::TEXT)];
    Ok(read(link, "looking into the ledger", &sql, params).await?.pop())
}

/// The periods that start in `from..to`, by start.
pub(super) async fn periods(link: &Link<'_>, pipeline: &str, from: i64, to: i64) -> Result<Vec<Entry>> {
    let sql = format!(
        "SELECT {ENTRY}\nFROM landonce.ledger WHERE pipeline = $1 AND start_us >= $2 AND start_us < $3\n\
         ORDER BY start_us, label"
    );
    let params: Params<'_> = &[(&pipeline, Pg::TEXT), (&from, Pg::INT8), (&to, Pg::INT8)];
    read(link, "reading the ledger", &sql, params).await
}

/// Enters a load, if `expected` loads are there before it.
pub(super) async fn enter(link: &Link<'_>, load: &Load<'_>, expected: u64) -> Result<bool> {
    let doing = format!("entering period {} in the ledger", load.label);
    check(&doing, &[("pipeline's name", load.pipeline), ("label", load.label), ("batch id", load.batch_id)])?;
    let (digest, rows, expected) = (load.digest.as_slice(), load.rows as i64, expected as i64);
    let params: Params<'_> = &[
        (&load.pipeline, Pg::TEXT),
        (&load.label, Pg::TEXT),
        (&load.start, Pg::INT8),
        (&load.end, Pg::INT8),
        (&digest, Pg::BYTEA),
        (&load.is_complete, Pg::BOOL),
        (&load.batch_id, Pg::TEXT),
        (&load.run_id, Pg::UUID),
        (&rows, Pg::INT8),
        (&expected, Pg::INT8),
    ];
    let entered = if expected == 0 {
        link.execute(&doing, FIRST, &params[..9]).await
    } else {
        link.execute(&doing, LATER, params).await
    };
    Ok(entered.map_err(without_tables)? == 1)
}

/// Notes a failed attempt, and leaves what is loaded.
pub(super) async fn fail(link: &Link<'_>, failure: &Failure<'_>) -> Result<()> {
    let doing = format!("noting in the ledger that period {} failed", failure.label);
    check(&doing, &[("pipeline's name", failure.pipeline), ("label", failure.label)])?;
    let params: Params<'_> = &[
        (&failure.pipeline, Pg::TEXT),
        (&failure.label, Pg::TEXT),
        (&failure.start, Pg::INT8),
        (&failure.end, Pg::INT8),
        (&failure.run_id, Pg::UUID),
        (&without_nul(failure.code), Pg::TEXT),
        (&without_nul(failure.message), Pg::TEXT),
    ];
    link.execute(&doing, FAIL, params).await.map_err(without_tables)?;
    Ok(())
}

async fn read(link: &Link<'_>, doing: &str, sql: &str, params: Params<'_>) -> Result<Vec<Entry>> {
    match link.query(doing, sql, params).await {
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        rows => rows.map_err(without_tables)?.iter().map(entry).collect(),
    }
}

/// A row of [`ENTRY`].
fn entry(row: &Row) -> Result<Entry> {
    let (label, loads): (String, i64) = (row.get(1), row.get(4));
    let (digest, is_complete): (Option<Vec<u8>>, Option<bool>) = (row.get(5), row.get(6));
    let (batch_id, run_id): (Option<String>, Option<Uuid>) = (row.get(7), row.get(8));
    let (rows, loaded_at): (Option<i64>, Option<String>) = (row.get(9), row.get(10));
    let loaded = match (digest, is_complete, batch_id, run_id, rows, loaded_at) {
        (None, None, None, None, None, None) if loads == 0 => None,
        (Some(digest), Some(is_complete), Some(batch_id), Some(run_id), Some(rows), Some(loaded_at))
            if loads > 0 =>
        {
            let digest = digest
                .try_into()
                .map_err(|_| strange(&label, "has a digest of another length than 32 bytes"))?;
            Some(Loaded { digest, is_complete, batch_id, run_id, rows: rows as u64, loaded_at })
        }
        _ => return Err(strange(&label, "doesn't say what was loaded")),
    };
    let failed: (Option<Uuid>, Option<String>, Option<String>, Option<String>) =
        (row.get(11), row.get(12), row.get(13), row.get(14));
    let failed = match failed {
        (None, None, None, None) => None,
        (Some(run_id), Some(code), Some(message), Some(failed_at)) => {
            Some(Failed { run_id, code, message, failed_at })
        }
        _ => return Err(strange(&label, "doesn't say how it failed")),
    };
    Ok(Entry {
        pipeline: row.get(0),
        label,
        start: row.get(2),
        end: row.get(3),
        loads: loads as u64,
        loaded,
        failed,
    })
}
