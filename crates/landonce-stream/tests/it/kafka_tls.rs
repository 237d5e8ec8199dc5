//! A broker behind TLS: a certificate that is known is trusted, another one isn't (C37).

use std::sync::Arc;

use landonce::{Pipeline, Store};
use landonce_testkit::kafka::Broker;
use rdkafka::config::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::topic::until_end;

/// Ends TLS before a broker, on a port of its own.
async fn terminate(listener: TcpListener, config: rustls::ServerConfig, broker: String) {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    loop {
        let (outside, _) = listener.accept().await.unwrap();
        let (acceptor, broker) = (acceptor.clone(), broker.clone());
        tokio::spawn(async move {
            let Ok(mut outside) = acceptor.accept(outside).await else { return };
            let mut inside = TcpStream::connect(broker).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
        });
    }
}

fn pipeline(folder: &std::path::Path, at: &str, ca: &str) -> Pipeline {
    let yaml = format!(
        "pipeline: flights\nidentity: [id]\ntarget: {{table: flight, columns: {{id: integer}}}}\nsource:\n  kafka:\n    brokers: ['{at}']\n    \
         group: g\n    topics: [t]\n    tls: {{ca: {ca}}}\n    properties: {{session.timeout.ms: '6000'}}\n"
    );
    let path = folder.join("p.yaml");
    std::fs::write(&path, yaml).unwrap();
    Pipeline::from_file(path).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_is_read_over_tls_from_a_broker_whose_certificate_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(folder.path().join("ca.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("other.pem"), other.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let broker = Broker::start_behind(Some(&at), &["t:1"]);
    tokio::spawn(terminate(listener, config, broker.address().to_owned()));

    let ca = folder.path().join("ca.pem");
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &at)
        .set("security.protocol", "ssl")
        .set("ssl.ca.location", ca.to_str().unwrap())
        .create()
        .unwrap();
    for id in 0..50 {
        let value = format!("{{\"id\":{id}}}");
        let record: BaseRecord<'_, str, str> = BaseRecord::to("t").partition(0).payload(&value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(std::time::Duration::from_secs(30)).unwrap();

    let store = Store::open(&format!("sqlite:{}", folder.path().join("f.db").display())).unwrap();
    let tally = until_end(&pipeline(folder.path(), &at, "ca.pem"), &store).await.unwrap();
    assert_eq!((tally.messages, tally.outcome.inserted), (50, 50));
    let told = until_end(&pipeline(folder.path(), &at, "other.pem"), &store).await.unwrap_err();
    assert_eq!(told.code(), landonce::Code::L1102, "{told}");
    let told = landonce_stream::kafka::Kafka::open(&pipeline(folder.path(), &at, "none.pem")).unwrap_err();
    assert!(told.to_string().contains("none.pem is no file"), "{told}");
}
