//! Inside the caller's own transaction: the batch stands or falls with it.

use landonce::{Batch, Options, Status};

use crate::given::{Given, counts, pipeline};

const PIPELINE: &str = "identity: [id]\ntarget: {table: t}";

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_stands_or_falls_with_the_callers_transaction_on_postgres() {
    let given = Given::postgres().await;
    given.store.set_up(&pipeline(PIPELINE)).await.unwrap();
    given.execute("CREATE TABLE balance(total int); INSERT INTO balance VALUES (0)").await;
    let batch = Batch::from_bytes("e.ndjson", "{\"id\":1}");
    let mut client = given.database().client().await;
    for (commits, want) in [(false, "0"), (true, "1"), (true, "1")] {
        let mut transaction = client.transaction().await.unwrap();
        let receipt =
            pipeline(PIPELINE).ingest_in(&mut transaction, &batch, &Options::default()).await.unwrap();
        if receipt.status == Status::Processed {
            assert_eq!(counts(&receipt), "read 1, inserted 1");
            transaction.execute("UPDATE balance SET total = total + 1", &[]).await.unwrap();
        }
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
        assert_eq!(given.column("SELECT total FROM balance").await, [want]);
        assert_eq!(given.count("t").await.to_string(), want);
    }
    landonce_testkit::dump::assert_no_leftovers(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_stands_or_falls_with_the_callers_transaction_on_sqlite() {
    let given = Given::sqlite();
    given.store.set_up(&pipeline(PIPELINE)).await.unwrap();
    given.execute("CREATE TABLE balance(total int); INSERT INTO balance VALUES (0)").await;
    let batch = Batch::from_bytes("e.ndjson", "{\"id\":1}");
    let mut connection = rusqlite::Connection::open(given.sqlite_path()).unwrap();
    for (commits, want) in [(false, "0"), (true, "1"), (true, "1")] {
        let mut transaction = connection.transaction().unwrap();
        let receipt =
            pipeline(PIPELINE).ingest_in(&mut transaction, &batch, &Options::default()).await.unwrap();
        if receipt.status == Status::Processed {
            transaction.execute("UPDATE balance SET total = total + 1", []).unwrap();
        }
        if commits {
            transaction.commit().unwrap();
        } else {
            transaction.rollback().unwrap();
        }
        assert_eq!(given.column("SELECT total FROM balance").await, [want]);
        assert_eq!(given.count("t").await.to_string(), want);
    }
}
