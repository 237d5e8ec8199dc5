//! The positions' rows: taken, moved, put somewhere else by a person.
//!
//! Whoever takes a part waits for a transaction that has just moved it, and then finds it moved; a transaction that moves it behind
//! the taking finds another epoch.

use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::inbox::{is_missing, without_tables};
use super::link::{Link, Params};
use crate::error::Result;
use crate::position::{Advance, Advanced, Part, Position, Taken};

const TAKE: &str = "\
INSERT INTO landonce.position AS p (pipeline, source, part, epoch, owner) VALUES ($1, $2, $3, 1, $4)
ON CONFLICT (pipeline, source, part) DO UPDATE SET epoch = p.epoch + 1, owner = excluded.owner, taken_at = clock_timestamp()
RETURNING epoch, next, mark";

const ADVANCE: &str = "\
UPDATE landonce.position SET next = $6, mark = $7, run_id = $8, moved_at = clock_timestamp()
WHERE pipeline = $1 AND source = $2 AND part = $3 AND epoch = $4 AND next IS NOT DISTINCT FROM $5";

const PUT: &str = "\
INSERT INTO landonce.position AS p (pipeline, source, part, epoch, owner, next, moved_at)
VALUES ($1, $2, $3, 1, $4, $5, clock_timestamp())
ON CONFLICT (pipeline, source, part) DO UPDATE SET epoch = p.epoch + 1, owner = excluded.owner, next = excluded.next, mark = NULL,
    run_id = NULL, taken_at = clock_timestamp(), moved_at = clock_timestamp()";

const LIST: &str = "\
SELECT pipeline, source, part, next, epoch, owner, run_id,
       to_char(taken_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),
       to_char(moved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')
FROM landonce.position WHERE $1::text IS NULL OR pipeline = $1
ORDER BY pipeline COLLATE \"C\", source COLLATE \"C\", length(part), part COLLATE \"C\"";

/// Takes a part.
pub(super) async fn take(link: &Link<'_>, part: &Part, owner: &str) -> Result<Taken> {
    let doing = "taking a part of the source";
    part.check(doing, &[("owner's name", owner)])?;
    let params: Params<'_> =
        &[(&part.pipeline, Pg::TEXT), (&part.source, Pg::TEXT), (&part.part, Pg::TEXT), (&owner, Pg::TEXT)];
    let row = link.one(doing, TAKE, params).await.map_err(without_tables)?;
    Ok(Taken { epoch: row.get::<_, i64>(0) as u64, next: row.get(1), mark: row.get(2) })
}

/// Moves a part, if it is ours and where the batch begins.
pub(super) async fn advance(link: &Link<'_>, advance: &Advance, run_id: Uuid) -> Result<Advanced> {
    let doing = "moving a part's position";
    let Advance { part, epoch, from, to, mark } = advance;
    part.check(doing, &[("position", to)])?;
    let (epoch, mark) = (*epoch as i64, mark.as_deref());
    let params: Params<'_> = &[
        (&part.pipeline, Pg::TEXT),
        (&part.source, Pg::TEXT),
        (&part.part, Pg::TEXT),
        (&epoch, Pg::INT8),
        (from, Pg::TEXT),
        (to, Pg::TEXT),
        (&mark, Pg::BYTEA),
        (&run_id, Pg::UUID),
    ];
    if link.execute(doing, ADVANCE, params).await.map_err(without_tables)? == 1 {
        return Ok(Advanced::Moved);
    }
    let sql =
        "SELECT epoch, owner, next FROM landonce.position WHERE pipeline = $1 AND source = $2 AND part = $3";
    let rows = link.query(doing, sql, &params[..3]).await?;
    let Some(row) = rows.first() else {
        return Ok(Advanced::Lost { epoch: None, owner: String::new(), next: None });
    };
    let (found, owner, next): (i64, String, Option<String>) = (row.get(0), row.get(1), row.get(2));
    Ok(if found == epoch && next.as_ref() == Some(to) {
        Advanced::Already
    } else {
        Advanced::Lost { epoch: Some(found as u64), owner, next }
    })
}

/// Puts a part somewhere; whoever has it loses it.
pub(super) async fn put(link: &Link<'_>, part: &Part, next: Option<&str>, owner: &str) -> Result<()> {
    let doing = "putting a part's position";
    part.check(doing, &[("owner's name", owner), ("position", next.unwrap_or_default())])?;
    let params: Params<'_> = &[
        (&part.pipeline, Pg::TEXT),
        (&part.source, Pg::TEXT),
        (&part.part, Pg::TEXT),
        (&owner, Pg::TEXT),
        (&next, Pg::TEXT),
    ];
    link.execute(doing, PUT, params).await.map_err(without_tables)?;
    Ok(())
}

/// All parts, of one pipeline or of all. None where there is no such table yet.
pub(super) async fn list(link: &Link<'_>, pipeline: Option<&str>) -> Result<Vec<Position>> {
    match link.query("reading positions", LIST, &[(&pipeline, Pg::TEXT)]).await {
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        rows => Ok(rows?.iter().map(position).collect()),
    }
}

fn position(row: &Row) -> Position {
    Position {
        part: Part { pipeline: row.get(0), source: row.get(1), part: row.get(2) },
        next: row.get(3),
        epoch: row.get::<_, i64>(4) as u64,
        owner: row.get(5),
        run_id: row.get(6),
        taken_at: row.get(7),
        moved_at: row.get(8),
    }
}
