//! What `status` and `quarantine` show: batches that have landed, bad records that are kept.
//!
//! Reads only, outside any transaction of a batch. A database without landonce's tables has nothing to show.

use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;

use super::inbox;
use super::link::{Link, Params};
use crate::error::{Error, Result};
use crate::inbox::Settled;
use crate::quarantine::Entry;

/// The columns of [`Entry`], in its order.
const ENTRY: &str = "\
id, pipeline, batch_id, run_id, source, number, kind, field, detail, raw,
       to_char(kept_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), resolved_by";

/// The batches that landed last, newest first.
pub(super) async fn batches(link: &Link<'_>, limit: usize) -> Result<Vec<Settled>> {
    let sql = format!(
        "SELECT {}\nFROM landonce.inbox WHERE outcome IS NOT NULL ORDER BY settled_at DESC, key LIMIT $1",
        inbox::SETTLED
    );
    let limit = limit as i64;
    let rows = read(link, "reading the inbox", &sql, &[(&limit, Pg::INT8)]).await?;
    rows.iter().map(inbox::settled).collect()
}

/// Kept records that have not landed since, of one pipeline or of all, newest first.
pub(super) async fn quarantine(link: &Link<'_>, pipeline: Option<&str>, limit: usize) -> Result<Vec<Entry>> {
    let sql = format!(
        "SELECT {ENTRY}\nFROM landonce.quarantine WHERE resolved_by IS NULL AND ($1::text IS NULL OR pipeline = $1)\n\
         ORDER BY kept_at DESC, id LIMIT $2"
    );
    let limit = limit as i64;
    let params: Params<'_> = &[(&pipeline, Pg::TEXT), (&limit, Pg::INT8)];
    read(link, "reading the quarantine", &sql, params).await?.iter().map(entry).collect()
}

/// The entry whose id begins with these hex digits. Fails when several do, and when they aren't hex digits.
pub(super) async fn quarantine_entry(link: &Link<'_>, id_prefix: &str) -> Result<Option<Entry>> {
    let digits = id_prefix.to_ascii_lowercase();
    if digits.is_empty() || digits.len() > 64 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Error::refused("a quarantine id is up to 64 hex digits, and at least one"));
    }
    let sql = format!(
        "SELECT {ENTRY}\nFROM landonce.quarantine WHERE left(encode(id, 'hex'), length($1)) = $1 LIMIT 2"
    );
    let mut rows = read(link, "reading the quarantine", &sql, &[(&digits, Pg::TEXT)]).await?;
    if rows.len() > 1 {
        return Err(Error::refused(format!("several entries begin with {digits}; give more of the id")));
    }
    rows.pop().map(|row| entry(&row)).transpose()
}

async fn read(link: &Link<'_>, doing: &str, sql: &str, params: Params<'_>) -> Result<Vec<Row>> {
    match link.query(doing, sql, params).await {
        Err(error) if inbox::is_missing(&error) => Ok(Vec::new()),
        rows => rows.map_err(inbox::without_tables),
    }
}

fn entry(row: &Row) -> Result<Entry> {
    let (id, number): (Vec<u8>, i64) = (row.get(0), row.get(5));
    Ok(Entry {
        id: id
            .try_into()
            .map_err(|_| Error::refused("a quarantine id isn't 32 bytes: landonce didn't write it"))?,
        pipeline: row.get(1),
        batch_id: row.get(2),
        run_id: row.get(3),
        source: row.get(4),
        number: number as u64,
        kind: row.get(6),
        field: row.get(7),
        detail: row.get(8),
        raw: row.get(9),
        kept_at: row.get(10),
        resolved_by: row.get(11),
    })
}
