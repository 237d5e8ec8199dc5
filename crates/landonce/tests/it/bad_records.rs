//! Bad input fails the whole batch, or is kept whole, once (C04, C07, C12, C21, C23, C45).

use landonce::{Batch, Kind};

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    one_bad_record_fails_the_batch_and_all_are_listed,
    quarantine_keeps_the_bad_ones_whole_and_once,
    more_than_the_ceiling_fails_the_batch,
    a_cut_payload_leaves_nothing,
    a_batch_id_with_other_content_is_refused,
    a_retry_lands_what_a_better_pipeline_can_take,
    a_row_that_the_database_refuses_is_a_bad_record,
);

async fn one_bad_record_fails_the_batch_and_all_are_listed(given: Given) {
    let pipeline = pipeline("identity: [id]\ntarget: {table: t, columns: {n: integer}}");
    let lines = [
        r#"{"id":1,"n":1}"#,
        r#"{"id":null}"#,
        r#"{"n":1}"#,
        r#"{"id":2,"id":2}"#,
        r#"{"id":3,"n":1.5}"#,
        "{",
    ];
    let error = given.deliver(&pipeline, &lines).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadRecords);
    let found: Vec<_> = error.bad_records().iter().map(|one| (one.number, one.bad.kind.as_str())).collect();
    assert_eq!(
        found,
        [(2, "null key"), (3, "absent key"), (4, "duplicate name"), (5, "out of range"), (6, "syntax")]
    );
    assert_eq!((given.count("t").await, given.count(&given.system("inbox")).await), (0, 0));
}

async fn quarantine_keeps_the_bad_ones_whole_and_once(given: Given) {
    // C07
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}\non_bad_record: {quarantine: {max: 90%}}");
    let lines = [
        r#"{"id":1,"v":"good"}"#,
        r#"{"id":2,"v":"a\u0000b"}"#,
        r#"{"id":3,"p":{"deep":["a\u0000b"]}}"#,
        r#"{"id":4,"v":"\ud800"}"#,
    ];
    let receipt = given.deliver_as(&pipeline, "one", &lines).await.unwrap();
    assert_eq!(counts(&receipt), "read 4, inserted 1, quarantined 3");
    let kept = given.store.quarantine(Some("p"), 10).await.unwrap();
    let mut fields: Vec<_> =
        kept.iter().map(|entry| (entry.number, entry.field.as_str(), entry.raw.as_slice())).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [(2, "v", lines[1].as_bytes()), (3, "p.deep[0]", lines[2].as_bytes()), (4, "v", lines[3].as_bytes())]
    );
    let inbox = given.system("inbox");
    let before = given.dump().await.without_tables(&[&inbox]);
    let again = given.deliver_as(&pipeline, "two", &lines).await.unwrap();
    assert_eq!(counts(&again), "read 4, unchanged 1, quarantined 3");
    before.assert_same(&given.dump().await.without_tables(&[&inbox]));
}

