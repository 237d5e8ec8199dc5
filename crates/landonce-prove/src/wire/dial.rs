//! The way to the server: TCP, a unix socket, or TLS as the URL asks for it.
//!
//! What a URL says, and whom its `sslmode` trusts, is read where the store reads it.

use std::io;
use std::path::PathBuf;

use landonce_store::postgres::{Database, Reach};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config};

use super::frame::SSL_REQUEST;
use crate::error::{Error, Result};

/// How long a server may take to let the command in.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(15);

/// Connects to the server of this URL, for our own questions. The connection lives as long as the client.
///
/// Fails within seconds when the URL can't be read or the server doesn't let us in; the message names the place and says what
/// to do, never a password.
pub async fn connect(url: &str) -> Result<Client> {
    // Its errors tell all there is: they have no cause that a reader would miss.
    let told = |error: landonce_store::Error| Error::new(error.to_string());
    Database::from_url(url).map_err(told)?.client().await.map_err(told)
}

fn read(url: &str) -> Result<Reach> {
    Reach::from_url(url).map_err(|error| Error::because("cannot tell where the database is", error))
}

/// Where the proxy's connections go.
pub(super) struct Upstream {
    reach: Reach,
    endpoint: Endpoint,
}

#[derive(Debug)]
enum Endpoint {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// A connection to the server, not yet started.
pub(super) enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<dyn Both>),
}

/// Both directions of a connection.
pub(super) trait Both: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Both for S {}

impl Wire {
    /// Both directions at once, for what is sent before they part.
    pub(super) fn both(&mut self) -> &mut (dyn Both + '_) {
        match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
            Self::Tls(stream) => stream,
        }
    }
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Upstream {
    /// What a URL says. Several hosts are refused: a run must not change its server.
    pub(super) fn from_url(url: &str) -> Result<Self> {
        let reach = read(url)?;
        let config = &reach.config;
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        if hosts > 1 || config.get_ports().len() > 1 {
            return Err(Error::new("the database's URL names several hosts; name the one to work with"));
        }
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let endpoint = match (config.get_hostaddrs().first(), config.get_hosts().first()) {
            (Some(address), _) => Endpoint::Tcp(address.to_string(), port),
            (None, Some(Host::Tcp(name))) => Endpoint::Tcp(name.clone(), port),
            (None, Some(Host::Unix(folder))) => Endpoint::Unix(folder.join(format!(".s.PGSQL.{port}"))),
            (None, None) => Endpoint::Tcp("localhost".into(), port),
        };
        Ok(Self { reach, endpoint })
    }

    /// The database's name.
    pub(super) fn database(&self) -> &str {
        let config = &self.reach.config;
        config.get_dbname().or_else(|| config.get_user()).unwrap_or_default()
    }

    /// The URL that leads to this port of 127.0.0.1 instead. `url` is the one that this was read from.
    pub(super) fn url_by_way_of(&self, port: u16, url: &str) -> String {
        let config: &Config = &self.reach.config;
        let mut way = String::from("postgres://");
        if let Some(user) = config.get_user() {
            way.push_str(&escaped(user.as_bytes()));
            if let Some(password) = config.get_password() {
                way.push(':');
                way.push_str(&escaped(password));
            }
            way.push('@');
        }
        way.push_str(&format!("127.0.0.1:{port}/"));
        way.push_str(&escaped(config.get_dbname().unwrap_or_default().as_bytes()));
        way.push_str("?sslmode=disable");
        let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters);
        for pair in parameters.split('&').filter(|pair| !pair.is_empty()) {
            let name = pair.split_once('=').map_or(pair, |(name, _)| name);
            if !OF_THE_PLACE.contains(&name) {
                way.push('&');
                // Some drivers look for the first `@` of all to find the login.
                way.push_str(&pair.replace('@', "%40"));
            }
        }
        way
    }

    /// Connects, with TLS if the URL asks for it.
    pub(super) async fn dial(&self) -> io::Result<Wire> {
        let dialled = tokio::time::timeout(PATIENCE, self.dial_at_leisure()).await;
        dialled.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    async fn dial_at_leisure(&self) -> io::Result<Wire> {
        let (name, port) = match &self.endpoint {
            Endpoint::Unix(path) => return Ok(Wire::Unix(UnixStream::connect(path).await?)),
            Endpoint::Tcp(name, port) => (name, *port),
        };
        let mut stream = TcpStream::connect((name.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        let Some(mut tls) = self.reach.tls.clone() else { return Ok(Wire::Tcp(stream)) };
        stream.write_u32(8).await?;
        stream.write_u32(SSL_REQUEST).await?;
        let answer = stream.read_u8().await?;
        if answer != b'S' {
            return if self.reach.config.get_ssl_mode() == SslMode::Require {
                Err(io::Error::new(io::ErrorKind::Unsupported, "the server speaks no TLS"))
            } else {
                Ok(Wire::Tcp(stream))
            };
        }
        let Ok(connector) = MakeTlsConnect::<TcpStream>::make_tls_connect(&mut tls, self.host_name(name));
        Ok(Wire::Tls(Box::new(connector.connect(stream).await?)))
    }

    /// The name that the server's certificate has to bear: the host's, also where its address is given along with it.
    fn host_name<'a>(&'a self, dialled: &'a str) -> &'a str {
        match self.reach.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name,
            _ => dialled,
        }
    }
}

/// Parameters of a URL that say where the server is or how to speak TLS with it: the proxy's are others.
const OF_THE_PLACE: [&str; 17] = [
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "sslmode",
    "sslrootcert",
    "sslnegotiation",
    "sslcert",
    "sslkey",
    "sslcrl",
    "sslsni",
    "requiressl",
    "channel_binding",
    "gssencmode",
    "load_balance_hosts",
];

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_by_the_proxy_keeps_what_is_not_of_the_place() {
        let url = "postgres://a%40b:p%2Fw@h:6000/d%20e?sslmode=verify-full&application_name=x%20y&connect_timeout=3";
        let upstream = Upstream::from_url(url).unwrap();
        assert_eq!(
            upstream.url_by_way_of(7, url),
            "postgres://a%40b:p%2Fw@127.0.0.1:7/d%20e?sslmode=disable&application_name=x%20y&connect_timeout=3"
        );
        let url = "postgres://u@/d?host=/tmp/a&port=6000";
        let upstream = Upstream::from_url(url).unwrap();
        assert!(matches!(&upstream.endpoint, Endpoint::Unix(path) if path.ends_with("a/.s.PGSQL.6000")));
        assert_eq!(upstream.url_by_way_of(7, url), "postgres://u@127.0.0.1:7/d?sslmode=disable");
    }

    #[test]
    fn several_hosts_are_refused() {
        let error = Upstream::from_url("postgres://u:secret@a,b/d").unwrap_err();
        assert!(error.to_string().contains("several hosts"), "{error}");
    }
}
