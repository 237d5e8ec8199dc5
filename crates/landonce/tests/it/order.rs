//! Order: versions, repeats in one batch, deletes (C01, C14, C30, C31).

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    repeats_in_one_batch_are_folded_by_the_modes_rule,
    an_older_version_is_stale_and_an_equal_one_with_other_content_a_conflict,
    a_conflict_inside_one_batch_is_a_conflict,
    puts_and_deletes_keep_their_order,
    an_absent_field_keeps_or_empties_as_declared,
    back_and_forth_are_three_changes,
    versions_are_compared_exactly,
);

async fn repeats_in_one_batch_are_folded_by_the_modes_rule(given: Given) {
    // C01
    let lines = [r#"{"id":1,"v":"a"}"#, r#"{"id":1,"v":"b"}"#];
    let upsert = pipeline("identity: [id]\ntarget: {table: u, columns: {v: text}}");
    let receipt = given.deliver(&upsert, &lines).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 1, duplicates 1");
    assert_eq!(receipt.attempts, 1);
    assert_eq!(given.column("SELECT v FROM u").await, ["b"]);
    let once = pipeline("identity: [id]\ntarget: {table: o, columns: {v: text}}\nwrite: {mode: insert_once}");
    let receipt = given.deliver_as(&once, "once", &lines).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 1, duplicates 1");
    assert_eq!(given.column("SELECT v FROM o").await, ["a"]);
}

async fn an_older_version_is_stale_and_an_equal_one_with_other_content_a_conflict(given: Given) {
    // C31
    let pipeline =
        pipeline("identity: [id]\ntarget: {table: t, columns: {n: integer, v: text}}\nwrite: {version: n}");
    let seven = r#"{"id":1,"n":7,"v":"seven"}"#;
    assert_eq!(counts(&given.deliver_as(&pipeline, "a", &[seven]).await.unwrap()), "read 1, inserted 1");
    let five = r#"{"id":1,"n":5,"v":"five"}"#;
    assert_eq!(counts(&given.deliver_as(&pipeline, "b", &[five]).await.unwrap()), "read 1, stale 1");
    assert_eq!(counts(&given.deliver_as(&pipeline, "c", &[seven]).await.unwrap()), "read 1, unchanged 1");
    let other = r#"{"id":1,"n":7,"v":"other"}"#;
    assert_eq!(counts(&given.deliver_as(&pipeline, "d", &[other]).await.unwrap()), "read 1, conflicts 1");
    assert_eq!(given.column("SELECT v FROM t").await, ["seven"]);
    let kept = given.store.quarantine(None, 10).await.unwrap();
    assert_eq!(
        (kept.len(), kept[0].kind.as_str(), kept[0].raw.as_slice()),
        (1, "conflict", other.as_bytes())
    );
    let eight = r#"{"id":1,"n":8,"v":"eight"}"#;
    assert_eq!(counts(&given.deliver_as(&pipeline, "e", &[eight]).await.unwrap()), "read 1, updated 1");
}

async fn a_conflict_inside_one_batch_is_a_conflict(given: Given) {
    let pipeline =
        pipeline("identity: [id]\ntarget: {table: t, columns: {n: integer, v: text}}\nwrite: {version: n}");
    let lines = [
        r#"{"id":1,"n":5,"v":"x"}"#,
        r#"{"id":1,"n":7,"v":"a"}"#,
        r#"{"id":1,"n":7,"v":"b"}"#,
        r#"{"id":1,"n":7,"v":"a"}"#,
    ];
    assert_eq!(
        counts(&given.deliver(&pipeline, &lines).await.unwrap()),
        "read 4, inserted 1, conflicts 1, duplicates 2"
    );
    assert_eq!(given.column("SELECT v FROM t").await, ["a"]);
}

async fn puts_and_deletes_keep_their_order(given: Given) {
    // C30
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {v: text}}\nwrite: {delete_when: {field: op, equals: [d]}}",
    );
    let (put1, delete, put2) = (r#"{"id":7,"v":"1"}"#, r#"{"id":7,"op":"d"}"#, r#"{"id":7,"v":"2"}"#);
    for round in ["a", "b"] {
        given.deliver_as(&pipeline, &format!("{round}1"), &[put1, delete, put2]).await.unwrap();
        assert_eq!(given.column("SELECT v FROM t").await, ["2"]);
    }
    for round in ["c", "d"] {
        given.deliver_as(&pipeline, &format!("{round}1"), &[put1, delete]).await.unwrap();
        assert_eq!(given.count("t").await, 0);
    }
    for (id, line) in [("e", put1), ("f", delete), ("g", put2)] {
        given.deliver_as(&pipeline, id, &[line]).await.unwrap();
    }
    assert_eq!(given.column("SELECT v FROM t").await, ["2"]);
    let gone = given.deliver_as(&pipeline, "h", &[delete]).await.unwrap();
    assert_eq!(counts(&gone), "read 1, deleted 1");
    assert_eq!(counts(&given.deliver_as(&pipeline, "i", &[delete]).await.unwrap()), "read 1, unchanged 1");
}

