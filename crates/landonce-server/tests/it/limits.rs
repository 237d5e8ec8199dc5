//! What is too much is refused at once: too long, too many, too deep, too large when it is unfolded.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::net::TcpStream;

use crate::served::{ORDERS, Server, heard, orders};

const PATH: &str = "/v1/pipelines/orders/batches";

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_announced_or_not() {
    let server = Server::sqlite("limits: {body: 100kB}", &[ORDERS]).await;
    let announced = server.post(PATH, &[], orders(10_000)).await;
    assert_eq!(announced.problem(), "413 L1029 stop");
    let mut said = format!(
        "POST {PATH} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    for _ in 0..30 {
        said.push_str(&format!("1000\r\n{}\r\n", " ".repeat(0x1000)));
    }
    let heard = server.raw(said).await;
    assert!(heard.starts_with("HTTP/1.1 413") && heard.contains("L1029"), "{heard}");
    assert_eq!(server.rows("landonce_inbox").await, 0);
}

#[tokio::test]
async fn a_bomb_and_too_many_records_are_refused_before_they_unfold() {
    let server = Server::sqlite("limits: {decoded: 1MB, records: 500}", &[ORDERS]).await;
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    // One line without an end: the framer would look for it for ever.
    bomb.write_all(b"{\"id\":\"").unwrap();
    for _ in 0..4 {
        bomb.write_all(&vec![b'a'; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 20_000, "{} bytes", bomb.len());
    let headers = [("content-type", "application/x-ndjson")];
    assert_eq!(server.post(PATH, &headers, bomb).await.problem(), "413 L0306 stop");
    assert_eq!(server.post(PATH, &headers, orders(501)).await.problem(), "413 L0306 stop");
    assert_eq!(server.rows("orders").await, 0);
    assert_eq!(server.post(PATH, &headers, orders(500)).await.status, 200);
}

#[tokio::test]
async fn json_that_is_nested_without_end_is_a_bad_record() {
    let server = Server::sqlite("", &[ORDERS]).await;
    for body in [
        format!("{{\"id\":1,\"version\":1,\"x\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{{\"id\":1,\"version\":1,\"x\":{}1{}}}\n", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
    ] {
        for kind in ["application/x-ndjson", "application/json"] {
            let answer = server.post(PATH, &[("content-type", kind)], body.clone()).await;
            assert_eq!(answer.problem(), "422 L0401 stop", "{kind}");
        }
    }
    let open = server.post(PATH, &[("content-type", "application/json")], "[".repeat(100_000)).await;
    assert_eq!(open.status, 422, "{open:?}");
}

#[tokio::test]
async fn heads_that_are_too_large_are_refused() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let long = format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "a".repeat(40_000));
    assert!(server.raw(long).await.starts_with("HTTP/1.1 431"));
    let many: String = (0..200).map(|nth| format!("x{nth}: a\r\n")).collect();
    let many = format!("GET /livez HTTP/1.1\r\nhost: localhost\r\n{many}\r\n");
    assert!(server.raw(many).await.starts_with("HTTP/1.1 431"));
    let path = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "a".repeat(40_000));
    let heard = server.raw(path).await;
    assert!(heard.starts_with("HTTP/1.1 431") || heard.starts_with("HTTP/1.1 414"), "{heard}");
    assert!(server.raw("rubbish\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    assert_eq!(server.get("/livez").await.status, 200);
}

#[tokio::test]
async fn one_connection_too_many_is_told_and_closed() {
    let server = Server::sqlite("limits: {connections: 2}", &[ORDERS]).await;
    let keep = async || {
        let stream = TcpStream::connect(server.at).await.unwrap();
        // An answer shows that the connection has been taken.
        ask(stream).await
    };
    let (one, _two) = (keep().await, keep().await);
    let mut third = TcpStream::connect(server.at).await.unwrap();
    let told = heard(&mut third).await;
    assert!(
        told.starts_with("HTTP/1.1 503") && told.contains("retry-after: 1") && told.contains("L1032"),
        "{told}"
    );
    drop(one);
    landonce_testkit::wait::until(10, "the place to be given back", async || {
        (server.get_or_none("/livez").await?.status == 200).then_some(())
    })
    .await;
}

/// Asks for `/livez`, and leaves the connection open.
async fn ask(mut stream: TcpStream) -> TcpStream {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    stream
}

/// The head of a batch, and a body that isn't all there; the request has been taken.
async fn half(server: &Server, pipeline: &str, sent: usize) -> TcpStream {
    use tokio::io::AsyncWriteExt as _;
    let mut stream = TcpStream::connect(server.at).await.unwrap();
    let head = format!(
        "POST /v1/pipelines/{pipeline}/batches HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        sent + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; sent]).await.unwrap();
    landonce_testkit::wait::until(10, "the request to be taken", async || {
        let figures = server.get("/metrics").await.text;
        // It, and the one that asks.
        figures.contains("landonce_http_requests_in_flight 2").then_some(())
    })
    .await;
    stream
}

#[tokio::test]
async fn too_many_batches_at_once_are_told_to_come_again() {
    const OTHER: &str = "pipeline: other\nidentity: [id]\ntarget: {table: other}\n";
    for (limits, path, problem) in [
        ("per_pipeline: 1", PATH, "429 L1032 same_key"),
        ("concurrency: 1", "/v1/pipelines/other/batches", "503 L1032 same_key"),
    ] {
        let server = Server::sqlite(&format!("limits: {{{limits}}}"), &[ORDERS, OTHER]).await;
        let one = half(&server, "orders", 10).await;
        let refused = server.post(path, &[], "{\"id\":1,\"version\":1}").await;
        assert_eq!((refused.problem().as_str(), refused.header("retry-after")), (problem, "1"));
        drop(one);
        landonce_testkit::wait::until(10, "the place to be given back", async || {
            (server.post(path, &[], "{\"id\":1,\"version\":1}").await.status == 200).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn bodies_share_the_room_on_the_disk() {
    let server = Server::sqlite("limits: {body: 1MB, spool: 1MB}", &[ORDERS]).await;
    let one = half(&server, "orders", 700_000).await;
    let body = orders(20_000);
    let refused = server.post(PATH, &[], body.clone()).await;
    assert_eq!(refused.problem(), "503 L1032 same_key");
    drop(one);
    landonce_testkit::wait::until(10, "the room to be given back", async || {
        (server.post(PATH, &[], body.clone()).await.status == 200).then_some(())
    })
    .await;
}
