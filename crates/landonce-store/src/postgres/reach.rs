//! Where a server is and how to get in, for those who speak to it themselves: landonce's prover, whose proxy stands before
//! it. [`super::Database`] is for everybody else.

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{address, tls};
use crate::error::Result;

/// A URL, with libpq's environment for what it leaves out, and the trust of its `sslmode`.
#[derive(Clone)]
pub struct Reach {
    /// In the driver's words. Its `ssl_mode` tells whether a server without TLS will do.
    pub config: Config,
    /// Speaks TLS as the URL asks for it; `None` where it is turned off, or the server is on a unix socket.
    pub tls: Option<MakeRustlsConnect>,
}

impl std::fmt::Debug for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reach").field("place", &self.place()).finish_non_exhaustive()
    }
}

impl Reach {
    /// What a `postgres://` URL says. Fails as [`super::Database::from_url`] does, and without showing the password.
    pub fn from_url(url: &str) -> Result<Self> {
        let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let address = address::read(url, environment)?;
        let mut config = address.config;
        let trust = tls::trust(address.tls, address.root_certificate.as_deref())?;
        let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        // The server speaks no TLS over its unix socket, and libpq asks for none there either.
        let tls = if is_local && !config.get_hosts().is_empty() { None } else { trust.connector() };
        if tls.is_none() {
            config.ssl_mode(SslMode::Disable);
        }
        Ok(Self { config, tls })
    }

    /// Where it is, for messages: host, port, database, user; no secret.
    pub fn place(&self) -> String {
        address::place(&self.config)
    }
}
