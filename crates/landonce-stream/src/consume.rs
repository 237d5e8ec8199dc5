//! A worker: a source on a thread of its own, the desk that lands what it delivers, and what is done beside it.

use std::time::Duration;

use landonce::{Pipeline, Store};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::desk::{Desk, Settings};
use crate::error::Error;
use crate::source::Source;
use crate::tally::Tally;

/// How often the log tells how much has landed.
const TELL: Duration = Duration::from_secs(30);

/// How a worker works.
#[derive(Debug, Clone)]
pub struct Options {
    /// The desk.
    pub settings: Settings,
    /// How often derived tables are computed, if the pipeline has any.
    pub derive_every: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { settings: Settings::default(), derive_every: Duration::from_secs(10) }
    }
}

/// Consumes until `stop` becomes true or, with [`Settings::until_end`], every part that the worker has is landed to its end. What was
/// taken by then is landed, and the worker leaves.
///
/// # Errors
/// What no waiting mends. What has landed has landed, and the next worker goes on behind it.
pub async fn consume(
    pipeline: &Pipeline,
    store: &Store,
    source: Box<dyn Source>,
    options: Options,
    mut stop: watch::Receiver<bool>,
) -> Result<Tally, Error> {
    let desk = Desk::new(pipeline, store, options.settings);
    let (driver, said) = drive(source, &desk)?;
    let beside = tokio::spawn(beside(desk.clone(), pipeline.clone(), store.clone(), options.derive_every));
    let mut said = said;
    let ended = tokio::select! {
        ended = &mut said => Some(ended),
        _ = stop.wait_for(|stop| *stop) => None,
    };
    desk.stop();
    let ended = match ended {
        Some(ended) => ended,
        None => said.await,
    };
    // It has said its last word.
    let has_panicked = driver.join().is_err();
    beside.abort();
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => desk.fail(error),
        Err(_) => {
            let told = format!("the source ended without a word (panicked: {has_panicked})");
            desk.fail(Error::Internal(told));
        }
    }
    if let Some(error) = desk.failure() {
        return Err(error);
    }
    derive(pipeline, store).await;
    Ok(desk.tally())
}

type Said = tokio::sync::oneshot::Receiver<Result<(), Error>>;

fn drive(source: Box<dyn Source>, desk: &Desk) -> Result<(std::thread::JoinHandle<()>, Said), Error> {
    let (say, said) = tokio::sync::oneshot::channel();
    let desk = desk.clone();
    let run = move || {
        let ended = source.run(&desk);
        // Nobody listens any more when the worker was dropped.
        let _ = say.send(ended);
    };
    let thread = std::thread::Builder::new().name("source".into()).spawn(run);
    let thread = thread.map_err(|error| Error::Internal(format!("no thread for the source: {error}")))?;
    Ok((thread, said))
}

/// What is done now and then: derived tables, and a line for the log.
async fn beside(desk: Desk, pipeline: Pipeline, store: Store, derive_every: Duration) {
    let ticks = |every: Duration| {
        let mut ticks = interval_at(Instant::now() + every, every.max(Duration::from_millis(10)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    };
    let (mut tell, mut due) = (ticks(TELL), ticks(derive_every));
    let mut derived_at = 0;
    loop {
        tokio::select! {
            _ = tell.tick() => {
                let Tally { batches, messages, waits, fenced, .. } = desk.tally();
                tracing::info!(batches, messages, waits, fenced, held_bytes = desk.held(), "so far");
            }
            _ = due.tick() => {
                let batches = desk.tally().batches;
                if batches != derived_at {
                    derived_at = batches;
                    derive(&pipeline, &store).await;
                }
            }
        }
    }
}

async fn derive(pipeline: &Pipeline, store: &Store) {
    if pipeline.declared().derived().is_empty() {
        return;
    }
    // The marks are left: the next look finds them.
    if let Err(error) = pipeline.derive(store).await {
        tracing::error!(code = error.code().as_str(), %error, "derived tables");
    }
}
