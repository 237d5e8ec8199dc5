//! Tables that were there before: what a period's run may touch in them, and what it leaves.

use super::{counts, load, row};
use crate::given::{Given, on_every_store, pipeline};

on_every_store!(a_row_of_no_period_is_left_alone, a_record_is_a_whole_row_also_where_no_column_is_declared,);

const A: &str = "2026-03-01";

/// NULL lies in no period; nor, on SQLite, does a time that is spelled another way than landonce spells times.
async fn a_row_of_no_period_is_left_alone(given: Given) {
    let at = if given.is_postgres() { "timestamptz" } else { "TIMESTAMPTZ" };
    given.execute(&format!("CREATE TABLE t(id INTEGER PRIMARY KEY, at {at}, v TEXT)")).await;
    given.execute("INSERT INTO t VALUES (90, NULL, 'null')").await;
    if given.is_postgres() {
        given.execute("INSERT INTO t VALUES (91, '-infinity', 'low'), (92, 'infinity', 'high')").await;
    } else {
        // Behind the day in time, and before its end as a text.
        given.execute("INSERT INTO t VALUES (91, '2026-03-02 00:00:00', 'low'), (92, '2026-03-02T00:30:00+01:00', 'high')").await;
    }
    let of = pipeline(
        "identity: [id]
target: {table: t, columns: {id: integer, at: timestamptz, v: text}}
write: {mode: overwrite_period, period: {field: at, every: day, tz: UTC}}",
    );
    load(&given, &of, A, &[row(1, A, "a"), row(2, A, "b")]).await.unwrap();
    let receipt = load(&given, &of, A, &[row(1, A, "a")]).await.unwrap();
    assert_eq!(counts(&receipt), "read 1, unchanged 1; removed 1");
    assert_eq!(given.column("SELECT v FROM t ORDER BY id").await, ["a", "null", "low", "high"]);
    // Nor is one of them taken over.
    for id in [90, 91, 92] {
        let error = load(&given, &of, A, &[row(1, A, "a"), row(id, A, "x")]).await.unwrap_err();
        assert!(error.to_string().contains("in another period"), "{id}: {error}");
    }
}

/// Delete and insert leaves nothing of the row before.
async fn a_record_is_a_whole_row_also_where_no_column_is_declared(given: Given) {
    let day = if given.is_postgres() { "date" } else { "DATE" };
    given.execute(&format!("CREATE TABLE t(id INTEGER PRIMARY KEY, day {day}, v TEXT, w TEXT)")).await;
    let of = pipeline(
        "identity: [id]
target: {table: t}
write: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}",
    );
    load(&given, &of, A, &[r#"{"id":1,"day":"2026-03-01","v":"a","w":"b"}"#]).await.unwrap();
    load(&given, &of, A, &[r#"{"id":1,"day":"2026-03-01","w":"c"}"#]).await.unwrap();
    assert_eq!(given.column("SELECT v FROM t").await, ["NULL"]);
}
