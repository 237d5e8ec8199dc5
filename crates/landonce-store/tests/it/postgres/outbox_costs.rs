//! What the verbs of delivery read: neither what was sent, nor how long a lane is. Counted in pages, not in time.

use landonce_store::outbox::{Outbox, Want};
use landonce_store::postgres::Session;
use landonce_store::seam::Connection;
use uuid::Uuid;

use super::{Fresh, fresh};
use crate::conformance::Bench;
use crate::conformance::outbox::want;

/// A table that has grown: 200,000 messages that were sent, 5,000 lanes that back off, one lane with 20,000 messages, 20 lanes
/// that are due. Their lanes' ids are in this order, and some topic's messages that nobody wants lie between.
const GROWN: &str = "\
INSERT INTO landonce.outbox (id, producer, topic, lane, entity, kind, payload, state, sent_at)
SELECT gen_random_uuid(), 'p', 't', gen_random_uuid(), '1', 'k', '{}', 'sent', now() FROM generate_series(1, 200000);
INSERT INTO landonce.outbox (id, producer, topic, lane, entity, kind, payload, due_at)
SELECT gen_random_uuid(), 'p', 't', ('10000000-0000-8000-8000-' || lpad(n::text, 12, '0'))::uuid, '1', 'k', '{}', now() + interval '1 hour'
FROM generate_series(1, 5000) n;
INSERT INTO landonce.outbox (id, producer, topic, lane, entity, kind, payload)
SELECT gen_random_uuid(), 'p', 't', '20000000-0000-8000-8000-000000000000', '1', 'k', '{}' FROM generate_series(1, 20000);
INSERT INTO landonce.outbox (id, producer, topic, lane, entity, kind, payload)
SELECT gen_random_uuid(), 'p', 't', ('30000000-0000-8000-8000-' || lpad(n::text, 12, '0'))::uuid, '1', 'k', '{}'
FROM generate_series(1, 20) n;
INSERT INTO landonce.outbox (id, producer, topic, lane, entity, kind, payload)
SELECT gen_random_uuid(), 'p', 'other', gen_random_uuid(), '1', 'k', '{}' FROM generate_series(1, 20000);
INSERT INTO landonce.outbox (id, producer, topic, lane, entity, kind, payload, state)
SELECT gen_random_uuid(), 'p', 't', gen_random_uuid(), '1', 'k', '{}', 'dead' FROM generate_series(1, 10);";

/// Pages of the outbox and its indexes that were asked for since the session began. Counted per transaction, told when idle.
async fn pages(client: &tokio_postgres::Client) -> i64 {
    let sql = "\
SELECT (SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit FROM pg_statio_all_tables
        WHERE relid = 'landonce.outbox'::regclass)";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn grown() -> Fresh {
    let mut bench = fresh().await;
    bench.connect().await.migrate().await.unwrap();
    // What is known of the table is from before it grew, and wrong.
    bench.run("ALTER TABLE landonce.outbox SET (autovacuum_enabled = off); ANALYZE landonce.outbox").await;
    bench.run(GROWN).await;
    bench
}

/// What a verb has told, and the pages that it has read.
async fn cost<T>(
    bench: &mut Fresh,
    verb: impl AsyncFnOnce(&mut Session) -> landonce_store::Result<T>,
) -> (T, i64) {
    let client = bench.client().await;
    alone(&client).await;
    let before = pages(&client).await;
    let mut session = bench.connect().await;
    let told = verb(&mut session).await.unwrap();
    drop(session);
    alone(&client).await;
    (told, pages(&client).await - before)
}

/// A session's pages are all told once it is gone.
async fn alone(client: &tokio_postgres::Client) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    landonce_testkit::wait::until(30, "the other sessions' end", async || {
        (client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_was_sent_and_what_waits_behind_cost_nothing() {
    let mut bench = grown().await;
    let topics = ["t".to_owned()];
    // Behind the lanes that back off: the long lane, then those that are due.
    let behind = Uuid::from_u128(0x1fff_ffff << 96);
    let (leased, read) =
        cost(&mut bench, async |session| session.lease(&Want { behind, ..want(&topics) }).await).await;
    assert_eq!(leased.messages.len(), 30, "10 of the long lane, and 20");
    assert_eq!(leased.messages.iter().filter(|parcel| parcel.lane.as_bytes()[0] == 0x20).count(), 10);
    // The walk goes round over 5,000 lanes, each with a descent of three or four pages and its head's.
    assert!(read < 40_000, "{read} pages");
    // One that finds enough before that reads little.
    let (few, read) = cost(&mut bench, async |session| {
        session.lease(&Want { behind: leased.next, most: 0, ..want(&topics) }).await?;
        session.next_due(&["other".to_owned()]).await?;
        session.lease(&Want { most: 20, ..want(&["other".to_owned()]) }).await
    })
    .await;
    assert_eq!(few.messages.len(), 20);
    assert!(read < 1_000, "{read} pages");
    let (due, read) = cost(&mut bench, async |session| session.next_due(&topics).await).await;
    assert!(due.unwrap() > std::time::Duration::from_mins(50), "{due:?}");
    assert!(read < 60_000, "{read} pages");
    let (dead, read) = cost(&mut bench, async |session| {
        let which = landonce_store::outbox::Which {
            topic: Some("t".to_owned()),
            state: Some(landonce_store::outbox::State::Dead),
            ..Default::default()
        };
        session.messages(&which, 5).await
    })
    .await;
    assert_eq!(dead.len(), 5);
    assert!(read < 100, "{read} pages");
}

#[tokio::test]
async fn figures_and_pruning_read_no_more_than_they_must() {
    let mut bench = grown().await;
    let (depth, read) = cost(&mut bench, async |session| session.depth().await).await;
    assert_eq!(
        depth.iter().map(|one| (one.pending, one.dead)).collect::<Vec<_>>(),
        [(20_000, 0), (25_020, 10)]
    );
    // A page for each pending message at most, and none of those that were sent.
    assert!(read < 50_000, "{read} pages");
    bench.run("UPDATE landonce.outbox SET enqueued_at = now() - interval '90 days', sent_at = now() - interval '80 days' WHERE ctid < '(100,0)'").await;
    let (pruned, read) =
        cost(&mut bench, async |session| session.prune(std::time::Duration::from_hours(24 * 70), 100).await)
            .await;
    assert_eq!(pruned, 100);
    assert!(read < 1_000, "{read} pages");
}
