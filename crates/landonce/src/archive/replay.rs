//! Replay: batches out of the archive, through the one write path, in the order in which they landed.
//!
//! Three ways. What never landed is landed now. `again` applies landed batches once more, each as a batch of its own
//! (`replay:<id>:<run>`), since its id is taken. `into` writes what has landed into another, empty table, to compare.
//!
//! It only reads the archive: a replay is no delivery of the sender's.
//!
//! Where the order decides what is left, it is kept, or the replay is refused (`order.rs`).

mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use landonce_archive::{Archive, Form, Manifest};
use landonce_core::pipeline::Pipeline as Declared;
use landonce_store::inbox::Settled;
use uuid::Uuid;

use crate::batch::{Batch, Entries, OneEvent};
use crate::error::{Error, Repr};
use crate::ingest::{Options, Release};
use crate::payload::Payload;
use crate::pipeline::Pipeline;
use crate::receipt::{Commit, Notes, Receipt, Status};
use crate::store::{Pending, Store};

/// Which batches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The batch of this id.
    pub batch_id: Option<String>,
    /// Batches received at this moment or later.
    pub from: Option<Timestamp>,
    /// Batches received before this moment.
    pub to: Option<Timestamp>,
}

/// What is done with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// What never landed is landed; what has landed is skipped.
    Missing,
    /// What has landed is applied again as well.
    Again,
    /// What has landed is written into this table, which is made, or is there and empty.
    Into(String),
}

/// A batch of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Which bytes.
    pub manifest: Manifest,
    /// What is done with them.
    pub what: What,
}

/// What is done with a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// It is applied.
    Apply {
        /// Under this id: its own, or `replay:<id>:<run>`. `None` for a load of a period or of a snapshot, which the ledger numbers.
        batch_id: Option<String>,
        /// It has landed before.
        is_again: bool,
    },
    /// It has landed: a skipped duplicate.
    Landed(Settled),
    /// It is left out.
    LeftOut(LeftOut),
}

/// Why a batch is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// It never landed, and what has landed is asked for.
    NeverLanded,
    /// Another content under the same id has landed, or was delivered later.
    OtherContent,
    /// A later load of the same period is applied, and would overwrite it.
    LaterLoad,
}

/// Batches to be applied, in order.
#[derive(Debug)]
pub struct Replay {
    archive: Archive,
    declared: Arc<Declared>,
    steps: Vec<Step>,
    table: String,
    is_scratch: bool,
}

impl Pipeline {
    /// Says what a replay would do, batch by batch. Writes nothing; [`Replay::apply`] does it. `run_id` goes into the names
    /// that the replay needs: those of batches applied again, and that under which another table is filled.
    pub fn replay<'a>(
        &'a self,
        store: &'a Store,
        selection: &'a Selection,
        way: &'a Way,
        run_id: Uuid,
    ) -> Pending<'a, Replay> {
        Box::pin(async move {
            let archive = self.archive()?;
            let found = order::select(&archive, self.name(), selection).await?;
            if found.is_empty() {
                return Err(refused(order::nothing(&archive, self.name(), selection)));
            }
            let declared = match way {
                Way::Into(table) => {
                    let name = format!("{}→{table} {run_id}", self.name());
                    let scratch = self.declared().clone().into_scratch(name, table);
                    scratch.map_err(|source| Repr::Pipeline { path: "replay".into(), source })?
                }
                // What comes out of the archive is in it.
                Way::Missing | Way::Again => self.declared().clone().unarchived(),
            };
            let ids: BTreeSet<String> = found.iter().map(|one| one.batch_id.clone()).collect();
            let ids: Vec<String> = ids.into_iter().collect();
            let seen = store.look(self.name(), &ids, &declared.target().table).await?;
            let landed: BTreeMap<String, Settled> =
                seen.landed.into_iter().map(|settled| (settled.batch_id.clone(), settled)).collect();

            let ordered = order::order(self.declared(), found, &landed, way, run_id)?;
            order::guard(self.declared(), store, &ordered, way).await?;
            let steps: Vec<Step> = ordered.into_iter().map(|(_, step)| step).collect();
            let table = declared.target().table.to_string();
            match way {
                Way::Into(_) if declared.target().table == self.declared().target().table => {
                    return Err(refused(format!("`{table}` is the pipeline's own table; name another one")));
                }
                Way::Into(_) if seen.has_rows => {
                    return Err(refused(format!(
                        "`{table}` has rows already, so it would not hold what the archive makes alone; name a table that doesn't \
                         exist, or empty this one"
                    )));
                }
                Way::Missing
                    if !seen.is_there && steps.iter().any(|step| matches!(step.what, What::Landed(_))) =>
                {
                    return Err(refused(format!(
                        "the table `{table}` isn't there, though batches have landed in it; bring it back, or add --again to make it anew \
                         from the archive"
                    )));
                }
                _ => {}
            }
            let is_scratch = matches!(way, Way::Into(_));
            Ok(Replay { archive, declared: Arc::new(declared), steps, table, is_scratch })
        })
    }
}

impl Replay {
    /// The batches, in the order in which they are to be applied.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Where they go.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Applies one. `None` for one that is left out. Its bytes are checked before the first record of them is read.
    pub fn apply<'a>(
        &'a self,
        store: &'a Store,
        step: &'a Step,
        options: &'a Options,
    ) -> Pending<'a, Option<Receipt>> {
        Box::pin(async move {
            let (batch_id, is_again) = match &step.what {
                What::Apply { batch_id, is_again } => (batch_id, *is_again),
                What::Landed(settled) => return Ok(Some(skipped(settled))),
                What::LeftOut(_) => return Ok(None),
            };
            let manifest = &step.manifest;
            let file = self.archive.open_verified(manifest).await?;
            let mut batch = Batch::from_payload(Payload::of_temporary(&manifest.source, file)?);
            if let Some(id) = batch_id {
                batch = batch.with_id(id.clone());
            }
            let mut declared = self.declared.as_ref().clone();
            let mut options = options.clone();
            if is_again || self.is_scratch {
                // It was proven complete, and weighed, when it landed, and these are the bytes that were.
                declared = declared.proven_by_files();
                options.release.get_or_insert(Release { is_incomplete: true, ..Release::default() });
            }
            if let Form::Quarantined { is_lexical } = manifest.form {
                batch = batch.made_of(Entries { ids: Vec::new(), is_lexical, must_land: false });
                declared = declared.quarantining();
            }
            if manifest.form == Form::Event {
                batch = batch.of_one(OneEvent::default());
                declared = declared.of_events();
            }
            if let Some(label) = &manifest.period {
                declared = declared
                    .in_period(label)
                    .map_err(|source| Repr::Pipeline { path: self.declared.name().to_owned(), source })?;
                // Whether the period was over is told by when its payload came, not by when it is applied.
                options.started_at.get_or_insert(manifest.received_at);
            }
            // What goes elsewhere to be compared is no news of the target.
            options.notify &= !self.is_scratch;
            // The same payload is applied too: rows of it are lost.
            options.is_forced |= is_again;
            let declared = Arc::new(declared);
            let options = &options;
            store.ingest(&declared, &batch, options).await.map(Some)
        })
    }
}

fn refused(message: String) -> Error {
    Repr::Replay(message).into()
}

/// What a delivery of a batch that has landed is told.
fn skipped(settled: &Settled) -> Receipt {
    Receipt {
        status: Status::SkippedDuplicate,
        batch_id: settled.batch_id.clone(),
        run_id: settled.run_id,
        outcome: settled.outcome,
        attempts: 1,
        commit: Commit::Clean,
        period: None,
        notes: Notes::default(),
    }
}
