//! A MariaDB database for each test, on the server that `LANDONCE_TEST_MARIADB` names or on a private one.
//!
//! Mirrors [`crate::postgres`]: a new database is empty, a passing test's is dropped, a failing one's is kept.

use std::sync::LazyLock;
use std::thread;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use crate::private;

/// The variable that names a server: a URL with the right to make databases.
pub const VARIABLE: &str = "LANDONCE_TEST_MARIADB";

/// A database of a test's own. Dropping it drops the database, unless the test is failing.
#[derive(Debug)]
pub struct TestDatabase {
    name: String,
}

/// A new, empty database.
///
/// # Panics
///
/// When there is no server and none can be started, or it gives us no right to make databases.
pub async fn database() -> TestDatabase {
    let name = private::unique_name();
    execute(&format!("CREATE DATABASE `{name}`")).await;
    TestDatabase { name }
}

impl TestDatabase {
    /// Its URL, over TCP.
    pub fn url(&self) -> String {
        url_of(server(), &self.name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A new connection to it.
    pub async fn client(&self) -> Conn {
        connect(&self.url()).await
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the failed test's database is kept: {}", self.url());
            return;
        }
        // A drop can't await, and the test's runtime may be one thread only, busy with us: a thread of its own can.
        let drop = format!("DROP DATABASE IF EXISTS `{}`", self.name);
        let dropped = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime to drop the database");
            runtime.block_on(execute(&drop));
        })
        .join();
        assert!(dropped.is_ok(), "the database of a passed test could not be dropped: {}", self.url());
    }
}

/// The server's URL.
fn server() -> &'static str {
    static SERVER: LazyLock<Result<Server, String>> = LazyLock::new(find);
    match &*SERVER {
        Ok(server) => &server.url,
        Err(message) => panic!("{message}"),
    }
}

struct Server {
    url: String,
    /// A private server lives as long as this. Statics aren't dropped: the kernel closes the pipe.
    _private: Option<private::Server>,
}

fn find() -> Result<Server, String> {
    match std::env::var(VARIABLE) {
        Ok(url) if !url.is_empty() => Ok(Server { url, _private: None }),
        _ => {
            let server = private::start("private-mariadb", &[], "MariaDB")?;
            Ok(Server { url: server.url().to_owned(), _private: Some(server) })
        }
    }
}

/// The URL with this database instead of its own, if it names one.
fn url_of(server: &str, database: &str) -> String {
    let (server, parameters) = server.split_once('?').unwrap_or((server, ""));
    let host = server.find("://").map_or(0, |at| at + 3);
    let end = server[host..].find('/').map_or(server.len(), |at| host + at);
    let sign = if parameters.is_empty() { "" } else { "?" };
    format!("{}/{database}{sign}{parameters}", &server[..end])
}

async fn execute(statement: &str) {
    let mut conn = connect(server()).await;
    conn.query_drop(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    conn.disconnect().await.unwrap_or_else(|error| panic!("after {statement}: {error}"));
}

async fn connect(url: &str) -> Conn {
    // A socket that the server tells of may be out of reach, and TCP is what is tested.
    let opts = mysql_async::Opts::from_url(url).unwrap_or_else(|error| panic!("{VARIABLE}: {error}"));
    let opts = mysql_async::OptsBuilder::from_opts(opts).prefer_socket(false);
    Conn::new(opts).await.unwrap_or_else(|error| panic!("connecting to MariaDB: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_takes_the_place_of_the_urls_own() {
        for server in ["mysql://root@h:1", "mysql://root@h:1/", "mysql://root@h:1/other"] {
            assert_eq!(url_of(server, "t"), "mysql://root@h:1/t");
        }
        assert_eq!(url_of("mysql://root@h/?require_ssl=true", "t"), "mysql://root@h/t?require_ssl=true");
    }
}
