//! What needs a server with a certificate of its own: a read by https goes through to it.

use std::sync::Arc;

use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::authority::Authority;
use super::forward::Outside;
use super::{Recorder, Result};

/// The last certificate of a bundle: the authority's own.
fn roots(bundle: &std::path::Path) -> RootCertStore {
    let certificate = CertificateDer::pem_file_iter(bundle).unwrap().last().unwrap().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    roots
}

#[tokio::test]
async fn a_read_by_https_is_passed_on_and_its_answer_comes_back() -> Result<()> {
    // The real server: it answers with the head that it was sent.
    let theirs = Authority::new()?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(theirs.server("127.0.0.1").unwrap());
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let answer = format!("HTTP/1.1 203 X\r\nX-From: them\r\nContent-Length: {}\r\n\r\n", head.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.write_all(&head).await.unwrap();
        stream.flush().await.unwrap();
    });

    let recorder = Recorder::start_with(Outside::trusting(roots(theirs.bundle()))?).await?;
    let mut stream = TcpStream::connect(recorder.shared.address).await.unwrap();
    stream.write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 200"));
    let client = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots(recorder.shared.authority.bundle()))
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = TlsConnector::from(Arc::new(client)).connect(name, stream).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("/a?b=1")
        .header("Host", "shop.test")
        .header("Proxy-Authorization", "secret")
        .body(Empty::<bytes::Bytes>::new())
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 203);
    assert_eq!(response.headers()["x-from"], "them");
    let seen = response.into_body().collect().await.unwrap().to_bytes();
    let seen = std::str::from_utf8(&seen).unwrap().to_ascii_lowercase();
    assert!(seen.starts_with("get /a?b=1 http/1.1\r\n") && seen.contains("host: shop.test"), "{seen}");
    assert!(!seen.contains("secret"), "{seen}");
    server.await.unwrap();
    assert_eq!(recorder.calls(), []);
    Ok(())
}
