//! landonce's own tables: numbered files, forward only, made once by whoever comes first; and the target it makes.

use std::fmt::Write as _;

use landonce_core::plan::TablePlan;
use rusqlite::{Connection, params};

use super::catalog::{self, Facts};
use super::errors::during;
use super::inbox::is_there;
use super::render::Render;
use crate::error::{Error, Result};

/// The migrations, in order; the number of the last is the schema's version.
const MIGRATIONS: [(&str, &str); 9] = [
    ("0001_inbox", include_str!("../../migrations/sqlite/0001_inbox.sql")),
    ("0002_quarantine", include_str!("../../migrations/sqlite/0002_quarantine.sql")),
    ("0003_ledger", include_str!("../../migrations/sqlite/0003_ledger.sql")),
    ("0004_held", include_str!("../../migrations/sqlite/0004_held.sql")),
    ("0005_due", include_str!("../../migrations/sqlite/0005_due.sql")),
    ("0006_outbox", include_str!("../../migrations/sqlite/0006_outbox.sql")),
    ("0007_events", include_str!("../../migrations/sqlite/0007_events.sql")),
    ("0008_action", include_str!("../../migrations/sqlite/0008_action.sql")),
    ("0009_position", include_str!("../../migrations/sqlite/0009_position.sql")),
];

/// What they make.
const TABLES: [&str; 11] = [
    "landonce_inbox",
    "landonce_quarantine",
    "landonce_ledger",
    "landonce_held",
    "landonce_held_piece",
    "landonce_due",
    "landonce_outbox",
    "landonce_outbox_pause",
    "landonce_subject",
    "landonce_action",
    "landonce_position",
];

/// What migrations stand on: the list of those that have been applied here.
const FOUNDATION: &str = "\
CREATE TABLE IF NOT EXISTS landonce_migration (
  version INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
";

const DOING: &str = "setting up landonce's tables";

/// Everything that [`migrate`] does, as one script that may be run again: for whoever makes the tables by hand.
pub fn setup_sql() -> String {
    let mut sql = String::from("-- landonce's own tables. May be run again.\nBEGIN IMMEDIATE;\n");
    sql.push_str(FOUNDATION);
    for (at, (name, migration)) in MIGRATIONS.iter().enumerate() {
        let _ = write!(
            sql,
            "\n{}\nINSERT OR IGNORE INTO landonce_migration (version, name) VALUES ({}, '{name}');\n",
            migration.trim_end(),
            at + 1
        );
    }
    sql.push_str("COMMIT;\n");
    sql
}

/// The DDL of a plan's target, as [`crate::seam::Connection::create_target`] runs it.
pub fn create_target_sql(plan: &TablePlan) -> Result<String> {
    Render::new(plan, &Facts::made(plan, false))?.create_target()
}

/// Makes or upgrades landonce's own tables on a connection that is in no transaction. Takes the write lock only when there
/// is something to do.
pub fn migrate(connection: &Connection) -> Result<()> {
    if version(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    // The lock comes first: whoever waits for it looks again and finds everything done.
    in_transaction(connection, DOING, || {
        let applied = version(connection)?;
        connection.execute_batch(FOUNDATION).map_err(during(DOING))?;
        for (at, (name, migration)) in MIGRATIONS.iter().enumerate().skip(applied) {
            connection.execute_batch(migration).map_err(during(DOING))?;
            let insert = "INSERT INTO landonce_migration (version, name) VALUES (?1, ?2)";
            connection.execute(insert, params![(at + 1) as i64, name]).map_err(during(DOING))?;
        }
        Ok(())
    })
}

/// As [`migrate`]; then makes what is missing.
pub(super) fn remake(connection: &Connection) -> Result<()> {
    migrate(connection)?;
    for table in TABLES {
        if !is_there(connection, table).map_err(during(DOING))? {
            return connection.execute_batch(&setup_sql()).map_err(during(DOING));
        }
    }
    Ok(())
}

/// The version that is there; 0 for none.
fn version(connection: &Connection) -> Result<usize> {
    let newest = || {
        if !is_there(connection, "landonce_migration")? {
            return Ok(0);
        }
        let sql = "SELECT coalesce(max(version), 0) FROM main.landonce_migration";
        connection.query_row(sql, [], |row| row.get::<_, i64>(0))
    };
    let (found, known) = (newest().map_err(during(DOING))? as usize, MIGRATIONS.len());
    if found > known {
        return Err(Error::refused(format!(
            "{DOING}: the database has version {found} of them and this landonce knows {known}; use a newer landonce"
        )));
    }
    Ok(found)
}

/// Makes the target table of a plan. Whoever makes it first has made it for all.
pub(super) fn create_target(connection: &Connection, plan: &TablePlan) -> Result<()> {
    let doing = format!("making table {}", plan.table);
    let sql = create_target_sql(plan)?;
    if catalog::load(connection, &plan.table)?.is_some() {
        return Ok(());
    }
    in_transaction(connection, &doing, || connection.execute_batch(&sql).map_err(during(&doing)))
}

/// Makes the history of a plan's target, once.
pub(super) fn create_history(connection: &Connection, plan: &TablePlan) -> Result<()> {
    let Some(history) = &plan.history else { return Ok(()) };
    let doing = format!("making table {history}");
    if catalog::load(connection, history)?.is_some() {
        return Ok(());
    }
    let Some(sql) = Render::new(plan, &Facts::made(plan, false))?.create_history()? else { return Ok(()) };
    in_transaction(connection, &doing, || connection.execute_batch(&sql).map_err(during(&doing)))
}

fn in_transaction(connection: &Connection, doing: &str, steps: impl FnOnce() -> Result<()>) -> Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE").map_err(during(doing))?;
    let done = steps().and_then(|()| connection.execute_batch("COMMIT").map_err(during(doing)));
    if done.is_err() {
        // The first failure is the one to tell; after some of them SQLite has rolled back by itself.
        let _ = connection.execute_batch("ROLLBACK");
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(connection: &Connection) -> Vec<String> {
        let mut statement =
            connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn the_printed_script_makes_what_a_migration_makes_and_may_be_run_again() {
        let (by_script, by_run) =
            (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
        by_script.execute_batch(&setup_sql()).unwrap();
        by_script.execute_batch(&setup_sql()).unwrap();
        migrate(&by_run).unwrap();
        migrate(&by_run).unwrap();
        assert_eq!(schema(&by_script), schema(&by_run));
        assert_eq!(version(&by_script).unwrap(), MIGRATIONS.len());
    }

    #[test]
    fn a_database_of_a_newer_landonce_is_refused() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection).unwrap();
        connection.execute("INSERT INTO landonce_migration (version, name) VALUES (99, 'x')", []).unwrap();
        let error = migrate(&connection).unwrap_err();
        let told = format!("version 99 of them and this landonce knows {}", MIGRATIONS.len());
        assert!(error.to_string().contains(&told), "{error}");
        assert!(connection.is_autocommit());
    }

    #[test]
    fn every_migration_opens_with_what_its_table_means() {
        for (name, migration) in MIGRATIONS {
            assert!(migration.starts_with("-- The "), "{name}");
        }
    }
}
