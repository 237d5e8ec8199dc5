//! One run of a pipeline that is fetched.

use std::ops::ControlFlow;

use landonce::position::Part;
use landonce::{Batch, Options, Pipeline, Receipt, Status, Store};

use crate::batch::Batches;
use crate::error::Error;
use crate::fetch::{Fetch, Limits, Piece};

/// Who hears of a run's pieces.
pub trait Watch: Send {
    /// One has landed, or is held. Nothing more is fetched after a break.
    fn landed(&mut self, receipt: &Receipt) -> ControlFlow<()>;

    /// One didn't land; the run ends with this error.
    fn failed(&mut self, _error: &landonce::Error, _batch: &Batch) {}
}

/// Fetches to the end, and lands piece by piece. Another run of the same feed that begins meanwhile takes it over: then this one
/// fails, with [`landonce::Kind::Fenced`], and what it had read is that one's to land. Returns how many pieces there were.
///
/// # Errors
/// When the source can't be read to its end, or a piece doesn't land. Pieces before it have landed, and the next run goes on behind
/// them.
pub async fn run(
    fetch: &mut dyn Fetch,
    pipeline: &Pipeline,
    store: &Store,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<u64, Error> {
    pipeline.check_period()?;
    let part = part(fetch, pipeline);
    let owner = options.run_id.map_or_else(|| "a run".to_owned(), |run| format!("run {run}"));
    let taken = store.take_part(&part, &owner).await?;
    fetch.begin(place(taken.next.as_deref())).await?;
    let is_whole = pipeline.declared().whole().is_some();
    let limits = limits(pipeline);
    let mut batches = Batches::new(part, taken, options, is_whole);
    let mut landed = 0;
    while let Some(piece) = fetch.next(limits).await? {
        let (batch, to) = batches.batch(piece);
        let ended = pipeline.ingest_with(store, &batch, options).await;
        let receipt = ended.inspect_err(|error| watch.failed(error, &batch))?;
        landed += 1;
        if receipt.status != Status::Held {
            batches.landed(to);
        }
        if watch.landed(&receipt).is_break() {
            break;
        }
    }
    Ok(landed)
}

/// The first piece that a run would land now, as a batch to look at; `None` when there is nothing to fetch. Takes nothing over and
/// writes nothing.
///
/// # Errors
/// When the source can't be read.
pub async fn peek(fetch: &mut dyn Fetch, pipeline: &Pipeline, store: &Store) -> Result<Option<Batch>, Error> {
    pipeline.check_period()?;
    let part = part(fetch, pipeline);
    let positions = store.positions(Some(pipeline.name())).await?;
    let next = positions.into_iter().find(|position| position.part == part).and_then(|found| found.next);
    fetch.begin(place(next.as_deref())).await?;
    let Some(Piece { payload, is_all, .. }) = fetch.next(limits(pipeline)).await? else { return Ok(None) };
    let batch = Batch::from_payload(payload);
    Ok(Some(match is_all {
        Some(how) => batch.shown_complete(how),
        None => batch,
    }))
}

fn part(fetch: &dyn Fetch, pipeline: &Pipeline) -> Part {
    Part {
        pipeline: pipeline.name().to_owned(),
        source: fetch.source(),
        part: pipeline.declared().period().map(ToString::to_string).unwrap_or_default(),
    }
}

fn limits(pipeline: &Pipeline) -> Limits {
    let declared = pipeline.declared();
    let cut = declared.source().cut;
    match declared.whole() {
        Some(_) => Limits::NONE,
        None => Limits { records: cut.records, bytes: cut.bytes },
    }
}

/// A fetch that has no place of its own leaves an empty text.
fn place(next: Option<&str>) -> Option<&str> {
    next.filter(|next| !next.is_empty())
}
