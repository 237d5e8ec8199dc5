//! The quarantine's rows: kept once, marked when they have landed after all.

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::errors::during;
use super::inbox::with_tables;
use crate::error::Result;
use crate::quarantine::BadRow;

const KEEP: &str = "\
INSERT INTO main.landonce_quarantine (id, pipeline, batch_id, run_id, source, number, kind, field, detail, raw)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, field = excluded.field, detail = excluded.detail,
    resolved_by = NULL, resolved_at = NULL
WHERE resolved_by IS NOT NULL";

const RESOLVE: &str = "\
UPDATE main.landonce_quarantine SET resolved_by = ?2, resolved_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
WHERE id = ?1 AND resolved_by IS NULL";

/// Keeps bad records. Returns how many were not open before. One that had landed meanwhile is opened again.
pub(super) fn keep(connection: &Connection, rows: &[BadRow<'_>]) -> Result<u64> {
    let doing = "keeping bad records in the quarantine";
    if rows.is_empty() {
        return Ok(0);
    }
    with_tables(connection, doing)?;
    let insert = || {
        let mut statement = connection.prepare_cached(KEEP)?;
        let mut kept = 0;
        for row in rows {
            kept += statement.execute(params![
                row.id(),
                row.pipeline,
                row.batch_id,
                row.run_id.hyphenated().to_string(),
                row.source,
                row.number as i64,
                row.bad.kind.as_str(),
                row.bad.field,
                row.bad.detail,
                row.raw
            ])?;
        }
        Ok(kept as u64)
    };
    insert().map_err(during(doing))
}

/// Marks records as landed by a run; those that are marked keep their mark. Returns how many were open.
pub(super) fn resolve(connection: &Connection, ids: &[[u8; 32]], run_id: Uuid) -> Result<u64> {
    let doing = "marking quarantined records as landed";
    let update = || {
        let mut statement = connection.prepare_cached(RESOLVE)?;
        let mut marked = 0;
        for id in ids {
            marked += statement.execute(params![id, run_id.hyphenated().to_string()])?;
        }
        Ok(marked as u64)
    };
    update().map_err(during(doing))
}