async fn an_absent_field_keeps_or_empties_as_declared(given: Given) {
    // C14
    let keep = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {blob: text, n: integer}}\nwrite: {absent: keep}",
    );
    let full = r#"{"id":1,"blob":"x","n":1,"more":{"a":1}}"#;
    given.deliver_as(&keep, "a", &[full]).await.unwrap();
    let partial = given.deliver_as(&keep, "b", &[r#"{"id":1,"n":2}"#]).await.unwrap();
    assert_eq!(counts(&partial), "read 1, updated 1");
    assert_eq!(given.column("SELECT blob || ' ' || n FROM t").await, ["x 2"]);
    let nulled = given.deliver_as(&keep, "c", &[r#"{"id":1,"blob":null}"#]).await.unwrap();
    assert_eq!(counts(&nulled), "read 1, updated 1");
    assert_eq!(given.column("SELECT blob FROM t").await, ["NULL"]);
    let again = given.deliver_as(&keep, "d", &[r#"{"id":1,"blob":null}"#]).await.unwrap();
    assert_eq!(counts(&again), "read 1, unchanged 1");
    given.deliver_as(&keep, "e", &[full]).await.unwrap();
    let same = given.deliver_as(&keep, "f", &[r#"{"id":1,"n":1}"#]).await.unwrap();
    assert_eq!(counts(&same), "read 1, unchanged 1");
    let more = given.deliver_as(&keep, "g", &[r#"{"id":1,"more":{"a":1},"extra":2}"#]).await.unwrap();
    assert_eq!(counts(&more), "read 1, updated 1");
    let kept = if given.is_postgres() { "payload->>'extra'" } else { "json_extract(payload, '$.extra')" };
    assert_eq!(given.column(&format!("SELECT {kept} FROM t")).await, ["2"]);

    let replace = pipeline("identity: [id]\ntarget: {table: r, columns: {blob: text, n: integer}}");
    given.deliver_as(&replace, "h", &[full]).await.unwrap();
    given.deliver_as(&replace, "i", &[r#"{"id":1,"n":1}"#]).await.unwrap();
    assert_eq!(given.column("SELECT blob FROM r").await, ["NULL"]);
}

async fn back_and_forth_are_three_changes(given: Given) {
    let pipeline = pipeline("identity: [id]\ntarget: {table: t, columns: {v: text}}");
    for (id, v) in [("1", "A"), ("2", "B"), ("3", "A"), ("4", "B"), ("5", "B")] {
        given.deliver_as(&pipeline, id, &[&format!(r#"{{"id":1,"v":"{v}"}}"#)]).await.unwrap();
    }
    assert_eq!(given.column("SELECT landonce_revision FROM t").await, ["4"]);
}

async fn versions_are_compared_exactly(given: Given) {
    let pipeline = pipeline("identity: [id]\ntarget: {table: t, columns: {n: decimal}}\nwrite: {version: n}");
    let line = |n: &str| format!(r#"{{"id":1,"n":{n}}}"#);
    given.deliver_as(&pipeline, "a", &[&line("9")]).await.unwrap();
    assert_eq!(counts(&given.deliver_as(&pipeline, "b", &[&line("10")]).await.unwrap()), "read 1, updated 1");
    assert_eq!(counts(&given.deliver_as(&pipeline, "c", &[&line("9.9")]).await.unwrap()), "read 1, stale 1");
    assert_eq!(
        counts(&given.deliver_as(&pipeline, "d", &[&line("10.0")]).await.unwrap()),
        "read 1, unchanged 1"
    );
    let huge = "9007199254740993.000000000000000001";
    assert_eq!(counts(&given.deliver_as(&pipeline, "e", &[&line(huge)]).await.unwrap()), "read 1, updated 1");
    let less = "9007199254740993.000000000000000000";
    assert_eq!(counts(&given.deliver_as(&pipeline, "f", &[&line(less)]).await.unwrap()), "read 1, stale 1");
}
