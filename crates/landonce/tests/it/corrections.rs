//! A quarantined record that somebody has corrected lands once, or stays with its reason.

use landonce::{Kind, Pipeline, Retried, Status};

use crate::given::{Given, counts, on_every_store, patient, pipeline};

const YAML: &str = "identity: [id]\ntarget: {table: t, columns: {n: integer}}\nwrite: {version: n}\non_bad_record: {quarantine: {max: 100%}}";

async fn correct(
    given: &Given,
    pipeline: &Pipeline,
    id: &str,
    text: &str,
) -> Result<Retried, landonce::Error> {
    pipeline.retry_edited(&given.store, id, text, &patient()).await
}

/// A pipeline, and the id of a record that is bad in it.
async fn kept(given: &Given) -> (Pipeline, String) {
    let pipeline = pipeline(YAML);
    given.deliver(&pipeline, &[r#"{"id":"a","n":"many"}"#, r#"{"id":"b","n":1}"#]).await.unwrap();
    let entries = given.store.quarantine(Some("p"), 10).await.unwrap();
    (pipeline, hex::encode(entries[0].id))
}

async fn a_correction_lands_once_and_its_entry_is_done_with(given: Given) {
    let (pipeline, id) = kept(&given).await;
    let done = correct(&given, &pipeline, &id[..12], r#"{"id":"a","n":7}"#).await.unwrap();
    assert_eq!(counts(&done.receipt), "read 1, inserted 1");
    assert_eq!((done.entries, done.landed), (1, 1));
    let entry = given.store.quarantine_entry(&id).await.unwrap();
    assert_eq!(entry.resolved_by, Some(done.receipt.run_id));

    let before = given.dump().await;
    let again = correct(&given, &pipeline, &id, r#"{"id":"a","n":7}"#).await.unwrap();
    assert_eq!(again.receipt.status, Status::SkippedDuplicate);
    let other = correct(&given, &pipeline, &id, r#"{"id":"a","n":8}"#).await.unwrap_err();
    assert!(other.to_string().contains("resolved already"), "{other}");
    assert_eq!(given.dump().await, before);
}

async fn a_text_that_is_still_bad_changes_nothing(given: Given) {
    let (pipeline, id) = kept(&given).await;
    let before = given.dump().await;
    for (text, said) in [
        (r#"{"id":"a","n":"still many"}"#, "n"),
        (r#"{"n":1}"#, "id"),
        (r#"{"id":"b","n":1,"x":2}"#, "version"), // in conflict with what is there
    ] {
        let error = correct(&given, &pipeline, &id, text).await.unwrap_err();
        assert_eq!(error.kind(), Kind::BadRecords, "{error}");
        let why = format!("{error} {:?}", error.bad_records());
        assert!(why.contains(said), "{why}");
    }
    for text in ["", "{", "[]", "7", r#"{"id":"x","n":1},{"id":"y","n":2}"#, r#"{"id":"x","n":1}]"#] {
        let error = correct(&given, &pipeline, &id, text).await.unwrap_err();
        assert!(error.to_string().contains("JSON object"), "{text}: {error}");
    }
    let other = Pipeline::from_yaml(&format!("pipeline: q\n{YAML}")).unwrap();
    let error = correct(&given, &other, &id, r#"{"id":"a","n":7}"#).await.unwrap_err();
    assert!(error.to_string().contains("not of `q`"), "{error}");
    assert_eq!(given.dump().await, before);
}

async fn of_two_corrections_at_once_one_lands(given: Given) {
    let (pipeline, id) = kept(&given).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8 {
        let (store, pipeline, id) = (given.store.clone(), pipeline.clone(), id.clone());
        tasks.spawn(async move {
            let text = format!(r#"{{"id":"a{n}","n":7}}"#);
            pipeline.retry_edited(&store, &id, &text, &patient()).await
        });
    }
    let ended = tasks.join_all().await;
    let landed = ended.iter().filter(|one| one.is_ok()).count();
    assert_eq!(landed, 1, "{ended:?}");
    assert_eq!(given.count("t").await, 2);
}

on_every_store!(
    a_correction_lands_once_and_its_entry_is_done_with,
    a_text_that_is_still_bad_changes_nothing,
    of_two_corrections_at_once_one_lands,
);
