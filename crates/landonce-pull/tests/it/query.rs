//! Queries to other databases (C05, C09, C10, C33, C37, C38): every value exact, nothing twice, nothing lost, and the source only read.

mod again;
mod faults;
mod values;

use landonce_testkit::{mariadb, postgres};
use mysql_async::prelude::Queryable as _;

/// A database to ask.
pub(crate) enum Source {
    Sqlite(tempfile::TempDir),
    Postgres(postgres::TestDatabase),
    Mariadb(mariadb::TestDatabase),
}

impl Source {
    /// One of each kind, empty.
    pub(crate) async fn all() -> [Self; 3] {
        [
            Self::Sqlite(tempfile::tempdir().unwrap()),
            Self::Postgres(postgres::database().await),
            Self::Mariadb(mariadb::database().await),
        ]
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite:{}", folder.path().join("source.db").display()),
            Self::Postgres(database) => database.url(),
            Self::Mariadb(database) => database.url(),
        }
    }

    pub(crate) async fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(folder) => {
                let connection = rusqlite::Connection::open(folder.path().join("source.db")).unwrap();
                connection.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
            Self::Postgres(database) => {
                let client = database.client().await;
                client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
            Self::Mariadb(database) => {
                let mut client = database.client().await;
                for statement in sql.split(';').filter(|statement| !statement.trim().is_empty()) {
                    client.query_drop(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
                }
                client.disconnect().await.unwrap();
            }
        }
    }

    /// A moment's type.
    pub(crate) fn moment(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "text",
            Self::Postgres(_) => "timestamptz",
            Self::Mariadb(_) => "datetime(6)",
        }
    }
}
