//! Rows that the payload doesn't have: removed, or left, or the payload is refused.

use landonce::{Kind, Pipeline};

use super::{counts, days, load, row, rows};
use crate::given::{Given, on_every_store, pipeline};

on_every_store!(
    an_empty_payload_does_not_empty_a_period,
    an_empty_payload_empties_a_period_where_that_is_said,
    a_period_without_rows_takes_an_empty_payload,
    a_payload_without_a_good_record_is_as_good_as_empty,
    a_bad_record_with_an_identity_withholds_the_removal,
    a_bad_record_without_an_identity_does_not,
    a_row_that_the_database_refuses_keeps_what_is_there,
    a_text_that_stands_for_no_identity_is_none,
    owners_live_side_by_side,
    a_value_that_only_one_row_may_have_passes_on,
);

const A: &str = "2026-03-01";
const NONE: [&str; 0] = [];

fn allowing() -> Pipeline {
    pipeline(&super::DAYS.replace("period: {field", "allow_empty: true, period: {field"))
}

fn keeping(max: &str) -> Pipeline {
    pipeline(&format!("{}\non_bad_record: {{quarantine: {{max: {max}}}}}", super::DAYS))
}

async fn an_empty_payload_does_not_empty_a_period(given: Given) {
    // C32
    load(&given, &days(), A, &[row(1, A, "a")]).await.unwrap();
    let inbox = given.count(&given.system("inbox")).await;
    let error = load(&given, &days(), A, &NONE).await.unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Payload, "L0304"));
    assert!(error.to_string().contains("has 1 row in `"), "{error}");
    assert_eq!(
        (rows(&given).await, given.count(&given.system("inbox")).await),
        (vec!["1 a".to_owned()], inbox)
    );
    // The plan says so too.
    let of = days().in_period(A).unwrap();
    let error = of.preview(&given.store, &super::batch(&NONE), 5).await.unwrap_err();
    assert_eq!(error.code().as_str(), "L0304");
}

async fn an_empty_payload_empties_a_period_where_that_is_said(given: Given) {
    load(&given, &allowing(), A, &[row(1, A, "a")]).await.unwrap();
    load(&given, &allowing(), "2026-03-02", &[row(2, "2026-03-02", "b")]).await.unwrap();
    let receipt = load(&given, &allowing(), A, &NONE).await.unwrap();
    assert_eq!(counts(&receipt), "; removed 1");
    assert_eq!(rows(&given).await, ["2 b"]);
    let receipt = load(&given, &allowing(), A, &[row(1, A, "a")]).await.unwrap();
    assert_eq!(
        (counts(&receipt).as_str(), receipt.batch_id.as_str()),
        ("read 1, inserted 1", "2026-03-01#3")
    );
}

async fn a_period_without_rows_takes_an_empty_payload(given: Given) {
    assert_eq!(counts(&load(&given, &days(), A, &NONE).await.unwrap()), "");
    let entries = given.store.periods("p", i64::MIN, i64::MAX).await.unwrap();
    assert_eq!((entries.len(), entries[0].loaded.as_ref().unwrap().rows), (1, 0));
}

