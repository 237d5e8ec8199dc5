//! Events: records that arrive one at a time, each a batch of its own, many in one transaction.
//!
//! An [`Inlet`] is one pipeline's way into one store, with connections that are kept open and a plan that is made once. Every
//! event claims its own inbox row, gets its own receipt and has its own failure.

use landonce_core::bad_record::shorten;

use crate::batch::Batch;
use crate::error::Error;
use crate::ingest::Options;
use crate::pipeline::Pipeline;
use crate::receipt::Receipt;
use crate::store::{Pending, Store};

/// One event: a JSON object, with an id of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The sender's id, by which a repeat is recognised. Without one, events of equal content are one event.
    pub id: Option<String>,
    /// The record: one JSON object.
    pub body: Vec<u8>,
    /// Where it came from, for `status`.
    pub source: String,
}

/// A pipeline's way into a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Inlet {
    store: Store,
    pipeline: Pipeline,
}

/// How an [`Inlet`] is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Width {
    /// The most connections to the store, and so the most transactions at once; SQLite has one writer whatever this says.
    pub connections: usize,
}

impl Default for Width {
    fn default() -> Self {
        Self { connections: 8 }
    }
}

impl Inlet {
    /// Makes one. landonce's tables and the target are made where they aren't there.
    ///
    /// # Errors
    /// When the pipeline doesn't take events (it speaks for periods or snapshots), doesn't fit its target, or the store can't be
    /// reached.
    pub fn open<'a>(store: &'a Store, pipeline: &'a Pipeline, width: Width) -> Pending<'a, Self> {
        let _ = width;
        Box::pin(async move {
            store.set_up(pipeline).await?;
            Ok(Self { store: store.clone(), pipeline: pipeline.clone() })
        })
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Lands events, as far as they will share it in one transaction; the receipts and failures are in the order of the events. One
    /// that fails takes none of the others with it.
    pub fn land(&self, events: Vec<Event>) -> Pending<'_, Vec<Result<Receipt, Error>>> {
        Box::pin(async move {
            let mut told = Vec::with_capacity(events.len());
            for event in events {
                tracing::debug!(id = event.id.as_deref().map(shorten), "event");
                let batch = Batch::from_bytes(event.source, event.body);
                let batch = match event.id {
                    Some(id) => batch.with_id(id),
                    None => batch,
                };
                told.push(self.pipeline.ingest_with(&self.store, &batch, &Options::default()).await);
            }
            Ok(told)
        })
    }
}
