//! landonce's own tables: numbered files, forward only, made once by whoever comes first; and the target it makes.

use std::fmt::Write as _;

use landonce_core::plan::TablePlan;
use landonce_core::retry::Code;
use tokio_postgres::types::Type as Pg;

use super::inbox::without_tables;
use super::link::Link;
use super::render::Render;
use super::{catalog, facts};
use crate::error::{Error, Result};

/// The migrations, in order; the number of the last is the schema's version.
const MIGRATIONS: [(&str, &str); 9] = [
    ("0001_inbox", include_str!("../../migrations/postgres/0001_inbox.sql")),
    ("0002_quarantine", include_str!("../../migrations/postgres/0002_quarantine.sql")),
    ("0003_ledger", include_str!("../../migrations/postgres/0003_ledger.sql")),
    ("0004_held", include_str!("../../migrations/postgres/0004_held.sql")),
    ("0005_due", include_str!("../../migrations/postgres/0005_due.sql")),
    ("0006_outbox", include_str!("../../migrations/postgres/0006_outbox.sql")),
    ("0007_events", include_str!("../../migrations/postgres/0007_events.sql")),
    ("0008_action", include_str!("../../migrations/postgres/0008_action.sql")),
    ("0009_position", include_str!("../../migrations/postgres/0009_position.sql")),
];

/// What they make.
const TABLES: [&str; 10] = [
    "inbox",
    "quarantine",
    "ledger",
    "held",
    "held_piece",
    "due",
    "outbox",
    "outbox_pause",
    "action",
    "position",
];

/// What migrations stand on: the schema, and the list of those that have been applied.
const FOUNDATION: &str = "\
CREATE TABLE IF NOT EXISTS landonce.migration (
  version integer PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE landonce.migration IS 'Which of landonce''s migrations have been applied here.';
";

/// Any number will do, as long as nobody else takes it: the first eight bytes of SHA-256 of `landonce migrate`.
const LOCK: &str = "SELECT pg_catalog.pg_advisory_xact_lock(-6910924978858416547)";

/// Everything that a migration does, as one script that may be run again: for a DBA whose ingest role makes no tables.
pub fn setup_sql() -> String {
    let mut sql =
        String::from("-- landonce's own tables. Run as a role that may create a schema; may be run again.\n");
    sql.push_str("BEGIN;\nCREATE SCHEMA IF NOT EXISTS landonce;\n");
    sql.push_str(FOUNDATION);
    for (at, (name, migration)) in MIGRATIONS.iter().enumerate() {
        let _ = write!(
            sql,
            "\n{}\nINSERT INTO landonce.migration (version, name) VALUES ({}, '{name}') ON CONFLICT DO NOTHING;\n",
            migration.trim_end(),
            at + 1
        );
    }
    sql.push_str(
        "COMMIT;\n\n-- What the role that runs landonce needs (put its name in):\n\
         -- GRANT USAGE ON SCHEMA landonce TO ingest;\n\
         -- GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA landonce TO ingest;\n\
         -- GRANT DELETE ON landonce.held_piece, landonce.due, landonce.outbox, landonce.outbox_pause TO ingest;\n",
    );
    sql
}

/// Makes or upgrades the tables. Looks first, without a lock, so that nothing is needed when nothing is to be done.
pub(super) async fn migrate(link: &Link<'_>) -> Result<()> {
    let doing = "setting up landonce's tables";
    let known = MIGRATIONS.len();
    if version(link, doing).await? == known {
        return Ok(());
    }
    let steps = async {
        // The lock comes first: whoever waits for it looks again and finds everything done.
        link.batch(doing, &format!("BEGIN; {LOCK}")).await?;
        let has_schema: bool =
            link.one(doing, "SELECT pg_catalog.to_regnamespace('landonce') IS NOT NULL", &[]).await?.get(0);
        if !has_schema {
            link.batch(doing, "CREATE SCHEMA landonce").await.map_err(without_rights)?;
        }
        let applied = version(link, doing).await?;
        if applied < known {
            link.batch(doing, FOUNDATION).await.map_err(without_rights)?;
        }
        for (at, (name, migration)) in MIGRATIONS.iter().enumerate().skip(applied) {
            link.batch(doing, migration).await.map_err(without_rights)?;
            let (version, name) = ((at + 1) as i32, name);
            let insert = "INSERT INTO landonce.migration (version, name) VALUES ($1, $2)";
            link.execute(doing, insert, &[(&version, Pg::INT4), (name, Pg::TEXT)]).await?;
        }
        link.batch(doing, "COMMIT").await
    };
    let done = steps.await;
    if done.is_err() {
        let _ = link.batch(doing, "ROLLBACK").await;
    }
    done
}

