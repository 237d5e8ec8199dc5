//! A `postgres://` URL read into the driver's words, with libpq's environment for what it leaves out.
//!
//! The driver knows neither `verify-ca`, `verify-full` nor `sslrootcert`, and takes a password with an unescaped `@` for a
//! host: both are handled here, before it sees the URL.

use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::tls::Mode;
use crate::error::{Error, Result};

/// What a URL says.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: Mode,
    pub(super) root_certificate: Option<String>,
}

/// Reads a URL.
pub(super) fn read(url: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Address> {
    let Some(rest) = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://")) else {
        return Err(unreadable("it doesn't begin with postgres://"));
    };
    if url.contains('\0') {
        return Err(unreadable("it holds U+0000"));
    }
    let (front, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = front.split_once('/').unwrap_or((front, ""));
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    if login.contains('@') {
        return Err(unreadable("its user or password holds an `@`; write it as %40"));
    }
    let hosts = with_ports(hosts, environment("PGPORT"));
    let mut ours = Ours { mode: environment("PGSSLMODE"), root: environment("PGSSLROOTCERT") };
    let query = ours.take_from(query)?;
    let login = if login.is_empty() { String::new() } else { format!("{login}@") };
    let mut config = Config::from_str(&format!("postgres://{login}{hosts}/{path}?{query}"))
        .map_err(|error| unreadable(&super::errors::chain(&error)))?;
    complete(&mut config, environment)?;
    let tls = Mode::named(ours.mode.as_deref().unwrap_or("prefer"))
        .ok_or_else(|| unreadable("`sslmode` is none of disable, prefer, require, verify-ca, verify-full"))?;
    config.ssl_mode(match tls {
        Mode::Disable => SslMode::Disable,
        Mode::Prefer => SslMode::Prefer,
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
    });
    Ok(Address { config, tls, root_certificate: ours.root })
}

/// Where a connection goes, for messages: `host:port, database, user`.
pub(super) fn place(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or_else(|| ports.first()).copied().unwrap_or(5432);
    let mut places: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]:{}", port(at)),
            Host::Tcp(name) => format!("{name}:{}", port(at)),
            Host::Unix(folder) => format!("{}/.s.PGSQL.{}", folder.display(), port(at)),
        })
        .collect();
    if places.is_empty() {
        places.extend(
            config.get_hostaddrs().iter().enumerate().map(|(at, host)| format!("{host}:{}", port(at))),
        );
    }
    let mut place = places.join(",");
    if let Some(database) = config.get_dbname() {
        place.push_str(&format!(", database `{database}`"));
    }
    if let Some(user) = config.get_user() {
        place.push_str(&format!(", user `{user}`"));
    }
    place
}

fn complete(config: &mut Config, environment: impl Fn(&str) -> Option<String>) -> Result<()> {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        for host in environment("PGHOST").as_deref().unwrap_or("localhost").split(',') {
            // The driver takes what begins with a slash for the socket's folder.
            config.host(host);
        }
    }
    if config.get_ports().is_empty()
        && let Some(port) = environment("PGPORT")
    {
        config.port(port.parse().map_err(|_| unreadable("PGPORT isn't a port number"))?);
    }
    if config.get_user().is_none()
        && let Some(user) = environment("PGUSER")
    {
        config.user(user);
    }
    if config.get_password().is_none()
        && let Some(password) = environment("PGPASSWORD")
    {
        config.password(password);
    }
    if config.get_dbname().is_none()
        && let Some(database) = environment("PGDATABASE")
    {
        config.dbname(database);
    }
    Ok(())
}

/// The driver gives a host without a port 5432 at once: PGPORT has to come first.
fn with_ports(hosts: &str, port: Option<String>) -> String {
    let Some(port) = port.filter(|_| !hosts.is_empty()) else { return hosts.to_owned() };
    let with_port = |host: &str| {
        let has_port = match host.rsplit_once(']') {
            Some((_, behind)) => behind.starts_with(':'),
            None => host.contains(':'),
        };
        if has_port { host.to_owned() } else { format!("{host}:{port}") }
    };
    hosts.split(',').map(with_port).collect::<Vec<_>>().join(",")
}

