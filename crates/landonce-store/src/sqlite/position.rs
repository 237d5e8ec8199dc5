//! The positions' rows: taken, moved, put somewhere else by a person.

use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::errors::during;
use super::inbox::{is_there, uuid};
use crate::error::{Error, Result};
use crate::position::{Advance, Advanced, Part, Position, Taken};

const TAKE: &str = "\
INSERT INTO main.landonce_position AS p (pipeline, source, part, epoch, owner) VALUES (?1, ?2, ?3, 1, ?4)
ON CONFLICT (pipeline, source, part) DO UPDATE SET epoch = p.epoch + 1, owner = excluded.owner,
    taken_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
RETURNING epoch, next, mark";

const ADVANCE: &str = "\
UPDATE main.landonce_position SET next = ?6, mark = ?7, run_id = ?8, moved_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
WHERE pipeline = ?1 AND source = ?2 AND part = ?3 AND epoch = ?4 AND next IS ?5";

const PUT: &str = "\
INSERT INTO main.landonce_position AS p (pipeline, source, part, epoch, owner, next, moved_at)
VALUES (?1, ?2, ?3, 1, ?4, ?5, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
ON CONFLICT (pipeline, source, part) DO UPDATE SET epoch = p.epoch + 1, owner = excluded.owner, next = excluded.next, mark = NULL,
    run_id = NULL, taken_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), moved_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

const LIST: &str = "\
SELECT pipeline, source, part, next, epoch, owner, run_id, taken_at, moved_at
FROM main.landonce_position WHERE ?1 IS NULL OR pipeline = ?1 ORDER BY pipeline, source, length(part), part";

/// Takes a part.
pub(super) fn take(connection: &Connection, part: &Part, owner: &str) -> Result<Taken> {
    let doing = "taking a part of the source";
    part.check(doing, &[("owner's name", owner)])?;
    with_table(connection, doing)?;
    let take = || {
        let Part { pipeline, source, part } = part;
        connection.prepare_cached(TAKE)?.query_row(params![pipeline, source, part, owner], |row| {
            Ok(Taken { epoch: row.get::<_, i64>(0)? as u64, next: row.get(1)?, mark: row.get(2)? })
        })
    };
    take().map_err(during(doing))
}

/// Moves a part, if it is ours and where the batch begins.
pub(super) fn advance(connection: &Connection, advance: &Advance, run_id: Uuid) -> Result<Advanced> {
    let doing = "moving a part's position";
    let Advance { part, epoch, from, to, mark } = advance;
    part.check(doing, &[("position", to)])?;
    with_table(connection, doing)?;
    let Part { pipeline, source, part } = part;
    let epoch = *epoch as i64;
    let run_id = run_id.hyphenated().to_string();
    let moved = || {
        let values = params![pipeline, source, part, epoch, from, to, mark, run_id];
        connection.prepare_cached(ADVANCE)?.execute(values)
    };
    if moved().map_err(during(doing))? == 1 {
        return Ok(Advanced::Moved);
    }
    let look = || {
        let sql = "SELECT epoch, owner, next FROM main.landonce_position WHERE pipeline = ?1 AND source = ?2 AND part = ?3";
        let mut statement = connection.prepare_cached(sql)?;
        let found = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?));
        statement.query_row([pipeline, source, part], found).optional()
    };
    let found: Option<(i64, String, Option<String>)> = look().map_err(during(doing))?;
    Ok(match found {
        None => Advanced::Lost { epoch: None, owner: String::new(), next: None },
        Some((found, _, next)) if found == epoch && next.as_ref() == Some(to) => Advanced::Already,
        Some((found, owner, next)) => Advanced::Lost { epoch: Some(found as u64), owner, next },
    })
}

/// Puts a part somewhere; whoever has it loses it.
pub(super) fn put(connection: &Connection, part: &Part, next: Option<&str>, owner: &str) -> Result<()> {
    let doing = "putting a part's position";
    part.check(doing, &[("owner's name", owner), ("position", next.unwrap_or_default())])?;
    with_table(connection, doing)?;
    let Part { pipeline, source, part } = part;
    let put = || connection.prepare_cached(PUT)?.execute(params![pipeline, source, part, owner, next]);
    put().map_err(during(doing))?;
    Ok(())
}

/// All parts, of one pipeline or of all. None where there is no such table yet.
pub(super) fn list(connection: &Connection, pipeline: Option<&str>) -> Result<Vec<Position>> {
    let read = || {
        if !is_there(connection, "landonce_position")? {
            return Ok(Vec::new());
        }
        let mut statement = connection.prepare_cached(LIST)?;
        let rows = statement.query_map([pipeline], position)?;
        rows.collect::<rusqlite::Result<Vec<Position>>>()
    };
    read().map_err(during("reading positions"))
}

fn position(row: &Row<'_>) -> rusqlite::Result<Position> {
    let has_run = row.get_ref(6)? != rusqlite::types::ValueRef::Null;
    Ok(Position {
        part: Part { pipeline: row.get(0)?, source: row.get(1)?, part: row.get(2)? },
        next: row.get(3)?,
        epoch: row.get::<_, i64>(4)? as u64,
        owner: row.get(5)?,
        run_id: has_run.then(|| uuid(row, 6)).transpose()?,
        taken_at: row.get(7)?,
        moved_at: row.get(8)?,
    })
}

fn with_table(connection: &Connection, doing: &str) -> Result<()> {
    if is_there(connection, "landonce_position").map_err(during(doing))? {
        return Ok(());
    }
    Err(Error::refused(format!("{doing}: landonce's own tables are missing; `landonce setup` makes them")))
}
