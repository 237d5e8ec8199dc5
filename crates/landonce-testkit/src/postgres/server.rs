//! The server: the one that `LANDONCE_TEST_POSTGRES` names, else a private one, started once per process.

use std::process::ChildStdin;
use std::sync::LazyLock;

use crate::address::Address;
use crate::private;

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
    /// A private server lives as long as this is open. Statics aren't dropped: the kernel closes it.
    _alive: Option<ChildStdin>,
}

fn find() -> Result<Server, String> {
    let (url, alive) = match std::env::var(VARIABLE) {
        Ok(url) if !url.is_empty() => (url, None),
        _ => private::start("private-postgres", "PostgreSQL")?,
    };
    Ok(Server { address: Address::parse(&url), _alive: alive })
}
