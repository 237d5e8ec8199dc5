//! Failures that pass (I6, C41, C48) and failures that don't (I7): decided by code, the whole transaction again.

use std::time::Instant;

use landonce::{Kind, Options, RetryPolicy, Status, Store};
use landonce_testkit::proxy::{Fault, Proxy};

use crate::given::{Given, counts, patient, pipeline};

const PIPELINE: &str = "identity: [id]\ntarget: {table: t}";

async fn through_proxy() -> (Given, Proxy, Store) {
    let given = Given::postgres().await;
    let proxy = Proxy::start(&given.url).await;
    let store = Store::open(proxy.url()).unwrap();
    pipeline(PIPELINE).ingest(&store, &landonce::Batch::from_bytes("w.ndjson", "{\"id\":0}")).await.unwrap();
    (given, proxy, store)
}

fn batch() -> landonce::Batch {
    landonce::Batch::from_bytes("e.ndjson", "{\"id\":1}\n{\"id\":2}")
}

#[tokio::test(flavor = "multi_thread")]
async fn passing_codes_run_the_whole_transaction_again() {
    for code in ["40001", "40P01", "55P03", "57P01", "53300", "08006", "25006"] {
        for statement in ["INSERT INTO landonce.inbox", "COMMIT"] {
            let (given, proxy, store) = through_proxy().await;
            let fault = proxy.arm(Fault::refuse(statement, code).times(2));
            let receipt = pipeline(PIPELINE).ingest_with(&store, &batch(), &patient()).await.unwrap();
            assert_eq!(
                (fault.fired(), receipt.attempts, receipt.status),
                (2, 3, Status::Processed),
                "{code} at {statement}"
            );
            assert_eq!(counts(&receipt), "read 2, inserted 2");
            assert_eq!(given.count("t").await, 3);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_internal_error_is_tried_once_more() {
    let (_given, proxy, store) = through_proxy().await;
    proxy.arm(Fault::refuse("COMMIT", "XX000"));
    let receipt = pipeline(PIPELINE).ingest_with(&store, &batch(), &patient()).await.unwrap();
    assert_eq!(receipt.attempts, 2);
    let (_given, proxy, store) = through_proxy().await;
    let fault = proxy.arm(Fault::refuse("COMMIT", "XX000").times(9));
    pipeline(PIPELINE).ingest_with(&store, &batch(), &patient()).await.unwrap_err();
    assert_eq!(fault.fired(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn lasting_codes_are_never_tried_again() {
    for code in ["42501", "42P01", "0A000", "22012", "23514"] {
        let (given, proxy, store) = through_proxy().await;
        let fault = proxy.arm(Fault::refuse("COMMIT", code).times(9));
        let error = pipeline(PIPELINE).ingest_with(&store, &batch(), &patient()).await.unwrap_err();
        assert_eq!((fault.fired(), error.kind()), (1, Kind::Database), "{code}: {error}");
        assert!(error.to_string().contains(code), "{error}");
        assert_eq!(given.count("t").await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_timeout_is_tried_again_only_when_asked() {
    let (_given, proxy, store) = through_proxy().await;
    let fault = proxy.arm(Fault::refuse("COMMIT", "57014"));
    pipeline(PIPELINE).ingest_with(&store, &batch(), &patient()).await.unwrap_err();
    assert_eq!(fault.fired(), 1);
    let fault = proxy.arm(Fault::refuse("COMMIT", "57014"));
    let options = Options { retry: RetryPolicy { timeouts: true, ..patient().retry }, ..Options::default() };
    let receipt = pipeline(PIPELINE).ingest_with(&store, &batch(), &options).await.unwrap();
    assert_eq!((fault.fired(), receipt.attempts), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_run_out_and_say_so() {
    let (given, proxy, store) = through_proxy().await;
    proxy.arm(Fault::refuse("COMMIT", "40001").times(99));
    let options = Options { retry: RetryPolicy { attempts: 3, ..patient().retry }, ..Options::default() };
    let error = pipeline(PIPELINE).ingest_with(&store, &batch(), &options).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Exhausted);
    assert!(error.to_string().contains("3 attempts") && error.to_string().contains("40001"), "{error}");
    assert_eq!(given.count("t").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_is_no_refusal_though_there_is_no_time_for_another_attempt() {
    let (given, proxy, store) = through_proxy().await;
    proxy.arm(Fault::refuse("COMMIT", "55P03"));
    let options = Options { retry: RetryPolicy::never(), ..Options::default() };
    let error = pipeline(PIPELINE).ingest_with(&store, &batch(), &options).await.unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Exhausted, "L0603"), "{error}");
    assert!(error.to_string().contains("after 1 attempt in"), "{error}");
    assert_eq!(given.count("t").await, 1);
}

/// C48: the write of the inbox row alone fails; everything rolls back, and after the retry there is one copy.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_settlement_takes_the_rows_with_it() {
    let (given, proxy, store) = through_proxy().await;
    proxy.arm(Fault::refuse("UPDATE landonce.inbox", "53100"));
    let error = pipeline(PIPELINE).ingest_with(&store, &batch(), &patient()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::NoSpace, "{error}"); // C49
    assert_eq!(given.count("t").await, 1);
    pipeline(PIPELINE).ingest_with(&store, &batch(), &patient()).await.unwrap();
    assert_eq!(given.count("t").await, 3);
}

/// C25: the wrong place is told within five seconds, in one message, without the secret.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_place_is_told_quickly_and_without_the_secret() {
    let given = Given::postgres().await;
    let port = given.url.rsplit_once('/').unwrap().0.rsplit(':').next().unwrap().to_owned();
    for url in [
        "postgres://u:hunter2@127.0.0.1:1/d".to_owned(),
        "postgres://u:hunter2@no-such-host.invalid/d".to_owned(),
        format!("postgres://nobody:hunter2@127.0.0.1:{port}/no_such_database"),
    ] {
        let store = Store::open(&url).unwrap();
        let started = Instant::now();
        let options = Options { retry: RetryPolicy::never(), ..Options::default() };
        let error = pipeline(PIPELINE).ingest_with(&store, &batch(), &options).await.unwrap_err();
        assert!(started.elapsed().as_secs() < 5, "{url}");
        assert_eq!(error.kind(), Kind::Connect, "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

/// A server that restarts, or an administrator who ends the session: the whole transaction again, on a new connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_the_server_ends_is_begun_again() {
    let (given, proxy, store) = through_proxy().await;
    let mut stalled = proxy.arm(Fault::StallRequest("UPDATE landonce.inbox".into()));
    let task =
        tokio::spawn(async move { pipeline(PIPELINE).ingest_with(&store, &batch(), &patient()).await });
    stalled.wait(20).await;
    given.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'landonce%' AND datname = current_database()").await;
    proxy.resume();
    let receipt = task.await.unwrap().unwrap();
    assert_eq!((receipt.status, receipt.attempts), (Status::Processed, 2));
    assert_eq!(given.count("t").await, 3);
}

/// SQLite busy: another writer holds the lock; the batch waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_sqlite_is_waited_for() {
    let given = Given::sqlite();
    pipeline(PIPELINE)
        .ingest(&given.store, &landonce::Batch::from_bytes("w.ndjson", "{\"id\":0}"))
        .await
        .unwrap();
    let other = rusqlite::Connection::open(given.sqlite_path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; CREATE TABLE busy(n)").unwrap();
    let store = given.store.clone();
    let task =
        tokio::spawn(async move { pipeline(PIPELINE).ingest_with(&store, &batch(), &patient()).await });
    // The batch can't have begun while the lock is held; it ends only after it is let go.
    assert!(
        landonce_testkit::wait::until_or_none(1, async || task.is_finished().then_some(())).await.is_none()
    );
    other.execute_batch("COMMIT").unwrap();
    let receipt = task.await.unwrap().unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_connection_is_used_again_and_one_that_ended_is_not() {
    let given = Given::postgres().await;
    let store = given.store.keeping_connections(2);
    let land = async |n: u32| {
        let batch = landonce::Batch::from_bytes("e.ndjson", format!("{{\"id\":{n}}}"));
        pipeline(PIPELINE).ingest_with(&store, &batch, &patient()).await.unwrap()
    };
    let ours = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query ILIKE '%commit%'";
    land(1).await;
    let first = given.column(&format!("SELECT pid::text {ours}")).await;
    assert_eq!(first.len(), 1, "it is kept");
    land(2).await;
    assert_eq!(given.column(&format!("SELECT pid::text {ours}")).await, first);
    given.column(&format!("SELECT pg_terminate_backend(pid)::text {ours}")).await;
    land(3).await;
    assert_eq!(given.count("t").await, 3);
    assert_ne!(given.column(&format!("SELECT pid::text {ours}")).await, first);
}
