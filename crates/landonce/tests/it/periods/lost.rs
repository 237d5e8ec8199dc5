//! Answers that are lost (X4, C42), and cuts at every statement, of a period's load.

use landonce::{Commit, Status, Store};
use landonce_testkit::proxy::{Fault, Proxy};

use super::{batch, counts, days, row, rows};
use crate::given::{Given, patient};

const A: &str = "2026-03-01";

/// A period that has been loaded, and a wire to it.
async fn loaded() -> (Given, Proxy, Store) {
    let given = Given::postgres().await;
    let proxy = Proxy::start(&given.url).await;
    let store = Store::open(proxy.url()).unwrap();
    let lines = [row(1, A, "a"), row(2, A, "b")];
    days().in_period(A).unwrap().ingest(&given.store, &batch(&lines)).await.unwrap();
    (given, proxy, store)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_whose_answer_is_lost_is_recovered() {
    let (given, proxy, store) = loaded().await;
    let of = days().in_period(A).unwrap();
    let restated = batch(&[row(1, A, "A")]);
    let cut = proxy.arm(Fault::CutAfterCommit);
    let receipt = of.ingest_with(&store, &restated, &patient()).await.unwrap();
    assert_eq!(cut.fired(), 1);
    assert_eq!((receipt.status, receipt.commit), (Status::Processed, Commit::Recovered));
    assert_eq!(
        (counts(&receipt).as_str(), receipt.batch_id.as_str()),
        ("read 1, updated 1; removed 1", "2026-03-01#2")
    );
    assert_eq!(receipt.period.unwrap().loads, 2);
    assert_eq!(rows(&given).await, ["1 A"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_whose_answer_is_lost_is_recovered_behind_another_load() {
    let (given, proxy, store) = loaded().await;
    let of = days().in_period(A).unwrap();
    let (mine, theirs) = (batch(&[row(1, A, "mine")]), batch(&[row(1, A, "theirs")]));
    let cut = proxy.arm(Fault::CutAfterCommit);
    // While mine looks for its outcome, it finds silence until theirs has landed behind it.
    let mut stalled =
        proxy.arm(landonce_testkit::proxy::Rule::from(Fault::StallRequest("ledger".into())).after(&cut));
    let options = patient();
    let (receipt, other) = tokio::join!(of.ingest_with(&store, &mine, &options), async {
        stalled.wait(30).await;
        let other = of.ingest_with(&given.store, &theirs, &options).await.unwrap();
        proxy.resume();
        other
    });
    let receipt = receipt.unwrap();
    assert_eq!((other.batch_id.as_str(), other.commit), ("2026-03-01#3", Commit::Clean));
    assert_eq!(
        (receipt.batch_id.as_str(), receipt.status, receipt.commit),
        ("2026-03-01#2", Status::Processed, Commit::Recovered)
    );
    // Mine isn't loaded over theirs: it had landed, and theirs came later.
    assert_eq!(rows(&given).await, ["1 theirs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_never_arrived_comes_behind_another() {
    let (given, proxy, store) = loaded().await;
    let of = days().in_period(A).unwrap();
    let (mine, theirs) = (batch(&[row(1, A, "mine")]), batch(&[row(1, A, "theirs")]));
    let cut = proxy.arm(Fault::CutBeforeCommit);
    let mut stalled =
        proxy.arm(landonce_testkit::proxy::Rule::from(Fault::StallRequest("ledger".into())).after(&cut));
    let options = patient();
    let (receipt, other) = tokio::join!(of.ingest_with(&store, &mine, &options), async {
        stalled.wait(30).await;
        let other = of.ingest_with(&given.store, &theirs, &options).await.unwrap();
        proxy.resume();
        other
    });
    let receipt = receipt.unwrap();
    assert_eq!(other.batch_id, "2026-03-01#2");
    assert_eq!(
        (receipt.batch_id.as_str(), receipt.status, receipt.commit),
        ("2026-03-01#3", Status::Processed, Commit::Clean)
    );
    assert_eq!(rows(&given).await, ["1 mine"]);
}

/// The run, cut at every statement in turn: whatever was cut, the period is as after one load.
#[tokio::test(flavor = "multi_thread")]
async fn a_cut_at_any_statement_leaves_one_load() {
    let (given, proxy, store) = loaded().await;
    let of = days().in_period(A).unwrap();
    for statement in 1.. {
        let lines: Vec<String> = (1..=3)
            .filter(|id| (id + statement) % 3 != 0)
            .map(|id| row(id as u32, A, &statement.to_string()))
            .collect();
        let before = given.store.periods("p", i64::MIN, i64::MAX).await.unwrap().remove(0).loads;
        let cut = proxy.arm(Fault::CutAtStatement(statement));
        let receipt = of.ingest_with(&store, &batch(&lines), &patient()).await.unwrap();
        assert_eq!(receipt.status, Status::Processed, "statement {statement}");
        let want: Vec<String> =
            (1..=3).filter(|id| (id + statement) % 3 != 0).map(|id| format!("{id} {statement}")).collect();
        assert_eq!(rows(&given).await, want);
        let entry = given.store.periods("p", i64::MIN, i64::MAX).await.unwrap().remove(0);
        assert_eq!(entry.loads, before + 1, "statement {statement}: one load, whatever was cut");
        assert_eq!(entry.failed, None);
        if cut.fired() == 0 {
            assert!(statement > 10, "only {statement} statements were cut");
            return;
        }
    }
}
