//! A PostgreSQL database for each test, on the server that `LANDONCE_TEST_POSTGRES` names or on a private one.
//!
//! Leaves tables to the test: a new database is empty. A passing test's database is dropped; a failing one's is kept and
//! its URL printed, for as long as the server lives.

mod server;

use std::thread;

use tokio_postgres::{Client, NoTls};

use crate::address::{Address, Endpoint};
use crate::private;

pub use server::{OwnServer, VARIABLE};

/// A database of a test's own. Dropping it drops the database, unless the test is failing.
#[derive(Debug)]
pub struct TestDatabase {
    address: Address,
    name: String,
    /// It goes with a server of the test's own.
    goes_with_server: bool,
}

/// A new, empty database.
///
/// # Panics
///
/// When there is no server and none can be started, or it gives us no right to make databases.
pub async fn database() -> TestDatabase {
    database_with("").await
}

/// A new database with more options of CREATE DATABASE, as SQL:
/// `TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'` orders text as people do, `ENCODING …` and so on.
///
/// # Panics
///
/// As [`database`], and when the options are refused.
pub async fn database_with(options: &str) -> TestDatabase {
    let server = server::address();
    let name = private::unique_name();
    connect(server, "making a database")
        .await
        .batch_execute(&format!("CREATE DATABASE \"{name}\" {options}"))
        .await
        .unwrap_or_else(|error| panic!("CREATE DATABASE {options}: {}", words(&error)));
    TestDatabase { address: server.with_database(&name), name, goes_with_server: false }
}

impl TestDatabase {
    /// Its URL, over TCP on a private server.
    pub fn url(&self) -> String {
        self.address.to_url()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A new connection, as `testkit` to [`crate::dump::leftovers`].
    pub async fn client(&self) -> Client {
        connect(&self.address, "connecting to the test's database").await
    }

    /// Its URL by way of the server's unix socket. Only on a private server: elsewhere the socket may be out of reach.
    pub async fn socket_url(&self) -> String {
        let row = self
            .client()
            .await
            .query_one("SELECT current_setting('unix_socket_directories'), current_setting('port')", &[])
            .await
            .expect("the server tells its settings");
        let (folder, port): (String, String) = (row.get(0), row.get(1));
        let port = port.parse().expect("a port is a number");
        self.address.with_endpoint(Endpoint::Unix(folder.into(), port)).to_url()
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if self.goes_with_server {
            return;
        }
        if thread::panicking() {
            eprintln!("the failed test's database is kept: {}", self.url());
            return;
        }
        // A drop can't await, and the test's runtime may be one thread only, busy with us: a thread of its own can.
        let (server, name) = (server::address(), self.name.clone());
        let dropped = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime to drop the database");
            runtime.block_on(async {
                connect(server, "dropping the test's database")
                    .await
                    .batch_execute(&format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"))
                    .await
                    .expect("the test's database can be dropped");
            });
        })
        .join();
        assert!(dropped.is_ok(), "the database of a passed test could not be dropped: {}", self.url());
    }
}

async fn connect(address: &Address, what: &str) -> Client {
    let named = Address { application_name: Some("testkit".into()), ..address.clone() };
    let (client, connection) = tokio_postgres::connect(&named.to_url(), NoTls)
        .await
        .unwrap_or_else(|error| panic!("{what}: {}", words(&error)));
    // Ends with the client, or with the server; whoever uses the client learns of a failure.
    tokio::spawn(connection);
    client
}

/// tokio-postgres keeps what the server said in the error's source.
fn words(error: &tokio_postgres::Error) -> String {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default())
}
