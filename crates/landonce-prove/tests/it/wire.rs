//! The proxy before PostgreSQL: a file for each of its promises.

mod answers;
mod cuts;
mod holds;
mod ledger;
mod passing;
mod raw;
mod refusals;
mod starting;

use landonce_prove::wire::Proxy;
use landonce_testkit::postgres::{self, TestDatabase};
use tokio_postgres::{Client, NoTls};

/// A database with an empty table `t`, and a proxy before it.
struct Rig {
    database: TestDatabase,
    proxy: Proxy,
}

impl Rig {
    async fn new() -> Self {
        let database = postgres::database().await;
        database.client().await.batch_execute("CREATE TABLE t (a int PRIMARY KEY)").await.unwrap();
        let proxy = Proxy::start(&database.url()).await.unwrap();
        Self { database, proxy }
    }

    /// A client through the proxy.
    async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(self.proxy.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    async fn raw(&self) -> raw::Raw {
        raw::Raw::connect(&self.proxy, self.database.name()).await
    }

    /// The rows of `t`, by a connection that doesn't pass the proxy.
    async fn rows(&self) -> Vec<i32> {
        let rows = self.database.client().await.query("SELECT a FROM t ORDER BY a", &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// `write kind text → tag or SQLSTATE` of each statement.
    fn log(&self) -> Vec<String> {
        self.proxy
            .log()
            .iter()
            .map(|entry| {
                let answer = entry.tag.as_deref().or(entry.sqlstate.as_deref()).unwrap_or("-");
                format!("{} {:?} {} → {answer}", entry.write, entry.kind, entry.text)
            })
            .collect()
    }
}

/// Executes by the simple or by the extended protocol.
async fn run(client: &Client, text: &str, is_simple: bool) -> Result<(), tokio_postgres::Error> {
    if is_simple { client.batch_execute(text).await } else { client.execute(text, &[]).await.map(drop) }
}
