//! A period's load inside the caller's own transaction.

use landonce::{Options, Status};

use super::{batch, counts, days, row};
use crate::given::Given;

const A: &str = "2026-03-01";

/// Rolled back, committed, delivered again, restated: whether it commits, the status, the counts, the loads afterwards.
const STEPS: [(&str, bool, Status, &str, u64); 6] = [
    ("one", false, Status::Processed, "read 2, inserted 2", 0),
    ("one", true, Status::Processed, "read 2, inserted 2", 1),
    ("one", true, Status::SkippedDuplicate, "read 2, inserted 2", 1),
    ("two", false, Status::Processed, "read 1, updated 1; removed 1", 1),
    ("two", true, Status::Processed, "read 1, updated 1; removed 1", 2),
    ("one", true, Status::Processed, "read 2, inserted 1, updated 1", 3),
];

fn payload(which: &str) -> landonce::Batch {
    match which {
        "one" => batch(&[row(1, A, "a"), row(2, A, "b")]),
        _ => batch(&[row(2, A, "B")]),
    }
}

async fn loads(given: &Given) -> u64 {
    given.store.periods("p", i64::MIN, i64::MAX).await.unwrap().first().map_or(0, |entry| entry.loads)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_stands_or_falls_with_the_callers_transaction_on_postgres() {
    let given = Given::postgres().await;
    given.store.set_up(&days()).await.unwrap();
    let of = days().in_period(A).unwrap();
    let mut client = given.database().client().await;
    for (which, commits, status, want, loaded) in STEPS {
        let before = given.dump().await;
        let mut transaction = client.transaction().await.unwrap();
        let receipt = of.ingest_in(&mut transaction, &payload(which), &Options::default()).await.unwrap();
        assert_eq!((receipt.status, counts(&receipt).as_str()), (status, want));
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
            before.assert_same(&given.dump().await);
        }
        assert_eq!(loads(&given).await, loaded);
    }
    landonce_testkit::dump::assert_no_leftovers(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_stands_or_falls_with_the_callers_transaction_on_sqlite() {
    let given = Given::sqlite();
    given.store.set_up(&days()).await.unwrap();
    let of = days().in_period(A).unwrap();
    let mut connection = rusqlite::Connection::open(given.sqlite_path()).unwrap();
    for (which, commits, status, want, loaded) in STEPS {
        let before = given.dump().await;
        let mut transaction = connection.transaction().unwrap();
        let receipt = of.ingest_in(&mut transaction, &payload(which), &Options::default()).await.unwrap();
        assert_eq!((receipt.status, counts(&receipt).as_str()), (status, want));
        if commits {
            transaction.commit().unwrap();
        } else {
            transaction.rollback().unwrap();
            before.assert_same(&given.dump().await);
        }
        assert_eq!(loads(&given).await, loaded);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_was_overtaken_is_the_callers_to_begin_again() {
    let given = Given::postgres().await;
    given.store.set_up(&days()).await.unwrap();
    let of = days().in_period(A).unwrap();
    let mut client = given.database().client().await;
    let mut mine = client.transaction().await.unwrap();
    // The other's load isn't committed when mine looks, and is when mine claims.
    let mut second = given.database().client().await;
    let mut theirs = second.transaction().await.unwrap();
    of.ingest_in(&mut theirs, &batch(&[row(1, A, "theirs")]), &Options::default()).await.unwrap();
    let payload = batch(&[row(1, A, "mine")]);
    let options = Options::default();
    let (mine_ended, committed) = tokio::join!(of.ingest_in(&mut mine, &payload, &options), async {
        let watch = given.database().client().await;
        landonce_testkit::wait::until(30, "mine to wait for the claim", async || {
            let waiting = watch.query("SELECT 1 FROM pg_locks WHERE NOT granted", &[]).await.unwrap();
            (!waiting.is_empty()).then_some(())
        })
        .await;
        theirs.commit().await
    });
    committed.unwrap();
    assert_eq!(mine_ended.unwrap_err().code().as_str(), "L0502");
    mine.rollback().await.unwrap();
    assert_eq!(super::rows(&given).await, ["1 theirs"]);
    let mut again = client.transaction().await.unwrap();
    let receipt = of.ingest_in(&mut again, &payload, &options).await.unwrap();
    assert_eq!(receipt.batch_id, "2026-03-01#2");
    again.commit().await.unwrap();
    assert_eq!(super::rows(&given).await, ["1 mine"]);
}
