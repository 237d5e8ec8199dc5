//! A wire to PostgreSQL that breaks where it is told to: a TCP proxy that understands just enough of the protocol.
//!
//! It forwards bytes as they come. It reads the frames' heads, the texts of statements (simple queries, and prepared ones
//! when they are executed), and which answer belongs to which request, also when requests are pipelined. It never offers
//! TLS. A fault fires once, or as often as [`Fault::times`] says, in the order in which faults were armed:
//!
//! ```text
//! let proxy = Proxy::start(&database.url()).await;
//! let cut = proxy.arm(Fault::CutAfterCommit);
//! let then = proxy.arm(Fault::refuse("inbox", "40001").after(&cut));
//! … run against proxy.url() …
//! assert_eq!((cut.fired(), then.fired()), (1, 1));
//! ```

mod backend;
mod fault;
mod flow;
mod frame;
mod frontend;
mod session;

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::address::{Address, Endpoint};
use fault::{Charge, Faults, Order, Seen};

pub use fault::{Armed, Fault, Rule};

/// A running proxy. Dropping it cuts every connection through it.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What all connections through a proxy share.
#[derive(Debug)]
struct Shared {
    upstream: Endpoint,
    faults: Faults,
    /// Counts the calls of [`Proxy::resume`]; a stalled connection waits for the next.
    resumes: watch::Sender<u64>,
}

impl Proxy {
    /// Starts a proxy before the server of this URL (TCP or a unix socket), on a free port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// When the URL can't be read, or there is no free port.
    pub async fn start(upstream_url: &str) -> Self {
        let upstream = Address::parse(upstream_url);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port for the proxy");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        let url = upstream.with_endpoint(Endpoint::Tcp("127.0.0.1".into(), port)).to_url();
        let shared = Arc::new(Shared {
            upstream: upstream.endpoint,
            faults: Faults::default(),
            resumes: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { url, shared, accepting }
    }

    /// The upstream's URL, by way of the proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Arms a fault for the connections there are and those to come.
    pub fn arm(&self, fault: impl Into<Rule>) -> Armed {
        self.shared.faults.arm(fault.into())
    }

    /// Lets every connection that is stalled now go on.
    pub fn resume(&self) {
        self.shared.resumes.send_modify(|count| *count += 1);
    }

    /// The texts of the statements that arrived, over all connections, in order of arrival; refused ones too.
    pub fn statements(&self) -> Vec<String> {
        self.shared.faults.statements()
    }

    /// How many connections were asked for, those of cancel requests too.
    pub fn connections(&self) -> u64 {
        self.shared.faults.connections()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    /// Counts the fault and waits until the proxy is resumed.
    async fn stall(&self, charge: &Charge) {
        // Before the count, or a test that waits for it could resume too early.
        let mut resumes = self.resumes.subscribe();
        self.faults.fire(charge);
        // The sender lives in this very struct: it can't be gone.
        let _ = resumes.changed().await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and its connections with it.
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                if !matches!(shared.faults.decide(Seen::Connection), Some(Order::Cut)) {
                    sessions.spawn(session::run(client, Arc::clone(&shared)));
                }
            }
            Some(_) = sessions.join_next() => {}
        }
    }
}
