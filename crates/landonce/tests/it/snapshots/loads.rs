//! What lands is what stands, and what it doesn't have is retired, deleted or kept, as declared.

use landonce::{Batch, Pipeline, Status};
use landonce_testkit::dump::physical;

use super::{anything, counts, declared, land, retired, retiring, rows, shown, standing, whole};
use crate::given::{Given, on_every_store, pipeline};

on_every_store!(
    what_goes_and_comes_again_is_retired_and_restored,
    the_same_snapshot_again_is_skipped,
    absent_rows_are_deleted_if_declared,
    absent_rows_are_kept_if_declared,
    a_plan_retires_nothing,
    a_bad_record_may_be_anybodys_row,
    a_record_without_identity_is_nobodys_row,
    two_sources_in_one_table_do_not_touch_each_other,
    repeats_in_a_snapshot_are_one_row,
);

/// B lacks 10, changes 1 and adds 11.
fn second() -> Vec<String> {
    [rows([1], "b"), rows(2..=9, "a"), rows([11], "a")].concat()
}

async fn what_goes_and_comes_again_is_retired_and_restored(given: Given) {
    let pipeline = retiring();
    let first = rows(1..=10, "a");
    assert_eq!(counts(&land(&given, &pipeline, &first).await), "read 10, inserted 10");
    let receipt = land(&given, &pipeline, &second()).await;
    assert_eq!(counts(&receipt), "read 10, inserted 1, updated 1, unchanged 8; retired 1");
    assert_eq!(retired(&given).await, ["10 a"]);
    let by = given.column("SELECT retired_by FROM t WHERE id = 10").await;
    assert_eq!(by, [receipt.run_id.to_string()]);
    let receipt = land(&given, &pipeline, &first).await;
    assert_eq!(counts(&receipt), "read 10, updated 2, unchanged 8; retired 1; restored 1");
    assert_eq!(receipt.batch_id, "snapshot#3");
    assert_eq!(
        (standing(&given).await, retired(&given).await),
        (shown(1..=10, "a"), vec!["11 a".to_owned()])
    );
    assert_eq!(given.column("SELECT count(*) FROM t WHERE retired_by IS NOT NULL").await, ["1"]);
}

async fn the_same_snapshot_again_is_skipped(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    let landed = land(&given, &pipeline, &second()).await;
    let before = given.dump().await;
    let receipt = given.deliver_batch(&pipeline, &whole(&second())).await.unwrap();
    assert_eq!((receipt.status, receipt.run_id), (Status::SkippedDuplicate, landed.run_id));
    before.assert_same(&given.dump().await);
    // Under a sender's id it is another batch, and an equal row isn't touched.
    let physically = touched(&given).await;
    let receipt = given.deliver_batch(&pipeline, &whole(&second()).with_id("again")).await.unwrap();
    assert_eq!((receipt.status, counts(&receipt)), (Status::Processed, "read 10, unchanged 10".to_owned()));
    assert_eq!(touched(&given).await, physically, "X2");
}

async fn touched(given: &Given) -> Vec<(String, String, String)> {
    if !given.is_postgres() {
        return Vec::new();
    }
    let rows = physical(&given.database().client().await, "public.t").await;
    rows.into_iter().map(|row| (row.ctid, row.xmin, row.xmax)).collect()
}

async fn absent_rows_are_deleted_if_declared(given: Given) {
    let pipeline = declared("absent: delete");
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    let receipt = land(&given, &pipeline, &second()).await;
    assert_eq!(counts(&receipt), "read 10, inserted 1, updated 1, unchanged 8; removed 1");
    let all = given.column("SELECT id FROM t ORDER BY id").await;
    assert_eq!(all, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "11"]);
}

async fn absent_rows_are_kept_if_declared(given: Given) {
    // Nothing goes, so that nothing must be proved.
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {id: integer, v: text}}\nwrite: {mode: snapshot, absent: keep}",
    );
    for (lines, says) in [
        (rows(1..=10, "a"), "read 10, inserted 10"),
        (second(), "read 10, inserted 1, updated 1, unchanged 8"),
    ] {
        let batch = Batch::from_bytes("t.ndjson", lines.join("\n"));
        assert_eq!(counts(&given.deliver_batch(&pipeline, &batch).await.unwrap()), says);
    }
    assert_eq!(given.count("t").await, 11);
}

/// C33
async fn a_plan_retires_nothing(given: Given) {
    let pipeline = retiring();
    let fresh = pipeline.preview(&given.store, &whole(&rows(1..=10, "a")), 3).await.unwrap();
    assert_eq!((fresh.outcome.inserted, fresh.notes.reasons.len()), (10, 0));
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    let before = given.dump().await;
    let preview = pipeline.preview(&given.store, &whole(&second()), 3).await.unwrap();
    let outcome = preview.outcome;
    assert_eq!((outcome.inserted, outcome.updated, outcome.unchanged, outcome.retired), (1, 1, 8, 1));
    assert!(preview.notes.reasons.is_empty());
    let preview = pipeline.preview(&given.store, &whole(&[]), 3).await.unwrap();
    assert_eq!(preview.outcome.retired, 10);
    assert!(preview.notes.reasons.iter().any(|why| why.contains("no records")), "{:?}", preview.notes);
    before.assert_same(&given.dump().await);
}

