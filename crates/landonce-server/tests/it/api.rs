//! The API does what its document says: schemathesis makes requests of it, right ones and wrong ones, and holds every answer against
//! it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use landonce::{Pipeline, Store};
use landonce_server::{App, Config, Hooks};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A pipeline of each kind that answers otherwise.
const PIPELINES: [&str; 4] = [
    "{pipeline: orders, identity: [id], target: {table: orders}}",
    "{pipeline: readings, identity: [id], target: {table: readings, columns: {id: integer}}, source: {format: csv}}",
    "{pipeline: daily, identity: [id], target: {table: daily, columns: {id: integer, day: date}}, \
     write: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}}",
    "{pipeline: events, identity: [id], target: {table: events}, \
     hook: {scheme: bearer, secrets: ['${EVENTS_TOKEN}'], event_id: content}}",
];
const TOKEN: &str = "c0ffee-c0ffee-c0ffee";

/// The schemathesis beside the tests' Python.
fn schemathesis() -> PathBuf {
    let python =
        std::env::var("LANDONCE_TEST_PYTHON").expect("LANDONCE_TEST_PYTHON names a Python with schemathesis");
    Path::new(&python).with_file_name("schemathesis")
}

async fn start(store: &Store) -> (SocketAddr, watch::Sender<bool>) {
    let pipelines: Vec<Pipeline> = PIPELINES
        .iter()
        .map(|yaml| Pipeline::from_yaml(yaml).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let secret = |name: &str| (name == "EVENTS_TOKEN").then(|| TOKEN.to_owned());
    let hooks = Hooks::new(store, &pipelines, secret).unwrap();
    store.migrate().await.unwrap();
    let app = App::new(Config::default(), store.clone(), pipelines).with_hooks(hooks);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(landonce_server::serve(app, listener, stopped));
    (address, stop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_one_that_the_document_has() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&format!("sqlite:{}", folder.path().join("test.db").display())).unwrap();
    let (address, stop) = start(&store).await;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut command = Command::new(schemathesis());
    command
        .args(["run", &format!("http://{address}/openapi.json"), "--url", &format!("http://{address}")])
        .args([
            "--checks",
            "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
        ])
        .args(["--phases", "examples,coverage,fuzzing", "--max-examples", "50", "--seed", "20261130"])
        .args(["--generation-database", "none", "--no-color"])
        .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
        .env("PYTHONPATH", &fixtures)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SCHEMATHESIS_HOOKS", "schemathesis_hooks")
        .current_dir(folder.path());
    let ran = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{told}");
    // It came further than the door.
    let landed = store.batches(1000).await.unwrap();
    for pipeline in ["orders", "events"] {
        assert!(
            landed.iter().any(|batch| batch.pipeline == pipeline),
            "nothing landed in {pipeline}: {told}"
        );
    }
    stop.send(true).unwrap();
}
