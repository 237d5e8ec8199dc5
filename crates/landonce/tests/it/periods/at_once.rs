//! Runs of one period at once (C46), and of several.

use landonce::{Pipeline, Status};
use tokio::task::JoinSet;

use super::{batch, days, row, rows};
use crate::given::{Given, on_every_store, patient};

on_every_store!(
    one_payload_eight_times_at_once_lands_once,
    different_payloads_at_once_land_one_after_another,
    several_periods_at_once_are_as_one_by_one,
);

const A: &str = "2026-03-01";

async fn at_once(given: &Given, runs: Vec<(Pipeline, landonce::Batch)>) -> Vec<landonce::Receipt> {
    let mut tasks = JoinSet::new();
    for (pipeline, batch) in runs {
        let store = given.store.clone();
        tasks.spawn(async move { pipeline.ingest_with(&store, &batch, &patient()).await.unwrap() });
    }
    tasks.join_all().await
}

async fn one_payload_eight_times_at_once_lands_once(given: Given) {
    let of = days().in_period(A).unwrap();
    let lines: Vec<String> = (0..200).map(|id| row(id, A, "a")).collect();
    // Also the first set-up of the database is a race here.
    let receipts = at_once(&given, vec![(of, batch(&lines)); 8]).await;
    let won = receipts.iter().filter(|receipt| receipt.status == Status::Processed).count();
    assert_eq!(won, 1);
    assert!(receipts.iter().all(|receipt| receipt.batch_id == "2026-03-01#1"));
    assert_eq!(given.count("t").await, 200);
}

async fn different_payloads_at_once_land_one_after_another(given: Given) {
    let of = days().in_period(A).unwrap();
    for round in 0..5 {
        let payload = |writer: u32| {
            let lines: Vec<String> = (0..60)
                .filter(|id| !(id + writer).is_multiple_of(5))
                .map(|id| row(id, A, &format!("{round}/{writer}")))
                .collect();
            (of.clone(), batch(&lines))
        };
        let receipts = at_once(&given, (0..6).map(payload).collect()).await;
        assert!(receipts.iter().all(|receipt| receipt.status == Status::Processed));
        let mut ids: Vec<&str> = receipts.iter().map(|receipt| receipt.batch_id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 6, "each is a load of its own");
        // The period is whole and one writer's: that of the load which the ledger names.
        let entry = given.store.periods("p", i64::MIN, i64::MAX).await.unwrap().remove(0);
        assert_eq!(entry.loads, 6 * (round + 1));
        let held = rows(&given).await;
        let writer = held[0].rsplit('/').next().unwrap().to_owned();
        assert!(held.iter().all(|row| row.ends_with(&format!(" {round}/{writer}"))), "{held:?}");
        assert_eq!(held.len() as u64, entry.loaded.unwrap().rows);
        assert_eq!(held.len(), 48);
    }
}

async fn several_periods_at_once_are_as_one_by_one(given: Given) {
    let labels = ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"];
    for round in 0..3_u32 {
        let runs = (0..).zip(labels).map(|(nth, label)| {
            let lines: Vec<String> = (0..80 + round)
                .map(|id| row(nth * 1_000 + id * (1 + round % 2), label, &format!("{round}")))
                .collect();
            (days().in_period(label).unwrap(), batch(&lines))
        });
        let receipts = at_once(&given, runs.collect()).await;
        assert!(receipts.iter().all(|receipt| receipt.status == Status::Processed), "{receipts:?}");
        assert_eq!(given.count("t").await, 4 * (80 + u64::from(round)));
    }
    let entries = given.store.periods("p", i64::MIN, i64::MAX).await.unwrap();
    assert_eq!(
        entries.iter().map(|entry| (entry.label.as_str(), entry.loads)).collect::<Vec<_>>(),
        labels.map(|label| (label, 3))
    );
}
