//! Which messages can be leased now, and leasing them.
//!
//! Two statements in one transaction. The first reads a page of the index of what is pending, which shows enough where lanes are short
//! and due; else it walks over the lanes' heads by leaping through that index, from lane to lane: a lane costs one descent however
//! long it is, and what was sent costs nothing. It locks what it has picked,
//! leaving alone what somebody else is about to lease. The second, with a snapshot that is younger than the locks, looks at each
//! lane again: only what is still the beginning of its lane, and of a lane that nothing is under way of, is leased.
//!
//! Between the two a head can have been sent, a transaction can have committed late with messages that come before, and a person
//! can have revived some. The look behind the locks sees them; and one worker that locks the beginning of a lane meets the locks
//! of another one on the messages behind it, unless more than [`Want::most_of_a_lane`] messages have come before those in just
//! these milliseconds. That is the one window that is left: two messages of one lane are then under way at once, whose order was
//! nobody's any more.

use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::super::link::{Link, Params};
use crate::error::Result;
use crate::outbox::{Leased, Parcel, Want, lasting, seconds};

/// The heads of a topic's lanes (`t.topic`), in the order of the lanes: those within `bounds`. Evaluated row by row, so whoever
/// takes only the first few walks only so far.
fn walk(bounds: &str, from: &str) -> String {
    let head = |lane: &str| {
        format!(
            "SELECT o.id, o.lane, o.due_at, o.leased_until FROM landonce.outbox o\n\
             \x20     WHERE o.state = 'pending' AND o.topic = t.topic{lane} ORDER BY o.lane, o.seq LIMIT 1"
        )
    };
    let first = head(&format!("{from}{bounds}"));
    let next = head(&format!(" AND o.lane > w.lane{bounds}"));
    format!(
        "WITH RECURSIVE walk AS (\n\
         \x20   ({first})\n\
         \x20   UNION ALL\n\
         \x20   SELECT n.* FROM walk w CROSS JOIN LATERAL (\n\
         \x20     {next}) n)\n"
    )
}

/// Free to lease: due, and nothing of its lane under way.
const FREE: &str = "\
w.due_at <= clock_timestamp() AND (w.leased_until IS NULL OR w.leased_until <= clock_timestamp())
      AND NOT EXISTS (SELECT FROM landonce.outbox l
                      WHERE l.lane = w.lane AND l.leased_until IS NOT NULL AND l.leased_until > clock_timestamp())";

/// Topics ($1) that don't pause.
const TOPICS: &str = "\
(SELECT DISTINCT u.topic FROM unnest($1::text[]) u (topic)
        WHERE NOT EXISTS (SELECT FROM landonce.outbox_pause p WHERE p.topic = u.topic AND p.until > clock_timestamp())) t";

/// Picks and locks: of the lanes behind $2, then of those before, the first $4 messages each, $3 in all.
fn pick_sql() -> String {
    let (behind, before) = (walk("", " AND o.lane > $2"), walk(" AND o.lane <= $2", ""));
    format!(
        "WITH heads AS MATERIALIZED (\n\
         \x20 SELECT t.topic, h.lane, h.is_before FROM {TOPICS}\n\
         \x20 CROSS JOIN LATERAL (\n\
         \x20   ({behind}    SELECT w.lane, false AS is_before FROM walk w WHERE {FREE})\n\
         \x20   UNION ALL\n\
         \x20   ({before}    SELECT w.lane, true FROM walk w WHERE {FREE})\n\
         \x20   LIMIT $3) h\n\
         \x20 ORDER BY h.is_before, h.lane LIMIT $3),\n\
         picked AS MATERIALIZED (\n\
         \x20 SELECT h.topic, h.lane, h.is_before, w.seq, w.id FROM heads h CROSS JOIN LATERAL (\n\
         \x20   SELECT o.seq, o.id FROM landonce.outbox o\n\
         \x20   WHERE o.state = 'pending' AND o.topic = h.topic AND o.lane = h.lane ORDER BY o.lane, o.seq LIMIT $4) w\n\
         \x20 LIMIT $3),\n\
         locked AS MATERIALIZED (\n\
         \x20 SELECT o.id FROM landonce.outbox o WHERE o.id IN (SELECT p.id FROM picked p) FOR UPDATE SKIP LOCKED)\n\
         SELECT p.topic, p.lane, p.id, l.id IS NOT NULL FROM picked p LEFT JOIN locked l ON l.id = p.id\n\
         ORDER BY p.is_before, p.lane, p.seq"
    )
}

