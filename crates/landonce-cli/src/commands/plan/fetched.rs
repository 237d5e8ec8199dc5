//! `landonce plan` of a pipeline whose source is fetched: the first piece that a run would fetch now.

use super::Job;
use crate::failure::Failure;
use crate::report::PlanReport;

/// What a run would do with its first piece; `None` when there is nothing to fetch.
pub(super) async fn peek(job: &Job) -> Result<Option<(PlanReport, Option<Failure>)>, Failure> {
    let pipeline = &job.delivery.pipeline;
    let mut fetch = landonce_pull::open(pipeline)?;
    let source = fetch.source();
    let batch = match landonce_pull::peek(fetch.as_mut(), pipeline, &job.store).await {
        Ok(Some(batch)) => Ok(batch),
        Ok(None) => return Ok(None),
        Err(error) => Err(error.into()),
    };
    Ok(Some(job.preview_of(source, batch).await))
}
