//! Nobody holds a connection by being slow: heads, bodies and pauses have their time.

use landonce_testkit::wait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::served::{ORDERS, Server, heard, orders};

fn head(more: &str) -> String {
    format!("POST /v1/pipelines/orders/batches HTTP/1.1\r\nhost: localhost\r\n{more}\r\n")
}

#[tokio::test]
async fn a_head_that_never_ends_is_answered_408() {
    let server = Server::sqlite("limits: {header_time: 200ms}", &[ORDERS]).await;
    let heard = server.raw("GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ").await;
    assert!(heard.starts_with("HTTP/1.1 408") && heard.contains("L1030"), "{heard}");
}

#[tokio::test]
async fn a_head_that_trickles_is_answered_408() {
    let server = Server::sqlite("limits: {header_time: 300ms}", &[ORDERS]).await;
    let (status, _) = trickled(&server, "GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ").await;
    assert_eq!(status, "HTTP/1.1 408");
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let server = Server::sqlite("limits: {idle_time: 200ms}", &[ORDERS]).await;
    assert_eq!(server.raw("").await, "");
    let kept = server.raw("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(
        kept.starts_with("HTTP/1.1 200") && kept.ends_with("ok\n"),
        "kept open for the next, and then closed: {kept}"
    );
}

#[tokio::test]
async fn a_body_that_stops_is_answered_408_and_leaves_nothing() {
    let server = Server::sqlite("limits: {idle_time: 200ms}", &[ORDERS]).await;
    let heard = server.raw(head("content-length: 1000\r\n") + &orders(3)).await;
    assert!(
        heard.starts_with("HTTP/1.1 408") && heard.contains("L1030") && heard.contains("same_key"),
        "{heard}"
    );
    assert_eq!(server.rows("landonce_inbox").await, 0);
}

#[tokio::test]
async fn a_body_that_trickles_is_cut_when_its_time_is_over() {
    let server = Server::sqlite("limits: {request_time: 300ms, idle_time: 10s}", &[ORDERS]).await;
    let (status, sent) = trickled(&server, &head("content-length: 100000\r\n")).await;
    assert_eq!(status, "HTTP/1.1 408");
    assert!(sent > 1, "it didn't stop by itself");
}

#[tokio::test]
async fn a_client_that_goes_away_in_its_body_leaves_nothing_and_its_key_is_free() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    let said = head("idempotency-key: k\r\ncontent-length: 100000\r\n") + &orders(3);
    stream.write_all(said.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    heard(&mut stream).await;
    assert_eq!(server.deliver("k", orders(3)).await.field("status"), "processed");
}

#[tokio::test]
async fn a_client_that_ends_its_side_behind_a_whole_request_is_answered() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let body = orders(500);
    let said = head(&format!("idempotency-key: k\r\ncontent-length: {}\r\n", body.len())) + &body;
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    stream.write_all(said.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let heard = heard(&mut stream).await;
    assert!(heard.starts_with("HTTP/1.1 200") && heard.contains("processed"), "{heard}");
    assert_eq!(server.rows("orders").await, 500);
}

#[tokio::test]
async fn a_whole_request_lands_though_its_client_is_gone() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let body = orders(500);
    let said = head(&format!("idempotency-key: k\r\ncontent-length: {}\r\n", body.len())) + &body;
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    stream.write_all(said.as_bytes()).await.unwrap();
    drop(stream);
    let landed = async {
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
        while server.rows("orders").await != 500 {
            ticks.tick().await;
        }
    };
    wait::within(30, "the orders of a client that is gone", landed).await;
}

/// Says something, and then a byte now and then until it is answered: the answer's first words, and how many bytes.
async fn trickled(server: &Server, said: &str) -> (String, usize) {
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    stream.write_all(said.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let mut status = [0; 12];
    let mut sent = 0;
    let answered = async {
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
        loop {
            tokio::select! {
                read = reading.read_exact(&mut status) => break read,
                _ = ticks.tick() => sent += usize::from(writing.write_all(b"a").await.is_ok()),
            }
        }
    };
    landonce_testkit::wait::within(20, "the answer", answered).await.unwrap();
    (String::from_utf8_lossy(&status).into_owned(), sent)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_take_its_answers_is_cut() {
    let server = Server::sqlite("limits: {idle_time: 300ms}", &[ORDERS]).await;
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    let asking = async {
        // More answers than the system's buffers hold, until the server has had enough.
        while stream.write_all(b"GET /problems/L0501 HTTP/1.1\r\nhost: localhost\r\n\r\n").await.is_ok() {}
    };
    landonce_testkit::wait::within(30, "the server to have had enough", asking).await;
}
