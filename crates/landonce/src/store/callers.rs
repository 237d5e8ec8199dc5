//! Transactions that are somebody else's: the same verbs, without a commit.

use std::sync::Arc;

use landonce_core::pipeline::Pipeline as Declared;
use landonce_store::outbox::Message;
use landonce_store::seam::Work as _;
use landonce_store::{postgres, sqlite};

use crate::batch::Batch;
use crate::error::Error;
use crate::ingest::{self, Options};
use crate::receipt::Receipt;

/// An open transaction of a driver that landonce knows: `tokio_postgres::Transaction` or `rusqlite::Transaction`.
///
/// Sealed: what a store must promise is written in `landonce_store::seam`.
#[expect(async_fn_in_trait, reason = "sealed: implemented here for two concrete types only")]
pub trait CallersTransaction: sealed::Sealed {
    /// Lands a batch inside the transaction.
    #[doc(hidden)]
    async fn ingest(
        &mut self,
        pipeline: &Arc<Declared>,
        batch: &Batch,
        options: &Options,
    ) -> Result<Receipt, Error>;

    /// Enqueues messages inside the transaction.
    #[doc(hidden)]
    async fn enqueue(&mut self, messages: &[Message]) -> Result<u64, Error>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for tokio_postgres::Transaction<'_> {}
    impl Sealed for rusqlite::Transaction<'_> {}
}

impl CallersTransaction for tokio_postgres::Transaction<'_> {
    async fn ingest(
        &mut self,
        pipeline: &Arc<Declared>,
        batch: &Batch,
        options: &Options,
    ) -> Result<Receipt, Error> {
        let shape = postgres::shape(&*self, &pipeline.target().table).await?;
        let mut work = postgres::Joined::on(&*self);
        ingest::ingest_in(&mut work, shape.as_ref(), pipeline, batch, options).await
    }

    async fn enqueue(&mut self, messages: &[Message]) -> Result<u64, Error> {
        Ok(postgres::Joined::on(&*self).enqueue(messages).await?)
    }
}

impl CallersTransaction for rusqlite::Transaction<'_> {
    async fn ingest(
        &mut self,
        pipeline: &Arc<Declared>,
        batch: &Batch,
        options: &Options,
    ) -> Result<Receipt, Error> {
        let shape = sqlite::shape(self, &pipeline.target().table)?;
        let mut work = sqlite::Joined::on(self);
        ingest::ingest_in(&mut work, shape.as_ref(), pipeline, batch, options).await
    }

    async fn enqueue(&mut self, messages: &[Message]) -> Result<u64, Error> {
        Ok(sqlite::Joined::on(self).enqueue(messages).await?)
    }
}