/// The messages behind lane $2 as they lie in the index, a page of them ($5), picked and locked like those of [`pick_sql`]. That is
/// much less work than a leap for each lane, and enough where lanes are short and few of them wait.
fn page_sql() -> String {
    format!(
        "WITH page AS MATERIALIZED (\n\
         \x20 SELECT o.ctid AS at, o.topic, o.lane, o.seq, o.id, o.due_at, o.leased_until FROM {TOPICS} CROSS JOIN LATERAL (\n\
         \x20   SELECT o.ctid, o.* FROM landonce.outbox o\n\
         \x20   WHERE o.state = 'pending' AND o.topic = t.topic AND o.lane > $2 ORDER BY o.lane, o.seq LIMIT $5) o\n\
         \x20 ORDER BY o.lane, o.seq LIMIT $5),\n\
         seen AS MATERIALIZED (\n\
         \x20 SELECT p.*, bool_and(p.due_at <= clock_timestamp() AND (p.leased_until IS NULL OR p.leased_until <= clock_timestamp()))\n\
         \x20     OVER (PARTITION BY p.topic, p.lane ORDER BY p.seq) AS is_free,\n\
         \x20   row_number() OVER (PARTITION BY p.topic, p.lane ORDER BY p.seq) AS nth FROM page p),\n\
         picked AS MATERIALIZED (\n\
         \x20 SELECT s.at, s.topic, s.lane, s.seq, s.id FROM seen s WHERE s.is_free AND s.nth <= $4\n\
         \x20   AND NOT EXISTS (SELECT FROM landonce.outbox l\n\
         \x20     WHERE l.lane = s.lane AND l.leased_until IS NOT NULL AND l.leased_until > clock_timestamp())\n\
         \x20 ORDER BY s.lane, s.seq LIMIT $3),\n\
         locked AS MATERIALIZED (\n\
         \x20 SELECT o.id FROM picked p JOIN landonce.outbox o ON o.ctid = p.at AND o.id = p.id FOR UPDATE OF o SKIP LOCKED)\n\
         SELECT p.topic, p.lane, p.id, l.id IS NOT NULL FROM picked p LEFT JOIN locked l ON l.id = p.id\n\
         ORDER BY p.lane, p.seq"
    )
}

/// Leases what is locked ($1) and still the beginning of its lane, at most $4 of each. What is locked stays where it lies.
const LEASE: &str = "\
WITH free AS MATERIALIZED (
  SELECT w.at, w.id FROM unnest($2::text[], $3::uuid[]) t (topic, lane) CROSS JOIN LATERAL (
    SELECT o.at, o.id, bool_and(o.id = ANY ($1) AND o.due_at <= clock_timestamp()
                          AND (o.leased_until IS NULL OR o.leased_until <= clock_timestamp())) OVER (ORDER BY o.seq) AS is_free
    FROM (SELECT o.ctid AS at, o.id, o.seq, o.due_at, o.leased_until FROM landonce.outbox o
          WHERE o.state = 'pending' AND o.topic = t.topic AND o.lane = t.lane ORDER BY o.lane, o.seq LIMIT $4) o) w
  WHERE w.is_free
    AND NOT EXISTS (SELECT FROM landonce.outbox l
                    WHERE l.lane = t.lane AND l.leased_until IS NOT NULL AND l.leased_until > clock_timestamp()))
UPDATE landonce.outbox o
SET fence = o.fence + 1, leased_by = $5, leased_until = clock_timestamp() + $6 * interval '1 second'
FROM free f WHERE o.ctid = f.at AND o.id = f.id
RETURNING o.id, o.fence, o.seq, o.topic, o.lane, o.entity, o.kind, o.payload, o.attempts,
  extract(epoch FROM clock_timestamp() - o.enqueued_at)::float8";

/// How many messages a page has for one that is wanted.
const PAGE: i64 = 2;