/// As [`migrate`]; then makes what is missing.
pub(super) async fn remake(link: &Link<'_>) -> Result<()> {
    migrate(link).await?;
    let doing = "setting up landonce's tables";
    let missing =
        "SELECT count(*) FROM unnest($1::text[]) t WHERE pg_catalog.to_regclass('landonce.' || t) IS NULL";
    let missing: i64 = link.one(doing, missing, &[(&TABLES.as_slice(), Pg::TEXT_ARRAY)]).await?.get(0);
    if missing == 0 {
        return Ok(());
    }
    let made = link.batch(doing, &setup_sql()).await.map_err(without_rights);
    if made.is_err() {
        let _ = link.batch(doing, "ROLLBACK").await;
    }
    made
}

/// The version that is there; 0 for none.
async fn version(link: &Link<'_>, doing: &str) -> Result<usize> {
    let exists = "SELECT pg_catalog.to_regclass('landonce.migration') IS NOT NULL";
    let is_there: bool = link.one(doing, exists, &[]).await.map_err(without_tables)?.get(0);
    if !is_there {
        return Ok(0);
    }
    let newest = "SELECT coalesce(max(version), 0) FROM landonce.migration";
    let version: i32 = link.one(doing, newest, &[]).await.map_err(without_tables)?.get(0);
    let (found, known) = (version as usize, MIGRATIONS.len());
    if found > known {
        return Err(Error::refused(format!(
            "{doing}: the database has version {found} of them and this landonce knows {known}; use a newer landonce"
        )));
    }
    Ok(found)
}

fn without_rights(mut error: Error) -> Error {
    if matches!(&error.code, Code::SqlState(state) if state == "42501") {
        error.message.push_str("; have an administrator run what `landonce setup --print` prints");
    }
    error
}

/// The DDL of a plan's target, as [`crate::seam::Connection::create_target`] runs it.
pub fn create_target_sql(plan: &TablePlan) -> Result<String> {
    Render::new(plan, &facts::made(plan))?.create_target()
}

/// Makes the target table of a plan. Whoever makes it first has made it for all.
pub(super) async fn create_target(link: &Link<'_>, plan: &TablePlan) -> Result<()> {
    let doing = format!("making table {}", plan.table);
    if catalog::load(link, &plan.table).await?.is_some() {
        return Ok(());
    }
    match link.batch(&doing, &create_target_sql(plan)?).await {
        // A type of that name stands in the way as well, and makes no table.
        Err(error) if is_made(&error) && catalog::load(link, &plan.table).await?.is_some() => Ok(()),
        done => done,
    }
}

/// Makes the history of a plan's target, once.
pub(super) async fn create_history(link: &Link<'_>, plan: &TablePlan) -> Result<()> {
    let Some(history) = &plan.history else { return Ok(()) };
    let doing = format!("making table {history}");
    if catalog::load(link, history).await?.is_some() {
        return Ok(());
    }
    let Some(sql) = Render::new(plan, &facts::made(plan))?.create_history()? else { return Ok(()) };
    match link.batch(&doing, &sql).await {
        Err(error) if is_made(&error) && catalog::load(link, history).await?.is_some() => Ok(()),
        done => done,
    }
}

/// Another process has made it between our look and our try: it is found by name, or as a double in the catalogue.
fn is_made(error: &Error) -> bool {
    let Code::SqlState(state) = &error.code else { return false };
    let is_catalogue = error.name.as_deref().is_some_and(|name| name.starts_with("pg_"));
    matches!(state.as_str(), "42P07" | "42710") || (state == "23505" && is_catalogue)
}
