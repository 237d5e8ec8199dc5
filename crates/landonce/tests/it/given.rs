//! A store for one test, and the few verbs that the tests speak.

use landonce::{Batch, Error, Options, Pipeline, Receipt, RetryPolicy, Store};
use landonce_testkit::dump::{self, Dump, Tables};
use landonce_testkit::postgres::{self, TestDatabase};

/// An empty database of one kind, gone at the end of the test.
pub(crate) struct Given {
    pub(crate) store: Store,
    pub(crate) url: String,
    place: Place,
}

enum Place {
    Sqlite(tempfile::TempDir),
    Postgres(TestDatabase),
}

/// Columns that name a time or a run: they may differ between two ways to one state.
const RUN_COLUMNS: [(&str, &str); 14] = [
    ("inbox", "claimed_at"),
    ("inbox", "settled_at"),
    ("inbox", "run_id"),
    ("quarantine", "kept_at"),
    ("quarantine", "run_id"),
    ("migration", "applied_at"),
    ("ledger", "run_id"),
    ("ledger", "loaded_at"),
    ("ledger", "failed_run_id"),
    ("ledger", "failed_at"),
    ("held", "run_id"),
    ("held", "held_at"),
    ("held", "decided_by"),
    ("held", "decided_at"),
];

impl Given {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("test.db").display());
        Self { store: Store::open(&url).unwrap(), url, place: Place::Sqlite(folder) }
    }

    pub(crate) async fn postgres() -> Self {
        let database = postgres::database().await;
        let url = database.url();
        Self { store: Store::open(&url).unwrap(), url, place: Place::Postgres(database) }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.place, Place::Postgres(_))
    }

    pub(crate) fn sqlite_path(&self) -> std::path::PathBuf {
        match &self.place {
            Place::Sqlite(folder) => folder.path().join("test.db"),
            Place::Postgres(_) => panic!("not SQLite"),
        }
    }

    pub(crate) fn database(&self) -> &TestDatabase {
        match &self.place {
            Place::Postgres(database) => database,
            Place::Sqlite(_) => panic!("not PostgreSQL"),
        }
    }

    /// Everything, to the last value.
    pub(crate) async fn dump(&self) -> Dump {
        match &self.place {
            Place::Sqlite(_) => dump::sqlite(self.sqlite_path()),
            Place::Postgres(database) => dump::postgres(&database.client().await, Tables::All).await,
        }
    }

    /// Everything but the times and the runs' names.
    pub(crate) async fn state(&self) -> Dump {
        let system = |table: &str| {
            if self.is_postgres() { format!("landonce.{table}") } else { format!("landonce_{table}") }
        };
        let mut dump = self.dump().await;
        for (table, column) in RUN_COLUMNS {
            dump = dump.without(&[(&system(table), column)]);
        }
        let targets: Vec<String> =
            dump.tables().filter(|name| !name.contains("landonce")).map(str::to_owned).collect();
        for target in targets {
            for column in ["landonce_run_id", "retired_at", "retired_by"] {
                if self.has_column(&target, column).await {
                    dump = dump.without(&[(&target, column)]);
                }
            }
        }
        dump
    }

    async fn has_column(&self, table: &str, column: &str) -> bool {
        let table = table.rsplit('.').next().unwrap_or(table);
        !self.column(&if self.is_postgres() {
            format!("SELECT 1 FROM information_schema.columns WHERE table_name = '{table}' AND column_name = '{column}'")
        } else {
            format!("SELECT 1 FROM pragma_table_info('{table}') WHERE name = '{column}'")
        })
        .await
        .is_empty()
    }

    /// Runs statements.
    pub(crate) async fn execute(&self, sql: &str) {
        match &self.place {
            Place::Sqlite(_) => {
                rusqlite::Connection::open(self.sqlite_path()).unwrap().execute_batch(sql).unwrap();
            }
            Place::Postgres(database) => database.client().await.batch_execute(sql).await.unwrap(),
        }
    }

    /// A query's first column, as text.
    pub(crate) async fn column(&self, sql: &str) -> Vec<String> {
        match &self.place {
            Place::Sqlite(_) => {
                let connection = rusqlite::Connection::open(self.sqlite_path()).unwrap();
                let mut statement = connection.prepare(sql).unwrap();
                let rows = statement.query_map([], |row| {
                    Ok(match row.get_ref(0)? {
                        rusqlite::types::ValueRef::Null => "NULL".to_owned(),
                        rusqlite::types::ValueRef::Integer(value) => value.to_string(),
                        rusqlite::types::ValueRef::Real(value) => value.to_string(),
                        rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                        rusqlite::types::ValueRef::Blob(bytes) => hex::encode(bytes),
                    })
                });
                rows.unwrap().map(Result::unwrap).collect()
            }
            Place::Postgres(database) => {
                let client = database.client().await;
                let messages = client.simple_query(sql).await.unwrap();
                messages
                    .iter()
                    .filter_map(|message| match message {
                        tokio_postgres::SimpleQueryMessage::Row(row) => {
                            Some(row.get(0).unwrap_or("NULL").to_owned())
                        }
                        _ => None,
                    })
                    .collect()
            }
        }
    }

    pub(crate) async fn count(&self, table: &str) -> u64 {
        self.column(&format!("SELECT count(*) FROM {table}")).await[0].parse().unwrap()
    }

    /// The inbox's and the quarantine's names here.
    pub(crate) fn system(&self, table: &str) -> String {
        if self.is_postgres() { format!("landonce.{table}") } else { format!("landonce_{table}") }
    }

    /// Delivers NDJSON.
    pub(crate) async fn deliver(&self, pipeline: &Pipeline, lines: &[&str]) -> Result<Receipt, Error> {
        self.deliver_batch(pipeline, &Batch::from_bytes("events.ndjson", lines.join("\n"))).await
    }

    /// Delivers NDJSON under a batch id, so that equal bytes are another batch.
    pub(crate) async fn deliver_as(
        &self,
        pipeline: &Pipeline,
        id: &str,
        lines: &[&str],
    ) -> Result<Receipt, Error> {
        self.deliver_batch(pipeline, &Batch::from_bytes("events.ndjson", lines.join("\n")).with_id(id)).await
    }

    pub(crate) async fn deliver_batch(&self, pipeline: &Pipeline, batch: &Batch) -> Result<Receipt, Error> {
        pipeline.ingest_with(&self.store, batch, &patient()).await
    }
}

