//! PostgreSQL keeps the contract; and what only PostgreSQL can get wrong: its catalogue, its types, its locks, poolers,
//! connections that end, rows that it refuses in bulk.
//!
//! Each test has a database of its own on the server that `LANDONCE_TEST_POSTGRES` names, or on a private one.

use landonce_store::postgres::{Database, Session};
use landonce_testkit::postgres::TestDatabase;
use tokio_postgres::SimpleQueryMessage;

use crate::conformance::{Bench, Dialect, every_promise};

every_promise!(fresh);

/// A database of one test's own.
pub(crate) struct Fresh {
    database: TestDatabase,
}

pub(crate) async fn fresh() -> Fresh {
    Fresh { database: landonce_testkit::postgres::database().await }
}

impl Fresh {
    pub(crate) fn database(&self) -> Database {
        Database::from_url(&self.database.url()).unwrap()
    }

    /// The user's own connection.
    pub(crate) async fn client(&self) -> tokio_postgres::Client {
        self.database.client().await
    }
}

impl Bench for Fresh {
    type Connection = Session;
    const DIALECT: Dialect = Dialect::Postgres;

    async fn connect(&mut self) -> Session {
        self.database().connect().await.unwrap()
    }

    async fn connect_to_look(&mut self) -> Session {
        self.database().connect().await.unwrap()
    }

    async fn run(&mut self, sql: &str) {
        self.client().await.batch_execute(sql).await.unwrap();
    }

    async fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        rows(&self.client().await, sql).await
    }
}

pub(crate) async fn rows(client: &tokio_postgres::Client, sql: &str) -> Vec<Vec<String>> {
    let messages = client.simple_query(sql).await.unwrap();
    messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).unwrap_or("∅").to_owned()).collect())
            }
            _ => None,
        })
        .collect()
}
