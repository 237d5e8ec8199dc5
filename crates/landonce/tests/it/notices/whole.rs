//! Payloads that are all there is: periods and snapshots tell what goes, what comes again, and nothing when held.

use landonce::{Batch, Pipeline, Status};

use super::{TABLE, messages, outbox};
use crate::given::{Given, on_every_store, patient, pipeline};

on_every_store!(
    a_row_that_leaves_its_period_and_comes_back_is_news_each_time,
    a_snapshot_tells_what_it_retires_and_restores,
    a_snapshot_that_deletes_tells_what_goes_and_comes,
    a_held_snapshot_tells_nothing_until_it_is_released,
);

async fn land(given: &Given, pipeline: &Pipeline, text: &str) -> u64 {
    let receipt = given.deliver_batch(pipeline, &Batch::from_bytes("t.json", text)).await.unwrap();
    assert_eq!(receipt.status, Status::Processed, "{:?}", receipt.notes.reasons);
    receipt.notes.enqueued
}

async fn a_row_that_leaves_its_period_and_comes_back_is_news_each_time(given: Given) {
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {id: integer, day: date, v: text}}\n\
         write: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}\nnotify: [{topic: t}]",
    )
    .in_period("2026-03-01")
    .unwrap();
    let row = |id: u32, v: &str| format!(r#"{{"id":{id},"day":"2026-03-01","v":"{v}"}}"#);
    let both = format!("[{},{}]", row(1, "a"), row(2, "a"));
    let one = format!("[{}]", row(1, "a"));
    assert_eq!(land(&given, &pipeline, &both).await, 2);
    assert_eq!(land(&given, &pipeline, &one).await, 1);
    assert_eq!(land(&given, &pipeline, &both).await, 1);
    assert_eq!(land(&given, &pipeline, &one).await, 1);
    assert_eq!(land(&given, &pipeline, &format!("[{}]", row(1, "b"))).await, 1);
    let mut told = messages(&given).await;
    told[..2].sort_unstable();
    assert_eq!(
        told,
        [
            r#"inserted {"id":1}"#,
            r#"inserted {"id":2}"#,
            r#"deleted {"id":2}"#,
            r#"inserted {"id":2}"#,
            r#"deleted {"id":2}"#,
            r#"updated {"id":1}"#
        ]
    );
    // The same payload again is a skipped duplicate.
    let again = Batch::from_bytes("t.json", format!("[{}]", row(1, "b")));
    let receipt = given.deliver_batch(&pipeline, &again).await.unwrap();
    assert_eq!((receipt.status, given.count(&given.system("outbox")).await), (Status::SkippedDuplicate, 6));
}

fn snapshot(write: &str) -> Pipeline {
    pipeline(&format!(
        "{TABLE}source: {{complete: json_closed}}\nwrite: {{mode: snapshot, {write}}}\nnotify: [{{topic: t, payload: '{{kind}} {{revision}} {{old.v}}/{{new.v}}'}}]"
    ))
}

const ANYTHING: &str = "plausible: {rows: any, changed: any, retired: any}";

async fn a_snapshot_tells_what_it_retires_and_restores(given: Given) {
    let pipeline = snapshot(&format!("absent: retire, {ANYTHING}"));
    for (text, want) in [
        (r#"[{"id":1,"v":"a"},{"id":2,"v":"b"}]"#, 2),
        (r#"[{"id":1,"v":"a"}]"#, 1),
        (r#"[{"id":1,"v":"a"} ]"#, 0),
        (r#"[{"id":1,"v":"a"},{"id":2,"v":"b"}]"#, 1),
        (r#"[{"id":1,"v":"a2"}]"#, 2),
        (r#"[{"id":1,"v":"a2"},{"id":2,"v":"b2"}]"#, 1),
    ] {
        assert_eq!(land(&given, &pipeline, text).await, want, "{text}");
    }
    let told = outbox(&given, "payload").await;
    assert_eq!(told[2..4], [r#""retired 2 b/b""#, r#""restored 3 b/b""#]);
    let mut third = told[4..6].to_vec();
    third.sort_unstable();
    assert_eq!(third, [r#""retired 4 b/b""#, r#""updated 2 a/a2""#]);
    assert_eq!(told[6], r#""restored 5 b/b2""#);
}

async fn a_snapshot_that_deletes_tells_what_goes_and_comes(given: Given) {
    let pipeline = snapshot(&format!("absent: delete, {ANYTHING}"));
    for (text, want) in [
        (r#"[{"id":1,"v":"a"},{"id":2,"v":"b"}]"#, 2),
        (r#"[{"id":1,"v":"a"}]"#, 1),
        (r#"[{"id":1,"v":"a"},{"id":2,"v":"b"}]"#, 1),
    ] {
        assert_eq!(land(&given, &pipeline, text).await, want, "{text}");
    }
    assert_eq!(outbox(&given, "payload").await[2..], [r#""deleted 1 b/""#, r#""inserted 1 /b""#]);
}

async fn a_held_snapshot_tells_nothing_until_it_is_released(given: Given) {
    let pipeline = snapshot("absent: retire");
    assert_eq!(land(&given, &pipeline, r#"[{"id":1,"v":"a"},{"id":2,"v":"b"}]"#).await, 2);
    let few = Batch::from_bytes("t.json", r#"[{"id":1,"v":"a"}]"#);
    let held = given.deliver_batch(&pipeline, &few).await.unwrap();
    assert_eq!((held.status, held.notes.enqueued), (Status::Held, 0));
    assert_eq!(given.count(&given.system("outbox")).await, 2);
    let found = given.store.held(Some("p"), false).await.unwrap().remove(0);
    let released = pipeline
        .release(&given.store, &found, landonce::held::Although::default(), &patient())
        .await
        .unwrap();
    assert_eq!(released.notes.enqueued, 1);
    assert_eq!(outbox(&given, "kind").await[2..], ["retired"]);
}
