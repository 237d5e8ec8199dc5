//! The end of a server: every request that was taken is answered or undone, and the answer says which.

use landonce_testkit::postgres;
use landonce_testkit::proxy::{Fault, Proxy};
use landonce_testkit::wait;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::served::{ORDERS, Server, heard, orders, send};

/// A server on PostgreSQL by way of a proxy, with its tables made.
async fn behind_a_proxy(drain: &str) -> (Server, Proxy) {
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    let url = proxy.url().to_owned();
    let server = Server::on(database, &url, &format!("drain: {drain}"), &[ORDERS]).await;
    assert_eq!(server.deliver("first", orders(1)).await.status, 200);
    (server, proxy)
}

/// The head of a batch and the first half of its body, taken by the server.
async fn half_sent(server: &Server, body: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    let head = format!(
        "POST /v1/pipelines/orders/batches HTTP/1.1\r\nhost: localhost\r\nidempotency-key: half\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let (first, second) = body.split_at(body.len() / 2);
    stream.write_all(format!("{head}{first}").as_bytes()).await.unwrap();
    wait::until(10, "the request to be taken", async || {
        let figures = server.get("/metrics").await.text;
        figures.contains("landonce_http_requests_in_flight 2").then_some(())
    })
    .await;
    (stream, second.to_owned())
}

async fn refuses_connections(server: &Server) {
    wait::until(10, "new connections to be refused", async || {
        TcpStream::connect(server.at).await.is_err().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_ends_in_time_gets_its_answer() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let (mut stream, rest) = half_sent(&server, &orders(100)).await;
    server.stop();
    refuses_connections(&server).await;
    stream.write_all(rest.as_bytes()).await.unwrap();
    let heard = heard(&mut stream).await;
    assert!(heard.starts_with("HTTP/1.1 200") && heard.contains("\"processed\""), "{heard}");
    assert_eq!(server.rows("orders").await, 100);
    server.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_does_not_is_told_to_come_again() {
    let server = Server::sqlite("drain: 100ms", &[ORDERS]).await;
    let (mut stream, _) = half_sent(&server, &orders(100)).await;
    server.stop();
    let heard = heard(&mut stream).await;
    assert!(
        heard.starts_with("HTTP/1.1 503") && heard.contains("L1033") && heard.contains("same_key"),
        "{heard}"
    );
    assert_eq!(server.rows("orders").await, 0);
    server.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_sent_is_waited_for_beyond_the_time() {
    let (server, proxy) = behind_a_proxy("0s").await;
    let mut stalled = proxy.arm(Fault::StallAnswer("; COMMIT".into()));
    let at = server.at;
    let sent = tokio::spawn(async move { post(at, "held").await });
    stalled.wait(20).await;
    server.stop();
    refuses_connections(&server).await;
    proxy.resume();
    let answer = sent.await.unwrap();
    assert_eq!((answer.status, answer.field("status").as_str()), (200, "processed"), "{answer:?}");
    let database = server.ended().await.unwrap();
    let client = database.client().await;
    let rows: i64 = client.query_one("SELECT count(*) FROM orders", &[]).await.unwrap().get(0);
    assert_eq!(rows, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_has_not_come_to_its_commit_is_undone_and_told_so() {
    let (server, proxy) = behind_a_proxy("0s").await;
    let mut stalled = proxy.arm(Fault::StallRequest("UPDATE landonce.inbox".into()));
    let at = server.at;
    let sent = tokio::spawn(async move { post(at, "undone").await });
    stalled.wait(20).await;
    server.stop();
    let answer = sent.await.unwrap();
    assert_eq!(answer.problem(), "503 L1033 same_key");
    proxy.resume();
    let database = server.ended().await.unwrap();
    let client = database.client().await;
    let rows: i64 = client.query_one("SELECT count(*) FROM orders", &[]).await.unwrap().get(0);
    assert_eq!(rows, 1, "only the first batch");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_does_not_hold_the_end_up() {
    let server = Server::sqlite("drain: 20s", &[ORDERS]).await;
    let mut idle = TcpStream::connect(server.at).await.unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    tokio::io::AsyncReadExt::read_exact(&mut idle, &mut head).await.unwrap();
    server.stop();
    wait::within(5, "the server to end", server.ended()).await;
}

async fn post(at: std::net::SocketAddr, key: &str) -> crate::served::Answer {
    let path = "/v1/pipelines/orders/batches";
    let headers = [("idempotency-key", key)];
    send(at, hyper::Method::POST, path, &headers, orders(5).into()).await
}
