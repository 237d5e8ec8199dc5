//! Where a PostgreSQL server is and how to get in: a URL, libpq's environment for what the URL leaves out, TLS, time-outs.
//!
//! A connection that can't be had is one message within five seconds: what, where, the server's words, what to do; never
//! the password. What is done on a connection is [`super::Session`]'s business.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use landonce_core::retry::{Code, Phase};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket};

use super::idle::Idle;
use super::link::Lost;
use super::tls::{self, Trust};
use super::{Session, address, errors};
use crate::error::{Error, Result};

/// Leaves a second for the message within the five that anybody waits.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a connection is silent before the net is asked whether the server is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// The driver's own default, of no use to anybody who waits.
const DRIVERS_KEEPALIVE: Duration = Duration::from_hours(2);

/// The oldest server that landonce is tested with.
const OLDEST: u32 = 14;

/// A PostgreSQL database, and how to connect to it.
#[derive(Debug, Clone)]
pub struct Database {
    config: Config,
    trust: Trust,
    place: String,
    timeout: Duration,
    options: Options,
    idle: Option<Idle>,
}

/// What every batch transaction sets for itself alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) lock_timeout: Option<Duration>,
    pub(super) statement_timeout: Option<Duration>,
    pub(super) idle: Option<Duration>,
}

impl Options {
    /// The settings as SQL behind BEGIN. In whole milliseconds, and never 0, which would mean no limit.
    pub(super) fn set_local(self) -> String {
        let set = |name: &str, limit: Option<Duration>| {
            limit.map_or(String::new(), |limit| format!("; SET LOCAL {name} = {}", limit.as_millis().max(1)))
        };
        format!(
            "{}{}{}",
            set("lock_timeout", self.lock_timeout),
            set("statement_timeout", self.statement_timeout),
            set("idle_in_transaction_session_timeout", self.idle)
        )
    }
}

impl Database {
    /// The database that a `postgres://` URL names. What it leaves out comes from `PGHOST`, `PGPORT`, `PGUSER`,
    /// `PGPASSWORD`, `PGDATABASE`, `PGSSLMODE` and `PGSSLROOTCERT`, as with libpq.
    ///
    /// Fails when the URL can't be read; the message never shows the password.
    pub fn from_url(url: &str) -> Result<Self> {
        Self::from_url_and(url, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_url_and(url: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let address = address::read(url, environment)?;
        let mut config = address.config;
        let timeout = config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len()).max(1);
        config.connect_timeout(timeout / hosts as u32);
        // A server that has vanished from the net is noticed within a minute, where the URL doesn't say otherwise.
        if config.get_keepalives_idle() == DRIVERS_KEEPALIVE {
            config.keepalives_idle(KEEPALIVE).keepalives_interval(KEEPALIVE / 3).keepalives_retries(3);
        }
        if config.get_application_name().is_none() {
            config.application_name("landonce");
        }
        Ok(Self {
            trust: tls::trust(address.tls, address.root_certificate.as_deref())?,
            place: address::place(&config),
            config,
            timeout,
            options: Options::default(),
            idle: None,
        })
    }

    /// The longest that a statement of a batch waits for a lock; then the batch fails and may be retried. No limit of
    /// landonce's own unless set.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.options.lock_timeout = Some(timeout);
        self
    }

    /// Plans each prepared statement once for all of a connection's executions: for short statements that come again and again, whose
    /// planning costs as much as they do. It goes with the connection's start, and so does the [`Database::lock_timeout`], so that a
    /// statement needs no transaction around it for that, and nothing is left on a server connection that a pooler hands on; a pooler
    /// that refuses it does so with 08P01.
    #[must_use]
    pub fn planning_once(mut self) -> Self {
        let mut options = self.config.get_options().map(str::to_owned).unwrap_or_default();
        options.push_str(" -c plan_cache_mode=force_generic_plan");
        if let Some(limit) = self.options.lock_timeout.take() {
            options.push_str(&format!(" -c lock_timeout={}", limit.as_millis().max(1)));
        }
        self.config.options(options.trim_start());
        self
    }

