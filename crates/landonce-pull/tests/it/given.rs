//! A store for one test, and a run of what a pipeline fetches.

use std::ops::ControlFlow;
use std::path::PathBuf;

use landonce::{Options, Pipeline, Receipt, RetryPolicy, Store};
use landonce_pull::{Error, Watch};
use landonce_testkit::dump::{self, Dump, Tables};
use landonce_testkit::postgres::{self, TestDatabase};

/// An empty database to land in.
pub(crate) struct Target {
    pub(crate) store: Store,
    pub(crate) url: String,
    place: Place,
}

enum Place {
    Sqlite(tempfile::TempDir),
    Postgres(TestDatabase),
}

impl Target {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("target.db").display());
        Self { store: Store::open(&url).unwrap(), url, place: Place::Sqlite(folder) }
    }

    pub(crate) async fn both() -> [Self; 2] {
        let database = postgres::database().await;
        let url = database.url();
        [Self::sqlite(), Self { store: Store::open(&url).unwrap(), url, place: Place::Postgres(database) }]
    }

    pub(crate) fn path(&self) -> PathBuf {
        match &self.place {
            Place::Sqlite(folder) => folder.path().join("target.db"),
            Place::Postgres(_) => panic!("not SQLite"),
        }
    }

    /// An empty database of the same kind.
    pub(crate) async fn like(&self) -> Self {
        let [sqlite, postgres] = Self::both().await;
        if self.is_postgres() { postgres } else { sqlite }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.place, Place::Postgres(_))
    }

    /// Whether there is such a table; of a SQLite target.
    pub(crate) fn has(&self, table: &str) -> bool {
        !self.rows(&format!("SELECT 1 FROM sqlite_master WHERE name = '{table}'")).is_empty()
    }

    /// A table of the user's has the very rows that it has in another target, whatever runs they are of.
    pub(crate) async fn rows_as(&self, other: &Self, table: &str) {
        let rows = async |target: &Self| {
            let dump = target.dump().await;
            let others: Vec<String> = dump
                .tables()
                .filter(|name| name.rsplit('.').next() != Some(table))
                .map(str::to_owned)
                .collect();
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            let dump = dump.without_tables(&others);
            let mut names: Vec<String> = dump.tables().map(str::to_owned).collect();
            let name = names.pop().unwrap_or_else(|| panic!("there is no `{table}`"));
            dump.without(&[(&name, "landonce_run_id")])
        };
        rows(other).await.assert_same(&rows(self).await);
    }

    /// Everything, to the last value.
    pub(crate) async fn dump(&self) -> Dump {
        match &self.place {
            Place::Sqlite(_) => dump::sqlite(self.path()),
            Place::Postgres(database) => dump::postgres(&database.client().await, Tables::All).await,
        }
    }

    /// Everything but who took the feed over, and when: what a run that lands nothing leaves as it was.
    pub(crate) async fn state(&self) -> Dump {
        let position = match &self.place {
            Place::Sqlite(_) => "landonce_position",
            Place::Postgres(_) => "landonce.position",
        };
        self.dump().await.without(&[(position, "epoch"), (position, "owner"), (position, "taken_at")])
    }

    /// The rows of a query, each value as its text; of a SQLite target.
    pub(crate) fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        let count = statement.column_count();
        let rows = statement.query_map([], |row| {
            (0..count)
                .map(|at| {
                    Ok(match row.get_ref(at)? {
                        rusqlite::types::ValueRef::Null => "NULL".to_owned(),
                        rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                        rusqlite::types::ValueRef::Real(number) => format!("{number:?}"),
                        rusqlite::types::ValueRef::Text(text) | rusqlite::types::ValueRef::Blob(text) => {
                            String::from_utf8_lossy(text).into_owned()
                        }
                    })
                })
                .collect()
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// Fetches what the pipeline declares, to the end.
    pub(crate) async fn fetch(&self, pipeline: &Pipeline) -> Result<Vec<Receipt>, Error> {
        self.fetch_until(pipeline, u64::MAX).await
    }

    /// Fetches, and stops behind so many pieces.
    pub(crate) async fn fetch_until(&self, pipeline: &Pipeline, most: u64) -> Result<Vec<Receipt>, Error> {
        let options = Options { retry: RetryPolicy::default(), ..Options::default() };
        let mut heard = Heard { receipts: Vec::new(), most };
        let mut fetch = landonce_pull::open(pipeline)?;
        landonce_pull::run(fetch.as_mut(), pipeline, &self.store, &options, &mut heard).await?;
        Ok(heard.receipts)
    }
}

impl Target {
    /// Fetches, while behind the first piece another run comes, which fetches to the end.
    pub(crate) async fn fetch_overtaken(&self, pipeline: &Pipeline) -> Result<u64, Error> {
        struct Other<'a>(&'a Target, &'a Pipeline, bool);
        impl Watch for Other<'_> {
            fn landed(&mut self, _: &Receipt) -> ControlFlow<()> {
                if !std::mem::replace(&mut self.2, true) {
                    let (target, pipeline) = (self.0, self.1);
                    let run = || tokio::runtime::Handle::current().block_on(target.fetch(pipeline));
                    tokio::task::block_in_place(run).unwrap();
                }
                ControlFlow::Continue(())
            }
        }
        let mut fetch = landonce_pull::open(pipeline)?;
        let mut other = Other(self, pipeline, false);
        landonce_pull::run(fetch.as_mut(), pipeline, &self.store, &Options::default(), &mut other).await
    }
}

struct Heard {
    receipts: Vec<Receipt>,
    most: u64,
}

impl Watch for Heard {
    fn landed(&mut self, receipt: &Receipt) -> ControlFlow<()> {
        self.receipts.push(receipt.clone());
        if self.receipts.len() as u64 >= self.most {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// A pipeline from its file's text.
pub(crate) fn pipeline(yaml: &str) -> Pipeline {
    Pipeline::from_yaml(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

/// The counts of what was processed: read, inserted, updated, unchanged.
pub(crate) fn counts(receipts: &[Receipt]) -> [u64; 4] {
    let new = || receipts.iter().filter(|receipt| receipt.status == landonce::Status::Processed);
    let sum = |of: fn(&landonce::Outcome) -> u64| new().map(|receipt| of(&receipt.outcome)).sum();
    [
        sum(|outcome| outcome.read),
        sum(|outcome| outcome.inserted),
        sum(|outcome| outcome.updated),
        sum(|outcome| outcome.unchanged),
    ]
}