async fn a_payload_without_a_good_record_is_as_good_as_empty(given: Given) {
    load(&given, &keeping("100%"), A, &[row(1, A, "a")]).await.unwrap();
    let error = load(&given, &keeping("100%"), A, &[r#"{"id":null}"#, "{}"]).await.unwrap_err();
    assert_eq!(error.code().as_str(), "L0304", "{error}");
    assert_eq!(rows(&given).await, ["1 a"]);
}

async fn a_bad_record_with_an_identity_withholds_the_removal(given: Given) {
    let three = [row(1, A, "a"), row(2, A, "b"), row(3, A, "c")];
    load(&given, &keeping("9"), A, &three).await.unwrap();
    for (nth, bad) in
        [r#"{"id":2,"at":"2026-03-01T25:00:00Z"}"#, "{", r#"{"id":2,"at":"2026-03-02T00:00:00Z"}"#]
            .iter()
            .enumerate()
    {
        let lines = [row(1, A, &nth.to_string()), (*bad).to_owned()];
        let receipt = load(&given, &keeping("9"), A, &lines).await.unwrap();
        assert_eq!(counts(&receipt), "read 2, updated 1, quarantined 1", "{bad}");
        assert_eq!(receipt.notes.withheld, 2);
        assert_eq!(given.count("t").await, 3);
        let entries = given.store.periods("p", i64::MIN, i64::MAX).await.unwrap();
        assert_eq!(entries[0].loaded.as_ref().unwrap().rows, 3, "the rows that the period has");
    }
    // The mended payload removes what it doesn't have.
    let receipt = load(&given, &keeping("9"), A, &[row(1, A, "a"), row(2, A, "B")]).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, updated 2; removed 1");
}

async fn a_bad_record_without_an_identity_does_not(given: Given) {
    load(&given, &keeping("9"), A, &[row(1, A, "a"), row(2, A, "b")]).await.unwrap();
    let null = r#"{"id":null,"at":"2026-03-01T01:00:00Z"}"#;
    let receipt = load(&given, &keeping("9"), A, &[row(1, A, "a").as_str(), null]).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, unchanged 1, quarantined 1; removed 1");
    assert_eq!((receipt.notes.withheld, rows(&given).await), (0, vec!["1 a".to_owned()]));
}

async fn a_row_that_the_database_refuses_keeps_what_is_there(given: Given) {
    given
        .execute(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, at TEXT, v TEXT CHECK (v <> 'bad'))"
                .replace("at TEXT", if given.is_postgres() { "at timestamptz" } else { "at TIMESTAMPTZ" })
                .as_str(),
        )
        .await;
    let keeping = pipeline(
        "identity: [id]
target: {table: t, columns: {id: integer, at: timestamptz, v: text}}
write: {mode: overwrite_period, period: {field: at, every: day, tz: UTC}}
on_bad_record: {quarantine: {max: 9}}",
    );
    load(&given, &keeping, A, &[row(1, A, "a"), row(2, A, "b"), row(3, A, "c")]).await.unwrap();
    let receipt = load(&given, &keeping, A, &[row(1, A, "bad"), row(2, A, "B")]).await.unwrap();
    // Record 1 is known by its identity, and its row is there: it isn't missing.
    assert_eq!(counts(&receipt), "read 2, updated 1, quarantined 1; removed 1");
    assert_eq!(rows(&given).await, ["1 a", "2 B"]);
}

async fn a_text_that_stands_for_no_identity_is_none(given: Given) {
    let sentinels = pipeline(&format!(
        "{}\non_bad_record: {{quarantine: {{max: 9}}}}",
        super::DAYS.replace("identity: [id]", "identity: {fields: [id], nulls: [n/a, '']}")
    ));
    let none = |text: &str| format!(r#"{{"id":"{text}","at":"2026-03-01T12:00:00Z"}}"#);
    load(&given, &sentinels, A, &[row(1, A, "a"), row(2, A, "b")]).await.unwrap();
    let receipt = load(&given, &sentinels, A, &[row(1, A, "a"), none("n/a"), none("")]).await.unwrap();
    assert_eq!(counts(&receipt), "read 3, unchanged 1, quarantined 2; removed 1");
    let kept = given.store.quarantine(None, 10).await.unwrap();
    assert!(kept.iter().all(|entry| entry.kind == "null key"), "{kept:?}");
}

async fn owners_live_side_by_side(given: Given) {
    for (ty, one, other) in [
        ("text", "north", "O'South \"x\""),
        ("integer", "7", "8"),
        ("boolean", "true", "false"),
        ("uuid", "0190b6f2-0000-7000-8000-000000000001", "0190b6f2-0000-7000-8000-000000000002"),
    ] {
        let of = |name: &str, value: &str| {
            let value = value.replace('\'', "''");
            let yaml = format!(
                "pipeline: {name}
identity: [shop, id]
target: {{table: t, columns: {{shop: {ty}, at: timestamptz, v: text}}}}
write: {{mode: overwrite_period, period: {{field: at, every: day, tz: UTC}}, owner: {{shop: '{value}'}}}}"
            );
            landonce::Pipeline::from_yaml(&yaml).unwrap()
        };
        let (one_of, other_of) = (of("one", one), of("other", other));
        let named = |id: u32, shop: &str| {
            let shop = serde_json::to_string(shop).unwrap();
            let shop =
                if matches!(ty, "integer" | "boolean") { shop.trim_matches('"').to_owned() } else { shop };
            format!(r#"{{"id":{id},"shop":{shop},"at":"2026-03-01T12:00:00Z","v":"{ty}"}}"#)
        };
        load(&given, &one_of, A, &[named(1, one), named(2, one)]).await.unwrap();
        load(&given, &other_of, A, &[named(1, other), named(2, other)]).await.unwrap();
        let receipt = load(&given, &one_of, A, &[named(2, one)]).await.unwrap();
        assert_eq!(counts(&receipt), "read 1, unchanged 1; removed 1", "{ty}");
        assert_eq!(rows(&given).await, [format!("1 {ty}"), format!("2 {ty}"), format!("2 {ty}")]);
        // A record that doesn't name its owner is the pipeline's, also where the owner is part of the identity.
        let receipt = load(&given, &other_of, A, &[row(1, A, ty), row(3, A, ty)]).await.unwrap();
        assert_eq!(receipt.outcome.inserted + receipt.outcome.removed, 2, "{ty}: {receipt:?}");
        let error = load(&given, &other_of, A, &[named(2, one)]).await.unwrap_err();
        assert!(error.to_string().contains("another owner's"), "{ty}: {error}");
        given.execute("DROP TABLE t").await;
        given.execute(&format!("DELETE FROM {}", given.system("inbox"))).await;
        given.execute(&format!("DELETE FROM {}", given.system("ledger"))).await;
    }
}

async fn a_value_that_only_one_row_may_have_passes_on(given: Given) {
    let at = if given.is_postgres() { "timestamptz" } else { "TIMESTAMPTZ" };
    given.execute(&format!("CREATE TABLE t(id INTEGER PRIMARY KEY, at {at}, v TEXT UNIQUE)")).await;
    let owned = pipeline(
        "identity: [id]
target: {table: t, columns: {id: integer, at: timestamptz, v: text}}
write: {mode: overwrite_period, period: {field: at, every: day, tz: UTC}}",
    );
    load(&given, &owned, A, &[row(1, A, "seat 1"), row(2, A, "seat 2")]).await.unwrap();
    // Row 1 goes, and row 3 has its seat.
    let receipt = load(&given, &owned, A, &[row(2, A, "seat 2"), row(3, A, "seat 1")]).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 1, unchanged 1; removed 1");
}
