//! A wire to PostgreSQL that breaks where it is told to: a proxy that knows statements, transactions and their answers.
//!
//! One proxy stands before one run of the command, so that its log is that run's. It forwards bytes as they come. It
//! reads the heads of frames, the texts of statements (simple, prepared, in a pipeline, COPY), which answer belongs to
//! which, and the transaction's state. It declines TLS towards the client and speaks it to a server that asks for it; then
//! the one thing it changes without a fault is the server's offer to bind the login to TLS, which the client hasn't got.
//!
//! Steps are counted from 1 over all connections of the run, in the order in which the client's messages arrive:
//! a *statement* is anything executed; a *write* is a statement that may write or end a transaction with its writes
//! (INSERT, UPDATE, DELETE, MERGE, COPY FROM, DDL, TRUNCATE, SELECT INTO, CALL, DO, EXECUTE, COMMIT, END …). Fetching on
//! from a portal is no other statement, a text of several statements is one, and a COMMIT without writes is no write.
//!
//! - `serving.rs` is the thread that serves all connections, `session.rs` starts one and ends it; `frontend.rs` is the
//!   client's direction, `backend.rs` the server's, and `flow.rs` between them knows which answer belongs to which request.
//! - `ledger.rs` is shared by all connections: the statements, the faults, and which of them fires at what.
//! - `sql.rs` tells what a statement is by its text, `frame.rs` reads and makes frames, [`dial`] connects to the server.
//! - `mysql.rs` is the same before MySQL and MariaDB, with the same ledger and faults. [`Wire`] is either.

mod backend;
pub mod dial;
mod flow;
mod frame;
mod frontend;
mod ledger;
#[cfg(feature = "mysql")]
pub mod mysql;
mod serving;
mod session;
mod sql;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::error::{Error, Result};
use dial::Upstream;
use flow::Flow;
use ledger::{Charge, Ledger};
use serving::Serving;

/// A running proxy, on a thread of its own. Dropping it cuts every connection through it.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    serving: Serving,
}

/// What all connections through a proxy share.
#[derive(Debug)]
struct Shared {
    upstream: Upstream,
    ledger: Arc<Ledger>,
    cut: watch::Sender<bool>,
    is_tls_demanded: AtomicBool,
    /// When bytes last went either way, in microseconds since the start.
    touched: AtomicU64,
}

/// When a fault comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// At the n-th write, COMMITs counted.
    Write(u64),
    /// At the n-th statement of any kind.
    Statement(u64),
    /// When the client says good-bye (Terminate, or closes its socket) for the first time after so many writes; a client of
    /// several connections closes some of them before its last write. The server hasn't heard of it then, but for the faults
    /// of an answer. A refusal never fires here.
    Close(u64),
}

/// What comes then. Each fires once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Both sides are cut before the server gets it: it rolls back.
    Cut(At),
    /// The server does it and its answer arrives, but isn't passed on (nor anything after it); both sides are cut. For a
    /// statement that the server refuses it doesn't fire, and waits for the next write.
    CutAnswer(At),
    /// The server never gets it; the client gets an error with this SQLSTATE (before MySQL and MariaDB: of this number), and
    /// the transaction is left as a refusal by the server would leave it (failed, or, at a COMMIT, rolled back).
    Refuse(At, &'static str),
    /// Nothing is forwarded from it on, on that connection, until [`Armed::release`].
    Hold(At),
    /// The server does it; its answer, and all that follows, stays away until [`Armed::release`].
    HoldAnswer(At),
}

/// A fault that a proxy holds ready.
#[derive(Debug, Clone)]
pub struct Armed {
    trigger: Charge,
    ledger: Arc<Ledger>,
}

/// What a statement is, by its text (comments skipped; `WITH … INSERT` is a write).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT, END, PREPARE TRANSACTION, COMMIT PREPARED.
    Commit,
    /// ROLLBACK, ABORT, ROLLBACK TO.
    Rollback,
    /// SELECT, SHOW, FETCH, VALUES, COPY TO.
    Read,
    /// May write: see the module.
    Write,
    /// SET, SAVEPOINT, LISTEN, LOCK, DISCARD …
    Other,
}

/// One statement that the run executed.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Entry {
    /// The connection, from 1.
    pub session: u32,
    /// The number among all statements, from 1.
    pub statement: u64,
    /// The number among writes, from 1; 0 for what is none.
    pub write: u64,
    /// Its text, at most 4 KiB of it. Bound values are never kept.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Whether a transaction block was open before it (`T` or `E`), as far as the answers so far tell.
    pub is_in_transaction: bool,
    /// The command tag that answered it (`INSERT 0 5`), once it has.
    pub tag: Option<String>,
    /// The SQLSTATE that answered it, if an error did.
    pub sqlstate: Option<String>,
    /// Since the proxy's start.
    pub sent: Duration,
    /// Since the proxy's start, once it is answered.
    pub answered: Option<Duration>,
}

