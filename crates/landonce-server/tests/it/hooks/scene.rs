//! A server with one hook, on a database of its own, and a sender for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use landonce::{Pipeline, Store};
use landonce_core::webhook::{Secret, sign};
use landonce_server::{App, Config, Hooks};
use landonce_testkit::dump::{self, Dump, Tables};
use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::proxy::Proxy;
use serde_json::Value;
use sha2::Sha256;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(super) const GITHUB_SECRET: &str = "It's a Secret to Everybody";
pub(super) const STRIPE_SECRET: &str = "whsec_test_secret";
pub(super) const STANDARD_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
pub(super) const TOKEN: &str = "c0ffee-c0ffee-c0ffee";
pub(super) const NOW: i64 = 1_700_000_000;

/// A server, its database and its clock.
pub(super) struct Scene {
    address: SocketAddr,
    clock: Arc<AtomicI64>,
    pub(super) hooks: Hooks,
    place: Place,
    name: String,
    stop: watch::Sender<bool>,
}

enum Place {
    Sqlite(tempfile::TempDir),
    Postgres(TestDatabase),
}

/// What came back.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) is_replayed: bool,
    pub(super) retry_after: Option<String>,
    pub(super) body: Value,
    pub(super) text: String,
}

impl Answer {
    /// `200 processed`, `200 duplicate`, `401 L1001`: what a sender acts on.
    pub(super) fn short(&self) -> String {
        let what = self.body.get("code").or_else(|| self.body.get("status")).and_then(Value::as_str);
        format!("{} {}", self.status, what.unwrap_or("?"))
    }
}

impl Scene {
    /// On PostgreSQL.
    pub(super) async fn postgres(yaml: &str) -> Self {
        let database = postgres::database().await;
        let url = database.url();
        let scene = Self::start(yaml, &url, Place::Postgres(database)).await;
        scene.hooks.open().await.unwrap();
        scene
    }

    /// On PostgreSQL, to which it has no connection yet.
    pub(super) async fn unopened(yaml: &str) -> Self {
        let database = postgres::database().await;
        let url = database.url();
        Self::start(yaml, &url, Place::Postgres(database)).await
    }

    /// On PostgreSQL, by way of a proxy.
    pub(super) async fn through_proxy(yaml: &str) -> (Self, Proxy) {
        let database = postgres::database().await;
        let proxy = Proxy::start(&database.url()).await;
        let scene = Self::start(yaml, proxy.url(), Place::Postgres(database)).await;
        scene.hooks.open().await.unwrap();
        (scene, proxy)
    }

