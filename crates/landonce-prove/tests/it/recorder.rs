//! What a command sends out is kept and goes nowhere; what it reads comes from where it asked.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use landonce_prove::recorder::{Call, Recorder};
use landonce_testkit::wait;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsConnector, client::TlsStream};

async fn connect(recorder: &Recorder) -> TcpStream {
    let address = recorder.proxy_url().strip_prefix("http://").unwrap().parse::<SocketAddr>().unwrap();
    TcpStream::connect(address).await.unwrap()
}

/// Sends bytes and reads until the other side closes.
async fn raw(recorder: &Recorder, request: &str) -> String {
    let mut stream = connect(recorder).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    wait::within(20, "the answer's end", stream.read_to_string(&mut answer)).await.unwrap();
    answer
}

/// One call over a stream; the status and the body.
async fn ask<S>(stream: S, request: Request<Full<Bytes>>) -> (u16, String)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = wait::within(20, "an answer", sender.send_request(request)).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn post(uri: &str, body: &str) -> Request<Full<Bytes>> {
    Request::post(uri).header("Host", "shop.test").body(Full::from(body.to_owned())).unwrap()
}

fn variable(recorder: &Recorder, name: &str) -> Option<String> {
    let variables = recorder.environment();
    let (_, value) = variables.iter().find(|(key, _)| key == OsStr::new(name))?;
    Some(value.to_str().unwrap().to_owned())
}

/// Opens a tunnel and speaks TLS in it, trusting these.
async fn tunnel(
    recorder: &Recorder,
    to: &str,
    roots: RootCertStore,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut stream = connect(recorder).await;
    stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    assert!(head.starts_with(b"HTTP/1.1 200"));
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let host = to.rsplit_once(':').unwrap().0.to_owned();
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(host).unwrap(), stream).await
}

fn trusted(recorder: &Recorder) -> RootCertStore {
    let bundle = variable(recorder, "SSL_CERT_FILE").unwrap();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_file_iter(bundle).unwrap().map(Result::unwrap));
    roots
}

#[tokio::test]
async fn a_write_is_recorded_answered_and_goes_nowhere() {
    let theirs = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = theirs.local_addr().unwrap().port();
    let recorder = Recorder::start().await.unwrap();
    let body = format!("{{\"text\": \"{}\"}}", "é".repeat(300));
    let mut request = post(&format!("http://me:word@localhost:{port}/pay?order=7&token=x"), &body);
    request.headers_mut().insert("Idempotency-Key", "order-7".parse().unwrap());
    let (status, answer) = ask(connect(&recorder).await, request).await;
    assert_eq!((status, answer.as_str()), (200, "{}"));
    let expected = Call {
        method: "POST".into(),
        url: format!("http://***@localhost:{port}/pay?order=7&token=***"),
        body_digest: hex::encode(Sha256::digest(&body)),
        body_start: body.chars().take(200).collect(),
        idempotency_key: Some("order-7".into()),
        is_idempotent: false,
    };
    assert_eq!(recorder.calls(), [expected]);
    // Nobody has come to the server's door.
    let accepted =
        std::future::poll_fn(|context| std::task::Poll::Ready(theirs.poll_accept(context).is_ready()));
    assert!(!accepted.await);
}

#[tokio::test]
async fn a_put_is_recorded_as_idempotent() {
    let recorder = Recorder::start().await.unwrap();
    let answer = raw(
        &recorder,
        "PUT http://s.test/a HTTP/1.1\r\nHost: s.test\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
    );
    assert!(answer.await.starts_with("HTTP/1.1 200"));
    let calls = recorder.calls();
    assert_eq!((calls.len(), calls[0].is_idempotent, calls[0].url.as_str()), (1, true, "http://s.test/a"));
}

#[tokio::test]
async fn a_read_is_passed_on_and_leaves_no_trace() {
    let theirs = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = theirs.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = theirs.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream
            .write_all(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n",
            )
            .await
            .unwrap();
        String::from_utf8(head).unwrap()
    });
    let recorder = Recorder::start().await.unwrap();
    let request = Request::get(format!("http://{address}/rates?day=1"))
        .header("Host", address.to_string())
        .header("Proxy-Connection", "keep-alive")
        .body(Full::default())
        .unwrap();
    assert_eq!(ask(connect(&recorder).await, request).await, (200, "[1,2]".to_owned()));
    let head = server.await.unwrap();
    assert!(head.starts_with("GET /rates?day=1 HTTP/1.1\r\n") && !head.contains("roxy"), "{head}");
    assert_eq!(recorder.calls(), []);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_bad_gateway() {
    let port = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
    let recorder = Recorder::start().await.unwrap();
    let request = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let answer = raw(&recorder, &request).await;
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("could not be reached"), "{answer}");
}