    /// The longest that one statement of a batch runs. No limit of landonce's own unless set.
    #[must_use]
    pub fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.options.statement_timeout = Some(timeout);
        self
    }

    /// How long the server waits in the middle of a batch for whoever writes it, before it rolls back and closes the connection: so a
    /// process that sleeps, or a net that is cut, doesn't hold the rows from others. No limit of landonce's own unless set.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.options.idle = Some(timeout);
        self
    }

    /// Keeps at most so many connections between batches ([`Database::reuse`], [`Database::give_back`]); clones share them.
    #[must_use]
    pub fn keeping(mut self, most: usize) -> Self {
        self.idle = Some(Idle::new(most));
        self
    }

    /// A connection that was given back, or a new one.
    pub async fn reuse(&self) -> Result<Session> {
        match self.idle.as_ref().and_then(Idle::take) {
            Some(session) => Ok(session),
            None => self.connect().await,
        }
    }

    /// Gives a connection back on which all has gone well, and which is in no transaction; it is closed where none are kept.
    pub fn give_back(&self, session: Session) {
        if let Some(idle) = &self.idle {
            idle.put(session);
        }
    }

    /// Where it is, for messages: host, port, database; no secret.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Connects. Fails within the URL's `connect_timeout` (4 s by default) with one message.
    pub async fn connect(&self) -> Result<Session> {
        let connected = tokio::time::timeout(self.timeout, self.open()).await;
        match connected {
            Ok(Ok(session)) => Ok(session),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(self.unreachable(
                Code::SqlState("08001".to_owned()),
                &format!("no answer within {} s", self.timeout.as_secs_f32()),
                "check host and port, and whether a firewall stands in between",
                None,
            )),
        }
    }

    /// Connects, for reading only: a bare connection, without a session's transaction. Fails as [`Database::connect`] does.
    pub async fn client(&self) -> Result<Client> {
        Ok(self.connect().await?.client)
    }

    async fn open(&self) -> Result<Session> {
        let mut config = self.config.clone();
        let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        // The server speaks no TLS over its unix socket, and libpq asks for none there either.
        if is_local && !config.get_hosts().is_empty() {
            config.ssl_mode(SslMode::Disable);
        }
        let lost: Lost = Arc::new(OnceLock::new());
        let opened = match (config.get_ssl_mode(), self.trust.connector()) {
            (SslMode::Disable, _) | (_, None) => open_with(&config, NoTls, &lost).await,
            (_, Some(connector)) => open_with(&config, connector, &lost).await,
        };
        let (client, version) = opened.map_err(|error| self.explained(&error))?;
        if version.is_some_and(|version| version < OLDEST) {
            return Err(self.unreachable(
                Code::Landonce,
                &format!("the server is PostgreSQL {}", version.unwrap_or_default()),
                &format!("landonce needs {OLDEST} or newer"),
                None,
            ));
        }
        Ok(Session::new(client, lost, self.options))
    }

    /// The driver's error as one message with advice.
    fn explained(&self, error: &tokio_postgres::Error) -> Error {
        if let Some(db) = error.as_db_error() {
            let state = db.code().code();
            let code = Code::SqlState(state.to_owned());
            return self.unreachable(code, &errors::words(db), advice_for_state(state), errors::name(db));
        }
        let io = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
        // The driver's own words say no more than ours, unless it is TLS that failed.
        let said = match io {
            Some(io) if io.raw_os_error().is_some() => io.to_string(),
            _ => errors::chain(error),
        };
        let unreached = || Code::SqlState("08001".to_owned());
        let (code, advice) = match io.map(|io| (io.kind(), io.raw_os_error())) {
            Some((std::io::ErrorKind::ConnectionRefused, _)) => {
                (unreached(), "nothing listens there: is the server running, and are host and port right?")
            }
            Some((std::io::ErrorKind::TimedOut, _)) => {
                (unreached(), "check host and port, and whether a firewall stands in between")
            }
            Some((std::io::ErrorKind::NotFound, Some(_))) => {
                (unreached(), "no server has its socket there: is it running, and is the folder right?")
            }
            // An answer that breaks off, as from a server of another kind, comes as `Other` and without a number.
            Some(
                (std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset, _)
                | (std::io::ErrorKind::Other, None),
            ) => (unreached(), "is it a PostgreSQL server that listens on that port?"),
            Some((std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput, _)) => {
                (Code::Landonce, "check `sslmode` and `sslrootcert`")
            }
            Some((_, Some(_))) => (unreached(), "check host and port"),
            // A name that can't be resolved comes without a number of the operating system.
            Some((_, None)) => (Code::Landonce, "the host's name can't be resolved: check its spelling"),
            None if said.contains("password") => {
                (Code::Landonce, "give the password in the URL or in PGPASSWORD")
            }
            None if said.contains("TLS") => (
                Code::Landonce,
                "the server takes no TLS: `sslmode=prefer` goes without, on a network you trust",
            ),
            None => (Code::Landonce, "check the URL"),
        };
        self.unreachable(code, &said, advice, None)
    }

    fn unreachable(&self, code: Code, said: &str, advice: &str, name: Option<String>) -> Error {
        let message = format!("cannot connect to PostgreSQL at {}: {said}; {advice}", self.place);
        Error { code, phase: Phase::BeforeCommit, message, name, is_connect: true, source: None }
    }
}

