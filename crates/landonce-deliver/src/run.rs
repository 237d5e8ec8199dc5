//! Delivering: so many workers, until somebody says stop or nothing is left.

use std::sync::Arc;

use landonce_store::outbox::Depth;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::delivery::Delivery;
use crate::desk::Desk;
use crate::error::Error;
use crate::route::{Route, Shared};
use crate::summary::{Event, Hear, Summary};
use crate::worker::Worker;

/// How to deliver.
#[derive(Clone)]
pub struct Options {
    /// How many workers, each with a connection of its own to the outbox's database; from 1.
    pub workers: usize,
    /// End when nothing can be leased any more, and nobody else holds anything (what one that was killed has held is leased when its
    /// lease runs out). What waits for its next attempt stays.
    pub is_once: bool,
    /// Who is told of what happens.
    pub hear: Hear,
}

impl Default for Options {
    fn default() -> Self {
        Self { workers: 1, is_once: false, hear: Arc::new(|_: Event| ()) }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("workers", &self.workers)
            .field("is_once", &self.is_once)
            .finish_non_exhaustive()
    }
}

/// Delivers, from the outbox that `make` makes a connection to.
pub(crate) async fn deliver<D: Desk, M: Fn() -> D + Clone + Send + 'static>(
    delivery: &Delivery,
    options: &Options,
    make: M,
    mut stop: watch::Receiver<bool>,
) -> Result<Summary, Error> {
    let routes: Vec<_> =
        delivery.routes.iter().map(|declared| Arc::new(Route::new(declared.clone()))).collect();
    let shared = Arc::new(Shared {
        routes,
        retention: delivery.retention,
        is_once: options.is_once,
        hear: Arc::clone(&options.hear),
        freed: Notify::new(),
    });
    let (say_stop, stopped) = watch::channel(*stop.borrow_and_update());
    let mut workers = JoinSet::new();
    for number in 1..=options.workers.max(1) {
        let name = format!("{}:{}:{number}", host(), std::process::id());
        let worker = Worker::new(Arc::clone(&shared), name, number == 1, make.clone());
        workers.spawn(worker.run(stopped.clone()));
    }
    let mut failed = None;
    while !workers.is_empty() {
        tokio::select! {
            Some(ended) = workers.join_next() => {
                let error = match ended {
                    Ok(Ok(())) => continue,
                    Ok(Err(error)) => error,
                    Err(panicked) => Error::Worker(panicked.to_string()),
                };
                // The others finish what they have in hand: one that can't work is something to look at.
                say_stop.send_replace(true);
                failed.get_or_insert(error);
            }
            changed = stop.wait_for(|stop| *stop), if !*say_stop.borrow() && stop.has_changed().is_ok() => {
                if changed.is_ok() {
                    say_stop.send_replace(true);
                }
            }
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let mut summary = Summary {
        destinations: shared.routes.iter().map(|route| route.counts.tally(&route.declared.name)).collect(),
    };
    if options.is_once {
        let depth = make().depth().await?;
        for (route, tally) in shared.routes.iter().zip(&mut summary.destinations) {
            let own = depth.iter().filter(|depth| route.declared.topics.contains(&depth.topic));
            tally.waiting = own.map(waiting).sum();
        }
    }
    Ok(summary)
}

/// What of a topic waits for something else than a worker.
fn waiting(depth: &Depth) -> u64 {
    if depth.paused.is_some() { depth.pending } else { depth.retrying }
}

/// This machine's name, for people who look at leases.
fn host() -> String {
    let kernels = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = kernels.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    match name.trim() {
        "" => "host".to_owned(),
        name => name.chars().take(64).collect(),
    }
}
