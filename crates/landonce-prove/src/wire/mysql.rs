//! The same wire before MySQL and MariaDB: commands are counted, held, refused, and their answers cut.
//!
//! The server's greeting is changed so that nobody speaks TLS or compresses, and the rest passes byte for byte. A command
//! is a packet of the client's with the number 0; the first packet that answers it tells whether it has succeeded.

mod execution;
mod packet;
mod refusal;
mod session;
mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::ledger::Ledger;
use super::{Armed, Entry, Fault};
use crate::database::url::Url;
use crate::error::{Error, Result};

/// A running proxy. Dropping it cuts every connection through it.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    host: String,
    port: u16,
    ledger: Arc<Ledger>,
    cut: watch::Sender<bool>,
    is_tls_demanded: AtomicBool,
    /// When bytes last went either way, in microseconds since the start.
    touched: AtomicU64,
}

impl Proxy {
    /// Starts a proxy before the server of this URL, on a free port of 127.0.0.1. Without a host it is 127.0.0.1.
    ///
    /// Fails when the URL can't be read or no port is free.
    pub async fn start(upstream_url: &str) -> Result<Self> {
        let url = Url::parse(upstream_url)?;
        let no_port = |error| Error::because("cannot open a port of 127.0.0.1 for the proxy", error);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(no_port)?;
        let port = listener.local_addr().map_err(no_port)?.port();
        let way = Url { host: Some("127.0.0.1".into()), port: Some(port), ..url.clone() };
        let shared = Arc::new(Shared {
            host: url.host.unwrap_or_else(|| "127.0.0.1".into()),
            port: url.port.unwrap_or(3306),
            ledger: Arc::new(Ledger::new()),
            cut: watch::Sender::new(false),
            is_tls_demanded: AtomicBool::new(false),
            touched: AtomicU64::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { url: way.to_text(), shared, accepting })
    }

    /// The upstream's URL by way of the proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// See [`super::Proxy::arm`]. A refusal has the number of the error instead of a SQLSTATE: `1213`.
    pub fn arm(&self, fault: Fault) -> Armed {
        let ledger = Arc::clone(&self.shared.ledger);
        Armed { trigger: ledger.arm(fault), ledger }
    }

    /// See [`super::Proxy::count_selects_as_writes`].
    pub fn count_selects_as_writes(&self, counts: bool) {
        self.shared.ledger.count_selects(counts);
    }

    /// See [`super::Proxy::log`].
    pub fn log(&self) -> Vec<Entry> {
        self.shared.ledger.entries()
    }

    /// See [`super::Proxy::cut`].
    pub fn cut(&self) {
        self.shared.cut.send_replace(true);
    }

    /// Whether a client went away when it was greeted without TLS, and none has come in since.
    pub fn is_tls_demanded(&self) -> bool {
        self.shared.is_tls_demanded.load(Ordering::Relaxed)
    }

    /// See [`super::Proxy::idle_for`].
    pub fn idle_for(&self) -> Duration {
        let touched = Duration::from_micros(self.shared.touched.load(Ordering::Relaxed));
        self.shared.ledger.since_start().saturating_sub(touched)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.accepting.abort();
    }
}

impl Shared {
    fn touch(&self) {
        self.touched.store(self.ledger.since_start().as_micros() as u64, Ordering::Relaxed);
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and its connections with it.
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                if !*shared.cut.borrow() {
                    sessions.spawn(session::run(client, Arc::clone(&shared)));
                }
            }
            Some(_) = sessions.join_next() => {}
        }
    }
}
