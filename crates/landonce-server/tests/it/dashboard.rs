//! The dashboard and the alerts in `deploy/grafana` ask for figures that there are.

use std::collections::BTreeSet;
use std::path::Path;

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use landonce::{Pipeline, Store};
use landonce_server::{App, Config};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const PIPELINE: &str = "{pipeline: orders, identity: [id], target: {table: orders, columns: {id: integer}}, \
                        notify: [{topic: orders, on: [inserted]}]}";

/// Everything in a text that is named like a figure of ours.
fn names(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("landonce_"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn every_figure_that_is_asked_for_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&format!("sqlite:{}", folder.path().join("test.db").display())).unwrap();
    store.migrate().await.unwrap();
    let app = App::new(Config::default(), store, vec![Pipeline::from_yaml(PIPELINE).unwrap()]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(landonce_server::serve(app, listener, stopped));
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sending, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut ask = async |method: &str, path: &str, body: &str| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", address.to_string())
            .header("content-type", "application/json")
            .body(Full::new(bytes::Bytes::from(body.to_owned())))
            .unwrap();
        let answer = sending.send_request(request).await.unwrap();
        let status = answer.status().as_u16();
        (status, String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap())
    };
    // One that lands, one that is refused.
    let path = "/v1/pipelines/orders/batches";
    assert_eq!(ask("POST", path, r#"[{"id":1}]"#).await.0, 200);
    assert_eq!(ask("POST", path, r#"[{"id":"none"}]"#).await.0, 422);
    let (status, figures) = ask("GET", "/metrics", "").await;
    assert_eq!(status, 200);
    let there = names(&figures);
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/grafana");
    for file in ["landonce.json", "alerts.yaml"] {
        let asked = names(&std::fs::read_to_string(deploy.join(file)).unwrap());
        assert!(asked.len() > 5, "{file}: {asked:?}");
        let missing: Vec<&String> = asked.difference(&there).collect();
        assert!(missing.is_empty(), "{file} asks for {missing:?}; there are {there:?}");
    }
    stop.send(true).unwrap();
}