async fn more_than_the_ceiling_fails_the_batch(given: Given) {
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}\non_bad_record: {quarantine: {max: 1}}");
    let error = given.deliver(&pipeline, &[r#"{"id":1}"#, "{}", "[]"]).await.unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::BadRecords, "L0402"));
    assert_eq!(given.count("t").await + given.count(&given.system("quarantine")).await, 0);
    let receipt = given.deliver(&pipeline, &[r#"{"id":1}"#, "{}"]).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 1, quarantined 1");
}

async fn a_cut_payload_leaves_nothing(given: Given) {
    // C21, C23
    use std::io::Write as _;
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    for id in 0..50_000 {
        writeln!(encoder, "{{\"id\":{id}}}").unwrap();
    }
    let whole = encoder.finish().unwrap();
    for cut in [whole.len() / 2, whole.len() - 4, 10, 3] {
        let error = given
            .deliver_batch(&pipeline, &Batch::from_bytes("e.ndjson.gz", whole[..cut].to_vec()))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Payload, "{error}");
        assert_eq!((given.count("t").await, given.count(&given.system("inbox")).await), (0, 0));
    }
    let mut twice = whole.clone();
    twice.extend_from_slice(&whole);
    let receipt = given.deliver_batch(&pipeline, &Batch::from_bytes("e.ndjson.gz", twice)).await.unwrap();
    assert_eq!(counts(&receipt), "read 100000, inserted 50000, duplicates 50000");
}

async fn a_batch_id_with_other_content_is_refused(given: Given) {
    // C45
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}");
    given.deliver_as(&pipeline, "2026-06-01", &[r#"{"id":1}"#]).await.unwrap();
    let before = given.dump().await;
    let error = given.deliver_as(&pipeline, "2026-06-01", &[r#"{"id":1}"#, r#"{"id":2}"#]).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BatchMismatch);
    assert_eq!(error.to_string().matches("SHA-256").count(), 1);
    before.assert_same(&given.dump().await);
}

async fn a_retry_lands_what_a_better_pipeline_can_take(given: Given) {
    let strict = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {code: integer}}\non_bad_record: {quarantine: {max: 9}}",
    );
    let lines = [r#"{"id":1,"code":5}"#, r#"{"id":2,"code":"007x"}"#, r#"{"code":7}"#];
    given.deliver(&strict, &lines).await.unwrap();
    assert!(
        strict
            .retry_quarantine(&given.store, &crate::given::patient())
            .await
            .unwrap()
            .is_some_and(|retried| retried.landed == 0)
    );
    let better = pipeline(
        "identity: [id]\ntarget: {table: t2, columns: {code: text}}\non_bad_record: {quarantine: {max: 9}}",
    );
    let retried = better.retry_quarantine(&given.store, &crate::given::patient()).await.unwrap().unwrap();
    assert_eq!((retried.entries, retried.landed), (2, 1));
    assert_eq!(given.column("SELECT code FROM t2").await, ["007x"]);
    let open: Vec<_> = given
        .store
        .quarantine(None, 10)
        .await
        .unwrap()
        .into_iter()
        .filter(|entry| entry.resolved_by.is_none())
        .collect();
    assert_eq!((open.len(), open[0].kind.as_str()), (1, "absent key"));
}

async fn a_row_that_the_database_refuses_is_a_bad_record(given: Given) {
    // C15: unique on another column too. Row 2 is untouched; 44 is a bad record that names the index.
    given.execute("CREATE TABLE person(id INTEGER PRIMARY KEY, email TEXT UNIQUE, age INTEGER CHECK (age >= 0)); INSERT INTO person VALUES (2, 'abc@x', 5)").await;
    let keeping = pipeline(
        "identity: [id]\ntarget: {table: person, columns: {id: integer, email: text, age: integer}}\non_bad_record: {quarantine: {max: 9}}",
    );
    let lines = [
        r#"{"id":44,"email":"abc@x","age":1}"#,
        r#"{"id":45,"email":"d@x","age":-1}"#,
        r#"{"id":46,"email":"e@x","age":3}"#,
    ];
    let receipt = given.deliver(&keeping, &lines).await.unwrap();
    assert_eq!(counts(&receipt), "read 3, inserted 1, quarantined 2");
    assert_eq!(given.column("SELECT id || email FROM person ORDER BY id").await, ["2abc@x", "46e@x"]);
    let kept = given.store.quarantine(None, 10).await.unwrap();
    let about_email = kept.iter().find(|entry| entry.number == 1).unwrap();
    assert!(about_email.field.contains("email"), "{about_email:?}");

    let failing = pipeline(
        "identity: [id]\ntarget: {table: person, columns: {id: integer, email: text, age: integer}}",
    );
    let error = given.deliver_as(&failing, "f", &lines).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadRecords);
    assert_eq!(error.bad_records().len(), 2);
    assert!(!error.to_string().contains("abc@x"), "values stay out of messages: {error}");
}
