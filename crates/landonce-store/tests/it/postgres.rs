//! PostgreSQL keeps the contract; and what only PostgreSQL can get wrong: its catalogue, its types, its locks, poolers,
//! connections that end, rows that it refuses in bulk.
//!
//! Each test has a database of its own on the server that `LANDONCE_TEST_POSTGRES` names, or on a private one.

mod bulk;
mod column_types;
mod connections;
mod in_between;
mod joined;
mod outbox_at_once;
mod outbox_costs;
mod report;
mod setup;
mod shapes;
mod tables;
mod writers;

use landonce_core::plan::TablePlan;
use landonce_store::postgres::{Database, Session};
use landonce_store::seam::{Class, Refused, Rows, Todo, Work, Written};
use landonce_testkit::postgres::TestDatabase;
use tokio_postgres::SimpleQueryMessage;
use uuid::Uuid;

use crate::conformance::{Bench, Dialect, Record, every_promise, row};

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

    pub(crate) fn name(&self) -> &str {
        self.database.name()
    }

    pub(crate) fn url(&self) -> String {
        self.database.url()
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

/// Stages records in one piece.
pub(crate) async fn stage<W: Work>(work: &mut W, plan: &TablePlan, records: &[Record]) -> Vec<Refused> {
    let columns = plan.stage_columns();
    let mut rows = (work.encoder(plan, &columns))();
    for at in 0..records.len() {
        rows.push(&row(plan, &columns, records, at, false));
    }
    work.stage(rows).await.unwrap()
}

/// Rows of these records, to be written in one piece.
pub(crate) fn whole_rows<W: Work>(work: &W, plan: &TablePlan, records: &[Record], todo: &[Todo]) -> W::Rows {
    let columns = plan.row_columns();
    let mut rows = (work.encoder(plan, &columns))();
    for one in todo.iter().filter(|one| one.class != Class::Conflict) {
        rows.push(&row(plan, &columns, records, (one.place.number - 1) as usize, false));
    }
    rows
}

/// Writes all that is to be written, in one piece.
pub(crate) async fn write_all<W: Work>(
    work: &mut W,
    plan: &TablePlan,
    records: &[Record],
    run_id: Uuid,
) -> landonce_store::Result<Written> {
    let todo = work.next_rows(records.len() + 1).await?;
    let rows = whole_rows(work, plan, records, &todo);
    work.write(rows, run_id).await
}
