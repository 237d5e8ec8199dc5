//! The receiver keeps what it is sent, tells good signatures from bad ones, and breaks exactly as it is told.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use landonce_testkit::receiver::{Certificates, Received, Receiver, Reply, Setup};
use landonce_testkit::wait::within;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use standardwebhooks::Webhook;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn client() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http()
}

fn request(url: &str, id: &str, body: &str, secret: &str) -> http::Request<Full<Bytes>> {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
    let signature = Webhook::new(secret).unwrap().sign(id, at, body.as_bytes()).unwrap();
    http::Request::post(url)
        .header("webhook-id", id)
        .header("webhook-timestamp", at)
        .header("webhook-signature", signature)
        .body(Full::from(body.to_owned()))
        .unwrap()
}

/// The status and the body.
async fn send<C>(
    client: &Client<C, Full<Bytes>>,
    request: http::Request<Full<Bytes>>,
) -> Result<(u16, Bytes), Failure>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let answer = within(10, "an answer", client.request(request)).await?;
    let status = answer.status().as_u16();
    Ok((status, within(10, "its body", answer.into_body().collect()).await?.to_bytes()))
}

#[tokio::test]
async fn everything_is_kept_in_order_and_counted() {
    let receiver = Receiver::start(Setup::of_key("/flight")).await;
    for (id, body) in [
        ("m1", r#"{"flight":"A"}"#),
        ("m2", r#"{"flight":7}"#),
        ("m1", r#"{"flight":"A"}"#),
        ("m3", "no JSON"),
    ] {
        assert_eq!(send(&client(), request(receiver.url(), id, body, SECRET)).await.unwrap().0, 200);
    }
    let got = receiver.received();
    assert_eq!(
        got.iter().map(|one| one.id.as_deref().unwrap()).collect::<Vec<_>>(),
        ["m1", "m2", "m1", "m3"]
    );
    assert_eq!(got[1].body, r#"{"flight":7}"#);
    assert_eq!((got[0].method.as_str(), got[0].path.as_str()), ("POST", "/"));
    assert_eq!(got[0].header("webhook-id"), Some("m1"));
    assert_eq!(got[0].signature, None, "there is no secret to check with");
    assert_eq!(receiver.count_by_id(), [("m1".to_owned(), 2), ("m2".into(), 1), ("m3".into(), 1)].into());
    assert_eq!(receiver.count_by_key(), [("7".to_owned(), 1), ("A".into(), 2)].into());
    assert_eq!((receiver.connections(), receiver.most_at_once()), (4, 1));
}

#[tokio::test]
async fn a_signature_is_good_or_bad_by_the_official_library() {
    let receiver =
        Receiver::start(Setup { secrets: vec![OTHER.into(), SECRET.into()], ..Setup::default() }).await;
    let mut forged = request(receiver.url(), "m2", "body", SECRET);
    *forged.body_mut() = Full::from("another");
    let unsigned = http::Request::post(receiver.url()).body(Full::from("body")).unwrap();
    for request in [request(receiver.url(), "m1", "body", SECRET), forged, unsigned] {
        send(&client(), request).await.unwrap();
    }
    let signed: Vec<bool> = receiver.received().iter().map(Received::is_signed).collect();
    assert_eq!(signed, [true, false, false]);
}

#[tokio::test]
async fn it_answers_as_the_scripts_say_and_a_keys_own_comes_first() {
    let plan = |_: &Received, before: usize| (before == 0).then(|| Reply::status(500));
    let receiver = Receiver::start(Setup { plan: Some(Box::new(plan)), ..Setup::of_key("/k") }).await;
    receiver.script([Reply::status(429).retry_after("7").body("slow down")]);
    receiver.script_for("B", [Reply::redirect(307, "http://127.0.0.1:1/")]);
    let mut answers = Vec::new();
    for (id, body) in
        [("b", r#"{"k":"B"}"#), ("a", r#"{"k":"A"}"#), ("a", r#"{"k":"A"}"#), ("c", r#"{"k":"C"}"#)]
    {
        let answer = client().request(request(receiver.url(), id, body, SECRET)).await.unwrap();
        answers.push((
            answer.status().as_u16(),
            answer.headers().clone(),
            answer.into_body().collect().await.unwrap().to_bytes(),
        ));
    }
    assert_eq!(answers.iter().map(|answer| answer.0).collect::<Vec<_>>(), [307, 429, 200, 500]);
    assert_eq!(answers[0].1["location"], "http://127.0.0.1:1/");
    assert_eq!((&answers[1].1["retry-after"], &answers[1].2), (&"7".parse().unwrap(), &"slow down".into()));
    let acknowledged: Vec<bool> =
        receiver.received().iter().map(|got| got.reply.is_acknowledgement()).collect();
    assert_eq!(acknowledged, [false, false, true, false]);
}

#[tokio::test]
async fn it_hangs_until_it_is_released() {
    let receiver = Receiver::start(Setup::default()).await;
    receiver.script([Reply::Hang, Reply::Hang]);
    let [first, second] = ["m1", "m2"].map(|id| {
        let request = request(receiver.url(), id, "", SECRET);
        tokio::spawn(async move { send(&client(), request).await })
    });
    receiver.wait_for(10, "two requests", |got| got.len() == 2).await;
    assert_eq!(receiver.most_at_once(), 2);
    assert!(!first.is_finished() && !second.is_finished());
    receiver.release();
    assert_eq!(first.await.unwrap().unwrap().0, 200);
    assert_eq!(second.await.unwrap().unwrap().0, 200);
}

#[tokio::test]
async fn it_closes_before_an_answer_or_cuts_after_its_head() {
    let receiver = Receiver::start(Setup::default()).await;
    receiver.script([Reply::CloseBeforeAnswer, Reply::CutAfterHead]);
    assert!(client().request(request(receiver.url(), "m1", "", SECRET)).await.is_err());
    let answer = client().request(request(receiver.url(), "m2", "", SECRET)).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(within(10, "a cut", answer.into_body().collect()).await.is_err());
    assert_eq!(receiver.received().len(), 2, "both have arrived all the same");
}

#[tokio::test]
async fn bodies_are_slow_or_huge_as_told() {
    let receiver = Receiver::start(Setup::default()).await;
    let every = Duration::from_millis(20);
    receiver.script([Reply::Slow { bytes: 6, every }, Reply::Huge { bytes: 10_000_001 }]);
    let begun = std::time::Instant::now();
    assert_eq!(
        send(&client(), request(receiver.url(), "m1", "", SECRET)).await.unwrap(),
        (200, "......".into())
    );
    assert!(begun.elapsed() >= every * 5);
    let (_, huge) = send(&client(), request(receiver.url(), "m2", "", SECRET)).await.unwrap();
    assert_eq!(huge.len(), 10_000_001);
}

#[tokio::test]
async fn over_tls_a_client_without_a_certificate_makes_no_request() {
    let certificates = Certificates::new(true);
    let receiver = Receiver::start(Setup { tls: Some(certificates.clone()), ..Setup::default() }).await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificates.authority_pem().as_bytes()).unwrap()).unwrap();
    let builder =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
    let (certificate, key) = certificates.client_pem();
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let known = builder.clone().with_client_auth_cert(chain, key).unwrap();
    let send = async |config| {
        let https = HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1().build();
        send(&Client::builder(TokioExecutor::new()).build(https), request(receiver.url(), "m1", "", SECRET))
            .await
    };
    assert!(send(builder.with_no_client_auth()).await.is_err());
    assert_eq!(receiver.received().len(), 0);
    assert_eq!(send(known).await.unwrap().0, 200);
}
