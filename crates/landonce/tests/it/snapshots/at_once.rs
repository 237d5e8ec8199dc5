//! Two snapshots at once end as if one by one: what stands is one of them, whole. And who reads is never kept waiting.

use landonce::{Batch, Kind, Options, RetryPolicy, Status, Store};
use landonce_testkit::wait;

use super::{anything, counts, land, retired, rows, shown, standing, whole};
use crate::given::{Given, on_every_store, patient};

on_every_store!(
    one_snapshot_from_eight_sides_lands_once,
    one_held_snapshot_from_eight_sides_is_one_entry,
    different_snapshots_leave_one_of_them,
    different_snapshots_under_the_senders_ids_leave_one_of_them,
);

async fn at_once(given: &Given, batches: Vec<Batch>) -> Vec<landonce::Receipt> {
    let mut tasks = tokio::task::JoinSet::new();
    for batch in batches {
        let store = given.store.clone();
        tasks.spawn(async move { anything("retire").ingest_with(&store, &batch, &patient()).await.unwrap() });
    }
    tasks.join_all().await
}

async fn one_snapshot_from_eight_sides_lands_once(given: Given) {
    land(&given, &anything("retire"), &rows(1..=300, "a")).await;
    let receipts = at_once(&given, vec![whole(&rows(100..=400, "a")); 8]).await;
    assert_eq!(receipts.iter().filter(|receipt| receipt.status == Status::Processed).count(), 1);
    assert!(receipts.iter().all(|receipt| receipt.outcome.retired == 99 && receipt.batch_id == "snapshot#2"));
    assert_eq!(standing(&given).await, shown(100..=400, "a"));
}

async fn one_held_snapshot_from_eight_sides_is_one_entry(given: Given) {
    land(&given, &anything("retire"), &rows(1..=300, "a")).await;
    let receipts = at_once(&given, vec![whole(&[]); 8]).await;
    assert!(receipts.iter().all(|receipt| receipt.status == Status::Held));
    assert_eq!(
        (given.count(&given.system("held")).await, given.count(&given.system("held_piece")).await),
        (1, 1)
    );
    assert_eq!(standing(&given).await, shown(1..=300, "a"));
}

/// Each has rows of its own, and rows that others have.
fn one_of(nth: u32) -> Vec<String> {
    rows((0..200).map(|at| at * (nth + 1)), "a")
}

async fn differing(given: &Given, round: u32, named: impl Fn(u32, Batch) -> Batch) {
    let batches = (0..4).map(|nth| named(nth, whole(&one_of(nth + round)))).collect();
    let receipts = at_once(given, batches).await;
    assert!(receipts.iter().all(|receipt| receipt.status != Status::Held), "{receipts:?}");
    let left = standing(given).await;
    let is_one = (0..4).any(|nth| left == shown((0..200).map(|at| at * (nth + round + 1)), "a"));
    assert!(is_one, "{} rows of several stand", left.len());
}

async fn different_snapshots_leave_one_of_them(given: Given) {
    for round in 0..4 {
        differing(&given, round, |_, batch| batch).await;
    }
}

async fn different_snapshots_under_the_senders_ids_leave_one_of_them(given: Given) {
    for round in 0..4 {
        differing(&given, round, |nth, batch| batch.with_id(format!("{round}/{nth}"))).await;
    }
    assert_eq!(given.count(&given.system("inbox")).await, 16);
}

/// J5: swapped at once, under the eyes of who reads.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_one_snapshot_and_waits_for_nobody() {
    let given = Given::postgres().await;
    land(&given, &anything("retire"), &rows(1..=10, "a")).await;
    let client = given.database().client().await;
    client.batch_execute("SET lock_timeout = '1s'; BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    let stands = "SELECT count(*) FILTER (WHERE v = 'a'), count(*) FILTER (WHERE v = 'b') FROM t WHERE retired_at IS NULL";
    let read = async || {
        let row = client.query_one(stands, &[]).await.unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    assert_eq!(read().await, (10, 0));
    land(&given, &anything("retire"), &rows(6..=25, "b")).await;
    assert_eq!(read().await, (10, 0), "an open transaction sees what it saw");
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(read().await, (0, 20));
}

/// A writer that is blocked fails clearly at the lock's time limit and is tried again; once the lock is gone it lands.
#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_snapshot_is_tried_again_at_the_locks_limit() {
    let given = Given::postgres().await;
    let pipeline = anything("retire");
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    given
        .execute(&format!("ALTER DATABASE \"{}\" SET lock_timeout = '100ms'", given.database().name()))
        .await;
    let store = Store::open(&given.url).unwrap();
    let client = given.database().client().await;
    client.batch_execute("BEGIN; SELECT FROM t WHERE id = 10 FOR UPDATE").await.unwrap();
    let options = Options { retry: RetryPolicy { attempts: 2, ..patient().retry }, ..Options::default() };
    let batch = whole(&rows(1..=9, "a"));
    let error = pipeline.ingest_with(&store, &batch, &options).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Exhausted, "{error}");
    assert_eq!(standing(&given).await, shown(1..=10, "a"));
    let running = {
        let (store, pipeline, batch) = (store.clone(), pipeline.clone(), batch.clone());
        tokio::spawn(async move { pipeline.ingest_with(&store, &batch, &patient()).await })
    };
    let watch = given.database().client().await;
    wait::until(30, "the snapshot to wait for the row", async || {
        (!watch.query("SELECT 1 FROM pg_locks WHERE NOT granted", &[]).await.unwrap().is_empty())
            .then_some(())
    })
    .await;
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(counts(&running.await.unwrap().unwrap()), "read 9, unchanged 9; retired 1");
    assert_eq!(retired(&given).await, ["10 a"]);
}