/// Leases messages that are due, in the transaction begun.
pub(super) async fn lease(link: &Link<'_>, want: &Want<'_>) -> Result<Leased> {
    let doing = "leasing messages";
    let (most, of_a_lane) = (i64::from(want.most), i64::from(want.most_of_a_lane));
    // One more than is wanted of a lane tells when somebody else is about to lease what comes next.
    let looked_at = of_a_lane.max(2);
    let page = most * PAGE;
    let params: Params<'_> = &[
        (&want.topics, Pg::TEXT_ARRAY),
        (&want.behind, Pg::UUID),
        (&most, Pg::INT8),
        (&looked_at, Pg::INT8),
        (&page, Pg::INT8),
    ];
    let mut picked = link.query(doing, &page_sql(), params).await?;
    if (picked.len() as i64) < most / 2 {
        picked = link.query(doing, &pick_sql(), &params[..4]).await?;
    }
    let Some(last) = picked.last() else {
        return Ok(Leased { next: want.behind, ..Leased::default() });
    };
    let next: Uuid = last.get(1);
    let mut lanes: Vec<(&str, Uuid)> = Vec::new();
    let mut ids: Vec<Uuid> = Vec::new();
    for lane in picked.chunk_by(|one, other| one.get::<_, Uuid>(1) == other.get::<_, Uuid>(1)) {
        if lane.iter().all(|row| row.get(3)) {
            lanes.push((lane[0].get(0), lane[0].get(1)));
            ids.extend(lane.iter().map(|row| row.get::<_, Uuid>(2)));
        }
    }
    let (topics, of_lanes): (Vec<&str>, Vec<Uuid>) = lanes.iter().copied().unzip();
    let lease = seconds(want.lease);
    let params: Params<'_> = &[
        (&ids, Pg::UUID_ARRAY),
        (&topics, Pg::TEXT_ARRAY),
        (&of_lanes, Pg::UUID_ARRAY),
        (&of_a_lane, Pg::INT8),
        (&want.worker, Pg::TEXT),
        (&lease, Pg::FLOAT8),
    ];
    let rows = if ids.is_empty() { Vec::new() } else { link.query(doing, LEASE, params).await? };
    let mut messages: Vec<Parcel> = rows.iter().map(parcel).collect();
    let nth = |lane: Uuid| of_lanes.iter().position(|one| *one == lane);
    messages.sort_by_cached_key(|parcel| (nth(parcel.lane), parcel.seq));
    Ok(Leased { messages, next })
}

fn parcel(row: &Row) -> Parcel {
    Parcel {
        id: row.get(0),
        fence: row.get(1),
        seq: row.get(2),
        topic: row.get(3),
        lane: row.get(4),
        entity: row.get(5),
        kind: row.get(6),
        payload: row.get(7),
        attempts: row.get::<_, i32>(8) as u32,
        age: lasting(row.get(9)),
    }
}

/// How long until something can be leased. Whether something can be now is asked first: then the walk ends with the first.
pub(super) async fn next_due(link: &Link<'_>, topics: &[String]) -> Result<Option<Duration>> {
    let doing = "looking when the next message is due";
    let params: Params<'_> = &[(&topics, Pg::TEXT_ARRAY)];
    let all = walk("", "");
    let now = format!(
        "SELECT FROM {TOPICS} CROSS JOIN LATERAL ({all}SELECT FROM walk w WHERE {FREE} LIMIT 1) h LIMIT 1"
    );
    if !link.query(doing, &now, params).await?.is_empty() {
        return Ok(Some(Duration::ZERO));
    }
    let then = format!(
        "SELECT extract(epoch FROM min(greatest(h.at, p.until)) - clock_timestamp())::float8\n\
         FROM (SELECT DISTINCT u.topic FROM unnest($1::text[]) u (topic)) t\n\
         LEFT JOIN landonce.outbox_pause p ON p.topic = t.topic\n\
         CROSS JOIN LATERAL ({all}SELECT min(greatest(w.due_at, w.leased_until, (\n\
         \x20   SELECT max(l.leased_until) FROM landonce.outbox l WHERE l.lane = w.lane AND l.leased_until IS NOT NULL))) AS at\n\
         \x20 FROM walk w) h WHERE h.at IS NOT NULL"
    );
    let row = link.one(doing, &then, params).await?;
    Ok(row.get::<_, Option<f64>>(0).map(lasting))
}
