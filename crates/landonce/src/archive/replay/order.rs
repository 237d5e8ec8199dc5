//! Which batches a replay applies, in which order, and whether that order may be had.
//!
//! The danger is the order: an upsert without a version takes whatever comes last, so an older batch that is applied after a
//! newer one wins; and a period is what was loaded last. Such a replay is refused unless every batch that has landed since is
//! applied after it again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use landonce_archive::{Archive, Form, Manifest};
use landonce_core::pipeline::{Pipeline as Declared, Whole};
use landonce_core::plan::WriteMode;
use landonce_store::inbox::Settled;
use uuid::Uuid;

use super::{LeftOut, Selection, Step, Way, What, refused};
use crate::error::Error;
use crate::store::Store;

/// How many batches a refusal names.
const NAMED: usize = 3;

/// A moment to order by, and the step.
pub(super) type Ordered = (Timestamp, Step);

pub(super) fn nothing(archive: &Archive, pipeline: &str, selection: &Selection) -> String {
    let which = match selection {
        Selection { batch_id: Some(id), .. } => format!("no batch `{id}` of the pipeline `{pipeline}`"),
        Selection { from: None, to: None, .. } => format!("no batch of the pipeline `{pipeline}`"),
        _ => format!("no batch of the pipeline `{pipeline}` that was received in that time"),
    };
    format!("the archive at `{}` has {which}; `landonce archive list` shows what it has", archive.place())
}

pub(super) async fn select(
    archive: &Archive,
    pipeline: &str,
    selection: &Selection,
) -> Result<Vec<Manifest>, Error> {
    Ok(match &selection.batch_id {
        Some(id) => archive.of_batch(pipeline, id).await?,
        None => archive.list(pipeline, selection.from, selection.to).await?,
    })
}

/// What is done with each of these, in the order in which they landed, or were received.
pub(super) fn order(
    pipeline: &Declared,
    found: Vec<Manifest>,
    landed: &BTreeMap<String, Settled>,
    way: &Way,
    run_id: Uuid,
) -> Result<Vec<Ordered>, Error> {
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    for one in &found {
        last.insert(one.batch_id.clone(), one.digest.clone());
    }
    let ordered: Result<Vec<Ordered>, Error> = found
        .into_iter()
        .map(|manifest| {
            let settled = landed.get(&manifest.batch_id);
            let counts = settled.map_or_else(
                || last.get(&manifest.batch_id) == Some(&manifest.digest),
                // An event's id has one content for ever, and its inbox row that content's digest.
                |settled| manifest.form == Form::Event || hex::encode(settled.digest) == manifest.digest,
            );
            let moment = match settled {
                Some(settled) if counts => moment(settled)?,
                _ => manifest.received_at,
            };
            let what = match (settled, way) {
                _ if !counts => What::LeftOut(LeftOut::OtherContent),
                (Some(settled), Way::Missing) => What::Landed(settled.clone()),
                (Some(_), Way::Again) => {
                    let again = again(&manifest.batch_id, run_id);
                    What::Apply {
                        batch_id: load_of(pipeline, &manifest).is_none().then_some(again),
                        is_again: true,
                    }
                }
                (Some(_), Way::Into(_)) | (None, Way::Missing | Way::Again) => {
                    let own = load_of(pipeline, &manifest).is_none().then(|| manifest.batch_id.clone());
                    What::Apply { batch_id: own, is_again: false }
                }
                (None, Way::Into(_)) => What::LeftOut(LeftOut::NeverLanded),
            };
            Ok((moment, Step { manifest, what }))
        })
        .collect();
    let mut ordered = ordered?;
    ordered.sort_by_key(|(moment, _)| *moment);
    if *way != Way::Missing {
        only_last_loads(&mut ordered);
    }
    Ok(ordered)
}

/// What a batch is a load of, where the ledger numbers loads (`2026-03-01#2`, `snapshot#7`).
fn load_of<'m>(pipeline: &Declared, manifest: &'m Manifest) -> Option<&'m str> {
    if manifest.period.is_some() {
        return manifest.period.as_deref();
    }
    let (label, number) = manifest.batch_id.rsplit_once('#')?;
    let is_load = matches!(pipeline.whole(), Some(Whole::Snapshot(_)))
        && label == "snapshot"
        && number.bytes().all(|byte| byte.is_ascii_digit());
    is_load.then_some(label)
}

/// Of several loads of a period that have landed, the last one is what the period holds.
fn only_last_loads(ordered: &mut [Ordered]) {
    let mut later: BTreeSet<String> = BTreeSet::new();
    for (_, step) in ordered.iter_mut().rev() {
        let What::Apply { .. } = step.what else { continue };
        let Some(label) = &step.manifest.period else { continue };
        if !later.insert(label.clone()) {
            step.what = What::LeftOut(LeftOut::LaterLoad);
        }
    }
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
pub(super) async fn guard(
    pipeline: &Declared,
    store: &Store,
    ordered: &[Ordered],
    way: &Way,
) -> Result<(), Error> {
    let write = pipeline.write();
    let keeps_order =
        write.whole.is_none() && (write.mode == WriteMode::InsertOnce || write.version.is_some());
    if matches!(way, Way::Into(_)) || keeps_order {
        return Ok(()); // a table of its own, or rows that keep the order by themselves
    }
    let applied = || ordered.iter().filter(|(_, step)| matches!(step.what, What::Apply { .. }));
    let Some((first, oldest)) = applied().next() else { return Ok(()) };
    let newer = landed_since(store, pipeline.name(), *first).await?;
    let ids: BTreeSet<&str> = applied().map(|(_, step)| step.manifest.batch_id.as_str()).collect();
    // Loads of other periods are in nobody's way. A replay's load has an id of its own, and the same bytes.
    let mut loads: BTreeMap<&str, (&Timestamp, BTreeSet<&str>)> = BTreeMap::new();
    for (moment, step) in applied() {
        if let Some(label) = load_of(pipeline, &step.manifest) {
            loads.entry(label).or_insert((moment, BTreeSet::new())).1.insert(&step.manifest.digest);
        }
    }
    let is_in_the_way = |settled: &&Settled| -> bool {
        if ids.contains(original(&settled.batch_id)) {
            return false;
        }
        match settled.batch_id.rsplit_once('#').and_then(|(label, _)| loads.get(label)) {
            Some((moment, digests)) => {
                !digests.contains(hex::encode(settled.digest).as_str())
                    && self::moment(settled).is_ok_and(|landed| landed >= **moment)
            }
            None => loads.is_empty(),
        }
    };
    let in_the_way: Vec<&Settled> = newer.iter().filter(is_in_the_way).collect();
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
    let (why, instead) = match write.whole {
        Some(_) => ("What was loaded last is what the table (or the period) holds", ""),
        None => ("Without `write.version` whatever comes last wins", " Declare a version;"),
    };
    Err(refused(format!(
        "batch `{}` is older than what has landed since: {}. {why}, so its rows would replace newer ones.{instead} Apply all of them \
         again in their order, with --again, --from {} and no --to; or look at the rows first, with --into",
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
