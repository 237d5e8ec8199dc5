//! Changes that are told (J7, J8): every real change of a row is a message in the transaction of the change, and nothing else
//! is, however often and in whichever way the same content comes.

use landonce::{Batch, Options, Pipeline, Receipt};

use crate::given::{Given, on_every_store, patient, pipeline};

mod at_once;
mod saying;
mod ways;
mod whole;

on_every_store!(
    each_kind_of_change_is_told_once,
    a_b_a_b_is_four_messages_in_order,
    what_changes_nothing_tells_nothing,
    a_replay_into_an_emptied_table_tells_nothing,
    a_rerun_under_another_run_leaves_the_outbox_to_the_byte,
    a_pipeline_without_notify_and_a_silent_run_tell_nothing,
    a_row_that_goes_and_comes_again_is_news,
    records_of_one_row_in_one_batch_are_told_one_by_one,
);

const TABLE: &str = "identity: [id]\ntarget: {table: t, rest: ignore, columns: {id: integer, v: text, op: text, n: integer}}\n";

fn telling(more: &str) -> Pipeline {
    notifying(more, "{topic: t}")
}

fn notifying(more: &str, notify: &str) -> Pipeline {
    pipeline(&format!("{TABLE}{more}\nnotify: [{notify}]"))
}

/// A column of the outbox, in order.
async fn outbox(given: &Given, column: &str) -> Vec<String> {
    given.column(&format!("SELECT {column} FROM {} ORDER BY seq", given.system("outbox"))).await
}

/// The messages, in short: `inserted {"id":1}`.
async fn messages(given: &Given) -> Vec<String> {
    outbox(given, "kind || ' ' || entity").await
}

async fn land(given: &Given, pipeline: &Pipeline, id: &str, lines: &[&str]) -> Receipt {
    let receipt = given.deliver_as(pipeline, id, lines).await.unwrap();
    assert_eq!(receipt.status, landonce::Status::Processed);
    receipt
}

