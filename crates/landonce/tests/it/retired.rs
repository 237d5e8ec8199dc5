//! Deletes that retire (C30, J6): a delete record marks its row, a put restores it, and any batching of puts and deletes leaves what
//! they leave one by one.

use landonce::Pipeline;
use landonce::history::Decision;
use landonce_testkit::seed;
use rand::RngExt as _;

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    a_delete_retires_its_row_and_a_put_restores_it,
    a_put_a_delete_and_a_put_leave_the_last_put,
    any_batching_leaves_what_one_by_one_leaves,
    versions_order_puts_and_deletes_in_any_batching,
    a_delete_without_a_version_is_bad,
    both_are_told_once,
    the_archive_tells_what_was_retired_and_restored,
    a_table_without_the_column_is_told_which_to_add,
    a_plan_counts_what_a_run_will_do,
);

const WRITE: &str = "write: {delete_when: {field: op, equals: [d]}, deleted: retire}";

fn retiring(table: &str) -> Pipeline {
    pipeline(&format!("identity: [id]\ntarget: {{table: {table}, columns: {{v: text}}}}\n{WRITE}"))
}

/// `id v stands|retired`, by id.
async fn rows(given: &Given, table: &str) -> Vec<String> {
    given
        .column(&format!(
            "SELECT id || ' ' || v || CASE WHEN landonce_retired_at IS NULL THEN ' stands' ELSE ' retired' END FROM {table} ORDER BY id"
        ))
        .await
}

