//! A plan (C22): says what a run does, and writes nothing, not even in landonce's own tables.

use landonce::Batch;
use landonce_testkit::dump::physical;
use landonce_testkit::fixture::Events;

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(a_plan_says_what_the_run_does_and_changes_nothing, a_plan_on_an_empty_database_makes_nothing,);

const PIPELINE: &str = "identity: [flight_id, event_kind, instant_utc]
target: {table: t, columns: {instant_utc: timestamptz, updated_at: timestamptz}}
write: {version: updated_at}
on_bad_record: {quarantine: {max: 99}}";

async fn a_plan_says_what_the_run_does_and_changes_nothing(given: Given) {
    let pipeline = pipeline(PIPELINE);
    let batch = |events: Events, more: &str| {
        let mut bytes = Vec::new();
        events.write_to(&mut bytes).unwrap();
        bytes.extend_from_slice(more.as_bytes());
        Batch::from_bytes("e.ndjson", bytes)
    };
    given.deliver_batch(&pipeline, &batch(Events::new(2, 300), "")).await.unwrap();
    let next = batch(Events::new(2, 400).changed(0.1).duplicated(0.1), "{}\n[]\n");
    let before = given.dump().await;
    let versions = if given.is_postgres() {
        physical(&given.database().client().await, "public.t").await
    } else {
        Vec::new()
    };

    let preview = pipeline.preview(&given.store, &next, 3).await.unwrap();
    before.assert_same(&given.dump().await);
    if given.is_postgres() {
        assert_eq!(versions, physical(&given.database().client().await, "public.t").await);
        landonce_testkit::dump::assert_no_leftovers(&given.database().client().await).await;
    }
    assert_eq!(preview.samples.len(), 3);

    let receipt = given.deliver_batch(&pipeline, &next).await.unwrap();
    assert_eq!(preview.outcome, receipt.outcome);
    assert!(counts(&receipt).contains("quarantined 2"), "{}", counts(&receipt));
    let again = pipeline.preview(&given.store, &next, 3).await.unwrap();
    assert_eq!(again.landed_before.map(|landed| landed.run_id), Some(receipt.run_id));
}

async fn a_plan_on_an_empty_database_makes_nothing(given: Given) {
    let batch = Batch::from_bytes(
        "e.ndjson",
        r#"{"flight_id":"a","event_kind":"b","instant_utc":"2024-01-01T00:00:00Z","updated_at":"2024-01-01T00:00:00Z"}"#,
    );
    let preview = pipeline(PIPELINE).preview(&given.store, &batch, 3).await.unwrap();
    assert!(preview.creates_table);
    assert_eq!(preview.outcome.inserted, 1);
    if given.is_postgres() {
        assert_eq!(given.dump().await.tables().count(), 0);
        assert_eq!(
            given.column("SELECT nspname FROM pg_namespace WHERE nspname = 'landonce'").await,
            Vec::<String>::new()
        );
    } else {
        assert!(!given.sqlite_path().exists());
    }
}
