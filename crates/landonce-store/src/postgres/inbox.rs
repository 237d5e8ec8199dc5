//! The inbox's rows: claimed, looked up, settled.
//!
//! The unique index does the waiting: a twin's INSERT stands still until the first transaction has ended.

use std::time::Duration;

use landonce_core::outcome::Outcome;
use landonce_core::retry::Code;
use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::link::Link;
use crate::error::{Error, Result};
use crate::inbox::{Claim, Claimed, InboxKey, Settled};

/// The columns of [`Settled`], in its order.
pub(super) const SETTLED: &str = "\
pipeline, batch_id, batch_digest, run_id, source, outcome::text,
       to_char(settled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";

const CLAIM: &str = "\
INSERT INTO landonce.inbox (key, pipeline, batch_id, batch_digest, run_id, source, subject)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (key) DO NOTHING";

const SETTLE: &str = "\
UPDATE landonce.inbox SET outcome = $2::text::jsonb, settled_at = clock_timestamp()
WHERE key = $1 AND outcome IS NULL";

/// How often a claim is tried when the row in its way vanishes before it can be read.
const MOST_CLAIMS: u32 = 5;

/// Inserts the inbox row, or finds the one that is there.
pub(super) async fn claim(link: &Link<'_>, claim: &Claim) -> Result<Claimed> {
    let doing = format!("claiming batch {}", landonce_core::bad_record::shorten(&claim.batch_id));
    claim.has_only_text()?;
    let key = claim.key();
    let subject = claim.subject.map(Uuid::from_bytes);
    let (key_bytes, digest) = (key.0.as_slice(), claim.digest.as_slice());
    for _ in 0..MOST_CLAIMS {
        let inserted = link
            .execute(
                &doing,
                CLAIM,
                &[
                    (&key_bytes, Pg::BYTEA),
                    (&claim.pipeline, Pg::TEXT),
                    (&claim.batch_id, Pg::TEXT),
                    (&digest, Pg::BYTEA),
                    (&claim.run_id, Pg::UUID),
                    (&claim.source, Pg::TEXT),
                    (&subject, Pg::UUID),
                ],
            )
            .await
            .map_err(without_tables)?;
        if inserted == 1 {
            return Ok(Claimed::New);
        }
        if let Some(settled) = find(link, &doing, &key).await? {
            return Ok(Claimed::Found(settled));
        }
    }
    Err(Error::refused(format!(
        "{doing}: the inbox row comes and goes; does something delete from landonce.inbox?"
    )))
}

/// [`claim`], with a limit to waiting for a twin. Only the claim has it: other locks are waited for as before.
pub(super) async fn claim_within(link: &Link<'_>, of: &Claim, wait: Duration) -> Result<Claimed> {
    let doing = "limiting the wait for a claim";
    let within = format!("{}ms", wait.as_millis().max(1));
    let sql = "SELECT current_setting('lock_timeout'), set_config('lock_timeout', $1, true)";
    let before: String = link.one(doing, sql, &[(&within, Pg::TEXT)]).await?.get(0);
    let claimed = claim(link, of).await?;
    link.one(doing, "SELECT set_config('lock_timeout', $1, true)", &[(&before, Pg::TEXT)]).await?;
    Ok(claimed)
}

/// One look, without a lock. `None` also when there is no inbox.
pub(super) async fn look_up(link: &Link<'_>, key: &InboxKey) -> Result<Option<Settled>> {
    match find(link, "looking into the inbox", key).await {
        Err(error) if is_missing(&error) => Ok(None),
        found => found,
    }
}

/// Writes the outcome into the claimed row.
pub(super) async fn settle(link: &Link<'_>, claim: &Claim, outcome: &Outcome) -> Result<()> {
    let doing = "settling the batch in the inbox";
    let outcome = serde_json::to_string(outcome)
        .map_err(|error| Error::refused(format!("the outcome can't be spelled as JSON: {error}")))?;
    let key = claim.key();
    let settled = link
        .execute(doing, SETTLE, &[(&key.0.as_slice(), Pg::BYTEA), (&outcome, Pg::TEXT)])
        .await
        .map_err(without_tables)?;
    if settled == 1 {
        return Ok(());
    }
    Err(Error::refused(format!(
        "{doing}: it has not been claimed in this transaction, or is settled already"
    )))
}

async fn find(link: &Link<'_>, doing: &str, key: &InboxKey) -> Result<Option<Settled>> {
    let sql = format!("SELECT {SETTLED}\nFROM landonce.inbox WHERE key = $1");
    let found = link.query(doing, &sql, &[(&key.0.as_slice(), Pg::BYTEA)]).await?.pop();
    found.map(|row| settled(&row)).transpose()
}

/// A row of [`SETTLED`].
pub(super) fn settled(row: &Row) -> Result<Settled> {
    let (pipeline, batch_id): (String, String) = (row.get(0), row.get(1));
    let (digest, run_id, source): (Vec<u8>, Uuid, String) = (row.get(2), row.get(3), row.get(4));
    let (outcome, settled_at): (Option<String>, String) = (row.get(5), row.get(6));
    let strange = |what: &str| {
        let shown = landonce_core::bad_record::shorten(&batch_id);
        Error::refused(format!("the inbox row of batch {shown} {what}: landonce didn't write it so"))
    };
    let outcome = outcome.ok_or_else(|| strange("was claimed and committed without an outcome"))?;
    let outcome = serde_json::from_str(&outcome).map_err(|_| strange("has an outcome that can't be read"))?;
    let digest = digest.try_into().map_err(|_| strange("has a digest of another length than 32 bytes"))?;
    Ok(Settled { pipeline, batch_id, digest, run_id, source, outcome, settled_at })
}

/// There is no such table or schema.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(&error.code, Code::SqlState(state) if state == "42P01" || state == "3F000")
}

/// The same failure, with what to do when landonce's own tables aren't there or can't be used.
pub(super) fn without_tables(mut error: Error) -> Error {
    if is_missing(&error) {
        error.message.push_str("; landonce's own tables are missing: `landonce setup` makes them");
    } else if matches!(&error.code, Code::SqlState(state) if state == "42501") {
        error
            .message
            .push_str("; grant the user USAGE on schema landonce, and SELECT, INSERT, UPDATE on its tables");
    }
    error
}
