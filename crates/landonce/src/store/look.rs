//! A look at several batches and a table at once, on one connection: what a replay and a pruning are decided by.

use landonce_core::plan::TableName;
use landonce_store::inbox::{InboxKey, Settled};
use landonce_store::seam::{Access, Connection as _};

use super::on::ask;
use super::{Pending, Store};

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
        batch_ids: &'a [String],
        table: &'a TableName,
    ) -> Pending<'a, Seen> {
        let (pipeline, batch_ids) = (pipeline.to_owned(), batch_ids.to_vec());
        ask!(self, Access::ReadOnly, [pipeline, batch_ids, table], |mut session| {
            let mut landed = Vec::new();
            for id in batch_ids {
                landed.extend(session.look_up(&InboxKey::of(pipeline, id)).await?);
            }
            let is_there = session.is_there(table).await?;
            Ok(Seen { landed, is_there, has_rows: session.has_rows(table).await? })
        })
    }
}