/// Options for tests: quick waits, many attempts.
pub(crate) fn patient() -> Options {
    Options {
        retry: RetryPolicy {
            attempts: 50,
            first_wait: std::time::Duration::from_millis(2),
            longest_wait: std::time::Duration::from_millis(50),
            ..RetryPolicy::default()
        },
        ..Options::default()
    }
}

/// A pipeline from its YAML, less the name.
pub(crate) fn pipeline(yaml: &str) -> Pipeline {
    Pipeline::from_yaml(&format!("pipeline: p\n{yaml}")).unwrap_or_else(|error| panic!("{yaml}: {error}"))
}

/// The receipt's counts that aren't zero, as text: `read 3, inserted 2, duplicates 1`.
pub(crate) fn counts(receipt: &Receipt) -> String {
    let outcome = receipt.outcome;
    assert_eq!(outcome.read, outcome.accounted(), "X3: every record is accounted for");
    [
        ("read", outcome.read),
        ("inserted", outcome.inserted),
        ("updated", outcome.updated),
        ("unchanged", outcome.unchanged),
        ("stale", outcome.stale),
        ("conflicts", outcome.conflicts),
        ("duplicates", outcome.duplicates),
        ("quarantined", outcome.quarantined),
        ("deleted", outcome.deleted),
    ]
    .iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| format!("{name} {count}"))
    .collect::<Vec<_>>()
    .join(", ")
}

/// Makes each claim a test on SQLite and a test on PostgreSQL.
macro_rules! on_every_store {
    ($($claim:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $claim() { super::$claim($crate::given::Given::sqlite()).await; })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $claim() { super::$claim($crate::given::Given::postgres().await).await; })*
        }
    };
}
pub(crate) use on_every_store;
