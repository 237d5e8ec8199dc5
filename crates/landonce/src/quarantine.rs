//! `quarantine retry`: open entries are delivered again, as a batch of their own, through the one write path.

use landonce_core::bad_record::BadKind;
use landonce_core::json::Tape;
use landonce_store::quarantine::Entry;
use uuid::Uuid;

use crate::batch::{Batch, Entries};
use crate::decode::Format;
use crate::error::Error;
use crate::ingest::Options;
use crate::pipeline::Pipeline;
use crate::receipt::Receipt;
use crate::store::Store;

/// How many entries one retry takes.
const MOST: usize = 10_000;

/// What became of a retry.
#[derive(Debug, Clone, PartialEq)]
pub struct Retried {
    /// The batch that the entries made.
    pub receipt: Receipt,
    /// Entries delivered again.
    pub entries: u64,
    /// Entries that are no longer open.
    pub landed: u64,
}

impl Pipeline {
    /// Delivers this pipeline's open quarantine entries again. What lands is marked with the run that landed it, in the
    /// same transaction; what is still bad stays. Conflicts are left alone: which content is right is for a person to
    /// say. `None` when nothing is open.
    pub async fn retry_quarantine(&self, store: &Store, options: &Options) -> Result<Option<Retried>, Error> {
        let entries = store.quarantine(Some(self.name()), MOST).await?;
        let mut tape = Tape::default();
        let open: Vec<Entry> = entries
            .into_iter()
            .filter(|entry| entry.resolved_by.is_none() && entry.kind != BadKind::Conflict.as_str())
            .filter(|entry| tape.scan(&entry.raw).is_ok()) // bytes that aren't JSON can't become right by a retry
            .collect();
        let is_lexical = |entry: &Entry| matches!(Format::guess(&entry.source, &[]), Some(Format::Csv(_)));
        let (texts, typed): (Vec<Entry>, Vec<Entry>) = open.into_iter().partition(is_lexical);
        let mut retried: Option<Retried> = None;
        for (group, is_lexical) in [(typed, false), (texts, true)] {
            if group.is_empty() {
                continue;
            }
            let run_id = options.run_id.unwrap_or_else(Uuid::now_v7);
            let made_of = Entries { ids: group.iter().map(|entry| entry.id).collect(), is_lexical };
            let one = self.deliver_again(store, options, &group, run_id, made_of).await?;
            retried = Some(match retried {
                None => one,
                Some(before) => Retried {
                    entries: before.entries + one.entries,
                    landed: before.landed + one.landed,
                    ..one
                },
            });
        }
        Ok(retried)
    }

    async fn deliver_again(
        &self,
        store: &Store,
        options: &Options,
        group: &[Entry],
        run_id: Uuid,
        made_of: Entries,
    ) -> Result<Retried, Error> {
        let mut bytes = vec![b'['];
        for (at, entry) in group.iter().enumerate() {
            if at > 0 {
                bytes.push(b',');
            }
            bytes.extend_from_slice(&entry.raw);
        }
        bytes.push(b']');
        // The id names the run: the same entries may be tried again after another fix, and none lands twice, since what
        // has landed is open no longer.
        let batch = Batch::from_bytes("quarantine.json", bytes)
            .with_id(format!("quarantine/{run_id}"))
            .made_of(made_of);
        let options = Options { run_id: Some(run_id), ..options.clone() };
        let receipt = store
            .ingest(&std::sync::Arc::new(self.declared().clone().quarantining()), &batch, &options)
            .await?;
        let entries = group.len() as u64;
        Ok(Retried { landed: entries - receipt.outcome.quarantined, entries, receipt })
    }
}
