//! TLS, done by the server itself.

use std::sync::Arc;

use landonce_testkit::wait;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::served::{ORDERS, Server, heard};

/// A certificate in files, and the part of a server's file that names them.
fn certificate(folder: &tempfile::TempDir) -> (String, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = made.cert.pem();
    std::fs::write(folder.path().join("c.pem"), &pem).unwrap();
    std::fs::write(folder.path().join("k.pem"), made.signing_key.serialize_pem()).unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let yaml = format!("tls: {{certificate: '{}', key: '{}'}}\n", at("c.pem"), at("k.pem"));
    (yaml, CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
}

#[tokio::test]
async fn requests_are_answered_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (yaml, certificate) = certificate(&folder);
    let server = Server::sqlite(&yaml, &[ORDERS]).await;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(server.at).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut told = Vec::new();
    wait::within(10, "the answer", stream.read_to_end(&mut told)).await.unwrap();
    let told = String::from_utf8(told).unwrap();
    assert!(told.starts_with("HTTP/1.1 200") && told.contains("strict-transport-security"), "{told}");
}

#[tokio::test]
async fn whoever_does_not_shake_hands_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (yaml, _) = certificate(&folder);
    let server = Server::sqlite(&format!("{yaml}limits: {{header_time: 200ms}}"), &[ORDERS]).await;
    let mut silent = TcpStream::connect(server.at).await.unwrap();
    assert_eq!(heard(&mut silent).await, "");
    let plain = server.raw("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(!plain.contains("200"), "{plain:?}");
}