    /// On SQLite.
    pub(super) async fn sqlite(yaml: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("test.db").display());
        let scene = Self::start(yaml, &url, Place::Sqlite(folder)).await;
        scene.hooks.open().await.unwrap();
        scene
    }

    async fn start(yaml: &str, url: &str, place: Place) -> Self {
        let pipeline = Pipeline::from_yaml(yaml).unwrap();
        let name = pipeline.name().to_owned();
        let store = Store::open(url).unwrap();
        let clock = Arc::new(AtomicI64::new(NOW));
        let hooks = Hooks::new(&store, [&pipeline], environment).unwrap().with_clock(Arc::new({
            let clock = Arc::clone(&clock);
            move || clock.load(Ordering::Relaxed)
        }));
        let app = App::new(Config::default(), store, vec![pipeline]).with_hooks(hooks.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(landonce_server::serve(app, listener, stopped));
        Self { address, clock, hooks, place, name, stop }
    }

    pub(super) fn at(&self, secs: i64) {
        self.clock.store(secs, Ordering::Relaxed);
    }

    /// A sender on a connection of its own.
    pub(super) async fn sender(&self) -> Sender {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (sending, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        // Ends with the server or with the sender.
        tokio::spawn(connection);
        Sender { sending, path: format!("/v1/hooks/{}", self.name), address: self.address }
    }

    /// One request on a connection of its own.
    pub(super) async fn post(&self, headers: &[(&str, &str)], body: &str) -> Answer {
        self.sender().await.post(headers, body).await
    }

    /// The status of a page.
    pub(super) async fn look(&self, path: &str) -> u16 {
        self.read(path).await.0
    }

    /// The status of a page, and its text.
    pub(super) async fn read(&self, path: &str) -> (u16, String) {
        let mut sender = self.sender().await;
        let request = hyper::Request::get(path).header("host", sender.address.to_string());
        sender.sending.ready().await.unwrap();
        let response = sender.sending.send_request(request.body(Full::default()).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let text = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(text.to_vec()).unwrap())
    }

    /// Everything, to the last value.
    pub(super) async fn dump(&self) -> Dump {
        match &self.place {
            Place::Sqlite(folder) => dump::sqlite(folder.path().join("test.db")),
            Place::Postgres(database) => dump::postgres(&database.client().await, Tables::All).await,
        }
    }

    pub(super) async fn execute(&self, sql: &str) {
        match &self.place {
            Place::Sqlite(folder) => {
                rusqlite::Connection::open(folder.path().join("test.db"))
                    .unwrap()
                    .execute_batch(sql)
                    .unwrap();
            }
            Place::Postgres(database) => database.client().await.batch_execute(sql).await.unwrap(),
        }
    }

    /// A query's first column, as text, in its order.
    pub(super) async fn column(&self, sql: &str) -> Vec<String> {
        match &self.place {
            Place::Sqlite(folder) => {
                let database = rusqlite::Connection::open(folder.path().join("test.db")).unwrap();
                let mut statement = database.prepare(sql).unwrap();
                let rows = statement.query_map([], |row| {
                    Ok(match row.get_ref(0)? {
                        rusqlite::types::ValueRef::Integer(whole) => whole.to_string(),
                        other => String::from_utf8_lossy(other.as_bytes()?).into_owned(),
                    })
                });
                rows.unwrap().map(Result::unwrap).collect()
            }
            Place::Postgres(database) => {
                let rows = database.client().await.simple_query(sql).await.unwrap();
                rows.iter()
                    .filter_map(|message| match message {
                        tokio_postgres::SimpleQueryMessage::Row(row) => {
                            Some(row.get(0).unwrap_or("NULL").to_owned())
                        }
                        _ => None,
                    })
                    .collect()
            }
        }
    }

    pub(super) fn database(&self) -> &TestDatabase {
        match &self.place {
            Place::Postgres(database) => database,
            Place::Sqlite(_) => panic!("not PostgreSQL"),
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
    }
}

fn environment(name: &str) -> Option<String> {
    let value = match name {
        "GITHUB" => GITHUB_SECRET,
        "STRIPE" => STRIPE_SECRET,
        "STANDARD" | "PAYMENTS_SECRET" => STANDARD_SECRET,
        "TOKEN" => TOKEN,
        "OTHER" => "another secret",
        "OTHER_STANDARD" => "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        _ => return None,
    };
    Some(value.to_owned())
}

/// A sender's connection.
pub(super) struct Sender {
    sending: http1::SendRequest<Full<Bytes>>,
    path: String,
    address: SocketAddr,
}

impl Sender {
    pub(super) fn path_mut(&mut self) -> &mut String {
        &mut self.path
    }

    pub(super) async fn post(&mut self, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = hyper::Request::post(&self.path).header("host", self.address.to_string());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap();
        self.sending.ready().await.unwrap();
        let response = self.sending.send_request(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        Answer {
            status: parts.status.as_u16(),
            is_replayed: header("idempotent-replayed").as_deref() == Some("true"),
            retry_after: header("retry-after"),
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
        }
    }

    /// An event signed by Standard Webhooks at [`NOW`].
    pub(super) async fn event(&mut self, id: &str, body: &str) -> Answer {
        let headers = standard(STANDARD_SECRET, id, NOW, body);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.post(&headers, body).await
    }
}

/// The headers of Standard Webhooks.
pub(super) fn standard(secret: &str, id: &str, at: i64, body: &str) -> Vec<(&'static str, String)> {
    let secret = Secret::parse(secret).unwrap();
    vec![
        ("content-type", "application/json".to_owned()),
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", at.to_string()),
        ("webhook-signature", sign(&[secret], id, at, body.as_bytes())),
    ]
}

pub(super) fn hmac_sha256(secret: &str, text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub(super) fn github_signature(secret: &str, body: &str) -> String {
    format!("sha256={}", hex::encode(hmac_sha256(secret, body)))
}

pub(super) fn stripe_signature(secret: &str, at: i64, body: &str) -> String {
    format!("t={at},v1={}", hex::encode(hmac_sha256(secret, &format!("{at}.{body}"))))
}

pub(super) fn base64_signature(secret: &str, body: &str) -> String {
    STANDARD.encode(hmac_sha256(secret, body))
}

/// A delivery as it was recorded: its headers and its body.
pub(super) struct Recorded {
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Recorded {
    pub(super) fn headers(&self) -> Vec<(&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

/// The deliveries of a fixture.
pub(super) fn recorded(ndjson: &str) -> Vec<Recorded> {
    let one = |line: &str| {
        let delivery: Value = serde_json::from_str(line).unwrap();
        let headers = delivery["headers"].as_object().unwrap().iter();
        Recorded {
            headers: headers
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                .collect(),
            body: delivery["body"].as_str().unwrap().to_owned(),
        }
    };
    ndjson.lines().map(one).collect()
}