fn numbered(nulls: &str) -> Pipeline {
    pipeline(&format!(
        "identity: {{fields: [id], nulls: [{nulls}]}}\ntarget: {{table: t, managed: {{retired_at: retired_at, retired_by: retired_by}}, columns: {{id: text, v: integer}}}}\n\
         source: {{complete: {{end_marker: '#EOF'}}}}\non_bad_record: {{quarantine: {{max: 9}}}}\n\
         write: {{mode: snapshot, absent: retire, plausible: {{retired: any, rows: any}}}}"
    ))
}

fn line(id: &str, v: &str) -> String {
    format!(r#"{{"id":{id},"v":{v}}}"#)
}

async fn a_bad_record_may_be_anybodys_row(given: Given) {
    let pipeline = numbered("");
    land(&given, &pipeline, &[line("\"a\"", "1"), line("\"b\"", "1"), line("\"c\"", "1")]).await;
    // `b` can't be read: it hasn't gone. Nor can be said whether the broken line is `c`.
    let receipt = land(&given, &pipeline, &[line("\"a\"", "1"), line("\"b\"", "\"x\"")]).await;
    assert_eq!(counts(&receipt), "read 2, unchanged 1, quarantined 1");
    assert!(receipt.notes.withheld > 0);
    assert!(retired(&given).await.is_empty());
    let receipt = land(&given, &pipeline, &[line("\"a\"", "1"), "{\"broken".to_owned()]).await;
    assert_eq!((receipt.outcome.retired, receipt.notes.withheld), (0, 2));
}

async fn a_record_without_identity_is_nobodys_row(given: Given) {
    let pipeline = numbered("'---'");
    land(&given, &pipeline, &[line("\"a\"", "1"), line("\"b\"", "1"), line("\"---\"", "1")]).await;
    assert_eq!(given.count("t").await, 2);
    let receipt = land(
        &given,
        &pipeline,
        &[
            line("\"a\"", "1"),
            line("\"---\"", "1"),
            line("\"---\"", "2"),
            line("null", "1"),
            "{\"v\":3}".to_owned(),
        ],
    )
    .await;
    assert_eq!(counts(&receipt), "read 5, unchanged 1, quarantined 4; retired 1");
    assert_eq!(retired(&given).await, ["b 1"]);
}

fn owned(source: &str) -> Pipeline {
    Pipeline::from_yaml(&format!(
        "pipeline: {source}\nidentity: [source, id]\ntarget: {{table: t, managed: {{retired_at: retired_at, retired_by: retired_by}}, columns: {{source: text, id: integer, v: text}}}}\n\
         source: {{complete: {{end_marker: '#EOF'}}}}\non_bad_record: {{quarantine: {{max: 9}}}}\n\
         write: {{mode: snapshot, absent: retire, owner: {{source: {source}}}, plausible: {{retired: any, rows: any}}}}"
    ))
    .unwrap()
}

fn of(source: &str, ids: std::ops::RangeInclusive<u32>, v: &str) -> Vec<String> {
    ids.map(|id| format!(r#"{{"source":"{source}","id":{id},"v":"{v}"}}"#)).collect()
}

async fn two_sources_in_one_table_do_not_touch_each_other(given: Given) {
    let (x, y) = (owned("x"), owned("y"));
    land(&given, &x, &of("x", 1..=5, "a")).await;
    assert_eq!(counts(&land(&given, &y, &of("y", 1..=5, "b")).await), "read 5, inserted 5");
    assert_eq!(counts(&land(&given, &x, &of("x", 1..=2, "a")).await), "read 2, unchanged 2; retired 3");
    // A record that names the other is refused, and so may be anybody's.
    let receipt = land(&given, &y, &[of("y", 1..=4, "b"), of("x", 3..=3, "z")].concat()).await;
    assert_eq!(counts(&receipt), "read 5, unchanged 4, quarantined 1");
    assert_eq!(receipt.notes.withheld, 1);
    let all =
        "SELECT source || id || CASE WHEN retired_at IS NULL THEN '' ELSE '-' END FROM t ORDER BY source, id";
    assert_eq!(given.column(all).await, ["x1", "x2", "x3-", "x4-", "x5-", "y1", "y2", "y3", "y4", "y5"]);
}

async fn repeats_in_a_snapshot_are_one_row(given: Given) {
    let pipeline = anything("retire");
    land(&given, &pipeline, &[rows(1..=3, "a"), rows([3], "b")].concat()).await;
    assert_eq!(standing(&given).await, ["1 a", "2 a", "3 b"]);
    let receipt = land(&given, &pipeline, &[rows([2, 2, 2], "a"), rows([3], "b")].concat()).await;
    assert_eq!(counts(&receipt), "read 4, unchanged 2, duplicates 2; retired 1");
}