async fn each_kind_of_change_is_told_once(given: Given) {
    let pipeline = telling("write: {delete_when: {field: op, equals: [D]}}");
    let receipt = land(&given, &pipeline, "1", &[r#"{"id":2,"v":"a"}"#, r#"{"id":1,"v":"a"}"#]).await;
    assert_eq!(receipt.notes.enqueued, 2);
    let lines = [r#"{"id":1,"v":"b"}"#, r#"{"id":2,"op":"D"}"#, r#"{"id":3,"v":"a"}"#];
    assert_eq!(land(&given, &pipeline, "2", &lines).await.notes.enqueued, 3);
    let mut told = messages(&given).await;
    told[..2].sort_unstable();
    told[2..].sort_unstable();
    assert_eq!(
        told,
        [
            r#"inserted {"id":1}"#,
            r#"inserted {"id":2}"#,
            r#"deleted {"id":2}"#,
            r#"inserted {"id":3}"#,
            r#"updated {"id":1}"#
        ]
    );
    let payload = &outbox(&given, "payload").await[told.len() - 5..];
    let update = payload.iter().find(|payload| payload.contains(r#""kind":"updated""#)).unwrap();
    assert_eq!(
        update,
        r#"{"type":"t.updated","topic":"t","kind":"updated","pipeline":"p","entity":{"id":1},"revision":2,"changed":["v"],"old":{"id":1,"v":"a","op":null,"n":null},"new":{"id":1,"v":"b","op":null,"n":null}}"#
    );
    let delete = payload.iter().find(|payload| payload.contains(r#""kind":"deleted""#)).unwrap();
    assert!(
        delete
            .ends_with(r#""revision":1,"changed":[],"old":{"id":2,"v":"a","op":null,"n":null},"new":null}"#),
        "{delete}"
    );
}

async fn a_b_a_b_is_four_messages_in_order(given: Given) {
    let pipeline = notifying("", "{topic: t, payload: '{revision}: {old.v} → {new.v}'}");
    for (nth, v) in ["a", "b", "a", "b", "b", "a"].iter().enumerate() {
        land(&given, &pipeline, &nth.to_string(), &[&format!(r#"{{"id":1,"v":"{v}"}}"#)]).await;
    }
    assert_eq!(
        outbox(&given, "payload").await,
        [r#""1:  → a""#, r#""2: a → b""#, r#""3: b → a""#, r#""4: a → b""#, r#""5: b → a""#]
    );
    assert_eq!(outbox(&given, "DISTINCT lane, 1 AS seq").await.len(), 1);
}

async fn what_changes_nothing_tells_nothing(given: Given) {
    let pipeline = telling("write: {version: n}\non_bad_record: {quarantine: {max: '100%'}}");
    let lines = [r#"{"id":1,"v":"a","n":5}"#, r#"{"id":2,"v":"a","n":5}"#];
    assert_eq!(land(&given, &pipeline, "1", &lines).await.notes.enqueued, 2);
    let again = given.deliver_as(&pipeline, "1", &lines).await.unwrap();
    assert_eq!((again.status, again.notes.enqueued), (landonce::Status::SkippedDuplicate, 0));
    for (id, line) in [
        ("equal", r#"{ "v":"a", "n":5.0, "id":1 }"#),
        ("stale", r#"{"id":1,"v":"old","n":4}"#),
        ("conflict", r#"{"id":1,"v":"other","n":5}"#),
        ("bad", r#"{"id":1,"v":7.5,"n":"x"}"#),
    ] {
        assert_eq!(land(&given, &pipeline, id, &[line]).await.notes.enqueued, 0, "{id}");
    }
    assert_eq!(given.count(&given.system("outbox")).await, 2);
}

async fn a_replay_into_an_emptied_table_tells_nothing(given: Given) {
    let pipeline = telling("volatile: [op]");
    land(&given, &pipeline, "1", &[r#"{"id":1,"v":"a","op":"x"}"#, r#"{"id":2,"v":"b"}"#]).await;
    land(&given, &pipeline, "2", &[r#"{"id":1,"v":"c"}"#]).await;
    assert_eq!(given.count(&given.system("outbox")).await, 3);
    given.execute("DELETE FROM t").await;
    // Equal content in other bytes, and what changes per attempt is another.
    let receipt =
        land(&given, &pipeline, "3", &[r#"{ "v":"a", "id":1, "op":"y" }"#, r#"{"id":2,"v":"b"}"#]).await;
    assert_eq!((receipt.outcome.inserted, receipt.notes.enqueued), (2, 0));
    assert_eq!(land(&given, &pipeline, "4", &[r#"{"id":1,"v":"c"}"#]).await.notes.enqueued, 0);
    // Another content is news.
    given.execute("DELETE FROM t").await;
    assert_eq!(land(&given, &pipeline, "5", &[r#"{"id":1,"v":"z"}"#]).await.notes.enqueued, 1);
}

async fn a_rerun_under_another_run_leaves_the_outbox_to_the_byte(given: Given) {
    let pipeline = telling("write: {delete_when: {field: op, equals: [D]}}");
    let batches = [
        Batch::from_bytes("1.ndjson", "{\"id\":1,\"v\":\"a\"}\n{\"id\":2,\"v\":\"a\"}\n"),
        Batch::from_bytes("2.ndjson", "{\"id\":1,\"v\":\"b\"}\n{\"id\":2,\"op\":\"D\"}\n"),
    ];
    for batch in &batches {
        given.deliver_batch(&pipeline, batch).await.unwrap();
    }
    let rows = async || {
        let columns = "CAST(id AS text) || producer || topic || CAST(lane AS text) || entity || kind || payload || CAST(run_id AS text) || CAST(enqueued_at AS text)";
        outbox(&given, columns).await
    };
    let before = rows().await;
    assert_eq!(before.len(), 4);
    for batch in &batches {
        // A redelivery, and its bytes under another name.
        given.deliver_batch(&pipeline, batch).await.unwrap();
    }
    given.deliver_batch(&pipeline, &batches[1].clone().with_id("another")).await.unwrap();
    assert_eq!(rows().await, before);
}

async fn a_pipeline_without_notify_and_a_silent_run_tell_nothing(given: Given) {
    let silent = pipeline(TABLE);
    assert_eq!(land(&given, &silent, "1", &[r#"{"id":1,"v":"a"}"#]).await.notes.enqueued, 0);
    let pipeline = telling("");
    let options = Options { notify: false, ..patient() };
    let batch = Batch::from_bytes("e.ndjson", r#"{"id":1,"v":"b"}"#);
    let receipt = pipeline.ingest_with(&given.store, &batch, &options).await.unwrap();
    assert_eq!((receipt.outcome.updated, receipt.notes.enqueued), (1, 0));
    let preview =
        pipeline.preview(&given.store, &Batch::from_bytes("e.ndjson", r#"{"id":1,"v":"c"}"#), 1).await;
    assert_eq!(preview.unwrap().notes.enqueued, 0);
    assert_eq!(given.count(&given.system("outbox")).await, 0);
    // From here on it is told; what wasn't stays so.
    assert_eq!(land(&given, &pipeline, "3", &[r#"{"id":1,"v":"c"}"#]).await.notes.enqueued, 1);
}

async fn a_row_that_goes_and_comes_again_is_news(given: Given) {
    let pipeline = telling("write: {delete_when: {field: op, equals: [D]}}");
    for (id, line) in [
        ("1", r#"{"id":1,"v":"a"}"#),
        ("2", r#"{"id":1,"op":"D"}"#),
        ("3", r#"{"id":1,"v":"a"}"#),
        ("4", r#"{"id":1,"op":"D"}"#),
    ] {
        assert_eq!(land(&given, &pipeline, id, &[line]).await.notes.enqueued, 1, "{id}");
    }
    assert_eq!(outbox(&given, "kind").await, ["inserted", "deleted", "inserted", "deleted"]);
}

async fn records_of_one_row_in_one_batch_are_told_one_by_one(given: Given) {
    // Records that are changes are applied one a round.
    let pipeline = notifying(
        "write: {absent: keep, delete_when: {field: op, equals: [D]}}",
        "{topic: t, payload: '{kind} {revision} {old.v} {new.v}'}",
    );
    let (put, delete) = (r#"{"id":1,"v":"a"}"#, r#"{"id":1,"op":"D"}"#);
    let receipt = land(&given, &pipeline, "1", &[put, r#"{"id":1,"v":"b"}"#, delete, put, delete, put]).await;
    assert_eq!(
        outbox(&given, "payload").await,
        [
            r#""inserted 1  a""#,
            r#""updated 2 a b""#,
            r#""deleted 2 b ""#,
            r#""inserted 1  a""#,
            r#""deleted 1 a ""#,
            r#""inserted 1  a""#
        ],
        "{receipt:?}"
    );
}
