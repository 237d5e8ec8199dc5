//! An HTTP recorder: a proxy (`HTTP_PROXY`, `HTTPS_PROXY`) and a webhook URL that keeps what goes out.
//!
//! Calls that only read (GET, HEAD, OPTIONS) through the proxy are passed on, and leave no trace here; others are answered
//! `200 {}` and go nowhere. https is looked into with certificates of a throw-away authority, which the variables of
//! [`Recorder::environment`] tell the command to trust.
//!
//! What it can't see: HTTP/2 without HTTP/1.1 (gRPC), SMTP, message brokers and other protocols of their own, except as a
//! `CONNECT` where the client tunnels them; clients that ignore the variables (Java without system properties, Node's `fetch`
//! before version 24) or bypass them for local addresses (Go does); clients that pin certificates or have their own store:
//! their call fails, and a `CONNECT` is recorded. A proxy that the user needs to get out is not used to pass reads on.
//!
//! `connection` speaks with clients, `forward` passes reads on, `authority` makes certificates, `blot` hides secrets of URLs.

mod authority;
mod blot;
mod connection;
mod forward;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::error::{Error, Result};
use authority::Authority;
use forward::Outside;

/// How many characters of a body are kept.
const BODY_START: usize = 200;

/// A running recorder. Dropping it cuts every connection through it.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// A call that went out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Call {
    /// The method, in capitals; `CONNECT` for a tunnel that couldn't be looked into.
    pub method: String,
    /// The URL, its query included, credentials blotted out. Of a call to [`Recorder::hook_url`] that part is written `{hook}`,
    /// so that calls to different recorders compare.
    pub url: String,
    /// Hex of the SHA-256 of the body.
    pub body_digest: String,
    /// The body's first 200 characters.
    pub body_start: String,
    /// The value of `Idempotency-Key` (or `X-Idempotency-Key`, `Webhook-Id`), if it has one.
    pub idempotency_key: Option<String>,
    /// Whether doing it twice is doing it once by the rules of HTTP (RFC 9110 §9.2.2).
    pub is_idempotent: bool,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    authority: Authority,
    outside: Outside,
    log: Mutex<Log>,
    is_held: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Log {
    calls: Vec<Call>,
    /// How many of them aren't idempotent; tunnels that failed don't count, nothing went out by them.
    effects: u64,
    /// The effect whose answer is held back.
    hold: Option<u64>,
}

impl Recorder {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// Fails without a free port, or a temporary folder for the certificate.
    pub async fn start() -> Result<Self> {
        Self::start_with(Outside::with_native_roots()?).await
    }

    async fn start_with(outside: Outside) -> Result<Self> {
        let no_port =
            |source| Error::because("no free port of 127.0.0.1 for the recorder of HTTP calls", source);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(no_port)?;
        let shared = Arc::new(Shared {
            address: listener.local_addr().map_err(no_port)?,
            authority: Authority::new()?,
            outside,
            log: Mutex::default(),
            is_held: watch::Sender::new(false),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { shared, accepting })
    }

    /// `http://127.0.0.1:PORT`, for HTTP_PROXY and HTTPS_PROXY.
    pub fn proxy_url(&self) -> String {
        format!("http://{}", self.shared.address)
    }

    /// A URL that takes any call, below it too: for `{hook}`.
    pub fn hook_url(&self) -> String {
        format!("http://{}{}", self.shared.address, connection::HOOK)
    }

    /// The variables that bring a command's calls here: proxies, an empty NO_PROXY (calls to local addresses count too), the
    /// certificate to trust.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let proxy = OsString::from(self.proxy_url());
        let bundle = self.shared.authority.bundle().as_os_str();
        let proxies = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
        let bundles = [
            "SSL_CERT_FILE",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "NODE_EXTRA_CA_CERTS",
            "GIT_SSL_CAINFO",
            "AWS_CA_BUNDLE",
            "PIP_CERT",
            "HTTPLIB2_CA_CERTS",
            "DENO_CERT",
        ];
        let mut variables: Vec<(OsString, OsString)> = Vec::new();
        variables.extend(proxies.map(|name| (name.into(), proxy.clone())));
        variables.extend(["NO_PROXY", "no_proxy"].map(|name| (name.into(), OsString::new())));
        variables.extend(bundles.map(|name| (name.into(), bundle.to_owned())));
        variables.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
        variables
    }

    /// What has gone out so far, in the order in which it was complete.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.log().calls.clone()
    }

    /// Holds back the answer to the n-th call that isn't idempotent (from 1, since the start): [`Recorder::held`] then tells.
    /// The call is recorded, and its client waits until it is killed or gives up.
    pub fn hold_answer(&self, nth: u64) {
        self.shared.is_held.send_replace(false);
        self.shared.log().hold = Some(nth);
    }

    /// Waits until a call is held.
    pub async fn held(&self) {
        let mut is_held = self.shared.is_held.subscribe();
        // The sender lives in `self`: it can't be gone.
        let _ = is_held.wait_for(|is_held| *is_held).await;
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        // Nothing that holds it can leave it half changed.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call that went out; whether its answer is to be held back.
    fn record(&self, call: Call) -> bool {
        let mut log = self.log();
        let is_effect = !call.is_idempotent && call.method != "CONNECT";
        log.calls.push(call);
        if !is_effect {
            return false;
        }
        log.effects += 1;
        let is_held = log.hold == Some(log.effects);
        if is_held {
            // Once: the run after the killed one gets its answers.
            log.hold = None;
            self.is_held.send_replace(true);
        }
        is_held
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and its connections with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                connections.spawn(connection::run(client, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

#[cfg(test)]
mod tests;
