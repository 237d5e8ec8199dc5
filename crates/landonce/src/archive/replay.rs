//! Replay: batches out of the archive, through the one write path, in the order in which they landed.
//!
//! Three ways. What never landed is landed now. `again` applies landed batches once more, each as a batch of its own
//! (`replay:<id>:<run>`), since its id is taken. `into` writes what has landed into another, empty table, to compare.
//!
//! It only reads the archive: a replay is no delivery of the sender's.
//!
//! The danger is the order: an upsert without a version takes whatever comes last, so an older batch that is applied after a
//! newer one wins. Such a replay is refused unless every batch that has landed since is applied after it again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use landonce_archive::{Archive, Form, Manifest};
use landonce_core::pipeline::Pipeline as Declared;
use landonce_core::plan::WriteMode;
use landonce_store::inbox::Settled;
use uuid::Uuid;

use crate::batch::{Batch, Entries};
use crate::error::{Error, Repr};
use crate::ingest::Options;
use crate::payload::Payload;
use crate::pipeline::Pipeline;
use crate::receipt::{Commit, Notes, Receipt, Status};
use crate::store::{Pending, Store};

/// How many batches a refusal names.
const NAMED: usize = 3;

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
    /// It is applied, under this id.
    Apply {
        /// Its own, or `replay:<id>:<run>`.
        batch_id: String,
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
}

/// Batches to be applied, in order.
#[derive(Debug)]
pub struct Replay {
    archive: Archive,
    declared: Arc<Declared>,
    steps: Vec<Step>,
    table: String,
}

/// A moment to order by, and the step.
type Ordered = (Timestamp, Step);

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
            let found = select(&archive, self.name(), selection).await?;
            if found.is_empty() {
                return Err(refused(nothing(&archive, self.name(), selection)));
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
            let seen = store.look(self.name(), ids, &declared.target().table).await?;
            let landed: BTreeMap<String, Settled> =
                seen.landed.into_iter().map(|settled| (settled.batch_id.clone(), settled)).collect();

            let mut ordered = order(found, &landed, way, run_id)?;
            ordered.sort_by_key(|(moment, _)| *moment);
            guard(self, store, &ordered, way).await?;
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
            Ok(Replay { archive, declared: Arc::new(declared), steps, table })
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
            let batch_id = match &step.what {
                What::Apply { batch_id } => batch_id,
                What::Landed(settled) => return Ok(Some(skipped(settled))),
                What::LeftOut(_) => return Ok(None),
            };
            let file = self.archive.open_verified(&step.manifest).await?;
            let payload = Payload::of_temporary(&step.manifest.source, file)?;
            let mut batch = Batch::from_payload(payload).with_id(batch_id.clone());
            let mut declared = Arc::clone(&self.declared);
            if let Form::Quarantined { is_lexical } = step.manifest.form {
                batch = batch.made_of(Entries { ids: Vec::new(), is_lexical });
                declared = Arc::new(declared.as_ref().clone().quarantining());
            }
            store.ingest(&declared, &batch, options).await.map(Some)
        })
    }
}

fn refused(message: String) -> Error {
    Repr::Replay(message).into()
}

fn nothing(archive: &Archive, pipeline: &str, selection: &Selection) -> String {
    let which = match selection {
        Selection { batch_id: Some(id), .. } => format!("no batch `{id}` of the pipeline `{pipeline}`"),
        Selection { from: None, to: None, .. } => format!("no batch of the pipeline `{pipeline}`"),
        _ => format!("no batch of the pipeline `{pipeline}` that was received in that time"),
    };
    format!("the archive at `{}` has {which}; `landonce archive list` shows what it has", archive.place())
}

async fn select(archive: &Archive, pipeline: &str, selection: &Selection) -> Result<Vec<Manifest>, Error> {
    Ok(match &selection.batch_id {
        Some(id) => archive.of_batch(pipeline, id).await?,
        None => archive.list(pipeline, selection.from, selection.to).await?,
    })
}

