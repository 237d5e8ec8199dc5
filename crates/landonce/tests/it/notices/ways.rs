//! Every way into the target tells: straight and by rows, in a caller's transaction, out of the quarantine, and in bulk.

use landonce::{Batch, Options};

use super::{TABLE, land, messages, notifying, outbox, telling};
use crate::given::{Given, on_every_store, patient, pipeline};

on_every_store!(
    straight_and_by_rows_it_is_the_same,
    rows_that_the_database_refuses_are_not_told,
    a_batch_that_fails_tells_nothing,
    what_lands_out_of_the_quarantine_is_told,
    a_hundred_thousand_changes_are_told_in_key_order,
);

async fn straight_and_by_rows_it_is_the_same(given: Given) {
    let pipeline = notifying("", "{topic: t, payload: ['{kind}', '{entity.id}']}");
    let lines: Vec<String> = (0..300).map(|id| format!(r#"{{"id":{id},"v":"a"}}"#)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    // Into an empty table, then beside rows, then over them.
    land(&given, &pipeline, "1", &lines[..100]).await;
    land(&given, &pipeline, "2", &lines[100..200]).await;
    let mixed: Vec<String> = (150..300).map(|id| format!(r#"{{"id":{id},"v":"b"}}"#)).collect();
    land(&given, &pipeline, "3", &mixed.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let count = async |kind: &str| outbox(&given, "kind").await.iter().filter(|one| *one == kind).count();
    assert_eq!((count("inserted").await, count("updated").await), (300, 50));
}

async fn rows_that_the_database_refuses_are_not_told(given: Given) {
    let run = if given.is_postgres() { "uuid" } else { "text" };
    given
        .execute(&format!(
            "CREATE TABLE own (id integer PRIMARY KEY, v text CHECK (v <> 'no'), landonce_revision bigint, landonce_run_id {run})"
        ))
        .await;
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: own}\non_bad_record: {quarantine: {max: '100%'}}\nnotify: [{topic: t}]",
    );
    let lines: Vec<String> = (0..40)
        .map(|id| format!(r#"{{"id":{id},"v":"{}"}}"#, if id % 10 == 3 { "no" } else { "a" }))
        .collect();
    let receipt = land(&given, &pipeline, "1", &lines.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!((receipt.outcome.quarantined, receipt.notes.enqueued), (4, 36));
    let receipt = land(&given, &pipeline, "2", &[r#"{"id":1,"v":"no"}"#, r#"{"id":2,"v":"b"}"#]).await;
    assert_eq!((receipt.outcome.quarantined, receipt.notes.enqueued), (1, 1));
    assert_eq!(messages(&given).await.last().unwrap(), r#"updated {"id":2}"#);
}

async fn a_batch_that_fails_tells_nothing(given: Given) {
    let pipeline = telling("");
    land(&given, &pipeline, "1", &[r#"{"id":1,"v":"a"}"#]).await;
    given.deliver(&pipeline, &[r#"{"id":1,"v":"b"}"#, r#"{"id":"x"}"#]).await.unwrap_err();
    assert_eq!(given.count(&given.system("outbox")).await, 1);
}

async fn what_lands_out_of_the_quarantine_is_told(given: Given) {
    let narrow = pipeline(
        "identity: [id]\ntarget: {table: t, rest: ignore, columns: {id: integer, v: 'varchar(3)'}}\non_bad_record: {quarantine: {max: '100%'}}\nnotify: [{topic: t}]",
    );
    let receipt = land(&given, &narrow, "1", &[r#"{"id":1,"v":"abc"}"#, r#"{"id":2,"v":"abcd"}"#]).await;
    assert_eq!((receipt.outcome.quarantined, receipt.notes.enqueued), (1, 1));
    if given.is_postgres() {
        given.execute("ALTER TABLE t ALTER COLUMN v TYPE text").await;
    }
    let wide = pipeline(
        "identity: [id]\ntarget: {table: t, rest: ignore, columns: {id: integer, v: text}}\non_bad_record: {quarantine: {max: '100%'}}\nnotify: [{topic: t}]",
    );
    let retried = wide.retry_quarantine(&given.store, &patient()).await.unwrap().unwrap();
    assert_eq!(messages(&given).await, [r#"inserted {"id":1}"#, r#"inserted {"id":2}"#], "{retried:?}");
}

async fn a_hundred_thousand_changes_are_told_in_key_order(given: Given) {
    let pipeline = pipeline(
        "identity: {fields: [id], as: columns}\ntarget: {table: t, rest: ignore, columns: {id: integer, v: text}}\n\
         notify: [{topic: t, payload: ['{kind}', '{entity.id}', '{old.v}', '{new.v}']}]",
    );
    let batch = |v: &str| {
        let mut text = String::new();
        for id in (0..50_000).rev() {
            text.push_str(&format!("{{\"id\":{id},\"v\":\"{v}\"}}\n"));
        }
        Batch::from_bytes("e.ndjson", text)
    };
    for v in ["a", "b"] {
        let receipt = given.deliver_batch(&pipeline, &batch(v)).await.unwrap();
        assert_eq!(receipt.notes.enqueued, 50_000);
    }
    let told = outbox(&given, "payload").await;
    assert_eq!(told.len(), 100_000);
    for (at, payload) in told.iter().enumerate() {
        let id = at % 50_000;
        let want = if at < 50_000 {
            format!(r#"["inserted",{id},null,"a"]"#)
        } else {
            format!(r#"["updated",{id},"a","b"]"#)
        };
        assert_eq!(*payload, want);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_stand_or_fall_with_the_callers_transaction_on_postgres() {
    let given = Given::postgres().await;
    let pipeline = telling("");
    given.store.set_up(&pipeline).await.unwrap();
    let mut client = given.database().client().await;
    for (commits, batch, want) in [(false, "a", 0), (true, "a", 1), (true, "a", 1), (true, "b", 2)] {
        let batch = Batch::from_bytes("e.ndjson", format!("{{\"id\":1,\"v\":\"{batch}\"}}"));
        let mut transaction = client.transaction().await.unwrap();
        pipeline.ingest_in(&mut transaction, &batch, &Options::default()).await.unwrap();
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
        assert_eq!(given.count("landonce.outbox").await, want);
    }
    landonce_testkit::dump::assert_no_leftovers(&client).await;
    // Two batches in one transaction, and a silent one.
    let mut transaction = client.transaction().await.unwrap();
    for (v, notify) in [("c", true), ("d", false), ("e", true)] {
        let batch = Batch::from_bytes("e.ndjson", format!("{{\"id\":1,\"v\":\"{v}\"}}"));
        let options = Options { notify, ..Options::default() };
        pipeline.ingest_in(&mut transaction, &batch, &options).await.unwrap();
    }
    transaction.commit().await.unwrap();
    assert_eq!(given.count("landonce.outbox").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_stand_or_fall_with_the_callers_transaction_on_sqlite() {
    let given = Given::sqlite();
    let pipeline = telling("");
    given.store.set_up(&pipeline).await.unwrap();
    let mut connection = rusqlite::Connection::open(given.sqlite_path()).unwrap();
    for (commits, batch, want) in [(false, "a", 0), (true, "a", 1), (true, "a", 1), (true, "b", 2)] {
        let batch = Batch::from_bytes("e.ndjson", format!("{{\"id\":1,\"v\":\"{batch}\"}}"));
        let mut transaction = connection.transaction().unwrap();
        pipeline.ingest_in(&mut transaction, &batch, &Options::default()).await.unwrap();
        if commits {
            transaction.commit().unwrap();
        } else {
            transaction.rollback().unwrap();
        }
        assert_eq!(given.count("landonce_outbox").await, want);
    }
    let left: i64 =
        connection.query_row("SELECT count(*) FROM temp.sqlite_master", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_row_is_never_locked_on_postgres() {
    let given = Given::postgres().await;
    let pipeline = pipeline(&format!("{TABLE}notify: [{{topic: t}}]"));
    land(&given, &pipeline, "1", &[r#"{"id":1,"v":"a"}"#, r#"{"id":2,"v":"a"}"#]).await;
    let before = given.column("SELECT xmin || '/' || xmax || '/' || ctid FROM t WHERE id = 1").await;
    land(&given, &pipeline, "2", &[r#"{"id":1,"v":"a"}"#, r#"{"id":2,"v":"b"}"#]).await;
    assert_eq!(given.column("SELECT xmin || '/' || xmax || '/' || ctid FROM t WHERE id = 1").await, before);
}
