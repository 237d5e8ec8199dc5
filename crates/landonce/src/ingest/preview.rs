//! What a run would do, for a plan: the batch's own steps in a transaction that the database keeps from writing.

use std::sync::Arc;

use landonce_core::outcome::Outcome;
use landonce_core::pipeline::Pipeline;
use landonce_core::plan::TablePlan;
use landonce_store::inbox::Settled;
use landonce_store::seam::{Access, Connection, Todo};
use uuid::Uuid;

use super::{Job, Tries, claim, found, know_earlier, land, plan_for, turn};
use crate::batch::Batch;
use crate::error::Error;
use crate::receipt::Notes;

/// What a plan found: what a run would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The batch has landed before: a run would skip it.
    pub landed_before: Option<Settled>,
    /// The counts as they would be.
    pub outcome: Outcome,
    /// What a person should know.
    pub notes: Notes,
    /// The first rows that would be written, with their records' texts.
    pub samples: Vec<(Todo, String)>,
    /// The target table would be made.
    pub creates_table: bool,
    /// How records become rows.
    pub plan: TablePlan,
}

/// What a run would do, found out in a transaction that the database keeps from writing.
pub(crate) async fn preview<C: Connection>(
    mut connection: C,
    pipeline: &Arc<Pipeline>,
    batch: &Batch,
    samples: usize,
) -> Result<Preview, Error> {
    turn::check(pipeline, batch)?;
    let base = claim(pipeline, batch, Uuid::nil());
    let (claim, turn, landed_before) = if let Some(of) = turn::of(pipeline, batch) {
        let (turn, landed) = turn::foresee(&mut connection, &of, &base).await?;
        (turn.claim(&base), Some(turn), landed)
    } else {
        let landed = connection.look_up(&base.key()).await?;
        (base, None, landed)
    };
    if let Some(settled) = &landed_before
        && settled.digest != claim.digest
    {
        found(settled.clone(), &claim, &Tries::once())?;
    }
    let plan = plan_for(&mut connection, pipeline).await?;
    let mut job = Job { is_preview: true, ..Job::new(pipeline, plan.clone(), batch, claim, turn)? };
    know_earlier(&mut connection, &mut job).await?;
    connection.begin(Access::ReadOnly).await?;
    let previewed = land::preview(&mut connection.work(), &job, samples).await;
    connection.rollback().await;
    let (outcome, notes, samples) = previewed?;
    let samples =
        samples.into_iter().map(|(todo, text)| (todo, String::from_utf8_lossy(&text).into_owned())).collect();
    Ok(Preview { landed_before, outcome, notes, samples, creates_table: plan.create, plan })
}
