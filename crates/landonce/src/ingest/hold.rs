//! Holding a run: its transaction has been rolled back, and its payload is kept for a person to look at (J5).

use landonce_store::held::{Hold, State};
use landonce_store::seam::Connection;

use super::{Job, Tries};
use crate::error::Error;
use crate::receipt::{Commit, Notes, Receipt, Status};

/// Keeps the payload, once however often it is delivered.
pub(super) async fn keep<C: Connection>(
    connection: &mut C,
    job: &Job,
    hold: Hold,
    tries: &Tries,
) -> Result<Receipt, Error> {
    let payload = job.batch.payload();
    let mut bytes = payload.stored().reader(payload.len());
    let state = connection.hold(&hold, &mut bytes).await?;
    // The digest under which it is held must be that of the bytes that are.
    payload.check_unchanged()?;
    tracing::info!(?state, reasons = ?hold.reasons, "held");
    Ok(Receipt {
        status: Status::Held,
        batch_id: hex::encode(hold.digest),
        run_id: hold.run_id,
        outcome: hold.outcome,
        attempts: tries.attempts,
        commit: Commit::Clean,
        period: None,
        notes: Notes { reasons: hold.reasons, is_payload_kept: state == State::Held, ..Notes::default() },
    })
}
