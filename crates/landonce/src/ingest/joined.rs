//! A batch inside a transaction that is the caller's.

use std::sync::Arc;

use landonce_core::pipeline::Pipeline;
use landonce_core::plan;
use landonce_store::seam::Work;
use uuid::Uuid;

use super::land::{self, Landed};
use super::turn::{self, Turn};
use super::{Job, Options, Tries, claim, found};
use crate::archive;
use crate::batch::Batch;
use crate::error::Error;
use crate::receipt::{Commit, Receipt, Status};

/// Lands a batch inside a transaction that is somebody else's: no commit, no retry, no migration.
pub(crate) async fn ingest_in<W: Work>(
    work: &mut W,
    shape: Option<&plan::TableShape>,
    pipeline: &Arc<Pipeline>,
    batch: &Batch,
    options: &Options,
) -> Result<Receipt, Error> {
    turn::check(pipeline, batch)?;
    let base = claim(pipeline, batch, options.run_id.unwrap_or_else(Uuid::now_v7));
    let (claim, turn) = match turn::of(pipeline, batch) {
        None => (base, None),
        Some(of) => {
            let (turn, landed) = turn::inside(work, &of, &base, options).await?;
            if let Some(receipt) = landed {
                return Ok(receipt);
            }
            (turn.claim(&base), Some(turn))
        }
    };
    let plan = plan::resolve(pipeline, shape)?;
    if plan.create {
        return Err(Error::declaration(format!(
            "the table `{}` doesn't exist; inside your own transaction landonce makes none: make it first (`landonce setup --print`)",
            plan.table
        )));
    }
    let job = Job {
        progress: options.progress.clone(),
        notifies: options.notify,
        claim_wait: options.claim_wait,
        ..Job::new(pipeline, plan, batch, claim.clone(), turn)?
    };
    match land::land(work, &job, &mut false).await? {
        Landed::Found(_) if job.turn.as_ref().is_some_and(|turn| turn.is_numbered) => {
            Err(Error::overtaken(&claim.batch_id))
        }
        Landed::Overtaken => Err(Error::overtaken(&claim.batch_id)),
        Landed::Found(settled) => found(settled, &claim, &Tries::once()),
        Landed::New(outcome, notes) => {
            // Only the caller can commit, so this is before it; and a batch that had landed has kept nothing again.
            archive::keep(pipeline, batch, &claim, &mut None).await?;
            Ok(Receipt {
                status: Status::Processed,
                batch_id: claim.batch_id,
                run_id: claim.run_id,
                outcome,
                attempts: 1,
                commit: Commit::Clean,
                period: job.turn.as_ref().and_then(Turn::told).map(|told| told.unless_moved(&notes)),
                notes,
            })
        }
    }
}
