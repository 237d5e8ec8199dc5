//! The archived batches that have landed, in the order in which they landed, each with its records of the identity.

use std::collections::BTreeMap;

use landonce_archive::{Form, Manifest};
use landonce_core::identity::Key;
use landonce_core::pipeline::Pipeline as Declared;
use landonce_core::plan::{Guard, KeyForm, Match, TablePlan};
use landonce_core::record::{RecordReader, Wanted};
use landonce_store::inbox::Settled;

use super::asked::IdentityReader;
use super::content::{Content, Version};
use super::seen::Seen;
use crate::batch::{Batch, Entries};
use crate::decode::Format;
use crate::error::Error;
use crate::payload::Payload;
use crate::pipeline::Pipeline;
use crate::store::Store;

/// How many batches are read.
const BATCHES: usize = 1000;
/// How many bytes of them, as delivered.
const BYTES: u64 = 1 << 30;

/// What the archive has.
pub(super) struct Archived {
    /// The batches, oldest first.
    pub(super) batches: Vec<Brought>,
    /// There are none before these.
    pub(super) is_whole: bool,
    /// Of several keys that were asked for, the one that was met.
    pub(super) key: Option<Key>,
    /// What can't be known.
    pub(super) unknown: Vec<String>,
}

/// A batch that has landed, and its records of the identity.
pub(super) struct Brought {
    pub(super) settled: Settled,
    /// The period that it is a load of.
    pub(super) period: Option<String>,
    /// In their order; `None` when its bytes can't be read.
    pub(super) records: Option<Vec<Record>>,
}

/// A record of the identity.
pub(super) struct Record {
    pub(super) number: u64,
    /// `None` for a bad one.
    pub(super) good: Option<Good>,
}

/// What decides about a record.
#[derive(Debug, Clone)]
pub(super) struct Good {
    pub(super) content: Content,
    pub(super) version: Option<Version>,
    pub(super) is_delete: bool,
}

impl Archived {
    /// Of a pipeline without an archive.
    pub(super) fn none(pipeline: &str) -> Self {
        Self {
            batches: Vec::new(),
            is_whole: false,
            key: None,
            unknown: vec![format!(
                "`{pipeline}` keeps no archive, so what batches of many records have brought isn't known beyond the row's last change; \
                 `archive: archive/` in its file keeps the bytes of every batch from then on."
            )],
        }
    }
}

/// Reads the newest batches that have landed.
pub(super) async fn read(pipeline: &Pipeline, store: &Store, seen: &Seen) -> Result<Archived, Error> {
    let archive = match pipeline.archive() {
        Ok(archive) => archive,
        Err(error) => {
            return Ok(Archived {
                unknown: vec![format!("The archive can't be read: {error}")],
                ..Archived::none("")
            });
        }
    };
    let mut manifests = archive.list(pipeline.name(), None, None).await?;
    let ids: Vec<String> = manifests.iter().map(|manifest| manifest.batch_id.clone()).collect();
    let mut unknown = Vec::new();
    let looked = store.look(pipeline.name(), &ids, &pipeline.declared().target().table).await?;
    let landed: BTreeMap<String, Settled> =
        looked.landed.into_iter().map(|settled| (settled.batch_id.clone(), settled)).collect();
    let of = |manifest: &Manifest| {
        landed.get(&manifest.batch_id).filter(|settled| hex::encode(settled.digest) == manifest.digest)
    };
    manifests.retain(|manifest| of(manifest).is_some());
    manifests.sort_by_key(|manifest| of(manifest).map(|settled| settled.settled_at.clone()));
    let mut bytes = 0;
    let fits = manifests
        .iter()
        .rev()
        .take(BATCHES)
        .take_while(|manifest| {
            bytes += manifest.length;
            bytes <= BYTES
        })
        .count()
        .max(1)
        .min(manifests.len());
    let left = manifests.len() - fits;
    if left > 0 {
        unknown.push(format!(
            "The newest {fits} archived batches were read; the {left} before them weren't, so that what they brought isn't listed."
        ));
    }
    let mut batches = Vec::new();
    let mut key = None;
    for manifest in manifests.split_off(left) {
        let Some(settled) = of(&manifest).cloned() else { continue };
        let keys: Vec<Key> = key.map_or_else(|| seen.keys().collect(), |key| vec![key]);
        let records = match archive.open_verified(&manifest).await {
            Ok(file) => records(pipeline, &seen.plan, &manifest, file, keys).await,
            Err(error) => Err(error.into()),
        };
        let records = match records {
            Ok((records, met)) => {
                key = key.or(met);
                Some(records)
            }
            Err(error) => {
                unknown.push(format!("Batch {} can't be read from the archive: {error}", manifest.batch_id));
                None
            }
        };
        batches.push(Brought { settled, period: manifest.period, records });
    }
    Ok(Archived { batches, is_whole: left == 0, key, unknown })
}