/// The parameters that the driver doesn't know.
struct Ours {
    mode: Option<String>,
    root: Option<String>,
}

impl Ours {
    /// Takes ours out of a URL's parameters and returns the others.
    fn take_from(&mut self, query: &str) -> Result<String> {
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => self.mode = Some(decoded(value)?),
                Some(("sslrootcert", value)) => self.root = Some(decoded(value)?),
                Some(("sslcert" | "sslkey", _)) => {
                    return Err(unreadable("client certificates (`sslcert`, `sslkey`) aren't supported"));
                }
                // The driver looks for the first `@` of all to find the login.
                _ => others.push(pair.replace('@', "%40")),
            }
        }
        Ok(others.join("&"))
    }
}

fn decoded(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let escaped = match (first, behind) {
            (b'%', [high, low, ..]) => hex::decode([*high, *low]).ok(),
            _ => None,
        };
        if let Some(byte) = escaped {
            bytes.extend(byte);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).map_err(|_| unreadable("an escaped parameter isn't UTF-8"))
}

fn unreadable(why: &str) -> Error {
    Error::refused(format!(
        "cannot read the PostgreSQL URL: {why}; its form is postgres://user:password@host:port/database?sslmode=require"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(url: &str, environment: &[(&str, &str)]) -> Result<Address> {
        read(url, |name| {
            environment.iter().find(|(has, _)| *has == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn place_of(url: &str, environment: &[(&str, &str)]) -> String {
        place(&read_with(url, environment).unwrap().config)
    }

    #[test]
    fn the_environment_fills_what_the_url_leaves_out() {
        let environment = [
            ("PGHOST", "db"),
            ("PGPORT", "6432"),
            ("PGUSER", "ann"),
            ("PGDATABASE", "shop"),
            ("PGPASSWORD", "p"),
        ];
        assert_eq!(place_of("postgres://", &environment), "db:6432, database `shop`, user `ann`");
        assert_eq!(place_of("postgres://bob@h/x", &environment), "h:6432, database `x`, user `bob`");
        assert_eq!(
            place_of("postgres://h:1,[::1]/x", &environment),
            "h:1,[::1]:6432, database `x`, user `ann`"
        );
        assert_eq!(place_of("postgresql:///x", &[]), "localhost:5432, database `x`");
    }

    #[test]
    fn a_socket_folder_is_escaped_or_a_parameter() {
        for url in
            ["postgres://%2Frun%2Fpg/x", "postgres:///x?host=/run/pg", "postgres:///x?host=%2Frun%2Fpg"]
        {
            assert_eq!(place_of(url, &[]), "/run/pg/.s.PGSQL.5432, database `x`", "{url}");
        }
        assert_eq!(place_of("postgres:///x", &[("PGHOST", "/tmp")]), "/tmp/.s.PGSQL.5432, database `x`");
    }

    #[test]
    fn tls_is_read_from_the_url() {
        let address =
            read_with("postgres://h/x?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem", &[]).unwrap();
        assert_eq!(address.tls, Mode::VerifyFull);
        assert_eq!(address.root_certificate.as_deref(), Some("/etc/ca.pem"));
        assert_eq!(read_with("postgres://h/x", &[]).unwrap().tls, Mode::Prefer);
        assert_eq!(read_with("postgres://h/x", &[("PGSSLMODE", "require")]).unwrap().tls, Mode::Require);
        assert!(read_with("postgres://h/x?sslmode=sometimes", &[]).is_err());
    }

    #[test]
    fn a_password_is_never_part_of_a_message() {
        for url in [
            "postgres://ann:hun@ter2@db/shop",
            "postgres://ann:hunter2@db:port/shop",
            "postgres://ann:hunter2@db/shop?x=hunter2",
            "mysql://ann:hunter2@db/shop",
            "postgres://ann:hunter2@db/shop?sslmode=hunter2",
        ] {
            let message = read_with(url, &[]).err().unwrap().to_string();
            assert!(!message.contains("ter2"), "{message}");
        }
        let config = read_with("postgres://ann:hunter2@db/shop?application_name=a@b", &[]).unwrap().config;
        assert_eq!(config.get_password(), Some(b"hunter2".as_slice()));
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