async fn a_delete_retires_its_row_and_a_put_restores_it(given: Given) {
    let pipeline = retiring("t");
    let (put, delete) = (r#"{"id":7,"v":"1"}"#, r#"{"id":7,"op":"d"}"#);
    given.deliver_as(&pipeline, "1", &[put]).await.unwrap();
    let receipt = given.deliver_as(&pipeline, "2", &[delete, r#"{"id":8,"op":"d"}"#]).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, unchanged 1, deleted 1");
    assert_eq!((receipt.outcome.retired, receipt.outcome.changed()), (1, 1));
    assert_eq!(rows(&given, "t").await, ["7 1 retired"]);
    let by = given.column("SELECT landonce_retired_by FROM t").await;
    assert_eq!(by, [receipt.run_id.to_string()]);

    let before = given.column("SELECT landonce_retired_at || ' ' || landonce_revision FROM t").await;
    let again = given.deliver_as(&pipeline, "3", &[delete]).await.unwrap();
    assert_eq!((counts(&again).as_str(), again.outcome.retired), ("read 1, unchanged 1", 0));
    assert_eq!(given.column("SELECT landonce_retired_at || ' ' || landonce_revision FROM t").await, before);

    let back = given.deliver_as(&pipeline, "4", &[put]).await.unwrap();
    assert_eq!((counts(&back).as_str(), back.outcome.restored), ("read 1, updated 1", 1));
    assert_eq!(rows(&given, "t").await, ["7 1 stands"]);
    let again = given.deliver_as(&pipeline, "5", &[put]).await.unwrap();
    assert_eq!((counts(&again).as_str(), again.outcome.restored), ("read 1, unchanged 1", 0));
}

async fn a_put_a_delete_and_a_put_leave_the_last_put(given: Given) {
    // C30
    let pipeline = retiring("t");
    let (put1, delete, put2) = (r#"{"id":7,"v":"1"}"#, r#"{"id":7,"op":"d"}"#, r#"{"id":7,"v":"2"}"#);
    let receipt = given.deliver_as(&pipeline, "a", &[put1, delete, put2]).await.unwrap();
    assert_eq!(counts(&receipt), "read 3, inserted 1, updated 1, deleted 1");
    assert_eq!((receipt.outcome.retired, receipt.outcome.restored), (1, 1));
    assert_eq!(rows(&given, "t").await, ["7 2 stands"]);
    let receipt = given.deliver_as(&pipeline, "b", &[put1, put1, delete, delete]).await.unwrap();
    assert_eq!(counts(&receipt), "read 4, updated 1, unchanged 1, duplicates 1, deleted 1");
    assert_eq!(rows(&given, "t").await, ["7 1 retired"]);
    let receipt =
        given.deliver_as(&pipeline, "c", &[r#"{"id":9,"v":"new"}"#, r#"{"id":9,"op":"d"}"#]).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 1, deleted 1");
    assert_eq!(rows(&given, "t").await, ["7 1 retired", "9 new retired"]);
}

/// Delivers lines one by one into one table, and cut at random into batches into another, and compares the two.
async fn compare(
    given: &Given,
    one: &Pipeline,
    many: &Pipeline,
    lines: &[String],
    rng: &mut impl rand::Rng,
    columns: &str,
) {
    for (nth, line) in lines.iter().enumerate() {
        given.deliver_as(one, &format!("one {nth}"), &[line]).await.unwrap();
    }
    let mut rest = lines;
    while !rest.is_empty() {
        let (batch, behind) = rest.split_at(rng.random_range(1..=rest.len().min(9)));
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        let id = format!("many {}", rest.len());
        counts(&given.deliver_as(many, &id, &batch).await.unwrap());
        given.deliver_as(many, &id, &batch).await.unwrap(); // and once more
        rest = behind;
    }
    let of = async |table: &str| {
        let sql = format!(
            "SELECT id || ' ' || {columns} || CASE WHEN landonce_retired_at IS NULL THEN '' ELSE ' retired' END FROM {table} ORDER BY id"
        );
        given.column(&sql).await
    };
    assert_eq!(of("many").await, of("one").await, "{lines:#?}");
}

async fn any_batching_leaves_what_one_by_one_leaves(given: Given) {
    let mut rng = seed::rng();
    let line = |_: usize| {
        let id = rng.random_range(0..4_u8);
        if rng.random_bool(0.4) {
            return format!(r#"{{"id":{id},"op":"d"}}"#);
        }
        format!(r#"{{"id":{id},"v":"{}"}}"#, rng.random_range(0..3_u8))
    };
    let lines: Vec<String> = (0..60).map(line).collect();
    compare(&given, &retiring("one"), &retiring("many"), &lines, &mut rng, "v").await;
}

async fn versions_order_puts_and_deletes_in_any_batching(given: Given) {
    let mut rng = seed::rng();
    let versioned = |table: &str| {
        pipeline(&format!(
            "identity: [id]\ntarget: {{table: {table}, columns: {{v: text, n: integer}}}}\n\
             write: {{delete_when: {{field: op, equals: [d]}}, deleted: retire, version: n}}"
        ))
    };
    let line = |nth: usize| {
        // Mostly forward, now and then late or of the same version.
        let n = (nth / 2 + 4).saturating_sub(rng.random_range(0..5_usize));
        let id = rng.random_range(0..3_u8);
        if rng.random_bool(0.4) {
            return format!(r#"{{"id":{id},"op":"d","n":{n}}}"#);
        }
        format!(r#"{{"id":{id},"v":"{}","n":{n}}}"#, rng.random_range(0..3_u8))
    };
    let lines: Vec<String> = (0..60).map(line).collect();
    compare(&given, &versioned("one"), &versioned("many"), &lines, &mut rng, "v || ' ' || n").await;
}

async fn a_delete_without_a_version_is_bad(given: Given) {
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {n: integer}}\n\
         write: {delete_when: {field: op, equals: [d]}, deleted: retire, version: n}",
    );
    let error = given.deliver_as(&pipeline, "1", &[r#"{"id":1,"op":"d"}"#]).await.unwrap_err();
    assert_eq!(error.bad_records()[0].bad.field, "n", "{error}");
}

async fn both_are_told_once(given: Given) {
    let pipeline = pipeline(&format!(
        "identity: [id]\ntarget: {{table: t, rest: ignore, columns: {{v: text}}}}\n{WRITE}\nnotify: [{{topic: t}}]"
    ));
    let (put, delete) = (r#"{"id":7,"v":"1"}"#, r#"{"id":7,"op":"d"}"#);
    given.deliver_as(&pipeline, "1", &[put, delete]).await.unwrap();
    for id in ["2", "3"] {
        given.deliver_as(&pipeline, id, &[delete]).await.unwrap();
    }
    for id in ["4", "5"] {
        given.deliver_as(&pipeline, id, &[put]).await.unwrap();
    }
    let told = given.column(&format!("SELECT kind FROM {} ORDER BY seq", given.system("outbox"))).await;
    assert_eq!(told, ["inserted", "retired", "restored"]);
}

async fn the_archive_tells_what_was_retired_and_restored(given: Given) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("archive");
    let yaml = format!(
        "identity: [id]\ntarget: {{table: t, columns: {{v: text}}}}\n{WRITE}\narchive: '{}'",
        to.display()
    );
    let pipeline = pipeline(&yaml);
    let other = r#"{"id":"other","v":"x"}"#;
    let (put, delete) = (r#"{"id":"a","v":"1"}"#, r#"{"id":"a","op":"d"}"#);
    for (id, lines) in [
        ("b1", &[put, other][..]),
        ("b2", &[delete, other]),
        ("b3", &[delete, other]),
        ("b4", &[put, put, delete, r#"{"id":"a","v":"2"}"#, other]),
        ("b5", &[delete]),
    ] {
        given.deliver_as(&pipeline, id, lines).await.unwrap();
    }
    let identity = [("id".to_owned(), "a".to_owned())];
    let history = pipeline.history(&given.store, &identity).await.unwrap();
    let told: Vec<String> = history
        .deliveries
        .iter()
        .map(|one| format!("{} {}", one.batch_id, one.decided.map_or("?", Decision::as_str)))
        .collect();
    assert_eq!(
        told,
        [
            "b1 inserted",
            "b2 retired",
            "b3 unchanged",
            "b4 duplicate in batch",
            "b4 restored",
            "b4 retired",
            "b4 restored",
            "b5 retired"
        ]
    );
    assert_eq!(history.unknown.len(), 1, "only what is always said: {:?}", history.unknown);
}

async fn a_table_without_the_column_is_told_which_to_add(given: Given) {
    given.execute("CREATE TABLE t (id integer PRIMARY KEY, v text)").await;
    let error = given.deliver_as(&retiring("t"), "1", &[r#"{"id":1,"v":"a"}"#]).await.unwrap_err();
    let told = error.to_string();
    assert!(
        told.contains("`write.deleted: retire`") && told.contains("ADD COLUMN \"landonce_retired_at\""),
        "{told}"
    );
    let ty = if given.is_postgres() { "timestamptz" } else { "text" };
    given.execute(&format!("ALTER TABLE t ADD COLUMN landonce_retired_at {ty}")).await;
    given.deliver_as(&retiring("t"), "1", &[r#"{"id":1,"v":"a"}"#, r#"{"id":1,"op":"d"}"#]).await.unwrap();
    assert_eq!(rows(&given, "t").await, ["1 a retired"]);
}

async fn a_plan_counts_what_a_run_will_do(given: Given) {
    let pipeline = retiring("t");
    let put = |id: u8| format!(r#"{{"id":{id},"v":"1"}}"#);
    given.deliver_as(&pipeline, "1", &[&put(1), &put(2), r#"{"id":2,"op":"d"}"#]).await.unwrap();
    let before = given.dump().await;
    let batch =
        landonce::Batch::from_bytes("e.ndjson", [put(2), r#"{"id":1,"op":"d"}"#.to_owned()].join("\n"));
    let plan = pipeline.preview(&given.store, &batch, 3).await.unwrap();
    assert_eq!(
        (plan.outcome.updated, plan.outcome.restored, plan.outcome.deleted, plan.outcome.retired),
        (1, 1, 1, 1)
    );
    assert_eq!(given.dump().await, before);
    let receipt = given.deliver_batch(&pipeline, &batch).await.unwrap();
    assert_eq!(receipt.outcome, plan.outcome);
}
