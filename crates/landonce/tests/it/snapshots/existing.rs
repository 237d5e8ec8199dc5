//! A declaration that can't be kept is refused, and a table that is somebody else's is marked in its own columns.

use landonce::{Kind, Pipeline};

use super::{counts, declared, land, rows, whole};
use crate::given::{Given, on_every_store, pipeline};

on_every_store!(
    a_table_without_the_columns_is_refused_with_what_to_do,
    a_tables_own_columns_mark_what_is_retired,
    a_row_that_somebody_else_retired_is_restored_when_it_comes,
    a_callers_own_transaction_holds_nothing,
);

#[test]
fn absence_needs_a_proof_and_an_answer() {
    let told = |write: &str| {
        let yaml =
            format!("pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nwrite: {{mode: snapshot{write}}}");
        Pipeline::from_yaml(&yaml).unwrap_err().to_string()
    };
    for absent in ["retire", "delete"] {
        let told = told(&format!(", absent: {absent}"));
        assert!(told.contains("source.complete"), "{told}");
    }
    assert!(told("").contains("`retire`"));
    for query in ["COMMIT", "rollback; SELECT true", "DELETE FROM t", ""] {
        let told = told(&format!(", absent: keep, plausible: {{assert: ['{query}']}}"));
        assert!(told.contains("write.plausible.assert"), "{told}");
    }
    for (given, key) in [
        ("plausible: {rows: 20}", "write.plausible.rows"),
        ("plausible: {rows: -1%}", "write.plausible.rows"),
        ("plausible: {rows: nan%}", "write.plausible.rows"),
        ("plausible: {nulls: {nobody: 5%}}", "write.plausible.nulls"),
        ("version: n", "write.version"),
        ("allow_empty: true", "write.allow_empty"),
    ] {
        let told = told(&format!(", absent: keep, {given}"));
        assert!(told.contains(key), "{given}: {told}");
    }
}

async fn a_table_without_the_columns_is_refused_with_what_to_do(given: Given) {
    given.execute("CREATE TABLE t(id BIGINT PRIMARY KEY, v TEXT)").await;
    let error = given.deliver_batch(&super::retiring(), &whole(&rows(1..=3, "a"))).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Target, "{error}");
    assert!(error.to_string().contains("ALTER TABLE") && error.to_string().contains("retired_at"), "{error}");
    given.execute("ALTER TABLE t ADD COLUMN retired_at INTEGER").await;
    let error = given.deliver_batch(&super::retiring(), &whole(&rows(1..=3, "a"))).await.unwrap_err();
    assert!(error.to_string().contains("timestamptz is due"), "{error}");
    assert_eq!(given.count("t").await, 0);
    // To delete, no column is needed.
    land(&given, &declared("absent: delete"), &rows(1..=3, "a")).await;
}

async fn a_tables_own_columns_mark_what_is_retired(given: Given) {
    let ty = if given.is_postgres() { "timestamptz" } else { "TEXT" };
    given
        .execute(&format!(
            "CREATE TABLE t(id BIGINT PRIMARY KEY, v TEXT, \"Gone At\" {ty}, retired_by TEXT, notes TEXT)"
        ))
        .await;
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {id: bigint, v: text}, managed: {retired_at: Gone At, retired_by: retired_by}}\n\
         source: {complete: {end_marker: '#EOF'}}\nwrite: {mode: snapshot, absent: retire}",
    );
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    given.execute("UPDATE t SET notes = 'mine'").await;
    let receipt = land(&given, &pipeline, &rows(1..=9, "a")).await;
    assert_eq!(counts(&receipt), "read 9, unchanged 9; retired 1");
    let gone = given
        .column("SELECT id || ' ' || notes || ' ' || retired_by FROM t WHERE \"Gone At\" IS NOT NULL")
        .await;
    assert_eq!(gone, [format!("10 mine {}", receipt.run_id)]);
    let receipt = land(&given, &pipeline, &rows(1..=10, "a")).await;
    assert_eq!(counts(&receipt), "read 10, updated 1, unchanged 9; restored 1");
    let back = given.column("SELECT notes FROM t WHERE \"Gone At\" IS NULL AND retired_by IS NULL").await;
    assert_eq!(back, vec!["mine"; 10]);
}

async fn a_row_that_somebody_else_retired_is_restored_when_it_comes(given: Given) {
    let pipeline = super::anything("retire");
    land(&given, &pipeline, &rows(1..=3, "a")).await;
    given.execute("UPDATE t SET retired_at = CURRENT_TIMESTAMP WHERE id = 2").await;
    let receipt = land(&given, &pipeline, &rows(1..=4, "a")).await;
    assert_eq!(counts(&receipt), "read 4, inserted 1, updated 1, unchanged 2; restored 1");
}

/// There is nothing to keep the payload with: the caller is told, and rolls back.
async fn a_callers_own_transaction_holds_nothing(given: Given) {
    if !given.is_postgres() {
        return;
    }
    land(&given, &super::retiring(), &rows(1..=10, "a")).await;
    let before = given.dump().await;
    let mut client = given.database().client().await;
    let mut transaction = client.transaction().await.unwrap();
    let error = super::retiring()
        .ingest_in(&mut transaction, &whole(&rows(1..=5, "a")), &crate::given::patient())
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Held, "L0801"), "{error}");
    transaction.rollback().await.unwrap();
    before.assert_same(&given.dump().await);
}
