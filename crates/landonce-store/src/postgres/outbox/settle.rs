//! What became of leased messages, and leases that are held longer.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::super::link::{Link, Params};
use crate::error::Result;
use crate::outbox::{Lease, Verdict, seconds};

/// Still pending and leased, in words that fit none of the partial indexes: by their size the server would think that all that is
/// leased is one row, and hold every row against every other.
///
/// A lease that ran out still counts while nobody has taken over: the fence is the same. One that was given back doesn't, so that
/// what is said twice counts once.
const SETTLE: &str = "\
UPDATE landonce.outbox o SET
  state = CASE WHEN s.fate IN ('sent', 'dead') THEN s.fate ELSE 'pending' END,
  attempts = o.attempts + CASE WHEN s.fate = 'untried' THEN 0 ELSE 1 END,
  due_at = CASE WHEN s.fate = 'again' THEN clock_timestamp() + s.after * interval '1 second' ELSE o.due_at END,
  sent_at = CASE WHEN s.fate = 'sent' THEN clock_timestamp() ELSE o.sent_at END,
  answer = coalesce(s.answer, o.answer), leased_by = NULL, leased_until = NULL
FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::float8[], $5::text[]) s (id, fence, fate, after, answer)
WHERE o.id = s.id AND o.fence = s.fence AND o.state NOT IN ('sent', 'dead', 'discarded') AND o.leased_by IS NOT NULL
RETURNING o.id";

/// A statement of its own: what the other one has waited for is in its snapshot.
const IN_EFFECT: &str = "\
SELECT o.id FROM unnest($1::uuid[], $2::bigint[], $3::text[]) s (id, fence, fate)
JOIN landonce.outbox o ON o.id = s.id AND o.fence = s.fence AND o.leased_until IS NULL
  AND o.state = CASE WHEN s.fate IN ('sent', 'dead') THEN s.fate ELSE 'pending' END";

const RENEW: &str = "\
UPDATE landonce.outbox o SET leased_until = clock_timestamp() + $3 * interval '1 second'
FROM unnest($1::uuid[], $2::bigint[]) s (id, fence)
WHERE o.id = s.id AND o.fence = s.fence AND o.state NOT IN ('sent', 'dead', 'discarded') AND o.leased_by IS NOT NULL
RETURNING o.id";

/// Settles, in the transaction begun. Returns the leases that are lost.
pub(super) async fn settle(link: &Link<'_>, verdicts: &[Verdict]) -> Result<Vec<Lease>> {
    let doing = "settling messages";
    let ids: Vec<Uuid> = verdicts.iter().map(|verdict| verdict.lease.id).collect();
    let fences: Vec<i64> = verdicts.iter().map(|verdict| verdict.lease.fence).collect();
    let fates: Vec<&str> = verdicts.iter().map(|verdict| verdict.fate.word()).collect();
    let afters: Vec<f64> = verdicts.iter().map(|verdict| verdict.fate.after()).collect();
    let answers: Vec<Option<String>> = verdicts.iter().map(|verdict| verdict.fate.answer()).collect();
    let params: [_; 5] = [
        (&ids as _, Pg::UUID_ARRAY),
        (&fences as _, Pg::INT8_ARRAY),
        (&fates as _, Pg::TEXT_ARRAY),
        (&afters as _, Pg::FLOAT8_ARRAY),
        (&answers as _, Pg::TEXT_ARRAY),
    ];
    let mut counted = named(link, doing, SETTLE, &params).await?;
    if verdicts.iter().any(|verdict| !counted.contains(&verdict.lease.id)) {
        counted.extend(named(link, doing, IN_EFFECT, &params[..3]).await?);
    }
    Ok(verdicts.iter().map(|verdict| verdict.lease).filter(|lease| !counted.contains(&lease.id)).collect())
}

/// Holds leases for so much longer. Returns those that are lost.
pub(super) async fn renew(link: &Link<'_>, leases: &[Lease], lease: Duration) -> Result<Vec<Lease>> {
    let ids: Vec<Uuid> = leases.iter().map(|lease| lease.id).collect();
    let fences: Vec<i64> = leases.iter().map(|lease| lease.fence).collect();
    let lease = seconds(lease);
    let params: Params<'_> = &[(&ids, Pg::UUID_ARRAY), (&fences, Pg::INT8_ARRAY), (&lease, Pg::FLOAT8)];
    let held = named(link, "renewing leases", RENEW, params).await?;
    Ok(leases.iter().copied().filter(|lease| !held.contains(&lease.id)).collect())
}

async fn named(link: &Link<'_>, doing: &str, sql: &str, params: Params<'_>) -> Result<BTreeSet<Uuid>> {
    Ok(link.query(doing, sql, params).await?.iter().map(|row| row.get(0)).collect())
}
