//! The server: the one that `LANDONCE_TEST_POSTGRES` names, else a private one, started once per process.

use std::sync::LazyLock;

use crate::address::Address;
use crate::private;

use super::TestDatabase;

/// The variable that names a server: a URL with the right to make databases.
pub const VARIABLE: &str = "LANDONCE_TEST_POSTGRES";

/// The server's address, with a database to make others from.
pub(super) fn address() -> &'static Address {
    static SERVER: LazyLock<Result<Server, String>> = LazyLock::new(find);
    match &*SERVER {
        Ok(server) => &server.address,
        Err(message) => panic!("{message}"),
    }
}

struct Server {
    address: Address,
    /// A private server lives as long as this. Statics aren't dropped: the kernel closes the pipe.
    _private: Option<private::Server>,
}

fn find() -> Result<Server, String> {
    match std::env::var(VARIABLE) {
        Ok(url) if !url.is_empty() => Ok(Server { address: Address::parse(&url), _private: None }),
        _ => {
            let server = private::start("private-postgres", &[], "PostgreSQL")?;
            Ok(Server { address: Address::parse(server.url()), _private: Some(server) })
        }
    }
}

/// A server that is this test's alone, and may be killed and started again. A commit that it has answered is on the disk.
#[derive(Debug)]
pub struct OwnServer(private::Server);

impl OwnServer {
    /// Starts one.
    ///
    /// # Panics
    ///
    /// When there is no PostgreSQL.
    pub fn start() -> Self {
        Self(
            private::start("private-postgres", &["--durable"], "PostgreSQL")
                .unwrap_or_else(|told| panic!("{told}")),
        )
    }

    /// Its database `postgres`, which is empty.
    pub fn database(&self) -> TestDatabase {
        TestDatabase {
            address: Address::parse(self.0.url()),
            name: "postgres".to_owned(),
            goes_with_server: true,
        }
    }

    /// Kills it as a crash would, and starts it again: what was under way is lost, what was committed isn't.
    ///
    /// # Panics
    ///
    /// When it doesn't come back.
    pub fn restart(&mut self) {
        let said = self.0.ask("restart").unwrap_or_else(|error| error.to_string());
        assert_eq!(said, "restarted", "the PostgreSQL server didn't come back");
    }
}