/// A batch's manifests lie in the order in which they were received; which of them counts, and when did it land?
fn order(
    found: Vec<Manifest>,
    landed: &BTreeMap<String, Settled>,
    way: &Way,
    run_id: Uuid,
) -> Result<Vec<Ordered>, Error> {
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    for one in &found {
        last.insert(one.batch_id.clone(), one.digest.clone());
    }
    found
        .into_iter()
        .map(|manifest| {
            let settled = landed.get(&manifest.batch_id);
            let counts = settled.map_or_else(
                || last.get(&manifest.batch_id) == Some(&manifest.digest),
                |settled| hex::encode(settled.digest) == manifest.digest,
            );
            let moment = match settled {
                Some(settled) if counts => moment(settled)?,
                _ => manifest.received_at,
            };
            let what = match (settled, way) {
                _ if !counts => What::LeftOut(LeftOut::OtherContent),
                (Some(settled), Way::Missing) => What::Landed(settled.clone()),
                (Some(_), Way::Again) => What::Apply { batch_id: again(&manifest.batch_id, run_id) },
                (Some(_), Way::Into(_)) | (None, Way::Missing | Way::Again) => {
                    What::Apply { batch_id: manifest.batch_id.clone() }
                }
                (None, Way::Into(_)) => What::LeftOut(LeftOut::NeverLanded),
            };
            Ok((moment, Step { manifest, what }))
        })
        .collect()
}

fn moment(settled: &Settled) -> Result<Timestamp, Error> {
    settled.settled_at.parse().map_err(|error| {
        Error::internal(format!("the inbox says `{}` settled at: {error}", settled.settled_at))
    })
}

fn again(batch_id: &str, run_id: Uuid) -> String {
    format!("replay:{batch_id}:{run_id}")
}

/// The batch that an id made by [`again`] applies again.
fn original(batch_id: &str) -> &str {
    let inner = batch_id.strip_prefix("replay:").and_then(|rest| rest.rsplit_once(':'));
    inner.filter(|(_, run_id)| Uuid::try_parse(run_id).is_ok()).map_or(batch_id, |(id, _)| id)
}

/// Refuses to let an older batch win over a newer one.
async fn guard(pipeline: &Pipeline, store: &Store, ordered: &[Ordered], way: &Way) -> Result<(), Error> {
    let write = pipeline.declared().write();
    if matches!(way, Way::Into(_)) || write.mode == WriteMode::InsertOnce || write.version.is_some() {
        return Ok(()); // an order that the rows keep by themselves, or a table of its own
    }
    let applied = || ordered.iter().filter(|(_, step)| matches!(step.what, What::Apply { .. }));
    let Some((first, oldest)) = applied().next() else { return Ok(()) };
    let ids: BTreeSet<&str> = applied().map(|(_, step)| step.manifest.batch_id.as_str()).collect();
    let newer = landed_since(store, pipeline.name(), *first).await?;
    let in_the_way: Vec<&Settled> =
        newer.iter().filter(|settled| !ids.contains(original(&settled.batch_id))).collect();
    if in_the_way.is_empty() {
        return Ok(());
    }
    let mut named: Vec<String> = in_the_way
        .iter()
        .rev()
        .take(NAMED)
        .map(|settled| format!("`{}` ({})", settled.batch_id, settled.settled_at))
        .collect();
    if in_the_way.len() > NAMED {
        named.push(format!("{} more", in_the_way.len() - NAMED));
    }
    Err(refused(format!(
        "batch `{}` is older than what has landed since: {}. Without `write.version` whatever comes last wins, so its rows would \
         replace newer ones. Declare a version; or apply all of them again in their order, with --again, --from {} and no --to; or \
         look at the rows first, with --into",
        oldest.manifest.batch_id,
        named.join(", "),
        oldest.manifest.received_at,
    )))
}

/// The pipeline's batches that have landed at this moment or later, newest first.
async fn landed_since(store: &Store, pipeline: &str, since: Timestamp) -> Result<Vec<Settled>, Error> {
    let mut limit = 1000;
    loop {
        let batches = store.batches(limit).await?;
        let is_all = batches.len() < limit;
        let mut newer = Vec::new();
        let mut is_past = false;
        for settled in batches {
            if moment(&settled)? < since {
                is_past = true;
                break;
            }
            if settled.pipeline == pipeline {
                newer.push(settled);
            }
        }
        if is_all || is_past {
            return Ok(newer);
        }
        limit *= 4;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_applied_again_is_known_by_its_own_id() {
        let run_id = Uuid::now_v7();
        for id in ["2026-11-30", "a:b", "replay", ""] {
            assert_eq!(original(&again(id, run_id)), id);
            assert_eq!(original(id), id);
        }
        assert_eq!(original("replay:of:somebody"), "replay:of:somebody");
    }
}
