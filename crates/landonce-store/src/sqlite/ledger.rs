//! The ledger's rows: looked up, listed, entered by a load, marked by a failure.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::errors::during;
use super::inbox::{is_there, uuid};
use crate::error::{Error, Result};
use crate::ledger::{Entry, Failed, Failure, Load, Loaded, check, strange, without_nul};

/// The columns of [`Entry`], in its order.
const ENTRY: &str = "\
pipeline, label, start_us, end_us, loads, batch_digest, is_complete, batch_id, run_id, row_count, loaded_at,
       failed_run_id, failed_code, failed_message, failed_at";

/// The first load; a failed attempt may be there already.
const FIRST: &str = "\
INSERT INTO main.landonce_ledger AS l (pipeline, label, start_us, end_us, loads, batch_digest, is_complete, batch_id,
    run_id, row_count, loaded_at)
VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
ON CONFLICT (pipeline, label) DO UPDATE SET start_us = excluded.start_us, end_us = excluded.end_us, loads = 1,
    batch_digest = excluded.batch_digest, is_complete = excluded.is_complete, batch_id = excluded.batch_id,
    run_id = excluded.run_id, row_count = excluded.row_count, loaded_at = excluded.loaded_at,
    failed_run_id = NULL, failed_code = NULL, failed_message = NULL, failed_at = NULL
WHERE l.loads = 0";

/// A later one, if no other has come in between.
const LATER: &str = "\
UPDATE main.landonce_ledger SET start_us = ?3, end_us = ?4, loads = loads + 1, batch_digest = ?5, is_complete = ?6,
    batch_id = ?7, run_id = ?8, row_count = ?9, loaded_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
    failed_run_id = NULL, failed_code = NULL, failed_message = NULL, failed_at = NULL
WHERE pipeline = ?1 AND label = ?2 AND loads = ?10";

const FAIL: &str = "\
INSERT INTO main.landonce_ledger (pipeline, label, start_us, end_us, failed_run_id, failed_code, failed_message, failed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
ON CONFLICT (pipeline, label) DO UPDATE SET failed_run_id = excluded.failed_run_id, failed_code = excluded.failed_code,
    failed_message = excluded.failed_message, failed_at = excluded.failed_at";

/// One look, without a lock that anybody would wait for. `None` also when there is no ledger.
pub(super) fn period(connection: &Connection, pipeline: &str, label: &str) -> Result<Option<Entry>> {
    let read = || {
        if !is_there(connection, "landonce_ledger")? {
            return Ok(None);
        }
        let sql = format!("SELECT {ENTRY} FROM main.landonce_ledger WHERE pipeline = ?1 AND label = ?2");
        connection.prepare_cached(&sql)?.query_row([pipeline, label], Found::read).optional()
    };
    read().map_err(during("looking into the ledger"))?.map(Found::entry).transpose()
}

/// The periods that start in `from..to`, by start.
pub(super) fn periods(connection: &Connection, pipeline: &str, from: i64, to: i64) -> Result<Vec<Entry>> {
    let read = || {
        if !is_there(connection, "landonce_ledger")? {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {ENTRY} FROM main.landonce_ledger WHERE pipeline = ?1 AND start_us >= ?2 AND start_us < ?3 \
             ORDER BY start_us, label"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params![pipeline, from, to], Found::read)?;
        rows.collect::<rusqlite::Result<Vec<Found>>>()
    };
    read().map_err(during("reading the ledger"))?.into_iter().map(Found::entry).collect()
}

/// Enters a load, if `expected` loads are there before it.
pub(super) fn enter(connection: &Connection, load: &Load<'_>, expected: u64) -> Result<bool> {
    let doing = format!("entering period {} in the ledger", load.label);
    check(&doing, &[("pipeline's name", load.pipeline), ("label", load.label), ("batch id", load.batch_id)])?;
    with_table(connection, &doing)?;
    let run_id = load.run_id.hyphenated().to_string();
    let (rows, expected) = (load.rows as i64, expected as i64);
    let Load { pipeline, label, start, end, digest, is_complete, batch_id, .. } = load;
    let write = || {
        if expected == 0 {
            let values = params![pipeline, label, start, end, digest, is_complete, batch_id, run_id, rows];
            connection.prepare_cached(FIRST)?.execute(values)
        } else {
            let values =
                params![pipeline, label, start, end, digest, is_complete, batch_id, run_id, rows, expected];
            connection.prepare_cached(LATER)?.execute(values)
        }
    };
    Ok(write().map_err(during(&doing))? == 1)
}

/// Notes a failed attempt, and leaves what is loaded.
pub(super) fn fail(connection: &Connection, failure: &Failure<'_>) -> Result<()> {
    let doing = format!("noting in the ledger that period {} failed", failure.label);
    check(&doing, &[("pipeline's name", failure.pipeline), ("label", failure.label)])?;
    with_table(connection, &doing)?;
    let upsert = || {
        connection.prepare_cached(FAIL)?.execute(params![
            failure.pipeline,
            failure.label,
            failure.start,
            failure.end,
            failure.run_id.hyphenated().to_string(),
            without_nul(failure.code),
            without_nul(failure.message)
        ])
    };
    upsert().map_err(during(&doing))?;
    Ok(())
}

fn with_table(connection: &Connection, doing: &str) -> Result<()> {
    if is_there(connection, "landonce_ledger").map_err(during(doing))? {
        return Ok(());
    }
    Err(Error::refused(format!("{doing}: landonce's own tables are missing; `landonce setup` makes them")))
}

/// A row of [`ENTRY`], as it is stored.
struct Found {
    entry: Entry,
    is_whole: bool,
}

impl Found {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let is_null = |at: usize| Ok::<_, rusqlite::Error>(row.get_ref(at)? == ValueRef::Null);
        let loads = row.get::<_, i64>(4)? as u64;
        let mut nulls = 0;
        for at in 5..=10 {
            nulls += usize::from(is_null(at)?);
        }
        let loaded = if nulls == 0 {
            Some(Loaded {
                digest: row.get(5)?,
                is_complete: row.get(6)?,
                batch_id: row.get(7)?,
                run_id: uuid(row, 8)?,
                rows: row.get::<_, i64>(9)? as u64,
                loaded_at: row.get(10)?,
            })
        } else {
            None
        };
        let failed = if is_null(11)? {
            None
        } else {
            Some(Failed {
                run_id: uuid(row, 11)?,
                code: row.get(12)?,
                message: row.get(13)?,
                failed_at: row.get(14)?,
            })
        };
        let is_whole = if loads == 0 { nulls == 6 } else { nulls == 0 };
        let entry = Entry {
            pipeline: row.get(0)?,
            label: row.get(1)?,
            start: row.get(2)?,
            end: row.get(3)?,
            loads,
            loaded,
            failed,
        };
        Ok(Self { entry, is_whole })
    }

    fn entry(self) -> Result<Entry> {
        if self.is_whole {
            return Ok(self.entry);
        }
        Err(strange(&self.entry.label, "doesn't say what was loaded"))
    }
}
