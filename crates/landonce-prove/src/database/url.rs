//! A database's URL in parts, so that a clone has the same URL but for its database, and a command its variables.
//!
//! Written out again it is what libpq, SQLAlchemy and the drivers read. Its [`std::fmt::Debug`] and [`Url::place`] hold no
//! password.

use crate::error::{Error, Result};

/// What a URL says, percent escapes undone.
#[derive(Default, PartialEq, Eq, Clone)]
pub(crate) struct Url {
    /// As the user wrote it (`postgres`, `postgresql`, `mysql`): libraries differ in which they take.
    pub(crate) scheme: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// A name, an address (without brackets), or for PostgreSQL the folder of a unix socket.
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) database: Option<String>,
    /// Parameters in order, without those above.
    pub(crate) query: Vec<(String, String)>,
}

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Url({})", self.place())
    }
}

impl Url {
    /// Takes a URL apart. Fails with a message that shows nothing of it: a password with an `@` may be anywhere.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| unreadable("it has no `://`"))?;
        if text.contains('\0') {
            return Err(unreadable("it holds U+0000"));
        }
        let (front, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = front.split_once('/').unwrap_or((front, ""));
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        if login.is_some_and(|login| login.contains('@')) {
            return Err(unreadable("its user or password holds an `@`; write it as %40"));
        }
        let mut url = Self { scheme: scheme.to_owned(), ..Self::default() };
        if let Some(login) = login {
            let (user, password) = login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)));
            url.user = some(decoded(user)?);
            url.password = password.map(decoded).transpose()?.and_then(some);
        }
        url.take_host(host)?;
        url.database = some(decoded(path)?);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            url.take_parameter(&decoded(name)?, decoded(value)?)?;
        }
        Ok(url)
    }

    fn take_host(&mut self, text: &str) -> Result<()> {
        if text.contains(',') {
            return Err(unreadable("it names several hosts; name the one to prove against"));
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, behind) =
                    rest.split_once(']').ok_or_else(|| unreadable("its `[` is never closed"))?;
                (host, behind.strip_prefix(':'))
            }
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        self.host = some(decoded(host)?);
        if let Some(port) = port.filter(|port| !port.is_empty()) {
            self.port = Some(port.parse().map_err(|_| unreadable("its port is no number"))?);
        }
        Ok(())
    }

    /// libpq lets parameters say what the front leaves out.
    fn take_parameter(&mut self, name: &str, value: String) -> Result<()> {
        match name {
            "host" => self.host = some(value),
            "port" => self.port = Some(value.parse().map_err(|_| unreadable("its port is no number"))?),
            "user" => self.user = some(value),
            "password" => self.password = some(value),
            "dbname" => self.database = some(value),
            _ => self.query.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// The value of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().rev().find(|(has, _)| has == name).map(|(_, value)| value.as_str())
    }

    /// Another database of the same server.
    pub(crate) fn with_database(&self, name: &str) -> Self {
        Self { database: Some(name.to_owned()), ..self.clone() }
    }

    /// The URL, password included.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{}://", self.scheme);
        if let Some(user) = &self.user {
            text.push_str(&escaped(user));
        }
        if let Some(password) = &self.password {
            text.push(':');
            text.push_str(&escaped(password));
        }
        if self.user.is_some() || self.password.is_some() {
            text.push('@');
        }
        let mut parameters = Vec::new();
        let port = self.port.map_or(String::new(), |port| format!(":{port}"));
        match self.host.as_deref() {
            // As parameters: SQLAlchemy and others don't know the escaped folder in the host's place.
            Some(folder) if folder.starts_with('/') => {
                parameters.push(format!("host={}", escaped(folder)));
                parameters.extend(self.port.map(|port| format!("port={port}")));
            }
            Some(host) if host.contains(':') => text.push_str(&format!("[{host}]{port}")),
            Some(host) => text.push_str(&format!("{}{port}", escaped(host))),
            None => text.push_str(&port),
        }
        text.push('/');
        text.push_str(&escaped(self.database.as_deref().unwrap_or_default()));
        parameters
            .extend(self.query.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))));
        if !parameters.is_empty() {
            text.push('?');
            text.push_str(&parameters.join("&"));
        }
        text
    }

    /// Where it is, for people: ``host:port, database `x`, user `y` ``.
    pub(crate) fn place(&self) -> String {
        let host = self.host.as_deref().unwrap_or("localhost");
        let mut place = match self.port {
            Some(port) if host.contains(':') => format!("[{host}]:{port}"),
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        if let Some(database) = &self.database {
            place.push_str(&format!(", database `{database}`"));
        }
        if let Some(user) = &self.user {
            place.push_str(&format!(", user `{user}`"));
        }
        place
    }
}

/// Escapes what isn't unreserved.
pub(crate) fn escaped(text: &str) -> String {
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

fn decoded(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let escape = match (first, behind) {
            (b'%', [high, low, ..]) => hex::decode([*high, *low]).ok(),
            _ => None,
        };
        if let Some(byte) = escape {
            bytes.extend(byte);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).map_err(|_| unreadable("an escaped part of it isn't UTF-8"))
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn unreadable(why: &str) -> Error {
    Error::new(format!(
        "cannot read the database's URL: {why}; its form is postgres://user:password@host:port/database"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_survives_being_taken_apart() {
        for text in [
            "postgres://u@127.0.0.1:5433/d",
            "postgresql://a%40b:p%2Fw%3A@localhost:5432/d%20e?application_name=x&options=-c%20a%3Db",
            "postgres://u:p@[::1]:6000/d?sslmode=require",
            "postgresql:///d?host=%2Ftmp%2Fa.b&port=6000",
            "mysql://root@127.0.0.1/x",
        ] {
            assert_eq!(Url::parse(text).unwrap().to_text(), text);
        }
    }

    #[test]
    fn a_socket_folder_may_stand_in_the_hosts_place() {
        let url = Url::parse("postgres://u@%2Frun%2Fpg:6000/d").unwrap();
        assert_eq!(url.host.as_deref(), Some("/run/pg"));
        assert_eq!(url.to_text(), "postgres://u@/d?host=%2Frun%2Fpg&port=6000");
    }

    #[test]
    fn a_password_is_never_part_of_a_message() {
        for text in ["postgres://ann:hun@ter2@db/shop", "postgres://ann:hunter2@db:hunter2/shop", "hunter2"] {
            let message = Url::parse(text).unwrap_err().to_string();
            assert!(!message.contains("ter2"), "{message}");
        }
        let url = Url::parse("postgres://ann:hunter2@db/shop").unwrap();
        assert!(!format!("{url:?}{}", url.place()).contains("hunter2"));
    }

    #[test]
    fn several_hosts_are_refused() {
        assert!(Url::parse("postgres://a:1,b:2/x").unwrap_err().to_string().contains("several hosts"));
    }
}
