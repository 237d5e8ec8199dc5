//! COMMIT was sent and no answer came (X4, C42): resolved, not guessed.

use landonce::{Commit, Kind, Options, RetryPolicy, Status, Store};
use landonce_testkit::proxy::{Fault, Proxy};

use crate::given::{Given, counts, patient, pipeline};

const PIPELINE: &str = "identity: [id]\ntarget: {table: t}";
const LINES: &str = "{\"id\":1}\n{\"id\":2}";

async fn through_proxy() -> (Given, Proxy, Store) {
    let given = Given::postgres().await;
    let proxy = Proxy::start(&given.url).await;
    let store = Store::open(proxy.url()).unwrap();
    (given, proxy, store)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_recovered() {
    let (given, proxy, store) = through_proxy().await;
    // The first COMMITs are those of the set-up; the batch's is the one after the outcome was settled.
    pipeline(PIPELINE).ingest(&store, &landonce::Batch::from_bytes("w.ndjson", "{\"id\":0}")).await.unwrap();
    let cut = proxy.arm(Fault::CutAfterCommit);
    let batch = landonce::Batch::from_bytes("e.ndjson", LINES);
    let receipt = pipeline(PIPELINE).ingest_with(&store, &batch, &patient()).await.unwrap();
    assert_eq!(cut.fired(), 1);
    assert_eq!((receipt.status, receipt.commit), (Status::Processed, Commit::Recovered));
    assert_eq!(counts(&receipt), "read 2, inserted 2");
    assert_eq!(given.count("t").await, 3);
    let again = pipeline(PIPELINE).ingest_with(&store, &batch, &patient()).await.unwrap();
    assert_eq!(again.status, Status::SkippedDuplicate);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_fault_while_looking_is_survived() {
    let (given, proxy, store) = through_proxy().await;
    pipeline(PIPELINE).ingest(&store, &landonce::Batch::from_bytes("w.ndjson", "{\"id\":0}")).await.unwrap();
    let cut = proxy.arm(Fault::CutAfterCommit);
    let second = proxy.arm(Fault::refuse("inbox", "40001").times(3).after(&cut));
    let third = proxy.arm(Fault::CutAtConnect.times(2).after(&second));
    let batch = landonce::Batch::from_bytes("e.ndjson", LINES);
    let receipt = pipeline(PIPELINE).ingest_with(&store, &batch, &patient()).await.unwrap();
    assert_eq!((cut.fired(), second.fired(), third.fired()), (1, 3, 2));
    assert_eq!((receipt.status, receipt.commit), (Status::Processed, Commit::Recovered));
    assert_eq!(given.count("t").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_never_arrived_is_run_again() {
    let (given, proxy, store) = through_proxy().await;
    pipeline(PIPELINE).ingest(&store, &landonce::Batch::from_bytes("w.ndjson", "{\"id\":0}")).await.unwrap();
    let cut = proxy.arm(Fault::CutBeforeCommit);
    let batch = landonce::Batch::from_bytes("e.ndjson", LINES);
    let receipt = pipeline(PIPELINE).ingest_with(&store, &batch, &patient()).await.unwrap();
    assert_eq!(cut.fired(), 1);
    assert_eq!((receipt.status, receipt.commit, receipt.attempts), (Status::Processed, Commit::Clean, 2));
    assert_eq!(given.count("t").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_cannot_be_asked_for_is_said_to_be_unknown() {
    let (given, proxy, store) = through_proxy().await;
    pipeline(PIPELINE).ingest(&store, &landonce::Batch::from_bytes("w.ndjson", "{\"id\":0}")).await.unwrap();
    let cut = proxy.arm(Fault::CutAfterCommit);
    proxy.arm(Fault::CutAtConnect.times(1_000).after(&cut));
    let batch = landonce::Batch::from_bytes("e.ndjson", LINES);
    let options = Options { retry: RetryPolicy { attempts: 3, ..patient().retry }, ..Options::default() };
    let error = pipeline(PIPELINE).ingest_with(&store, &batch, &options).await.unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Unresolved, "L0605"));
    // It had landed, and the next delivery says so.
    let again = pipeline(PIPELINE).ingest_with(&given.store, &batch, &patient()).await.unwrap();
    assert_eq!(again.status, Status::SkippedDuplicate);
    assert_eq!(given.count("t").await, 3);
}

/// The whole run, cut at every statement in turn: whatever was cut, the state is that of one delivery.
#[tokio::test(flavor = "multi_thread")]
async fn a_cut_at_any_statement_leaves_one_delivery() {
    let clean = Given::postgres().await;
    let batch = landonce::Batch::from_bytes("e.ndjson", LINES);
    clean.deliver_batch(&pipeline(PIPELINE), &batch).await.unwrap();
    let want = clean.state().await;
    let (given, proxy, store) = through_proxy().await;
    for statement in 1.. {
        let cut = proxy.arm(Fault::CutAtStatement(statement));
        let receipt = pipeline(PIPELINE).ingest_with(&store, &batch, &patient()).await.unwrap();
        want.assert_same(&given.state().await);
        if cut.fired() == 0 {
            assert!(statement > 10, "only {statement} statements were cut");
            break;
        }
        assert!(
            receipt.attempts > 1 || receipt.commit == Commit::Recovered || statement == 1,
            "statement {statement}: {receipt:?}"
        );
        given.execute("DROP SCHEMA landonce CASCADE; DROP TABLE t").await;
    }
}
