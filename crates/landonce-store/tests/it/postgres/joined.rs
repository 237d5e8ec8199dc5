//! The verbs on a caller's own transaction: nothing is committed, nothing is left behind but what the caller commits.

use landonce_store::postgres::{self, Joined};
use landonce_store::seam::Work;
use landonce_testkit::dump;

use super::fresh;
use crate::conformance::{Bench, claim, int, land_in, look_in, put, set_up, text, things};

#[tokio::test]
async fn a_batch_goes_with_the_callers_transaction() {
    let mut bench = fresh().await;
    set_up(&mut bench.connect().await, &things()).await;
    bench.run("CREATE TABLE mine (a int)").await;
    let mut client = bench.client().await;
    for (is_kept, want) in [(false, "0"), (true, "1")] {
        let transaction = client.transaction().await.unwrap();
        transaction.execute("INSERT INTO mine VALUES (1)", &[]).await.unwrap();
        let landed =
            land_in(&mut Joined::on(&transaction), &things(), "b1", &[put([int(1), text("a")])]).await;
        assert_eq!(landed.counts().0, 1);
        if is_kept {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
        for table in ["mine", "things", "landonce.inbox"] {
            assert_eq!(bench.rows(&format!("SELECT count(*) FROM {table}")).await, [[want]], "{table}");
        }
    }
    drop(client);
    dump::assert_no_leftovers(&bench.client().await).await;
}

/// Nested in a savepoint of the caller's, with a stage that an earlier one left open.
#[tokio::test]
async fn a_stage_that_nobody_closed_is_in_nobodys_way() {
    let mut bench = fresh().await;
    set_up(&mut bench.connect().await, &things()).await;
    let mut client = bench.client().await;
    let mut transaction = client.transaction().await.unwrap();
    look_in(&mut Joined::on(&transaction), &things(), &[put([int(1), text("a")])]).await;
    let nested = transaction.transaction().await.unwrap();
    let landed = land_in(&mut Joined::on(&nested), &things(), "b1", &[put([int(2), text("b")])]).await;
    assert_eq!(landed.counts().0, 1);
    nested.rollback().await.unwrap();
    let landed = land_in(&mut Joined::on(&transaction), &things(), "b1", &[put([int(3), text("c")])]).await;
    assert_eq!(landed.counts().0, 1);
    transaction.commit().await.unwrap();
    assert_eq!(bench.rows("SELECT id FROM things").await, [["3"]]);
}

#[tokio::test]
async fn a_caller_without_a_transaction_is_told() {
    let mut bench = fresh().await;
    set_up(&mut bench.connect().await, &things()).await;
    let client = bench.client().await;
    let error = Joined::on(&client).claim(&claim("b1")).await.unwrap_err();
    assert!(error.to_string().contains("no open transaction"), "{error}");
    let error = Joined::on(&client).open_stage(&things()).await.unwrap_err();
    assert!(error.to_string().contains("no open transaction"), "{error}");
    assert!(bench.rows("SELECT 1 FROM landonce.inbox").await.is_empty());
}

#[tokio::test]
async fn a_caller_may_set_up_and_look_on_its_own_connection() {
    let bench = fresh().await;
    let mut client = bench.client().await;
    postgres::migrate(&client).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    assert_eq!(postgres::shape(&transaction, &things().table).await.unwrap(), None);
    transaction.batch_execute(&postgres::create_target_sql(&things()).unwrap()).await.unwrap();
    let shape = postgres::shape(&transaction, &things().table).await.unwrap().unwrap();
    assert!(shape.unique_on(&["landonce_key"]).is_some());
    let landed = land_in(&mut Joined::on(&transaction), &things(), "b1", &[put([int(1), text("a")])]).await;
    assert_eq!(landed.counts().0, 1);
    transaction.commit().await.unwrap();
}
