//! Replay (G5, F3, H1, X2): a second delivery leaves the database as it was, to the byte and, on PostgreSQL, to the row
//! version.

use landonce::{Batch, Pipeline, Status};
use landonce_testkit::dump::physical;
use landonce_testkit::fixture::Events;

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    redelivered_batch_changes_nothing,
    equal_content_under_another_batch_id_touches_no_row,
    one_corrected_row_is_one_update,
    five_deliveries_write_once,
    an_empty_batch_lands_once,
    insert_once_keeps_the_first_run,
    a_file_compressed_again_is_unchanged_throughout,
    a_skip_is_refused_when_the_table_is_gone,
);

fn flights() -> Pipeline {
    pipeline(
        "identity: [flight_id, event_kind, instant_utc]
target: {table: duty_event, columns: {instant_utc: timestamptz, updated_at: timestamptz}}
write: {version: updated_at}",
    )
}

fn events(changed: f64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Events::new(7, 3_000).changed(changed).write_to(&mut bytes).unwrap();
    bytes
}

/// Every target row's place and version, where the store shows them.
async fn touched(given: &Given, table: &str) -> Vec<(String, String, String)> {
    if !given.is_postgres() {
        return Vec::new();
    }
    let rows = physical(&given.database().client().await, table).await;
    rows.into_iter().map(|row| (row.ctid, row.xmin, row.xmax)).collect()
}

async fn redelivered_batch_changes_nothing(given: Given) {
    let batch = Batch::from_bytes("day.ndjson", events(0.0));
    let first = given.deliver_batch(&flights(), &batch).await.unwrap();
    assert_eq!(counts(&first), "read 3000, inserted 3000");
    let before = given.dump().await;
    let again = given.deliver_batch(&flights(), &batch).await.unwrap();
    assert_eq!(again.status, Status::SkippedDuplicate);
    assert_eq!((again.outcome, again.run_id), (first.outcome, first.run_id));
    before.assert_same(&given.dump().await);
}

async fn equal_content_under_another_batch_id_touches_no_row(given: Given) {
    // X2, C50
    let batch = Batch::from_bytes("day.ndjson", events(0.0));
    given.deliver_batch(&flights(), &batch).await.unwrap();
    let (before, versions) = (given.dump().await, touched(&given, "public.duty_event").await);
    for again in 0..3 {
        let receipt =
            given.deliver_batch(&flights(), &batch.clone().with_id(format!("again-{again}"))).await.unwrap();
        assert_eq!(counts(&receipt), "read 3000, unchanged 3000");
    }
    let inbox = given.system("inbox");
    before.without_tables(&[&inbox]).assert_same(&given.dump().await.without_tables(&[&inbox]));
    assert_eq!(versions, touched(&given, "public.duty_event").await);
}

async fn one_corrected_row_is_one_update(given: Given) {
    // J4: the other rows' run id still names the run that produced them.
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}");
    let first = given.deliver(&pipeline, &[r#"{"id":1,"v":"a"}"#, r#"{"id":2,"v":"b"}"#]).await.unwrap();
    let second = given.deliver(&pipeline, &[r#"{"id":1,"v":"a"}"#, r#"{"id":2,"v":"B"}"#]).await.unwrap();
    assert_eq!(counts(&second), "read 2, updated 1, unchanged 1");
    let runs = given.column("SELECT landonce_run_id FROM t ORDER BY id").await;
    assert_eq!(runs, [first.run_id.to_string(), second.run_id.to_string()]);
    assert_eq!(given.column("SELECT landonce_revision FROM t ORDER BY id").await, ["1", "2"]);
}

async fn five_deliveries_write_once(given: Given) {
    // H1: the caller sees 1, 0, 0, 0, 0 rows written.
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}\nwrite: {mode: insert_once}");
    let mut written = Vec::new();
    for delivery in 0..5 {
        let receipt = given
            .deliver_as(&pipeline, &format!("try-{delivery}"), &[r#"{"id":"e1","amount":5}"#])
            .await
            .unwrap();
        written.push(receipt.outcome.inserted + receipt.outcome.updated);
    }
    assert_eq!(written, [1, 0, 0, 0, 0]);
    assert_eq!(given.count("t").await, 1);
}

async fn an_empty_batch_lands_once(given: Given) {
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}");
    assert_eq!(counts(&given.deliver(&pipeline, &[]).await.unwrap()), "");
    assert_eq!(given.deliver(&pipeline, &[]).await.unwrap().status, Status::SkippedDuplicate);
    assert_eq!(given.count("t").await, 0);
}

async fn insert_once_keeps_the_first_run(given: Given) {
    // C16, G2: history re-sent daily keeps the run that loaded it first.
    let pipeline = pipeline("identity: {hash_of: all}\ntarget: {table: t}\nwrite: {mode: insert_once}");
    let first = given.deliver(&pipeline, &[r#"{"day":1}"#, r#"{"day":2}"#]).await.unwrap();
    let second = given.deliver(&pipeline, &[r#"{"day":1}"#, r#"{"day":2}"#, r#"{"day":3}"#]).await.unwrap();
    assert_eq!(counts(&second), "read 3, inserted 1, unchanged 2");
    let runs = given.column("SELECT landonce_run_id, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC").await;
    assert_eq!(runs, [first.run_id.to_string(), second.run_id.to_string()]);
}

async fn a_file_compressed_again_is_unchanged_throughout(given: Given) {
    // C24
    use std::io::Write as _;
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}");
    let gzip = |level| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
        encoder.write_all(b"{\"id\":1}\n{\"id\":2}\n".repeat(50).as_slice()).unwrap();
        encoder.finish().unwrap()
    };
    let first = given.deliver_batch(&pipeline, &Batch::from_bytes("a.ndjson.gz", gzip(1))).await.unwrap();
    assert_eq!(counts(&first), "read 100, inserted 2, duplicates 98");
    let renamed = given.deliver_batch(&pipeline, &Batch::from_bytes("b.ndjson.gz", gzip(1))).await.unwrap();
    assert_eq!(renamed.status, Status::SkippedDuplicate);
    let again = given.deliver_batch(&pipeline, &Batch::from_bytes("a.ndjson.gz", gzip(9))).await.unwrap();
    assert_eq!(counts(&again), "read 100, unchanged 2, duplicates 98");
}

async fn a_skip_is_refused_when_the_table_is_gone(given: Given) {
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}");
    given.deliver(&pipeline, &[r#"{"id":1}"#]).await.unwrap();
    given.execute("DROP TABLE t").await;
    let error = given.deliver(&pipeline, &[r#"{"id":1}"#]).await.unwrap_err();
    assert_eq!(error.kind(), landonce::Kind::Target);
    assert!(error.to_string().contains("has landed"), "{error}");
}
