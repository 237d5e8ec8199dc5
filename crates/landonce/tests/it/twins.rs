//! At once (G4, C40, C46): N deliveries of one batch have one winner; overlapping batches end as if one by one, and no
//! deadlock surfaces.

use landonce::{Batch, Pipeline, Status};
use landonce_testkit::fixture::Events;

use crate::given::{Given, on_every_store, patient, pipeline};

on_every_store!(
    eight_deliveries_of_one_batch_have_one_winner,
    overlapping_batches_in_opposite_orders_end_as_one_by_one,
    one_event_in_eight_batches_at_once_is_one_row,
);

async fn at_once(given: &Given, pipeline: &Pipeline, batches: Vec<Batch>) -> Vec<landonce::Receipt> {
    let mut tasks = tokio::task::JoinSet::new();
    for batch in batches {
        let (pipeline, store) = (pipeline.clone(), given.store.clone());
        tasks.spawn(async move { pipeline.ingest_with(&store, &batch, &patient()).await.unwrap() });
    }
    tasks.join_all().await
}

async fn eight_deliveries_of_one_batch_have_one_winner(given: Given) {
    let pipeline = pipeline("identity: [flight_id, event_kind, instant_utc]\ntarget: {table: t}");
    let mut bytes = Vec::new();
    Events::new(3, 500).write_to(&mut bytes).unwrap();
    // Also the first set-up of the database is a race here.
    let receipts = at_once(&given, &pipeline, vec![Batch::from_bytes("e.ndjson", bytes); 8]).await;
    let won = receipts.iter().filter(|receipt| receipt.status == Status::Processed).count();
    assert_eq!(won, 1);
    assert!(receipts.iter().all(|receipt| receipt.outcome.inserted == 500));
    assert_eq!(given.count("t").await, 500);
}

async fn overlapping_batches_in_opposite_orders_end_as_one_by_one(given: Given) {
    let pipeline =
        pipeline("identity: [id]\ntarget: {table: t, columns: {n: integer, v: text}}\nwrite: {version: n}");
    let batch = |writer: u64, round: u64| {
        let mut ids: Vec<u64> = (0..500).filter(|id| !(id + writer).is_multiple_of(4)).collect();
        if writer % 2 == 1 {
            ids.reverse();
        }
        let lines: Vec<String> = ids
            .iter()
            .map(|id| format!(r#"{{"id":{id},"n":{},"v":"{writer}/{round}"}}"#, round * 8 + writer))
            .collect();
        Batch::from_bytes(format!("{writer}-{round}.ndjson"), lines.join("\n"))
    };
    let rounds = 10;
    for round in 0..rounds {
        at_once(&given, &pipeline, (0..8).map(|writer| batch(writer, round)).collect()).await;
    }
    // One by one: the highest version of each id wins.
    let want: Vec<String> = (0..500_u64)
        .map(|id| (0..8).filter(|writer| !(id + writer).is_multiple_of(4)).max().unwrap())
        .map(|writer| format!("{writer}/{}", rounds - 1))
        .collect();
    let have = given.column("SELECT v FROM t ORDER BY CAST(id AS INTEGER)").await;
    assert_eq!(have, want);
}

async fn one_event_in_eight_batches_at_once_is_one_row(given: Given) {
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}\nwrite: {mode: insert_once}");
    let batches =
        (0..8).map(|n| Batch::from_bytes("e.ndjson", "{\"id\":\"one\"}").with_id(format!("b{n}"))).collect();
    let receipts = at_once(&given, &pipeline, batches).await;
    let written: u64 = receipts.iter().map(|receipt| receipt.outcome.inserted).sum();
    let found: u64 = receipts.iter().map(|receipt| receipt.outcome.unchanged).sum();
    assert_eq!((written, found, given.count("t").await), (1, 7, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_twin_that_takes_too_long_is_in_progress_and_no_failure_of_the_batch() {
    let given = Given::postgres().await;
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}");
    given.store.set_up(&pipeline).await.unwrap();
    let batch = Batch::from_bytes("e.ndjson", "{\"id\":1}");
    let mut client = given.database().client().await;
    let mut transaction = client.transaction().await.unwrap();
    pipeline.ingest_in(&mut transaction, &batch, &patient()).await.unwrap();
    let waits = landonce::Options { claim_wait: Some(std::time::Duration::from_millis(20)), ..patient() };
    let error = pipeline.ingest_with(&given.store, &batch, &waits).await.unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (landonce::Kind::InProgress, "L0503"));
    transaction.commit().await.unwrap();
    let receipt = pipeline.ingest_with(&given.store, &batch, &waits).await.unwrap();
    assert_eq!(receipt.status, Status::SkippedDuplicate);
    // The limit is the claim's alone.
    let other = Batch::from_bytes("e.ndjson", "{\"id\":2}");
    let receipt = pipeline.ingest_with(&given.store, &other, &waits).await.unwrap();
    assert_eq!((receipt.status, given.count("t").await), (Status::Processed, 2));
}
