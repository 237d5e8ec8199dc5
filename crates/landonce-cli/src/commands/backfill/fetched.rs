//! A period whose source is fetched: what is fetched of it is one piece.

use std::ops::ControlFlow;

use jiff::Timestamp;
use landonce::{Batch, Error, Pipeline, Receipt};
use landonce_pull::Watch;

use super::Job;
use crate::failure::Failure;
use crate::hint;
use crate::interrupt::Gate;

/// What becomes of the one piece.
struct Heard<'a> {
    pipeline: &'a Pipeline,
    receipt: Option<Receipt>,
    hint: Option<String>,
    is_handed_over: bool,
}

impl Watch for Heard<'_> {
    fn landed(&mut self, receipt: &Receipt) -> ControlFlow<()> {
        self.receipt = Some(receipt.clone());
        ControlFlow::Continue(())
    }

    fn failed(&mut self, error: &Error, batch: &Batch) {
        // From there on the engine notes it by itself.
        self.is_handed_over = true;
        self.hint = hint::absent_key(error, self.pipeline, batch);
    }
}

/// Fetches a period and lands it.
pub(super) async fn land(
    job: &Job,
    pipeline: &Pipeline,
    started_at: Option<Timestamp>,
    gate: &Gate,
    source: &mut String,
    is_handed_over: &mut bool,
) -> Result<Receipt, Failure> {
    let mut fetch = landonce_pull::open(pipeline)?;
    *source = fetch.source();
    let _turn = job.turn().await;
    let options = job.options_for(started_at, gate);
    let mut heard = Heard { pipeline, receipt: None, hint: None, is_handed_over: false };
    let ended = landonce_pull::run(fetch.as_mut(), pipeline, &job.store, &options, &mut heard).await;
    *is_handed_over = heard.is_handed_over;
    let hint = heard.hint.take();
    ended.map_err(|error| Failure::from(error).with_hint(|_| hint))?;
    heard
        .receipt
        .ok_or_else(|| Failure::system("the period's fetch", std::io::Error::other("it has given no piece")))
}
