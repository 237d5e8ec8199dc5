//! The inbox's rows: claimed, looked up, settled.
//!
//! SQLite has one writer at a time, so a twin waits where its transaction begins, and finds the settled row.

use landonce_core::bad_record::shorten;
use landonce_core::outcome::Outcome;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::errors::during;
use crate::error::{Error, Result};
use crate::inbox::{Claim, Claimed, InboxKey, Settled};

/// The columns of [`Settled`], in its order.
pub(super) const SETTLED: &str = "pipeline, batch_id, batch_digest, run_id, source, outcome, settled_at";

const CLAIM: &str = "\
INSERT INTO main.landonce_inbox (key, pipeline, batch_id, batch_digest, run_id, source)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (key) DO NOTHING";

const ABOUT: &str =
    "INSERT INTO main.landonce_subject (subject, inbox) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

const SETTLE: &str = "\
UPDATE main.landonce_inbox SET outcome = ?2, settled_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
WHERE key = ?1 AND outcome IS NULL";

/// Inserts the inbox row, or finds the one that is there.
pub(super) fn claim(connection: &Connection, claim: &Claim) -> Result<Claimed> {
    let doing = format!("claiming batch {}", shorten(&claim.batch_id));
    claim.has_only_text()?;
    with_tables(connection, &doing)?;
    let key = claim.key();
    let insert = || {
        connection.prepare_cached(CLAIM)?.execute(params![
            key.0,
            claim.pipeline,
            claim.batch_id,
            claim.digest,
            claim.run_id.hyphenated().to_string(),
            claim.source
        ])
    };
    if insert().map_err(during(&doing))? == 1 {
        about(connection, claim).map_err(during(&doing))?;
        return Ok(Claimed::New);
    }
    match find(connection, &key).map_err(during(&doing))? {
        Some(row) => row.settled().map(Claimed::Found),
        None => Err(Error::refused(format!("{doing}: the inbox row vanished in our own transaction"))),
    }
}

/// Remembers which record a claimed event is about.
pub(super) fn about(connection: &Connection, claim: &Claim) -> rusqlite::Result<()> {
    if let Some(subject) = claim.subject {
        let mut insert = connection.prepare_cached(ABOUT)?;
        insert.execute(params![subject, claim.key().0])?;
    }
    Ok(())
}

/// One look, without a lock that anybody would wait for. `None` also when there is no inbox.
pub(super) fn look_up(connection: &Connection, key: &InboxKey) -> Result<Option<Settled>> {
    let doing = "looking into the inbox";
    if !is_there(connection, "landonce_inbox").map_err(during(doing))? {
        return Ok(None);
    }
    find(connection, key).map_err(during(doing))?.map(Found::settled).transpose()
}

/// Writes the outcome into the claimed row.
pub(super) fn settle(connection: &Connection, claim: &Claim, outcome: &Outcome) -> Result<()> {
    let doing = "settling the batch in the inbox";
    let outcome = serde_json::to_string(outcome)
        .map_err(|error| Error::refused(format!("the outcome can't be spelled as JSON: {error}")))?;
    let update = || connection.prepare_cached(SETTLE)?.execute(params![claim.key().0, outcome]);
    if update().map_err(during(doing))? == 1 {
        return Ok(());
    }
    Err(Error::refused(format!(
        "{doing}: it has not been claimed in this transaction, or is settled already"
    )))
}

fn find(connection: &Connection, key: &InboxKey) -> rusqlite::Result<Option<Found>> {
    let sql = format!("SELECT {SETTLED} FROM main.landonce_inbox WHERE key = ?1");
    connection.prepare_cached(&sql)?.query_row(params![key.0], Found::read).optional()
}

/// A row of [`SETTLED`], as it is stored.
pub(super) struct Found {
    pipeline: String,
    batch_id: String,
    digest: [u8; 32],
    run_id: Uuid,
    source: String,
    outcome: Option<String>,
    settled_at: Option<String>,
}

impl Found {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            pipeline: row.get(0)?,
            batch_id: row.get(1)?,
            digest: row.get(2)?,
            run_id: uuid(row, 3)?,
            source: row.get(4)?,
            outcome: row.get(5)?,
            settled_at: row.get(6)?,
        })
    }

    pub(super) fn settled(self) -> Result<Settled> {
        let Self { pipeline, batch_id, digest, run_id, source, outcome, settled_at } = self;
        let strange = |what: &str| {
            Error::refused(format!(
                "the inbox row of batch {} {what}: landonce didn't write it so",
                shorten(&batch_id)
            ))
        };
        let outcome = outcome.ok_or_else(|| strange("is claimed without an outcome"))?;
        let outcome =
            serde_json::from_str(&outcome).map_err(|_| strange("has an outcome that can't be read"))?;
        Ok(Settled {
            pipeline,
            batch_id,
            digest,
            run_id,
            source,
            outcome,
            settled_at: settled_at.unwrap_or_default(),
        })
    }
}

/// A UUID in its text form.
pub(super) fn uuid(row: &Row<'_>, at: usize) -> rusqlite::Result<Uuid> {
    let text: String = row.get(at)?;
    text.parse().map_err(|error| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(error)))
}

/// Whether a table of that name is there.
pub(super) fn is_there(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let sql =
        "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE)";
    connection.prepare_cached(sql)?.query_row([table], |row| row.get(0))
}

/// Fails with what to do when landonce's own tables aren't there.
pub(super) fn with_tables(connection: &Connection, doing: &str) -> Result<()> {
    if is_there(connection, "landonce_inbox").map_err(during(doing))? {
        return Ok(());
    }
    Err(Error::refused(format!("{doing}: landonce's own tables are missing; `landonce setup` makes them")))
}