/// The records of the first of the keys that is met, on a thread that may block.
async fn records(
    pipeline: &Pipeline,
    plan: &TablePlan,
    manifest: &Manifest,
    file: std::fs::File,
    keys: Vec<Key>,
) -> Result<(Vec<Record>, Option<Key>), Error> {
    let pipeline = match &manifest.period {
        Some(label) => pipeline.in_period(label)?,
        None => pipeline.clone(),
    };
    let (plan, source, form) = (plan.clone(), manifest.source.clone(), manifest.form);
    let task = tokio::task::spawn_blocking(move || {
        let mut batch = Batch::from_payload(Payload::of_temporary(&source, file)?);
        if let Form::Quarantined { is_lexical } = form {
            batch = batch.made_of(Entries { ids: Vec::new(), is_lexical, must_land: false });
        }
        of_batch(pipeline.declared(), &plan, &batch, &keys)
    });
    task.await.unwrap_or_else(|failed| Err(Error::internal(format!("the reading thread ended: {failed}"))))
}

fn of_batch(
    declared: &Declared,
    plan: &TablePlan,
    batch: &Batch,
    keys: &[Key],
) -> Result<(Vec<Record>, Option<Key>), Error> {
    let failed = |source| Error::from(crate::error::Repr::Decode { name: batch.source().to_owned(), source });
    let format = batch.format(declared)?;
    let is_lexical =
        matches!(format, Format::Csv(_)) || batch.entries().is_some_and(|entries| entries.is_lexical);
    let hashing = hashing(declared, plan);
    let mut reader = RecordReader::new(declared, &hashing, is_lexical).keyed();
    let mut identities = IdentityReader::new(declared, plan, is_lexical);
    let mut records = batch.payload().records(&format, &batch.limits(declared)).map_err(failed)?;
    let (mut found, mut met) = (Vec::new(), None);
    while let Some(item) = records.next().map_err(failed)? {
        let Ok(text) = item.text else { continue };
        let (key, good) = match reader.read(text, Wanted::Identity) {
            Ok(row) => {
                let Some(key) = row.key else { continue };
                if !keys.contains(&key) {
                    continue;
                }
                let good = Good {
                    content: Content::of(plan, &row),
                    version: plan.version.and_then(|at| Version::of(&row.values[at])),
                    is_delete: row.is_delete,
                };
                (key, Some(good))
            }
            Err(_) => match identities.key_of(text) {
                Some(key) if keys.contains(&key) => (key, None),
                _ => continue,
            },
        };
        if *met.get_or_insert(key) == key {
            found.push(Record { number: item.number, good });
        }
    }
    Ok((found, met))
}

/// The plan under which every record has a key, and a digest where the table has one.
fn hashing(declared: &Declared, plan: &TablePlan) -> TablePlan {
    let mut hashing = plan.clone();
    if !matches!(hashing.matching, Match::Key { .. }) {
        hashing.matching = Match::Key { column: declared.target().managed.key.clone(), form: KeyForm::Uuid };
    }
    // Whether a record is in its period is asked of the batch's own pipeline, when it landed; a digest is the same without.
    hashing.scope = None;
    if matches!(hashing.guard, Guard::Digest { .. }) {
        hashing.guard = Guard::Digest { column: declared.target().managed.digest.clone() };
    }
    hashing
}
