//! What messages leave in the target: keys, tombstones and envelopes, through the desk (C30).

use std::path::Path;
use std::time::Duration;

use landonce::{Pipeline, Store};
use landonce_core::pipeline::Message;
use landonce_stream::desk::Settings;
use landonce_stream::{Desk, Given, PartName, Room};
use landonce_testkit::wait::until;

/// A message's key and value.
type Sent<'a> = (&'a str, Option<&'a str>);

/// Lands messages under a pipeline's `source.message` and `write`, in batches of so many, and again from the beginning under another
/// group; returns the target's rows.
async fn landed(message: &str, write: &str, batch: u32, sent: &[Sent<'_>]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("landonce.db");
    let store = Store::open(&format!("sqlite:{}", path.display())).unwrap();
    for group in ["g", "again"] {
        let yaml = format!(
            "pipeline: orders\nidentity: [id]\ntarget: {{table: t, columns: {{id: integer, v: text, lsn: integer}}}}\nwrite: {write}\n\
             source:\n  kafka: {{brokers: [none:1], group: {group}, topics: [t]}}\n  batch: {{records: {batch}, wait_ms: 20}}\n  \
             message: {message}\n"
        );
        let pipeline = Pipeline::from_yaml(&yaml).unwrap();
        let desk = Desk::new(
            &pipeline,
            &store,
            Settings { patience: Duration::from_secs(5), ..Settings::default() },
        );
        let part = PartName { source: format!("kafka {group} t"), part: "0".into(), shown: "t/0".into() };
        desk.assign(&part);
        let given: Given = until(10, "the part", async || desk.starts().pop()).await;
        for (offset, (key, value)) in sent.iter().enumerate() {
            let message = Message {
                topic: "t",
                part: "0",
                offset: offset as u64,
                key: Some(key.as_bytes()),
                value: value.map(str::as_bytes),
                headers: &[],
                timestamp_ms: Some(1),
            };
            assert_ne!(given.intake.take(&message), Room::Gone);
            while !given.intake.has_room() {
                tokio::task::yield_now().await;
            }
        }
        let all = sent.len().to_string();
        until(20, "the last message", async || {
            let places = store.positions(Some("orders")).await.unwrap();
            let mut of_group = places.iter().filter(|place| place.part.source == part.source);
            of_group.any(|place| place.next.as_deref() == Some(&*all)).then_some(())
        })
        .await;
    }
    rows(&path, write.contains("retire"))
}

/// `id v lsn`, with a mark for those that are retired.
fn rows(path: &Path, can_retire: bool) -> Vec<String> {
    let retired = if can_retire { "landonce_retired_at IS NOT NULL" } else { "false" };
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = format!(
        "SELECT concat_ws(' ', id, v, lsn) || CASE WHEN {retired} THEN ' retired' ELSE '' END FROM t ORDER BY id"
    );
    let mut statement = connection.prepare(&sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// The same whatever the batches, and twice.
async fn lands(message: &str, write: &str, sent: &[Sent<'_>], want: &[&str]) {
    for batch in [1, 2, 100] {
        assert_eq!(landed(message, write, batch, sent).await, want, "in batches of {batch}");
    }
}

const PUT_DELETE_PUT: [Sent<'_>; 5] = [
    ("7", Some(r#"{"v":"1"}"#)),
    ("7", None),
    ("7", Some(r#"{"v":"2"}"#)),
    ("8", Some(r#"{"v":"1"}"#)),
    ("8", None),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_put_behind_a_tombstone_is_there_and_a_tombstone_behind_a_put_deletes() {
    // C30
    lands("{key: json}", "{}", &PUT_DELETE_PUT, &["7 2"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_retires_where_that_is_declared() {
    lands("{key: json}", "{deleted: retire}", &PUT_DELETE_PUT, &["7 2", "8 1 retired"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_order_what_a_stream_repeats_out_of_order() {
    let message = "{envelope: debezium, fields: {lsn: {field: source.lsn}}}";
    let sent = [
        (r#"{"id":1}"#, Some(r#"{"op":"c","after":{"id":1,"v":"a"},"source":{"lsn":10}}"#)),
        (r#"{"id":1}"#, Some(r#"{"op":"d","before":{"id":1,"v":"a"},"source":{"lsn":30}}"#)),
        (r#"{"id":1}"#, None),
        (r#"{"id":1}"#, Some(r#"{"op":"u","after":{"id":1,"v":"late"},"source":{"lsn":20}}"#)),
        // A key that changes: a delete of the old one, its tombstone, a put of the new one.
        (r#"{"id":2}"#, Some(r#"{"op":"c","after":{"id":2,"v":"b"},"source":{"lsn":40}}"#)),
        (r#"{"id":2}"#, Some(r#"{"op":"d","before":{"id":2,"v":"b"},"source":{"lsn":50}}"#)),
        (r#"{"id":2}"#, None),
        (r#"{"id":3}"#, Some(r#"{"op":"c","after":{"id":3,"v":"b"},"source":{"lsn":50}}"#)),
    ];
    let write = "{deleted: retire, version: lsn}";
    lands(message, write, &sent, &["1 a 30 retired", "2 b 50 retired", "3 b 50"]).await;
}
