//! A PostgreSQL URL in parts, so that the same server can be named with another database or through the proxy.
//!
//! Parsing is tokio-postgres's; only the writing is ours, since it can't print a configuration. Parameters other than
//! those below (time-outs, TLS) are not carried over: a test server needs none.

use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A host name or address, and the port.
    Tcp(String, u16),
    /// The folder of the socket, and the port in its name.
    Unix(PathBuf, u16),
}

/// A URL in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) endpoint: Endpoint,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: Option<String>,
    pub(crate) application_name: Option<String>,
    pub(crate) options: Option<String>,
}

impl Address {
    /// The parts of a URL (or a `key=value` string). Panics on one that can't be read, without showing it: it may hold
    /// a password.
    pub(crate) fn parse(url: &str) -> Self {
        let config: Config =
            url.parse().unwrap_or_else(|error| panic!("the PostgreSQL URL can't be read: {error}"));
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let endpoint = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => Endpoint::Tcp(host.clone(), port),
            #[cfg(unix)]
            Some(Host::Unix(folder)) => Endpoint::Unix(folder.clone(), port),
            None => Endpoint::Tcp("127.0.0.1".into(), port),
        };
        Self {
            endpoint,
            user: config.get_user().map(Into::into),
            password: config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
            database: config.get_dbname().map(Into::into),
            application_name: config.get_application_name().map(Into::into),
            options: config.get_options().map(Into::into),
        }
    }

    /// The same server and user, another database.
    pub(crate) fn with_database(&self, name: &str) -> Self {
        Self { database: Some(name.into()), ..self.clone() }
    }

    /// The same database, reached another way.
    pub(crate) fn with_endpoint(&self, endpoint: Endpoint) -> Self {
        Self { endpoint, ..self.clone() }
    }

    /// The URL.
    pub(crate) fn to_url(&self) -> String {
        let mut url = String::from("postgres://");
        if let Some(user) = &self.user {
            url.push_str(&escape(user));
            if let Some(password) = &self.password {
                url.push(':');
                url.push_str(&escape(password));
            }
            url.push('@');
        }
        let mut parameters = Vec::new();
        match &self.endpoint {
            Endpoint::Tcp(host, port) if host.contains(':') => url.push_str(&format!("[{host}]:{port}")),
            Endpoint::Tcp(host, port) => url.push_str(&format!("{host}:{port}")),
            Endpoint::Unix(folder, port) => {
                url.push_str(&format!("{}:{port}", escape(&folder.to_string_lossy())));
            }
        }
        url.push('/');
        url.push_str(&escape(self.database.as_deref().unwrap_or_default()));
        for (name, value) in [("application_name", &self.application_name), ("options", &self.options)] {
            if let Some(value) = value {
                parameters.push(format!("{name}={}", escape(value)));
            }
        }
        if !parameters.is_empty() {
            url.push('?');
            url.push_str(&parameters.join("&"));
        }
        url
    }
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_survives_being_taken_apart() {
        for url in [
            "postgres://u@127.0.0.1:5433/d",
            "postgres://a%40b:p%2Fw%3A@localhost:5432/d%20e?application_name=landonce%20x&options=-c%20a%3Db",
            "postgres://u@%2Ftmp%2Fa.b:6000/d",
        ] {
            assert_eq!(Address::parse(url).to_url(), url);
        }
    }

    #[test]
    fn the_socket_may_come_as_a_parameter() {
        let address = Address::parse("postgres://u@/d?host=/tmp/a&port=6000");
        assert_eq!(address.endpoint, Endpoint::Unix("/tmp/a".into(), 6000));
    }
}