impl Proxy {
    /// Starts a proxy before the server of this URL (TCP, TLS or a unix socket; multiple hosts are refused), on a free port
    /// of 127.0.0.1.
    ///
    /// Fails when the URL can't be read, its certificates neither, or no port is free. It doesn't look whether the server
    /// is there: a client finds its connection closed when it isn't.
    pub async fn start(upstream_url: &str) -> Result<Self> {
        let upstream = Upstream::from_url(upstream_url)?;
        let shared = Arc::new(Shared {
            upstream,
            ledger: Arc::new(Ledger::new()),
            cut: watch::Sender::new(false),
            is_tls_demanded: AtomicBool::new(false),
            touched: AtomicU64::new(0),
        });
        let serving = Serving::start(Arc::clone(&shared))
            .await
            .map_err(|error| Error::because("cannot open a port of 127.0.0.1 for the proxy", error))?;
        let url = shared.upstream.url_by_way_of(serving.port(), upstream_url);
        Ok(Self { url, shared, serving })
    }

    /// The upstream's URL by way of the proxy, with `sslmode=disable`: for the command.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.serving.port()
    }

    /// Arms a fault. One whose number has already passed fires at the next statement (or write) that comes.
    pub fn arm(&self, fault: Fault) -> Armed {
        let ledger = Arc::clone(&self.shared.ledger);
        Armed { trigger: ledger.arm(fault), ledger }
    }

    /// Counts each SELECT as a write from now on, for pipelines that write by functions. Its [`Kind`] stays what it is.
    pub fn count_selects_as_writes(&self, counts: bool) {
        self.shared.ledger.count_selects(counts);
    }

    /// Every statement so far, in order of arrival; refused ones too. Of very many, later texts are cut short.
    pub fn log(&self) -> Vec<Entry> {
        self.shared.ledger.entries()
    }

    /// How many statements there were so far, and how many writes among them: what [`Proxy::log`] would tell, for less.
    pub fn counts(&self) -> (u64, u64) {
        self.shared.ledger.counts()
    }

    /// Cuts every connection there is and refuses new ones, as when the client's machine has died. What is held is not
    /// sent any more.
    pub fn cut(&self) {
        self.shared.cut.send_replace(true);
    }

    /// Whether a client asked for TLS and went away when it was declined, and none has come without since: it must be told
    /// `sslmode=disable`.
    pub fn is_tls_demanded(&self) -> bool {
        self.shared.is_tls_demanded.load(Ordering::Relaxed)
    }

    /// When bytes last went either way: for telling a run that is stuck. Counts from the start while none have.
    pub fn idle_for(&self) -> Duration {
        let touched = Duration::from_micros(self.shared.touched.load(Ordering::Relaxed));
        self.shared.ledger.since_start().saturating_sub(touched)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Shared {
    fn touch(&self) {
        self.touched.store(self.ledger.since_start().as_micros() as u64, Ordering::Relaxed);
    }

    fn is_cut(&self) -> bool {
        *self.cut.borrow()
    }

    fn demand_tls(&self, demands: bool) {
        self.is_tls_demanded.store(demands, Ordering::Relaxed);
    }
}

impl Armed {
    /// Whether it has fired.
    pub fn has_fired(&self) -> bool {
        self.trigger.has_fired()
    }

    /// Waits until it has fired; for ever, if nothing comes that it could fire at.
    pub async fn fired(&self) {
        self.trigger.fired().await;
    }

    /// The statement that it fired at. None before that, and none at [`At::Close`].
    pub fn at(&self) -> Option<Entry> {
        self.ledger.fired_at(&self.trigger)
    }

    /// Lets a held connection go on. Called before it is held, it is not held at all.
    pub fn release(&self) {
        self.trigger.release();
    }
}

/// A proxy before whatever server it is.
#[derive(Debug)]
pub enum Wire {
    /// Before PostgreSQL.
    Postgres(Proxy),
    /// Before MySQL or MariaDB.
    #[cfg(feature = "mysql")]
    Mysql(mysql::Proxy),
}

/// Asks whichever proxy it is.
macro_rules! ask {
    ($wire:expr, $proxy:ident => $question:expr) => {
        match $wire {
            Wire::Postgres($proxy) => $question,
            #[cfg(feature = "mysql")]
            Wire::Mysql($proxy) => $question,
        }
    };
}

impl Wire {
    /// See [`Proxy::url`].
    pub fn url(&self) -> &str {
        ask!(self, proxy => proxy.url())
    }

    /// See [`Proxy::arm`].
    pub fn arm(&self, fault: Fault) -> Armed {
        ask!(self, proxy => proxy.arm(fault))
    }

    /// See [`Proxy::count_selects_as_writes`].
    pub fn count_selects_as_writes(&self, counts: bool) {
        ask!(self, proxy => proxy.count_selects_as_writes(counts));
    }

    /// See [`Proxy::log`].
    pub fn log(&self) -> Vec<Entry> {
        ask!(self, proxy => proxy.log())
    }

    /// See [`Proxy::cut`].
    pub fn cut(&self) {
        ask!(self, proxy => proxy.cut());
    }

    /// See [`Proxy::is_tls_demanded`].
    pub fn is_tls_demanded(&self) -> bool {
        ask!(self, proxy => proxy.is_tls_demanded())
    }

    /// See [`Proxy::idle_for`].
    pub fn idle_for(&self) -> Duration {
        ask!(self, proxy => proxy.idle_for())
    }
}
