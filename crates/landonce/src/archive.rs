//! The archive from the engine's side: a batch's bytes are kept before its transaction can commit, and applied again.
//!
//! [`Pipeline::archive`] looks into it, [`Pipeline::replay`] applies what is in it, [`Pipeline::prune_archive`] forgets by policy.
//!
//! What it leaves to others: how bytes are kept and checked (`landonce-archive`).

mod prune;
mod replay;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use landonce_archive::{Delivery, Error as ArchiveError};
use landonce_core::pipeline::{Archive as DeclaredArchive, Pipeline as Declared};
use landonce_store::inbox::Claim;

use crate::batch::Batch;
use crate::error::{Error, Repr};
use crate::failpoint;
use crate::pipeline::{Pipeline, expand};

pub use landonce_archive::{Archive, Form, Manifest, Swept};
pub use prune::Pruned;
pub use replay::{LeftOut, Replay, Selection, Step, Way, What};

/// Archives at S3 that were opened before: their clients keep connections.
static OPENED: Mutex<BTreeMap<String, Archive>> = Mutex::new(BTreeMap::new());

/// Keeps a batch's bytes where the pipeline says, if it says so; once for all attempts to land under one id. What can't be kept doesn't land.
pub(crate) async fn keep(
    pipeline: &Declared,
    batch: &Batch,
    claim: &Claim,
    kept_as: &mut Option<String>,
) -> Result<(), Error> {
    if let Some(declared) = pipeline.archive()
        && kept_as.as_ref() != Some(&claim.batch_id)
    {
        let not_archived =
            |source| Error::from(Repr::NotArchived { batch_id: claim.batch_id.clone(), source });
        let archive = open(&place(declared)?, Archive::open_or_make).map_err(not_archived)?;
        let form = match (batch.entries(), batch.event()) {
            (Some(entries), _) => Form::Quarantined { is_lexical: entries.is_lexical },
            (None, Some(_)) => Form::Event,
            (None, None) => Form::Delivered,
        };
        let delivery = Delivery {
            pipeline: claim.pipeline.clone(),
            batch_id: claim.batch_id.clone(),
            digest: batch.digest(),
            length: batch.len(),
            source: claim.source.clone(),
            run_id: claim.run_id,
            received_at: Timestamp::now(),
            form,
            period: pipeline.period().map(|period| period.label().to_owned()),
        };
        let bytes = batch.payload().stored().reader(batch.len());
        match archive.keep(delivery, bytes).await {
            Ok(kept) => tracing::debug!(blob = kept.blob, "archived"),
            Err(error) => {
                if matches!(error, ArchiveError::Changed { .. } | ArchiveError::Payload(_)) {
                    batch.payload().check_unchanged()?; // says better what has happened to the file
                }
                return Err(not_archived(error));
            }
        }
        *kept_as = Some(claim.batch_id.clone());
    }
    failpoint::at("archived");
    Ok(())
}

/// The place, with `${NAME}` taken from the environment; a relative folder is relative to the pipeline file.
fn place(declared: &DeclaredArchive) -> Result<String, Error> {
    let to = expand("archive.to", &declared.to)?;
    if to.contains("://") || to.starts_with("file:") || declared.to.starts_with("${") {
        return Ok(to);
    }
    let path = declared.base.join(to);
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::declaration(format!("archive.to: `{}` isn't UTF-8", path.display())))
}

fn open(
    place: &str,
    opening: impl FnOnce(&str) -> Result<Archive, ArchiveError>,
) -> Result<Archive, ArchiveError> {
    if !place.starts_with("s3://") {
        return opening(place);
    }
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(archive) = opened.get(place) {
        return Ok(archive.clone());
    }
    let archive = opening(place)?;
    opened.insert(place.to_owned(), archive.clone());
    Ok(archive)
}

impl Pipeline {
    /// The archive that the pipeline declares, to look into. An error when it declares none, or when there is none yet.
    pub fn archive(&self) -> Result<Archive, Error> {
        let declared = self.declared().archive().ok_or_else(|| {
            Error::declaration(format!(
                "the pipeline `{}` declares no archive; `archive: archive/` in its file keeps the bytes of every batch from then on",
                self.name()
            ))
        })?;
        Ok(open(&place(declared)?, Archive::open)?)
    }
}
