//! A refused statement leaves the session as a server's own refusal would.

use landonce_testkit::proxy::Fault;
use landonce_testkit::wait::within;
use tokio_postgres::Client;

use crate::wire::{connect, rows, set_up};

async fn refused(client: &Client, statement: &str, is_simple: bool) -> String {
    let run = async {
        if is_simple {
            client.batch_execute(statement).await
        } else {
            client.execute(statement, &[]).await.map(drop)
        }
    };
    let error = within(10, "the refusal", run).await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert!(error.message().contains("прокси отказал"), "{error:?}");
    error.code().code().to_owned()
}

#[tokio::test]
async fn a_refused_statement_gives_the_code_and_the_connection_goes_on() {
    for is_simple in [true, false] {
        let (database, proxy, client) = set_up().await;
        let fault = proxy.arm(Fault::refuse("INTO T", "53100"));
        assert_eq!(refused(&client, "insert into t values (1)", is_simple).await, "53100");
        client.execute("insert into t values (2)", &[]).await.unwrap();
        assert_eq!((fault.fired(), rows(&database).await), (1, 1));
    }
}

#[tokio::test]
async fn a_refused_statement_fails_its_transaction() {
    for is_simple in [true, false] {
        let (database, proxy, client) = set_up().await;
        let fault = proxy.arm(Fault::refuse("VALUES (2)", "40001"));
        client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
        assert_eq!(refused(&client, "INSERT INTO t VALUES (2)", is_simple).await, "40001");
        let error = client.batch_execute("SELECT 1").await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "25P02");
        client.batch_execute("ROLLBACK; INSERT INTO t VALUES (3)").await.unwrap();
        assert_eq!((fault.fired(), rows(&database).await), (1, 1));
    }
}

#[tokio::test]
async fn a_refused_commit_has_rolled_back_and_ended_the_transaction() {
    for is_simple in [true, false] {
        let (database, proxy, client) = set_up().await;
        let fault = proxy.arm(Fault::refuse("commit", "40001").times(2));
        for _ in 0..2 {
            client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
            assert_eq!(refused(&client, "COMMIT", is_simple).await, "40001");
            // Not in a failed transaction, and each answer still meets its own request.
            for value in [5, 6, 7] {
                let row = client.query_one(&format!("SELECT {value}"), &[]).await.unwrap();
                assert_eq!(row.get::<_, i32>(0), value);
            }
        }
        client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
        client.batch_execute("COMMIT").await.unwrap();
        assert_eq!((fault.fired(), rows(&database).await), (2, 1));
    }
}

#[tokio::test]
async fn a_second_fault_waits_for_the_first() {
    let (database, proxy, client) = set_up().await;
    let cut = proxy.arm(Fault::CutAfterCommit);
    let then = proxy.arm(Fault::refuse("SELECT", "40001").after(&cut));
    client.batch_execute("SELECT 1").await.unwrap();
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    within(10, "the cut", client.batch_execute("COMMIT")).await.unwrap_err();
    let other = connect(proxy.url()).await;
    assert_eq!(refused(&other, "SELECT count(*) FROM t", false).await, "40001");
    other.batch_execute("SELECT count(*) FROM t").await.unwrap();
    assert_eq!((cut.fired(), then.fired(), rows(&database).await), (1, 1, 1));
}

#[tokio::test]
async fn a_refused_copy_leaves_the_connection_usable() {
    let (database, proxy, client) = set_up().await;
    let fault = proxy.arm(Fault::refuse("COPY", "57014"));
    assert_eq!(refused(&client, "COPY t FROM STDIN", true).await, "57014");
    client.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
    assert_eq!((fault.fired(), rows(&database).await), (1, 1));
}
