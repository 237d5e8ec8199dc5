//! A connection that is lost leaves a snapshot landed, held, or neither, and the same run finds out which.

use landonce::{Commit, Status, Store};
use landonce_testkit::proxy::{Fault, Proxy};

use super::{counts, land, retiring, rows, whole};
use crate::given::{Given, patient};

async fn through_proxy() -> (Given, Proxy, Store) {
    let given = Given::postgres().await;
    let proxy = Proxy::start(&given.url).await;
    let store = Store::open(proxy.url()).unwrap();
    (given, proxy, store)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_whose_commit_is_not_answered_is_recovered() {
    for id in [None, Some("tuesday")] {
        let (given, proxy, store) = through_proxy().await;
        land(&given, &retiring(), &rows(1..=10, "a")).await;
        let cut = proxy.arm(Fault::CutAfterCommit);
        let mut batch = whole(&rows(1..=9, "a"));
        if let Some(id) = id {
            batch = batch.with_id(id);
        }
        let receipt = retiring().ingest_with(&store, &batch, &patient()).await.unwrap();
        assert_eq!(cut.fired(), 1);
        assert_eq!((receipt.status, receipt.commit), (Status::Processed, Commit::Recovered));
        assert_eq!(counts(&receipt), "read 9, unchanged 9; retired 1");
        let again = retiring().ingest_with(&store, &batch, &patient()).await.unwrap();
        assert_eq!(again.status, Status::SkippedDuplicate);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_at_any_statement_leaves_one_snapshot() {
    at_any_statement(rows(2..=11, "a"), Status::Processed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_at_any_statement_leaves_one_held_payload() {
    at_any_statement(rows(6..=10, "a"), Status::Held).await;
}

async fn at_any_statement(second: Vec<String>, status: Status) {
    let clean = Given::postgres().await;
    let batch = whole(&second);
    land(&clean, &retiring(), &rows(1..=10, "a")).await;
    clean.deliver_batch(&retiring(), &batch).await.unwrap();
    let want = clean.state().await;
    let (given, proxy, store) = through_proxy().await;
    for statement in 1.. {
        land(&given, &retiring(), &rows(1..=10, "a")).await;
        let cut = proxy.arm(Fault::CutAtStatement(statement));
        let receipt = retiring().ingest_with(&store, &batch, &patient()).await.unwrap();
        assert_eq!(receipt.status, status, "statement {statement}: {receipt:?}");
        want.assert_same(&given.state().await);
        if cut.fired() == 0 {
            assert!(statement > 15, "only {statement} statements were cut");
            break;
        }
        given.execute("DROP SCHEMA landonce CASCADE; DROP TABLE t").await;
    }
}
