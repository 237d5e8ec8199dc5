//! What `status` and `quarantine` show: batches that have landed, bad records that are kept.
//!
//! Reads only, outside any transaction of a batch. A database without landonce's tables has nothing to show.

use rusqlite::{Connection, Params, Row, params};
use uuid::Uuid;

use super::errors::during;
use super::inbox::{Found, SETTLED, is_there, uuid};
use crate::error::{Error, Result};
use crate::inbox::Settled;
use crate::quarantine::Entry;

/// The columns of [`Entry`], in its order.
const ENTRY: &str =
    "id, pipeline, batch_id, run_id, source, number, kind, field, detail, raw, kept_at, resolved_by";

/// The batches that landed last, newest first.
pub(super) fn batches(connection: &Connection, limit: usize) -> Result<Vec<Settled>> {
    let sql = format!(
        "SELECT {SETTLED} FROM main.landonce_inbox WHERE settled_at IS NOT NULL ORDER BY settled_at DESC, key LIMIT ?1"
    );
    let found = read(connection, "reading the inbox", "landonce_inbox", &sql, [limit as i64], Found::read)?;
    found.into_iter().map(Found::settled).collect()
}

/// Kept records that have not landed since, of one pipeline or of all, newest first.
pub(super) fn quarantine(
    connection: &Connection,
    pipeline: Option<&str>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let sql = format!(
        "SELECT {ENTRY} FROM main.landonce_quarantine WHERE resolved_by IS NULL AND (?1 IS NULL OR pipeline = ?1) \
         ORDER BY kept_at DESC, id LIMIT ?2"
    );
    entries(connection, &sql, params![pipeline, limit as i64])
}

/// The entry whose id begins with these hex digits. Fails when several do, and when they aren't hex digits.
pub(super) fn quarantine_entry(connection: &Connection, id_prefix: &str) -> Result<Option<Entry>> {
    let digits = id_prefix.to_ascii_lowercase();
    if digits.is_empty() || digits.len() > 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::refused("a quarantine id is up to 64 hex digits, and at least one"));
    }
    let sql = format!(
        "SELECT {ENTRY} FROM main.landonce_quarantine WHERE substr(lower(hex(id)), 1, length(?1)) = ?1 LIMIT 2"
    );
    let mut found = entries(connection, &sql, params![digits])?;
    if found.len() > 1 {
        return Err(Error::refused(format!("several entries begin with {digits}; give more of the id")));
    }
    Ok(found.pop())
}

fn entries(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<Entry>> {
    read(connection, "reading the quarantine", "landonce_quarantine", sql, params, entry)
}

fn read<T>(
    connection: &Connection,
    doing: &str,
    table: &str,
    sql: &str,
    params: impl Params,
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let rows = || {
        if !is_there(connection, table)? {
            return Ok(Vec::new());
        }
        connection.prepare_cached(sql)?.query_map(params, row)?.collect()
    };
    rows().map_err(during(doing))
}
fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let resolved_by: Option<Uuid> =
        if row.get_ref(11)? == rusqlite::types::ValueRef::Null { None } else { Some(uuid(row, 11)?) };
    Ok(Entry {
        id: row.get(0)?,
        pipeline: row.get(1)?,
        batch_id: row.get(2)?,
        run_id: uuid(row, 3)?,
        source: row.get(4)?,
        number: row.get::<_, i64>(5)? as u64,
        kind: row.get(6)?,
        field: row.get(7)?,
        detail: row.get(8)?,
        raw: row.get(9)?,
        kept_at: row.get(10)?,
        resolved_by,
    })
}
