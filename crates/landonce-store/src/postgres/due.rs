//! Marks of periods that are due, and the lock that keeps computations and batches of one base apart.

use landonce_core::plan::TableName;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::inbox::{is_missing, without_tables};
use super::link::{Link, Params};
use super::quote;
use crate::due::{Due, Mark};
use crate::error::Result;
use crate::ledger::check;

/// In one order, so that two batches never wait for each other in a circle.
const MARK: &str = "\
INSERT INTO landonce.due (pipeline, derived, label, start_us, end_us, run_id)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::uuid[]) m
ORDER BY 1, 2, 4, 3, 6
ON CONFLICT DO NOTHING";

/// The lock of a base: of the table itself, however its name is spelled. The text before it tells our locks from others.
const LOCKED: &str = "pg_catalog.hashtextextended('landonce derives from ' || coalesce(pg_catalog.to_regclass($1)::oid::text, $1), 0)";

/// Shared, until the transaction ends.
pub(super) async fn share(link: &Link<'_>, base: &TableName) -> Result<()> {
    let sql = format!("SELECT pg_catalog.pg_advisory_xact_lock_shared({LOCKED})");
    let doing = format!("waiting for tables that are being derived from {base}");
    link.query(&doing, &sql, &[(&quote::table(base)?, Pg::TEXT)]).await.map(|_| ())
}

/// Alone, until the transaction ends.
pub(super) async fn own(link: &Link<'_>, base: &TableName) -> Result<()> {
    let sql = format!("SELECT pg_catalog.pg_advisory_xact_lock({LOCKED})");
    let doing = format!("waiting for batches that are under way into {base}");
    link.query(&doing, &sql, &[(&quote::table(base)?, Pg::TEXT)]).await.map(|_| ())
}

pub(super) async fn mark(link: &Link<'_>, marks: &[Mark<'_>]) -> Result<()> {
    let doing = "marking the periods that are due";
    for mark in marks {
        check(doing, &[("pipeline's name", mark.pipeline), ("table's name", mark.derived)])?;
    }
    let texts = |of: fn(&Mark<'_>) -> String| marks.iter().map(of).collect::<Vec<String>>();
    let numbers = |of: fn(&Mark<'_>) -> i64| marks.iter().map(of).collect::<Vec<i64>>();
    let params: Params<'_> = &[
        (&texts(|mark| mark.pipeline.to_owned()), Pg::TEXT_ARRAY),
        (&texts(|mark| mark.derived.to_owned()), Pg::TEXT_ARRAY),
        (&texts(|mark| mark.label.to_owned()), Pg::TEXT_ARRAY),
        (&numbers(|mark| mark.start), Pg::INT8_ARRAY),
        (&numbers(|mark| mark.end), Pg::INT8_ARRAY),
        (&marks.iter().map(|mark| mark.run_id).collect::<Vec<Uuid>>(), Pg::UUID_ARRAY),
    ];
    link.execute(doing, MARK, params).await.map_err(without_tables)?;
    Ok(())
}

pub(super) async fn due(link: &Link<'_>, pipeline: &str, derived: &str) -> Result<Vec<Due>> {
    // In a transaction, the look at a table that isn't there would be its end.
    let there = "SELECT pg_catalog.to_regclass('landonce.due') IS NOT NULL";
    let doing = "looking for periods that are due";
    let is_there: bool = match link.one(doing, there, &[]).await {
        Err(error) if is_missing(&error) => false,
        row => row?.get(0),
    };
    if !is_there {
        return Ok(Vec::new());
    }
    let sql = "\
SELECT label, start_us, end_us FROM landonce.due WHERE pipeline = $1 AND derived = $2
GROUP BY label, start_us, end_us ORDER BY start_us, label";
    let rows = link.query(doing, sql, &[(&pipeline, Pg::TEXT), (&derived, Pg::TEXT)]).await?;
    Ok(rows.iter().map(|row| Due { label: row.get(0), start: row.get(1), end: row.get(2) }).collect())
}

pub(super) async fn unmark(link: &Link<'_>, pipeline: &str, derived: &str, due: &Due) -> Result<u64> {
    let sql = "\
DELETE FROM landonce.due
WHERE pipeline = $1 AND derived = $2 AND label = $3 AND start_us = $4 AND end_us = $5";
    let params: Params<'_> = &[
        (&pipeline, Pg::TEXT),
        (&derived, Pg::TEXT),
        (&due.label, Pg::TEXT),
        (&due.start, Pg::INT8),
        (&due.end, Pg::INT8),
    ];
    link.execute("taking a period's marks away", sql, params).await.map_err(without_tables)
}
