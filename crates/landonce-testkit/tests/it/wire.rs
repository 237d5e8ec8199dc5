//! The proxy cuts and stalls exactly where it was told to, and says so.

use futures_util::SinkExt;
use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::proxy::{Fault, Proxy};
use landonce_testkit::wait::within;
use tokio_postgres::{Client, NoTls};

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A database with an empty table `t`, a proxy before it, and a client through the proxy.
pub(crate) async fn set_up() -> (TestDatabase, Proxy, Client) {
    let database = postgres::database().await;
    database.client().await.batch_execute("CREATE TABLE t (a int PRIMARY KEY)").await.unwrap();
    let proxy = Proxy::start(&database.url()).await;
    let client = connect(proxy.url()).await;
    (database, proxy, client)
}

/// How many rows `t` has, by a connection that doesn't pass the proxy.
pub(crate) async fn rows(database: &TestDatabase) -> i64 {
    database.client().await.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn cut_after_commit_leaves_the_row_and_no_answer() {
    let (database, proxy, mut client) = set_up().await;
    let cut = proxy.arm(Fault::CutAfterCommit);
    let transaction = client.transaction().await.unwrap();
    transaction.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
    let error = within(10, "the cut", transaction.commit()).await.unwrap_err();
    assert!(error.is_closed() && error.code().is_none(), "{error:?}");
    assert_eq!(cut.fired(), 1);
    assert_eq!(rows(&database).await, 1);
    // Once: another connection gets its answer.
    let other = connect(proxy.url()).await;
    other.batch_execute("BEGIN; INSERT INTO t VALUES (2)").await.unwrap();
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!((cut.fired(), rows(&database).await), (1, 2));
}

#[tokio::test]
async fn cut_after_commit_knows_an_extended_commit() {
    let (database, proxy, client) = set_up().await;
    let cut = proxy.arm(Fault::CutAfterCommit);
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    // COPY leaves one Sync without an answer; the counting has to bear it.
    let mut copy = Box::pin(client.copy_in::<_, &[u8]>("COPY t FROM STDIN").await.unwrap());
    copy.send(b"2\n3\n").await.unwrap();
    copy.close().await.unwrap();
    let commit = client.prepare("COMMIT").await.unwrap();
    assert_eq!(cut.fired(), 0);
    within(10, "the cut", client.execute(&commit, &[])).await.unwrap_err();
    assert_eq!((cut.fired(), rows(&database).await), (1, 3));
}

#[tokio::test]
async fn a_commit_that_the_server_refuses_is_not_cut() {
    let (database, proxy, client) = set_up().await;
    client
        .batch_execute("CREATE TABLE child (a int REFERENCES t DEFERRABLE INITIALLY DEFERRED)")
        .await
        .unwrap();
    let cut = proxy.arm(Fault::CutAfterCommit);
    client.batch_execute("BEGIN; INSERT INTO child VALUES (9)").await.unwrap();
    let error = client.batch_execute("COMMIT").await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "23503");
    assert_eq!(cut.fired(), 0);
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    client.batch_execute("COMMIT").await.unwrap_err();
    assert_eq!((cut.fired(), rows(&database).await), (1, 1));
}

#[tokio::test]
async fn cut_before_commit_leaves_nothing() {
    let (database, proxy, client) = set_up().await;
    let cut = proxy.arm(Fault::CutBeforeCommit);
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    let error = within(10, "the cut", client.batch_execute("COMMIT")).await.unwrap_err();
    assert!(error.is_closed(), "{error:?}");
    assert_eq!((cut.fired(), rows(&database).await), (1, 0));
}

#[tokio::test]
async fn a_sweep_of_cuts_meets_every_statement_once() {
    let (database, proxy, _) = set_up().await;
    let mut landed = Vec::new();
    for nth in 1.. {
        database.client().await.batch_execute("TRUNCATE t").await.unwrap();
        let proxy = Proxy::start(&database.url()).await;
        let cut = proxy.arm(Fault::CutAtStatement(nth));
        let client = connect(proxy.url()).await;
        let run = async {
            client.batch_execute("BEGIN").await?;
            client.execute("INSERT INTO t VALUES (1)", &[]).await?;
            client.batch_execute("COMMIT").await?;
            client.batch_execute("SELECT 1").await
        };
        let result = within(10, "the run", run).await;
        assert_eq!(u64::from(result.is_err()), cut.fired());
        landed.push(rows(&database).await);
        if cut.fired() == 0 {
            assert_eq!(proxy.statements(), ["BEGIN", "INSERT INTO t VALUES (1)", "COMMIT", "SELECT 1"]);
            break;
        }
    }
    assert_eq!(landed, [0, 0, 0, 1, 1]);
    assert_eq!(proxy.statements(), [] as [&str; 0]);
}

#[tokio::test]
async fn a_cut_inside_a_copy_leaves_nothing() {
    let (database, proxy, client) = set_up().await;
    // Parse, Describe, Sync, Bind, Execute, Sync; then the data.
    let cut = proxy.arm(Fault::CutAtFrame(8));
    let copy = async {
        let mut copy = Box::pin(client.copy_in::<_, &[u8]>("COPY t FROM STDIN").await?);
        for row in [&b"1\n"[..], b"2\n", b"3\n"] {
            copy.send(row).await?;
            copy.flush().await?;
        }
        copy.close().await
    };
    within(10, "the cut", copy).await.unwrap_err();
    assert_eq!((cut.fired(), rows(&database).await), (1, 0));
}

#[tokio::test]
async fn a_stalled_request_reaches_the_server_only_when_resumed() {
    let (database, proxy, client) = set_up().await;
    let mut stall = proxy.arm(Fault::StallRequest("insert".into()));
    let inserting = tokio::spawn(async move { client.batch_execute("INSERT INTO t VALUES (1)").await });
    stall.wait(10).await;
    assert_eq!(rows(&database).await, 0);
    assert!(!inserting.is_finished());
    proxy.resume();
    within(10, "the insert", inserting).await.unwrap().unwrap();
    assert_eq!((stall.fired(), rows(&database).await), (1, 1));
}

#[tokio::test]
async fn a_stalled_answer_is_to_a_statement_already_done() {
    let (database, proxy, client) = set_up().await;
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    let mut stall = proxy.arm(Fault::StallAnswer("commit".into()));
    let committing = tokio::spawn(async move { client.batch_execute("COMMIT").await });
    stall.wait(10).await;
    assert_eq!(rows(&database).await, 1);
    assert!(!committing.is_finished());
    // Other connections are not stalled.
    within(10, "another connection", connect(proxy.url())).await.batch_execute("SELECT 1").await.unwrap();
    proxy.resume();
    within(10, "the commit", committing).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_connection_is_refused_as_often_as_told() {
    let (_database, proxy, _client) = set_up().await;
    let cut = proxy.arm(Fault::CutAtConnect.times(2));
    for _ in 0..2 {
        let refused = within(10, "the refusal", tokio_postgres::connect(proxy.url(), NoTls)).await;
        assert!(refused.is_err());
    }
    connect(proxy.url()).await.batch_execute("SELECT 1").await.unwrap();
    assert_eq!((cut.fired(), proxy.connections()), (2, 4));
}

#[tokio::test]
async fn a_dropped_proxy_cuts_its_connections() {
    let (_database, proxy, client) = set_up().await;
    drop(proxy);
    let error = within(10, "the cut", client.batch_execute("SELECT 1")).await.unwrap_err();
    assert!(error.is_closed(), "{error:?}");
}
