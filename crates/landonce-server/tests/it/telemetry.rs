//! Traces and lineage are told to collectors, and no collector is ever waited for.

use std::net::SocketAddr;
use std::path::Path;

use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use landonce::{Pipeline, Store};
use landonce_deliver::environment::Environment;
use landonce_server::{App, Config};
use landonce_testkit::receiver::{Receiver, Reply, Setup};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const PIPELINE: &str = "{pipeline: orders, identity: [id], target: {table: orders, columns: {id: integer}}}";
const SECRET: &str = "s3kr3t-of-the-collector";

struct Scene {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    serving: JoinHandle<std::io::Result<()>>,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn start(telemetry: &str) -> Self {
        let secret = |name: &str| (name == "SECRET").then(|| SECRET.to_owned());
        let config =
            Config::parse_in(&format!("telemetry: {telemetry}\n"), Path::new(""), Environment::new(&secret))
                .unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&format!("sqlite:{}", folder.path().join("test.db").display())).unwrap();
        store.migrate().await.unwrap();
        let app = App::new(config, store, vec![Pipeline::from_yaml(PIPELINE).unwrap()]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        let serving = tokio::spawn(landonce_server::serve(app, listener, stopped));
        Self { address, stop, serving, _folder: folder }
    }

    async fn deliver(&self, key: &str, body: &str) -> (u16, Value) {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sending, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = hyper::Request::post("/v1/pipelines/orders/batches")
            .header("host", self.address.to_string())
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
            .body(Full::new(bytes::Bytes::from(body.to_owned())))
            .unwrap();
        let answer = sending.send_request(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    /// Ends it; what waits to be told has been by then.
    async fn end(self) {
        self.stop.send(true).unwrap();
        self.serving.await.unwrap().unwrap();
    }
}

#[cfg(feature = "otlp")]
fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(feature = "otlp")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_a_span_of_its_senders_trace() {
    let collector = Receiver::start(Setup::default()).await;
    let scene = Scene::start(&format!(
        "{{otlp: {{endpoint: '{}/v1/traces', headers: {{x-api-key: '${{SECRET}}'}}}}}}",
        collector.url().trim_end_matches('/')
    ))
    .await;
    let (status, told) = scene.deliver("b1", r#"[{"id":1}]"#).await;
    assert_eq!(status, 200, "{told}");
    let (status, _) = scene.deliver("b2", r#"[{"id":"none"}]"#).await;
    assert_eq!(status, 422);
    scene.end().await;
    let received = collector.received();
    assert!(!received.is_empty());
    assert!(received.iter().all(|one| one.path.ends_with("/v1/traces")));
    assert!(received.iter().all(|one| one.header("x-api-key") == Some(SECRET)));
    let all: Vec<u8> = received.iter().flat_map(|one| one.body.to_vec()).collect();
    let trace = hex::decode("0af7651916cd43dd8448eb211c80319c").unwrap();
    let parent = hex::decode("b7ad6b7169203331").unwrap();
    for part in [
        trace.as_slice(),
        &parent,
        b"POST /v1/pipelines/{name}/batches",
        b"landonce.batch_id",
        b"b1",
        told["run_id"].as_str().unwrap().as_bytes(),
        b"processed",
        b"L0401", // why the second was refused
    ] {
        assert!(holds(&all, part), "{}", String::from_utf8_lossy(part));
    }
}

#[cfg(feature = "openlineage")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_a_run_with_a_beginning_and_an_end() {
    let receiver = Receiver::start(Setup::default()).await;
    let scene = Scene::start(&format!(
        "{{openlineage: {{url: '{}/api/v1/lineage', namespace: prod, token: '${{SECRET}}'}}}}",
        receiver.url().trim_end_matches('/')
    ))
    .await;
    let (_, told) = scene.deliver("b1", r#"[{"id":1},{"id":2}]"#).await;
    assert_eq!(scene.deliver("b1", r#"[{"id":1},{"id":2}]"#).await.1["status"], "skipped_duplicate");
    assert_eq!(scene.deliver("b2", r#"[{"id":"none"}]"#).await.0, 422);
    scene.end().await;
    let events: Vec<Value> =
        receiver.received().iter().map(|one| serde_json::from_slice(&one.body).unwrap()).collect();
    let bearer = format!("Bearer {SECRET}");
    assert!(receiver.received().iter().all(|one| one.header("authorization") == Some(bearer.as_str())));
    let kinds: Vec<&str> = events.iter().map(|event| event["eventType"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["START", "COMPLETE", "START", "COMPLETE", "START", "FAIL"]);
    for event in &events {
        // What the specification requires of a run event, of its run, its job and its data sets.
        for field in ["/eventTime", "/producer", "/schemaURL", "/run/runId", "/job/namespace", "/job/name"] {
            assert!(event.pointer(field).is_some_and(Value::is_string), "{field}: {event}");
        }
        assert!(event["schemaURL"].as_str().unwrap().ends_with("#/$defs/RunEvent"));
        assert!(event["eventTime"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
        assert!(event["run"]["runId"].as_str().unwrap().parse::<uuid::Uuid>().is_ok());
        assert_eq!(
            (event["job"]["namespace"].as_str(), event["job"]["name"].as_str()),
            (Some("prod"), Some("orders"))
        );
        for set in event["inputs"].as_array().unwrap().iter().chain(event["outputs"].as_array().unwrap()) {
            assert!(set["namespace"].is_string() && set["name"].is_string(), "{set}");
        }
        assert!(event["outputs"][0]["name"].as_str().unwrap().ends_with("test.db.orders"));
    }
    let rows = |at: usize| &events[at]["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"];
    assert_eq!((rows(1), rows(3)), (&Value::from(2), &Value::from(0)));
    assert_eq!(events[0]["run"]["runId"], told["run_id"]);
    assert_eq!(events[0]["run"]["runId"], events[1]["run"]["runId"]);
    assert_ne!(events[0]["run"]["runId"], events[2]["run"]["runId"]);
    let why = &events[5]["run"]["facets"]["errorMessage"];
    assert!(why["message"].as_str().unwrap().starts_with("L0401"), "{why}");
}

#[cfg(all(feature = "otlp", feature = "openlineage"))]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collectors_that_fail_fail_no_batch() {
    let broken = Receiver::start(Setup {
        plan: Some(Box::new(|_, _| Some(Reply::CloseBeforeAnswer))),
        ..Setup::default()
    })
    .await;
    let url = broken.url().trim_end_matches('/');
    let scene =
        Scene::start(&format!("{{otlp: {{endpoint: '{url}/x'}}, openlineage: {{url: '{url}/x'}}}}")).await;
    for key in ["b1", "b2", "b3"] {
        assert_eq!(scene.deliver(key, r#"[{"id":1}]"#).await.0, 200);
    }
    scene.end().await;
}

#[cfg(not(any(feature = "otlp", feature = "openlineage")))]
#[tokio::test]
async fn what_this_build_can_not_do_is_a_fault_of_the_file() {
    for (telemetry, feature) in
        [("{otlp: {endpoint: 'http://c:1'}}", "otlp"), ("{openlineage: {url: 'http://c:1'}}", "openlineage")]
    {
        let told = Config::parse(&format!("telemetry: {telemetry}\n")).unwrap_err().to_string();
        assert!(told.contains(&format!("--features landonce-cli/{feature}")), "{told}");
    }
    // And without, everything is as it is with.
    let scene = Scene::start("{}").await;
    assert_eq!(scene.deliver("b1", r#"[{"id":1}]"#).await.0, 200);
    drop((Receiver::start(Setup::default()).await, Reply::status(200), SECRET));
    scene.end().await;
}
