//! A look at several batches and a table at once, on one connection: what a replay and a pruning are decided by.

use landonce_core::plan::TableName;
use landonce_store::inbox::{InboxKey, Settled};
use landonce_store::seam::Connection;

use super::{Backend, Pending, Store, blocking};
use crate::error::Error;

/// What [`Store::look`] has seen.
pub(crate) struct Seen {
    /// The batches that have landed.
    pub(crate) landed: Vec<Settled>,
    /// The table is there.
    pub(crate) is_there: bool,
    /// It has rows.
    pub(crate) has_rows: bool,
}

impl Store {
    /// What the inbox says of these batches, and whether a table is there and has rows.
    pub(crate) fn look<'a>(
        &'a self,
        pipeline: &'a str,
        batch_ids: Vec<String>,
        table: &'a TableName,
    ) -> Pending<'a, Seen> {
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => {
                    look(database.connect().await?, pipeline, &batch_ids, table).await
                }
                Backend::Sqlite(database) => {
                    let (database, pipeline, table) = (database.clone(), pipeline.to_owned(), table.clone());
                    blocking(move || async move {
                        look(database.connect_read_only()?, &pipeline, &batch_ids, &table).await
                    })
                    .await
                }
            }
        })
    }
}

async fn look<C: Connection>(
    mut connection: C,
    pipeline: &str,
    batch_ids: &[String],
    table: &TableName,
) -> Result<Seen, Error> {
    let mut landed = Vec::new();
    for id in batch_ids {
        landed.extend(connection.look_up(&InboxKey::of(pipeline, id)).await?);
    }
    let is_there = connection.is_there(table).await?;
    Ok(Seen { landed, is_there, has_rows: connection.has_rows(table).await? })
}
