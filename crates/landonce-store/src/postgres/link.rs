//! One connection's ways to ask, each with what was being done put before an error's words.
//!
//! Only unnamed statements and plain text: a transaction-mode pooler may give every transaction another server
//! connection, and must find nothing of ours left on it. Results have built-in types only, because the driver would look any
//! other up with named statements of its own.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::{SinkExt, TryStreamExt};
use landonce_core::plan::PlanColumn;
use landonce_core::retry::Code;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, CopyInSink, GenericClient, Row, Statement};

use super::errors;
use crate::error::{Error, Result};

/// What ended the connection, once it has ended.
pub(super) type Lost = Arc<OnceLock<(Code, String)>>;

/// Parameters with their types, so that nothing has to be prepared.
pub(super) type Params<'p> = &'p [(&'p (dyn ToSql + Sync), Type)];

/// A connection, and why it ended if it has.
#[derive(Clone)]
pub(super) struct Link<'c> {
    pub(super) client: &'c Client,
    pub(super) lost: Lost,
}

impl<'c> Link<'c> {
    /// A caller's connection, which has its own way to learn why it ended.
    pub(super) fn on(client: &'c impl GenericClient) -> Self {
        Self { client: client.client(), lost: Lost::default() }
    }
}

impl Link<'_> {
    fn failed(&self, doing: &str) -> impl FnOnce(tokio_postgres::Error) -> Error {
        move |error| errors::failed(&error, &self.lost, doing)
    }

    pub(super) async fn query(&self, doing: &str, sql: &str, params: Params<'_>) -> Result<Vec<Row>> {
        self.client.query_typed(sql, params).await.map_err(self.failed(doing))
    }

    /// As [`Link::query`], without holding the rows themselves.
    pub(super) async fn collect<T>(
        &self,
        doing: &str,
        sql: &str,
        read: impl Fn(&Row) -> T,
    ) -> Result<Vec<T>> {
        let collected = async {
            let none: [(&(dyn ToSql + Sync), Type); 0] = [];
            let rows = self.client.query_typed_raw(sql, none).await?;
            rows.map_ok(|row| read(&row)).try_collect().await
        };
        collected.await.map_err(self.failed(doing))
    }

    pub(super) async fn one(&self, doing: &str, sql: &str, params: Params<'_>) -> Result<Row> {
        self.client.query_typed_one(sql, params).await.map_err(self.failed(doing))
    }

    pub(super) async fn execute(&self, doing: &str, sql: &str, params: Params<'_>) -> Result<u64> {
        self.client.execute_typed(sql, params).await.map_err(self.failed(doing))
    }

    /// Several statements in one message, without results.
    pub(super) async fn batch(&self, doing: &str, sql: &str) -> Result<()> {
        self.client.batch_execute(sql).await.map_err(self.failed(doing))
    }

    /// The driver can COPY by a named statement only: whoever keeps it must let it go before the transaction ends.
    pub(super) async fn prepare(&self, doing: &str, sql: &str) -> Result<Statement> {
        self.client.prepare(sql).await.map_err(self.failed(doing))
    }

    /// Sends a COPY's messages; returns how many rows the server took. `columns` are the names of what our temporary
    /// tables call `c0`, `c1` …, for an error that names none.
    pub(super) async fn copy(
        &self,
        statement: &Statement,
        pieces: impl Iterator<Item = Bytes>,
        columns: &[PlanColumn],
    ) -> Result<u64, Fault> {
        let sent = async {
            let sink: CopyInSink<Bytes> = self.client.copy_in(statement).await?;
            let mut sink = std::pin::pin!(sink);
            for piece in pieces {
                sink.as_mut().feed(piece).await?;
            }
            sink.as_mut().finish().await
        };
        sent.await.map_err(|error| {
            let place = errors::copied_to(&error);
            let mut error = errors::failed(&error, &self.lost, "");
            if error.name.is_none() {
                error.name = place.column.and_then(|at| columns.get(at)).map(|column| column.name.clone());
            }
            Fault { error, row: place.row }
        })
    }
}

/// A failure of a range of rows, and the row of the range at which it stopped, if that is told.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: Error,
    pub(super) row: Option<usize>,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { error, row: None }
    }
}
