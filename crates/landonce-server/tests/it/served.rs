//! A server of a test's own, in this process, on a free port; and a client that says exactly what it is told to say.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::HeaderMap;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use landonce::{Pipeline, Store};
use landonce_server::{App, Config};
use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::wait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Orders, by their id.
pub(crate) const ORDERS: &str = "
pipeline: orders
identity: [id]
target: {table: orders, columns: {version: integer}}
write: {version: version}
";

/// A running server. Its task ends with the test.
pub(crate) struct Server {
    pub(crate) at: SocketAddr,
    stop: watch::Sender<bool>,
    running: JoinHandle<std::io::Result<()>>,
    place: Place,
    _folder: Arc<tempfile::TempDir>,
}

enum Place {
    Sqlite(String),
    Postgres(TestDatabase),
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// A field of the JSON, as text.
    pub(crate) fn field(&self, name: &str) -> String {
        match &self.json()[name] {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// `422 L0501 stop`
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        format!("{} {} {}", self.status, self.field("code"), self.field("retry"))
    }
}

impl Server {
    pub(crate) async fn sqlite(config: &str, pipelines: &[&str]) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let url = format!("sqlite:{}", folder.path().join("test.db").display());
        Self::start(config, pipelines, &url, Place::Sqlite(url.clone()), folder).await
    }

    pub(crate) async fn postgres(config: &str, pipelines: &[&str]) -> Self {
        let database = postgres::database().await;
        let url = database.url();
        Self::on(database, &url, config, pipelines).await
    }

    /// On a database that is reached by another URL: through a proxy.
    pub(crate) async fn on(database: TestDatabase, url: &str, config: &str, pipelines: &[&str]) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::start(config, pipelines, url, Place::Postgres(database), folder).await
    }

    async fn start(
        config: &str,
        pipelines: &[&str],
        url: &str,
        place: Place,
        folder: Arc<tempfile::TempDir>,
    ) -> Self {
        let config = Config::parse(if config.is_empty() { "{}" } else { config }).unwrap();
        let store = Store::open(url).unwrap();
        store.migrate().await.unwrap();
        let pipelines = pipelines.iter().map(|yaml| Pipeline::from_yaml(yaml).unwrap()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        let running =
            tokio::spawn(landonce_server::serve(App::new(config, store, pipelines), listener, stopped));
        Self { at, stop, running, place, _folder: folder }
    }

    /// How many rows a table has; none where there is no table.
    pub(crate) async fn rows(&self, table: &str) -> i64 {
        let table = match (&self.place, table.strip_prefix("landonce_")) {
            (Place::Postgres(_), Some(own)) => format!("landonce.{own}"),
            _ => table.to_owned(),
        };
        let sql = format!("SELECT count(*) FROM {table}");
        match &self.place {
            Place::Sqlite(url) => {
                let path = url.strip_prefix("sqlite:").unwrap();
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.query_row(&sql, [], |row| row.get(0)).unwrap_or(0)
            }
            Place::Postgres(database) => {
                let client = database.client().await;
                client.query_one(&sql, &[]).await.map_or(0, |row| row.get(0))
            }
        }
    }

    /// A connection of somebody else's to its database.
    pub(crate) async fn client(&self) -> tokio_postgres::Client {
        match &self.place {
            Place::Sqlite(_) => panic!("a test of PostgreSQL"),
            Place::Postgres(database) => database.client().await,
        }
    }

    /// Tells it to stop, and doesn't wait.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until it has ended; its database, to look at.
    pub(crate) async fn ended(self) -> Option<TestDatabase> {
        wait::within(30, "the server to end", self.running).await.unwrap().unwrap();
        match self.place {
            Place::Postgres(database) => Some(database),
            Place::Sqlite(_) => None,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    /// As [`Server::get`], where the connection may be refused.
    pub(crate) async fn get_or_none(&self, path: &str) -> Option<Answer> {
        let heard =
            self.raw(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")).await;
        let status = heard.get(9..12)?.parse().ok()?;
        Some(Answer { status, headers: HeaderMap::new(), text: heard })
    }

    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
        self.send(Method::POST, path, headers, body).await
    }

    /// Delivers NDJSON to `orders`, under a key.
    pub(crate) async fn deliver(&self, key: &str, body: impl Into<Bytes>) -> Answer {
        self.post("/v1/pipelines/orders/batches", &[("idempotency-key", key)], body).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        send(self.at, method, path, headers, body.into()).await
    }

    /// Says something, and what comes back until the server closes the connection.
    pub(crate) async fn raw(&self, said: impl AsRef<[u8]>) -> String {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        stream.write_all(said.as_ref()).await.unwrap();
        heard(&mut stream).await
    }
}

/// One request on a connection of its own.
pub(crate) async fn send(
    at: SocketAddr,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Answer {
    let stream = TcpStream::connect(at).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    let talking = tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", at.to_string());
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body)).unwrap();
    let response = wait::within(60, "an answer", sender.send_request(request)).await.unwrap();
    let (parts, body) = response.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    talking.abort();
    Answer { status: StatusCode::as_u16(&parts.status), headers: parts.headers, text }
}

/// All that comes until the other side closes.
pub(crate) async fn heard(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // A reset is an end, too.
    let _ = wait::within(30, "the server to close the connection", stream.read_to_end(&mut all)).await;
    String::from_utf8_lossy(&all).into_owned()
}

/// So many orders, as NDJSON.
pub(crate) fn orders(count: usize) -> String {
    (1..=count).map(|id| format!("{{\"id\":{id},\"version\":1,\"item\":\"item {id}\"}}\n")).collect()
}
