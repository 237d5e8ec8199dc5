//! Writing rows into the target: one by one with one conflict-safe statement, so that a row which SQLite refuses is known by
//! name, and the statement's own rollback leaves the others.

use landonce_core::retry;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use uuid::Uuid;

use super::errors::{during, failed};
use super::render::class;
use super::rows::{BoundRows, bind, place};
use super::stage::{Open, look_at};
use crate::error::{Error, Result};
use crate::seam::{Class, Refused, Written};

/// Writes rows. Those that SQLite refuses are left out and returned.
pub(super) fn write(
    connection: &Connection,
    open: &mut Open,
    rows: &BoundRows,
    run_id: Uuid,
) -> Result<Written> {
    let doing = format!("writing into {}", open.plan.table);
    let run_id = run_id.hyphenated().to_string();
    let mut write = connection.prepare_cached(&open.write).map_err(during(&doing))?;
    let mut look = connection.prepare_cached(&open.look).map_err(during(&doing))?;
    let width = open.plan.row_columns().len();
    if open.plan.run_id.is_some() {
        write.raw_bind_parameter(width + 1, &run_id).map_err(during(&doing))?;
    }
    let needs_savepoint = open.facts.needs_savepoints;
    let mut written = Written::default();
    let unfit = rows.each(|cells| {
        let place = place(cells);
        let class = match open.class_of(place) {
            Some(class) => class,
            None => match look_at(&mut look, cells).map_err(during(&doing))? {
                Some(_) => Class::Changed,
                None => Class::New,
            },
        };
        let mut execute = || {
            bind(&mut write, cells)?;
            write.raw_execute()
        };
        let changed = if needs_savepoint { in_savepoint(connection, execute) } else { execute() };
        match changed {
            Ok(0) => {
                let now = look_at(&mut look, cells).map_err(during(&doing))?;
                match now {
                    Some(class::UNCHANGED) => written.unchanged += 1,
                    Some(class::STALE) => written.stale += 1,
                    Some(class::CONFLICT) => written.conflicts.push(place),
                    _ => written.refused.push(Refused {
                        place,
                        name: String::new(),
                        message: "a trigger left the row out (RAISE(IGNORE))".to_owned(),
                    }),
                }
            }
            Ok(_) if class == Class::New => written.inserted += 1,
            Ok(_) => written.updated += 1,
            Err(error) => {
                let error = failed(error, "");
                written.refused.push(refused(connection, error, cells, &doing)?);
            }
        }
        Ok(())
    })?;
    written.refused.extend(unfit);
    Ok(written)
}

/// A row that SQLite refused; or a failure of the whole, when the row isn't to blame or the transaction is gone.
fn refused(connection: &Connection, error: Error, cells: &[ValueRef<'_>], doing: &str) -> Result<Refused> {
    let message = error.message.trim_start_matches(": ").to_owned();
    if connection.is_autocommit() && retry::blames_row(&error.code) {
        return Err(Error {
            message: format!(
                "{doing}: a trigger has rolled the whole transaction back (RAISE(ROLLBACK)): {message}"
            ),
            ..error
        });
    }
    if !retry::blames_row(&error.code) {
        return Err(Error { message: format!("{doing}: {message}"), ..error });
    }
    Ok(Refused { place: place(cells), name: error.name.unwrap_or_default(), message })
}

/// RAISE(FAIL) keeps what the statement had done before it failed; a savepoint takes that back too.
fn in_savepoint(
    connection: &Connection,
    execute: impl FnOnce() -> rusqlite::Result<usize>,
) -> rusqlite::Result<usize> {
    let run = |sql| connection.prepare_cached(sql)?.execute([]);
    run("SAVEPOINT landonce_row")?;
    let changed = execute();
    if changed.is_err() && !connection.is_autocommit() {
        run("ROLLBACK TO landonce_row")?;
    }
    if !connection.is_autocommit() {
        run("RELEASE landonce_row")?;
    }
    changed
}
