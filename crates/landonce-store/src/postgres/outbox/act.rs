//! What people do with messages: due again, discarded, deleted; and topics that pause.

use std::time::Duration;

use tokio_postgres::types::Type as Pg;

use super::super::link::{Link, Params};
use crate::error::Result;
use crate::outbox::{Act, Which, answer, seconds};

/// [`Which`] as $1 to $6. An empty list of ids is all of them.
pub(super) const FITS: &str = "\
($1::text IS NULL OR topic = $1) AND ($2::text IS NULL OR state = $2) AND ($3::text IS NULL OR entity = $3)
  AND ($4::uuid[] = '{}' OR id = ANY ($4)) AND id BETWEEN $5 AND $6";

/// Revived: whoever holds an old lease of it is told that it is lost.
const REVIVED: &str = "\
state = 'pending', attempts = 0, due_at = clock_timestamp(), fence = fence + 1, leased_by = NULL, leased_until = NULL, sent_at = NULL";

/// Does something with messages, in the transaction begun; returns how many it was done with.
pub(super) async fn act(link: &Link<'_>, which: &Which, act: Act) -> Result<u64> {
    let (set, of) = match act {
        Act::Retry => ("due_at = clock_timestamp()", "state = 'pending' AND due_at > clock_timestamp()"),
        Act::Redrive => (REVIVED, "state IN ('dead', 'discarded')"),
        Act::Resend => (REVIVED, "state IN ('dead', 'discarded', 'sent')"),
        // When it was discarded is when it isn't due any more: that is what pruning goes by.
        Act::Discard => (
            "state = 'discarded', due_at = clock_timestamp(), leased_by = NULL, leased_until = NULL",
            "(state = 'dead' OR state = 'pending' AND (leased_until IS NULL OR leased_until <= clock_timestamp()))",
        ),
    };
    let sql = format!("UPDATE landonce.outbox SET {set} WHERE {of}\n  AND {FITS}");
    let (lowest, highest) = which.id_range()?;
    let state = which.state.map(crate::outbox::State::as_str);
    let params: Params<'_> = &[
        (&which.topic, Pg::TEXT),
        (&state, Pg::TEXT),
        (&which.entity, Pg::TEXT),
        (&which.ids, Pg::UUID_ARRAY),
        (&lowest, Pg::UUID),
        (&highest, Pg::UUID),
    ];
    link.execute("changing messages", &sql, params).await
}

/// Deletes what was done with so long ago. No message was done with before it was enqueued, so the index of ranges leads to the
/// old pages; in their order, which is about that of time.
pub(super) async fn prune(link: &Link<'_>, older_than: Duration, most: u32) -> Result<u64> {
    let sql = "\
DELETE FROM landonce.outbox WHERE ctid = ANY (ARRAY(
  SELECT o.ctid FROM landonce.outbox o
  WHERE o.enqueued_at < now() - $1 * interval '1 second'
    AND (o.state = 'sent' AND o.sent_at < now() - $1 * interval '1 second'
         OR o.state = 'discarded' AND o.due_at < now() - $1 * interval '1 second')
  LIMIT $2 FOR UPDATE SKIP LOCKED))";
    let (seconds, most) = (seconds(older_than), i64::from(most));
    link.execute("pruning messages", sql, &[(&seconds, Pg::FLOAT8), (&most, Pg::INT8)]).await
}

/// A topic pauses; the longer pause stays.
pub(super) async fn pause(link: &Link<'_>, topic: &str, lasting: Duration, reason: &str) -> Result<()> {
    let sql = "\
INSERT INTO landonce.outbox_pause AS p (topic, until, reason) VALUES ($1, clock_timestamp() + $2 * interval '1 second', $3)
ON CONFLICT (topic) DO UPDATE SET until = EXCLUDED.until, reason = EXCLUDED.reason WHERE p.until < EXCLUDED.until";
    let (lasting, reason) = (seconds(lasting), answer(reason));
    let params: Params<'_> = &[(&topic, Pg::TEXT), (&lasting, Pg::FLOAT8), (&reason, Pg::TEXT)];
    link.execute("pausing a topic", sql, params).await.map(drop)
}

/// A topic goes on.
pub(super) async fn resume(link: &Link<'_>, topic: &str) -> Result<()> {
    let sql = "DELETE FROM landonce.outbox_pause WHERE topic = $1";
    link.execute("resuming a topic", sql, &[(&topic, Pg::TEXT)]).await.map(drop)
}
