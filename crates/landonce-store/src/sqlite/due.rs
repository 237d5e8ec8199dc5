//! Marks of periods that are due. SQLite lets one transaction write at a time, so that a base needs no lock of its own.

use rusqlite::{Connection, params};

use super::errors::during;
use super::inbox::is_there;
use crate::due::{Due, Mark};
use crate::error::{Error, Result};
use crate::ledger::check;

const MARK: &str = "\
INSERT INTO main.landonce_due (pipeline, derived, label, start_us, end_us, run_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING";

pub(super) fn mark(connection: &Connection, marks: &[Mark<'_>]) -> Result<()> {
    let doing = "marking the periods that are due";
    if !is_there(connection, "landonce_due").map_err(during(doing))? {
        return Err(Error::refused(format!(
            "{doing}: landonce's own tables are missing; `landonce setup` makes them"
        )));
    }
    for mark in marks {
        check(doing, &[("pipeline's name", mark.pipeline), ("table's name", mark.derived)])?;
        let run_id = mark.run_id.hyphenated().to_string();
        let Mark { pipeline, derived, label, start, end, .. } = mark;
        let insert = || {
            connection.prepare_cached(MARK)?.execute(params![pipeline, derived, label, start, end, run_id])
        };
        insert().map_err(during(doing))?;
    }
    Ok(())
}

pub(super) fn due(connection: &Connection, pipeline: &str, derived: &str) -> Result<Vec<Due>> {
    let read = || {
        if !is_there(connection, "landonce_due")? {
            return Ok(Vec::new());
        }
        let mut statement = connection.prepare_cached(
            "SELECT label, start_us, end_us FROM main.landonce_due WHERE pipeline = ?1 AND derived = ?2 \
             GROUP BY label, start_us, end_us ORDER BY start_us, label",
        )?;
        let rows = statement.query_map([pipeline, derived], |row| {
            Ok(Due { label: row.get(0)?, start: row.get(1)?, end: row.get(2)? })
        })?;
        rows.collect::<rusqlite::Result<Vec<Due>>>()
    };
    read().map_err(during("looking for periods that are due"))
}

pub(super) fn unmark(connection: &Connection, pipeline: &str, derived: &str, due: &Due) -> Result<u64> {
    let sql = "DELETE FROM main.landonce_due \
               WHERE pipeline = ?1 AND derived = ?2 AND label = ?3 AND start_us = ?4 AND end_us = ?5";
    let deleted = connection.execute(sql, params![pipeline, derived, due.label, due.start, due.end]);
    deleted.map(|count| count as u64).map_err(during("taking a period's marks away"))
}
