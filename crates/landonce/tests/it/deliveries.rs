//! The property under it all: any multiset, order and split into batches of a set of versioned deliveries ends in one state,
//! and the counts always add up.

use landonce::Batch;
use landonce_testkit::seed;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    any_order_and_split_of_versioned_deliveries_ends_in_one_state,
    unversioned_batches_equal_their_records_one_by_one,
);

/// A version's content is a function of (id, version): equal versions are equal contents.
fn record(id: u64, version: u64) -> String {
    format!(
        r#"{{"id":"k{id}","version":{version},"v":{},"tags":["a",{{"n":{version}}}]}}"#,
        id * 100 + version
    )
}

async fn any_order_and_split_of_versioned_deliveries_ends_in_one_state(given: Given) {
    let mut rng = seed::rng();
    let yaml = |table: &str| {
        format!(
            "identity: [id]\ntarget: {{table: {table}, columns: {{version: integer}}}}\nwrite: {{version: version}}"
        )
    };
    let all: Vec<(u64, u64)> = (0..12).flat_map(|id| (1..=4).map(move |version| (id, version))).collect();
    let order = "ORDER BY landonce_key";
    let mut want = None;
    for round in 0..12 {
        let table = format!("t{round}");
        let pipeline = pipeline(&yaml(&table));
        let mut deliveries = all.clone();
        for _ in 0..rng.random_range(0..40) {
            deliveries.push(all[rng.random_range(0..all.len())]);
        }
        deliveries.shuffle(&mut rng);
        let mut rest = deliveries.as_slice();
        let mut part = 0;
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(rng.random_range(1..=rest.len()));
            rest = later;
            part += 1;
            let lines: Vec<String> = batch.iter().map(|&(id, version)| record(id, version)).collect();
            let batch = Batch::from_bytes("e.ndjson", lines.join("\n")).with_id(format!("{round}/{part}"));
            let receipt = given.deliver_batch(&pipeline, &batch).await.unwrap();
            counts(&receipt); // adds up
            assert_eq!(receipt.outcome.conflicts, 0);
        }
        let mut state = given.column(&format!("SELECT id FROM {table} {order}")).await;
        state.extend(given.column(&format!("SELECT version FROM {table} {order}")).await);
        state.extend(given.column(&format!("SELECT payload FROM {table} {order}")).await);
        match &want {
            None => want = Some(state),
            Some(want) => assert_eq!(*want, state, "round {round}: {deliveries:?}"),
        }
    }
}

async fn unversioned_batches_equal_their_records_one_by_one(given: Given) {
    let mut rng = seed::rng();
    for round in 0..8 {
        let yaml = |table: String| {
            pipeline(&format!(
                "identity: [id]\ntarget: {{table: {table}}}\nwrite: {{delete_when: {{field: op, equals: [d]}}}}"
            ))
        };
        let (whole, single) = (yaml(format!("w{round}")), yaml(format!("s{round}")));
        let lines: Vec<String> = (0..rng.random_range(1..25))
            .map(|n| {
                let id = rng.random_range(0..5);
                if rng.random_bool(0.25) {
                    format!(r#"{{"id":{id},"op":"d"}}"#)
                } else {
                    format!(r#"{{"id":{id},"v":{}}}"#, n % 3)
                }
            })
            .collect();
        let batch = Batch::from_bytes("e.ndjson", lines.join("\n")).with_id(format!("w{round}"));
        counts(&given.deliver_batch(&whole, &batch).await.unwrap());
        for (n, line) in lines.iter().enumerate() {
            let batch = Batch::from_bytes("e.ndjson", line.as_str()).with_id(format!("s{round}/{n}"));
            counts(&given.deliver_batch(&single, &batch).await.unwrap());
        }
        for column in ["id", "payload"] {
            assert_eq!(
                given.column(&format!("SELECT {column} FROM w{round} ORDER BY id")).await,
                given.column(&format!("SELECT {column} FROM s{round} ORDER BY id")).await,
                "{lines:?}"
            );
        }
    }
}
