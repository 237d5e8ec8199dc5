//! Batches that are under way while a derive runs (PostgreSQL; SQLite has one writer at a time).
//!
//! The trap: batch B looks at a row on day 1, batch A moves it to day 2 and commits, then B moves it on to day 3, and has never
//! seen it on day 2. A derive of day 2 between the two commits would sum a row that B takes away without a mark.

use landonce::Batch;
use landonce_testkit::wait;

use super::{assert_equal, deliver, derive, flight, flights, months};
use crate::given::{Given, patient};

/// Waits until somebody waits for a lock.
async fn somebody_waits(given: &Given, why: &str) {
    let client = given.database().client().await;
    wait::until(30, why, async || {
        let waiting = client.query("SELECT 1 FROM pg_locks WHERE NOT granted", &[]).await.unwrap();
        (!waiting.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_derive_waits_for_a_batch_that_moves_a_row_on() {
    let given = Given::postgres().await;
    let pipeline = flights();
    let to = |day: &str| Batch::from_bytes("events.ndjson", flight("1", day, "ann", 60));
    deliver(&given, "b1", &[flight("1", "2026-03-01", "ann", 60)]).await;
    derive(&given, &pipeline).await;

    let (mut one, mut other) = (given.database().client().await, given.database().client().await);
    let mut a = one.transaction().await.unwrap();
    pipeline.ingest_in(&mut a, &to("2026-03-02"), &patient()).await.unwrap();
    let options = patient();
    let mut b = other.transaction().await.unwrap();
    let batch = to("2026-03-03");
    let moved_on = async {
        pipeline.ingest_in(&mut b, &batch, &options).await.unwrap();
    };
    let committed = async {
        somebody_waits(&given, "B to wait for A's row").await;
        a.commit().await.unwrap();
    };
    tokio::join!(moved_on, committed);

    let derived = async { derive(&given, &pipeline).await };
    let committed = async {
        somebody_waits(&given, "the derive to wait for B").await;
        b.commit().await.unwrap();
    };
    tokio::join!(derived, committed);
    derive(&given, &pipeline).await;
    assert_eq!(months(&given).await, ["2026-03-01 ann 60"]);
    assert_equal(&given, &pipeline).await;
}
