//! History: every version of a snapshot's row, from when to when it was so.

use landonce::{Batch, Options};

use crate::given::{Given, on_every_store};

on_every_store!(
    each_version_is_kept_with_its_time,
    what_changes_nothing_writes_no_history,
    rows_from_before_it_was_asked_for_have_their_version_too,
    a_held_snapshot_leaves_no_version,
);

const DECLARED: &str = "pipeline: crew
source: {complete: json_closed}
identity: [id]
target: {table: crew, columns: {id: integer, name: text}}
";

fn declared(write: &str) -> landonce::Pipeline {
    landonce::Pipeline::from_yaml(&format!("{DECLARED}write: {{mode: snapshot, {write}}}\n")).unwrap()
}

const ANYTHING: &str = "plausible: {rows: any, changed: any, retired: any}";

async fn land(given: &Given, pipeline: &landonce::Pipeline, json: &str) {
    let batch = Batch::from_bytes("crew.json", json);
    pipeline.ingest_with(&given.store, &batch, &Options::default()).await.unwrap();
}

/// Each version: id, name, and whether it is over.
async fn versions(given: &Given) -> Vec<String> {
    given
        .column(
            "SELECT CAST(id AS text) || ' ' || name || CASE WHEN valid_to IS NULL THEN '' ELSE ' over' END FROM crew_history \
             ORDER BY id, landonce_revision",
        )
        .await
}

async fn each_version_is_kept_with_its_time(given: Given) {
    for absent in ["retire", "delete"] {
        let pipeline = declared(&format!("absent: {absent}, history: true, {ANYTHING}"));
        land(&given, &pipeline, r#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#).await;
        assert_eq!(versions(&given).await, ["1 a", "2 b"], "{absent}");
        land(&given, &pipeline, r#"[{"id":1,"name":"a2"},{"id":3,"name":"c"}]"#).await;
        assert_eq!(versions(&given).await, ["1 a over", "1 a2", "2 b over", "3 c"], "{absent}");
        // It comes again: a version of its own, and none overlaps another.
        land(&given, &pipeline, r#"[{"id":1,"name":"a2"},{"id":2,"name":"b"}]"#).await;
        let open = "SELECT CAST(id AS text) FROM crew_history WHERE valid_to IS NULL ORDER BY id";
        assert_eq!(given.column(open).await, ["1", "2"], "{absent}");
        let overlapping = "SELECT CAST(count(*) AS text) FROM crew_history a JOIN crew_history b ON a.id = b.id \
                           AND a.valid_from < b.valid_from AND (a.valid_to IS NULL OR a.valid_to > b.valid_from)";
        assert_eq!(given.column(overlapping).await, ["0"], "{absent}");
        given.execute("DROP TABLE crew_history; DROP TABLE crew").await;
        let ledger = if given.is_postgres() { "landonce.ledger" } else { "landonce_ledger" };
        let inbox = if given.is_postgres() { "landonce.inbox" } else { "landonce_inbox" };
        given.execute(&format!("DELETE FROM {ledger}; DELETE FROM {inbox}")).await;
    }
}

async fn what_changes_nothing_writes_no_history(given: Given) {
    let pipeline = declared(&format!("absent: retire, history: true, {ANYTHING}"));
    land(&given, &pipeline, r#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#).await;
    let times = "SELECT CAST(id AS text) || CAST(valid_from AS text) FROM crew_history ORDER BY id";
    let before = given.column(times).await;
    land(&given, &pipeline, r#"[{"id":2,"name":"b"},{"id":1,"name":"a"}]"#).await;
    assert_eq!(given.column(times).await, before);
}

async fn rows_from_before_it_was_asked_for_have_their_version_too(given: Given) {
    let before = declared(&format!("absent: retire, {ANYTHING}"));
    land(&given, &before, r#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#).await;
    let after = declared(&format!("absent: retire, history: true, {ANYTHING}"));
    land(&given, &after, r#"[{"id":1,"name":"a"},{"id":2,"name":"b2"}]"#).await;
    assert_eq!(versions(&given).await, ["1 a", "2 b2"]);
}

async fn a_held_snapshot_leaves_no_version(given: Given) {
    let pipeline = declared("absent: retire, history: true");
    land(&given, &pipeline, r#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#).await;
    land(&given, &pipeline, "[]").await;
    assert_eq!(versions(&given).await, ["1 a", "2 b"]);
}
