//! C43, in batches: many clients send the same thing at once, and one row is left.

use landonce_testkit::postgres;
use landonce_testkit::proxy::{Fault, Proxy};
use landonce_testkit::wait;

use crate::served::{ORDERS, Server, orders, send};

async fn one_lands_and_the_others_are_told(server: Server) {
    let sends = (0..50).map(|_| server.deliver("same", orders(10)));
    let answers = futures_util::future::join_all(sends).await;
    let mut counts = std::collections::BTreeMap::new();
    for answer in &answers {
        let what = if answer.status == 200 {
            answer.field("status")
        } else {
            assert!(!answer.header("retry-after").is_empty(), "{answer:?}");
            answer.problem()
        };
        *counts.entry(what).or_insert(0) += 1;
    }
    assert_eq!(counts.remove("processed"), Some(1), "{counts:?}");
    // 429: so many at once of one sender for one pipeline.
    for refusal in ["skipped_duplicate", "409 L1031 same_key", "429 L1032 same_key"] {
        counts.remove(refusal);
    }
    assert!(counts.is_empty(), "{counts:?}");
    assert_eq!(server.rows("orders").await, 10);
    assert_eq!(server.deliver("same", orders(10)).await.field("status"), "skipped_duplicate");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_lands_and_the_others_are_told_on_sqlite() {
    one_lands_and_the_others_are_told(Server::sqlite("", &[ORDERS]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_lands_and_the_others_are_told_on_postgres() {
    one_lands_and_the_others_are_told(Server::postgres("", &[ORDERS]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn different_batches_at_once_all_land() {
    let server = Server::postgres("limits: {concurrency: 8, per_pipeline: 8}", &[ORDERS]).await;
    // One first, so that none waits for the table to be made.
    server.deliver("first", orders(1)).await;
    let sends = (0..8).map(|nth| {
        let server = &server;
        async move {
            server.deliver(&format!("b{nth}"), format!("{{\"id\":{},\"version\":1}}\n", 100 + nth)).await
        }
    });
    for answer in futures_util::future::join_all(sends).await {
        assert_eq!(answer.field("status"), "processed", "{answer:?}");
    }
    assert_eq!(server.rows("orders").await, 9);
}

/// A client that goes away takes nothing with it; whoever comes meanwhile is told to wait, and afterwards what became of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_client_has_gone_lands_all_the_same() {
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    let url = proxy.url().to_owned();
    let server = Server::on(database, &url, "", &[ORDERS]).await;
    server.deliver("first", orders(1)).await;
    let mut stalled = proxy.arm(Fault::StallRequest("UPDATE landonce.inbox".into()));
    let at = server.at;
    let gone = tokio::spawn(async move {
        let path = "/v1/pipelines/orders/batches";
        send(at, hyper::Method::POST, path, &[("idempotency-key", "k")], orders(5).into()).await
    });
    stalled.wait(20).await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    let meanwhile = server.deliver("k", orders(5)).await;
    assert_eq!(meanwhile.problem(), "409 L1031 same_key");
    assert_eq!(server.rows("orders").await, 1);
    proxy.resume();
    let told = wait::until(20, "the batch to have landed", async || {
        let told = server.deliver("k", orders(5)).await;
        (told.status == 200).then_some(told)
    })
    .await;
    assert_eq!(told.field("status"), "skipped_duplicate", "{told:?}");
    assert_eq!(server.rows("orders").await, 5);
}
