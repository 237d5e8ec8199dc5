//! `quarantine retry`: open entries are delivered again, as a batch of their own, through the one write path; and one entry whose
//! text somebody has corrected.

use landonce_core::bad_record::BadKind;
use landonce_core::json::{Kind, Tape};
use landonce_store::quarantine::Entry;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::batch::{Batch, Entries};
use crate::decode::Format;
use crate::error::Error;
use crate::ingest::Options;
use crate::pipeline::Pipeline;
use crate::receipt::Receipt;
use crate::store::{Pending, Store};

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
            let made_of =
                Entries { ids: group.iter().map(|entry| entry.id).collect(), is_lexical, must_land: false };
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

    /// Delivers one quarantined record with a corrected text: one JSON object. If it lands, the entry is marked with the run that
    /// landed it, in the same transaction. The same correction sent twice is one: the second is a skipped duplicate.
    ///
    /// # Errors
    /// When the text is still bad or in conflict ([`Error::bad_records`] says why): nothing is written, and the entry stays. When the
    /// entry is another pipeline's, or has landed otherwise: once resolved, it is done with.
    pub fn retry_edited<'a>(
        &'a self,
        store: &'a Store,
        entry_id: &'a str,
        text: &'a str,
        options: &'a Options,
    ) -> Pending<'a, Retried> {
        Box::pin(async move {
            let entry = store.quarantine_entry(entry_id).await?;
            if entry.pipeline != self.name() {
                return Err(Error::declaration(format!(
                    "the entry {} is one of the pipeline `{}`, not of `{}`",
                    &hex::encode(entry.id)[..12],
                    entry.pipeline,
                    self.name()
                )));
            }
            let mut tape = Tape::default();
            match tape.scan(text.as_bytes()) {
                Ok(json) if json.kind() == Kind::Object => {}
                Ok(json) => {
                    let found = json.kind().noun();
                    return Err(Error::declaration(format!(
                        "the corrected text is {found}; a JSON object is due"
                    )));
                }
                Err(bad) => {
                    return Err(Error::declaration(format!("the corrected text is no JSON object: {bad}")));
                }
            }
            let bytes = format!("[{text}]").into_bytes();
            // The id is of the entry and the correction: whoever sends the same again is told that it has landed.
            let id = format!("quarantine/{}/{}", hex::encode(entry.id), hex::encode(Sha256::digest(&bytes)));
            if entry.resolved_by.is_some() && store.batch(self.name(), &id).await?.is_none() {
                return Err(resolved_already());
            }
            let is_lexical = matches!(Format::guess(&entry.source, &[]), Some(Format::Csv(_)));
            let made_of = Entries { ids: vec![entry.id], is_lexical, must_land: true };
            let batch = Batch::from_bytes("quarantine.json", bytes).with_id(id).made_of(made_of);
            let correcting = std::sync::Arc::new(self.declared().clone().correcting());
            let receipt = store.ingest(&correcting, &batch, options).await?;
            Ok(Retried { receipt, entries: 1, landed: 1 })
        })
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

/// Somebody else was quicker.
pub(crate) fn resolved_already() -> Error {
    Error::declaration(
        "the quarantine entry has been resolved already: it has landed, as it was or corrected otherwise; `landonce quarantine show` says \
         by which run",
    )
}