#[tokio::test]
async fn the_hook_takes_any_call_directly_and_by_way_of_the_proxy() {
    let recorder = Recorder::start().await.unwrap();
    let hook = recorder.hook_url();
    assert!(hook.starts_with(&recorder.proxy_url()));
    ask(connect(&recorder).await, post("/hook/orders?n=1", "a")).await;
    ask(connect(&recorder).await, post(&format!("{hook}/orders?n=1"), "a")).await;
    let read = Request::get("/hook").header("Host", "x").body(Full::default()).unwrap();
    ask(connect(&recorder).await, read).await;
    let calls = recorder.calls();
    assert_eq!(calls[0], calls[1]);
    assert_eq!((calls[0].method.as_str(), calls[0].url.as_str()), ("POST", "{hook}/orders?n=1"));
    assert_eq!((calls[2].method.as_str(), calls[2].url.as_str()), ("GET", "{hook}"));
    assert_eq!(ask(connect(&recorder).await, post("/hooked", "a")).await.0, 404);
    assert_eq!(recorder.calls().len(), 3);
}

#[tokio::test]
async fn https_is_looked_into_by_who_trusts_the_bundle() {
    let recorder = Recorder::start().await.unwrap();
    for to in ["shop.test:443", "127.0.0.1:8443"] {
        let stream = tunnel(&recorder, to, trusted(&recorder)).await.unwrap();
        assert_eq!(ask(stream, post("/pay", "7")).await, (200, "{}".to_owned()));
    }
    let urls: Vec<String> =
        recorder.calls().into_iter().map(|call| format!("{} {}", call.method, call.url)).collect();
    assert_eq!(urls, ["POST https://shop.test/pay", "POST https://127.0.0.1:8443/pay"]);
}

#[tokio::test]
async fn a_client_that_does_not_trust_us_leaves_a_connect() {
    let recorder = Recorder::start().await.unwrap();
    assert!(tunnel(&recorder, "shop.test:443", RootCertStore::empty()).await.is_err());
    let call = wait::until(20, "the CONNECT", async || recorder.calls().pop()).await;
    assert_eq!((call.method.as_str(), call.url.as_str()), ("CONNECT", "https://shop.test:443/"));
}

#[tokio::test]
async fn http_in_a_tunnel_is_looked_into_too() {
    let recorder = Recorder::start().await.unwrap();
    let request = "CONNECT shop.test:80 HTTP/1.1\r\nHost: shop.test\r\n\r\n";
    let mut stream = connect(&recorder).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    assert_eq!(ask(stream, post("/pay", "7")).await.0, 200);
    assert_eq!(recorder.calls()[0].url, "http://shop.test/pay");
}

#[tokio::test]
async fn the_answer_to_the_nth_effect_is_held_and_to_the_next_is_not() {
    let recorder = Recorder::start().await.unwrap();
    recorder.hold_answer(2);
    assert_eq!(ask(connect(&recorder).await, post("/hook/1", "")).await.0, 200);
    let put = Request::put("/hook/idempotent").header("Host", "x").body(Full::default()).unwrap();
    assert_eq!(ask(connect(&recorder).await, put).await.0, 200);
    let mut killed = connect(&recorder).await;
    killed.write_all(b"POST /hook/2 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    wait::within(20, "a held call", recorder.held()).await;
    assert_eq!(recorder.calls().len(), 3, "it has gone out");
    assert_eq!(ask(connect(&recorder).await, post("/hook/2", "")).await.0, 200);
    assert!(killed.try_read(&mut [0; 1]).is_err(), "and has no answer yet");
}

#[tokio::test]
async fn a_call_cut_in_its_body_is_no_call() {
    let recorder = Recorder::start().await.unwrap();
    let mut stream = connect(&recorder).await;
    stream.write_all(b"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    wait::within(20, "the connection's end", stream.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(recorder.calls(), []);
}

#[tokio::test]
async fn the_variables_bring_every_call_here() {
    let recorder = Recorder::start().await.unwrap();
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] {
        assert_eq!(variable(&recorder, name), Some(recorder.proxy_url()));
    }
    assert_eq!(variable(&recorder, "NO_PROXY").as_deref(), Some(""));
    let bundle = variable(&recorder, "REQUESTS_CA_BUNDLE").unwrap();
    assert!(std::path::Path::new(&bundle).exists());
    drop(recorder);
    wait::until(20, "the bundle to go", async || (!std::path::Path::new(&bundle).exists()).then_some(()))
        .await;
}
