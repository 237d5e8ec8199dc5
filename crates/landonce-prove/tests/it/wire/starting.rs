//! The start-up: TLS is declined towards the client, and spoken to a server that wants it.

use std::sync::Arc;

use landonce_prove::wire::{Proxy, dial};
use landonce_testkit::postgres;
use landonce_testkit::wait::{until, within};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::NoTls;
use tokio_rustls::TlsAcceptor;

use super::{Rig, run};

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const GSSENC_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 48];

async fn asks(proxy: &Proxy, requests: &[[u8; 8]]) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
    for request in requests {
        stream.write_all(request).await.unwrap();
        assert_eq!(within(10, "an answer", stream.read_u8()).await.unwrap(), b'N');
    }
    stream
}

#[tokio::test]
async fn a_client_that_insists_on_tls_is_noticed() {
    let rig = Rig::new().await;
    let is_demanded = async || rig.proxy.is_tls_demanded().then_some(());
    drop(asks(&rig.proxy, &[GSSENC_REQUEST]).await);
    drop(asks(&rig.proxy, &[]).await);
    let preferring = asks(&rig.proxy, &[GSSENC_REQUEST, SSL_REQUEST]).await;
    assert!(!rig.proxy.is_tls_demanded());
    drop(preferring);
    until(10, "the proxy to notice", is_demanded).await;
    // Another that comes without shows that the first only preferred it.
    run(&rig.client().await, "SELECT 1", true).await.unwrap();
    assert!(!rig.proxy.is_tls_demanded());
    let mut direct = TcpStream::connect(("127.0.0.1", rig.proxy.port())).await.unwrap();
    direct.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).await.unwrap();
    until(10, "the proxy to notice", is_demanded).await;
}

#[tokio::test]
async fn no_other_database_is_reached() {
    let rig = Rig::new().await;
    let other = postgres::database().await;
    let mut config: tokio_postgres::Config = rig.proxy.url().parse().unwrap();
    let refused = within(10, "an answer", config.dbname(other.name()).connect(NoTls)).await.err().unwrap();
    let said = refused.as_db_error().unwrap();
    assert_eq!(said.code().code(), "3D000");
    assert!(said.message().contains(other.name()), "{said}");
    assert!(said.hint().unwrap().contains(rig.database.name()), "{said:?}");
    assert!(within(10, "a way in", config.dbname(rig.database.name()).connect(NoTls)).await.is_ok());
}

#[tokio::test]
async fn a_server_that_is_not_there_ends_the_clients_connection() {
    let proxy = Proxy::start("postgres://u@127.0.0.1:1/d").await.unwrap();
    let connected = tokio_postgres::connect(proxy.url(), NoTls);
    assert!(within(10, "the end", connected).await.err().unwrap().is_closed());
}

/// A front to the testing server that speaks TLS, as `localhost`; its URL without `sslmode`, and its certificate.
async fn tls_front(rig: &Rig) -> (String, String) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = certified.cert.pem();
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(certified.signing_key.serialize_pem().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let server: tokio_postgres::Config = rig.database.url().parse().unwrap();
    let (user, port) = (server.get_user().unwrap().to_owned(), server.get_ports()[0]);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!(
        "postgres://{user}@localhost:{}/{}",
        listener.local_addr().unwrap().port(),
        rig.database.name()
    );
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut request = [0; 8];
                if client.read_exact(&mut request).await.is_err() || request != SSL_REQUEST {
                    return;
                }
                client.write_all(b"S").await.unwrap();
                let Ok(mut client) = acceptor.accept(client).await else { return };
                let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (url, pem)
}

#[tokio::test]
async fn a_server_is_spoken_to_as_sslmode_says() {
    let rig = Rig::new().await;
    let (url, pem) = tls_front(&rig).await;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root.pem");
    std::fs::write(&root, pem).unwrap();
    let other = folder.path().join("other.pem");
    let foreign = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&other, foreign.cert.pem()).unwrap();
    let at_address = url.replace("localhost", "127.0.0.1");
    let (root, other) = (root.display(), other.display());
    for (url, is_let_in) in [
        (format!("{url}?sslmode=prefer"), true),
        (format!("{url}?sslmode=require"), true),
        (format!("{url}?sslmode=verify-full&sslrootcert={root}"), true),
        (format!("{at_address}?sslmode=verify-ca&sslrootcert={root}"), true),
        (format!("{at_address}?sslmode=verify-full&sslrootcert={root}"), false),
        (format!("{url}?sslmode=verify-ca&sslrootcert={other}"), false),
        (format!("{url}?sslmode=disable"), false),
        (format!("{}?sslmode=require", rig.database.url()), false),
        (format!("{}?sslmode=prefer", rig.database.url()), true),
    ] {
        let proxy = Proxy::start(&url).await.unwrap();
        let connected = within(20, "the proxy", tokio_postgres::connect(proxy.url(), NoTls)).await;
        assert_eq!(connected.is_ok(), is_let_in, "{url}");
        if let Ok((client, connection)) = connected {
            tokio::spawn(connection);
            run(&client, "SELECT 1", false).await.unwrap();
        }
        assert_eq!(dial::connect(&url).await.is_ok(), is_let_in, "{url}");
    }
}
