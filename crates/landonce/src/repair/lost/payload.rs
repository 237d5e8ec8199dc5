//! A full payload that brings deleted rows back: given, or the one of the load before, out of the archive.

use std::sync::Arc;

use landonce_core::outcome::Outcome;

use super::loads::{is_short, label};
use super::report::{LostLoad, LostReport};
use crate::batch::Batch;
use crate::error::{Error, Repr};
use crate::ingest::{self, Release};
use crate::payload::Payload;
use crate::repair::report::Status;
use crate::repair::{Lost, Options, refused};
use crate::store::Store;

/// Where a full payload comes from.
#[derive(Debug, Clone)]
pub enum FullPayload {
    /// A later full payload.
    Given(Batch),
    /// The payload of the load before, out of the pipeline's archive.
    Archived,
}

/// Lands it through the pipeline's own write path, released: what was too few is the measure no more.
pub(in crate::repair) async fn land(
    store: &Store,
    lost: &Lost,
    payload: &FullPayload,
    options: &Options,
    attempts: &ingest::Options,
) -> Result<LostReport, Error> {
    let mut report = lost.plan(store, options).await?;
    let Some(first) = report.findings.first() else { return Ok(report) };
    let of = label(&first.batch_id).map(str::to_owned);
    if report.findings.iter().any(|load| label(&load.batch_id) != of.as_deref()) {
        return Err(refused(
            "loads of several periods fell short, and a payload is of one: name the load with --load RUN",
        ));
    }
    let mut declared = lost.pipeline.declared().clone();
    if let Some(label) = of.filter(|_| declared.calendar().is_some()) {
        let bound = declared.in_period(&label);
        declared = bound.map_err(|source| Repr::Pipeline { path: declared.name().to_owned(), source })?;
    }
    let mut attempts = ingest::Options { is_forced: true, ..attempts.clone() };
    let batch = match payload {
        FullPayload::Given(batch) => {
            attempts.release = Some(Release::default());
            let declared = Arc::new(declared.clone());
            let seen = store.preview(&declared, batch, 0).await?.outcome;
            is_full(&report.findings, seen.read, lost.share)?;
            is_of_this_source(&seen, lost.share)?;
            batch.clone()
        }
        FullPayload::Archived => {
            nothing_since(&report.findings)?;
            // It was proven complete, and weighed, when it landed, and these are the bytes that were.
            attempts.release = Some(Release { is_incomplete: true, ..Release::default() });
            declared = declared.proven_by_files();
            archived(lost, first, &mut attempts).await?
        }
    };
    let receipt = store.ingest(&Arc::new(declared), &batch, &attempts).await?;
    report.status = Status::Applied;
    report.landed = Some(receipt.outcome);
    Ok(report)
}

/// Whether a payload makes up for all of these loads.
fn is_full(findings: &[LostLoad], read: u64, share: f64) -> Result<(), Error> {
    for load in findings {
        let is_too_few = load.median.map_or(read <= load.read, |median| is_short(read, median, share));
        if is_too_few {
            return Err(refused(format!(
                "the payload has {read} records, so it is no full one: the load of {} had {}, and the median before it was {}; nothing \
                 was changed",
                load.landed_at,
                load.read,
                load.median.map_or_else(|| "none".to_owned(), |median| median.to_string())
            )));
        }
    }
    Ok(())
}

/// Full, and of another source: it would take away what stands. A full payload of this one has it.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn is_of_this_source(seen: &Outcome, share: f64) -> Result<(), Error> {
    let gone = seen.retired + seen.removed;
    let there = gone + seen.unchanged + seen.updated;
    if gone as f64 > share * there as f64 {
        return Err(refused(format!(
            "the payload doesn't have {gone} of the {there} rows that stand, so it is hardly this source's; nothing was changed. If it is, \
             deliver it with `landonce run` and release it"
        )));
    }
    Ok(())
}

/// An older payload sets back what has landed since: only what fell short may have.
fn nothing_since(findings: &[LostLoad]) -> Result<(), Error> {
    // The first has landed before all the others, and they are what landed since.
    let since = findings.first().map_or(0, |first| first.later_loads);
    let others = since.saturating_sub(findings.len() as u64 - 1);
    if others == 0 {
        return Ok(());
    }
    Err(refused(format!(
        "{others} more loads have landed since, and the archived payload would set back what they changed: give a later full payload \
         with --from FILE; nothing was changed"
    )))
}

async fn archived(lost: &Lost, first: &LostLoad, attempts: &mut ingest::Options) -> Result<Batch, Error> {
    let Some(before) = &first.before else {
        return Err(refused(format!("no full load came before that of {}", first.landed_at)));
    };
    let archive = lost.pipeline.archive()?;
    let kept = archive.of_batch(lost.pipeline.name(), &before.batch_id).await?;
    let Some(manifest) = kept.into_iter().find(|manifest| manifest.digest == before.digest) else {
        return Err(refused(format!(
            "the archive at `{}` doesn't have the batch `{}` that landed at {}; `landonce archive list` shows what it has",
            archive.place(),
            before.batch_id,
            before.landed_at
        )));
    };
    let file = archive.open_verified(&manifest).await?;
    // Whether its period was over is told by when it came.
    attempts.started_at.get_or_insert(manifest.received_at);
    Ok(Batch::from_payload(Payload::of_temporary(&manifest.source, file)?))
}