fn advice_for_state(state: &str) -> &'static str {
    match state {
        "28P01" => "check the user and the password (in the URL or PGUSER and PGPASSWORD)",
        "28000" => {
            "the server's pg_hba.conf decides who may come from where, with or without TLS (`sslmode=require`)"
        }
        "3D000" => "check the database's name, or create it",
        "42501" => "grant the user CONNECT on the database",
        "53300" => "too many connections are open: try later, or raise max_connections",
        "57P03" => "the server is starting or stopping: try again",
        _ => "the server refused",
    }
}

/// Connects and leaves the wire to a task of its own, which tells in `lost` why it ended.
async fn open_with<T>(
    config: &Config,
    tls: T,
    lost: &Lost,
) -> Result<(Client, Option<u32>), tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, mut connection) = config.connect(tls).await?;
    let version = connection
        .parameter("server_version")
        .and_then(|version| version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    let lost = Arc::clone(lost);
    tokio::spawn(async move {
        // By reference: the queries in flight learn that it's gone when it is dropped, and then the reason is there.
        if let Err(error) = (&mut connection).await {
            let cause = errors::cause_of_loss(&error);
            tracing::debug!(cause = %cause.1, "connection lost");
            let _ = lost.set(cause);
        }
        drop(connection);
    });
    Ok((client, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(url: &str) -> Database {
        Database::from_url_and(url, |_| None).unwrap()
    }

    #[tokio::test]
    async fn a_closed_port_is_told_with_place_and_advice() {
        // Port 1 is reserved (tcpmux) and free on any test machine.
        let error = database("postgres://ann:hunter2@127.0.0.1:1/shop").connect().await.unwrap_err();
        assert!(error.is_connect);
        let message = error.to_string().replace(" (os error 111)", "");
        insta::assert_snapshot!(message, @"cannot connect to PostgreSQL at 127.0.0.1:1, database `shop`, user `ann`: Connection refused; nothing listens there: is the server running, and are host and port right?");
    }

    #[tokio::test]
    async fn a_server_of_another_kind_is_no_misspelt_host() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let web = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Read first, or closing would reset the connection.
            std::io::Read::read(&mut stream, &mut [0; 1024]).unwrap();
            std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        });
        let url = format!("postgres://ann@127.0.0.1:{port}/shop?sslmode=disable");
        let message = database(&url).connect().await.unwrap_err().to_string();
        web.join().unwrap();
        assert!(message.contains("is it a PostgreSQL server"), "{message}");
    }

    #[tokio::test]
    async fn an_unknown_host_is_not_retried() {
        let error = database("postgres://ann:hunter2@no-such-host.invalid/shop").connect().await.unwrap_err();
        assert_eq!(error.code, Code::Landonce);
        let message = error.to_string();
        assert!(message.contains("no-such-host.invalid:5432"), "{message}");
        assert!(message.contains("check its spelling"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_is_given_up_in_time() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let started = std::time::Instant::now();
        let url = format!("postgres://ann@127.0.0.1:{port}/shop?connect_timeout=1");
        let error = database(&url).connect().await.unwrap_err();
        assert!(error.to_string().contains("no answer within 1 s"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(3));
    }
}
