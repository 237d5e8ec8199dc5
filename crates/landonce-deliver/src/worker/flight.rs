//! Messages on their way: one handing over, with the lanes that wait for it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use landonce_store::outbox::Parcel;
use tokio::time::Instant;

use crate::destination::Answer;
use crate::route::Route;

/// What is leased of one lane and hasn't been handed over yet, in its order.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) parcels: VecDeque<Parcel>,
    /// The chunk that it came with.
    pub(super) chunk: u64,
}

/// A handing over that has ended.
pub(super) struct Landed {
    /// Which destination.
    pub(super) line: usize,
    /// What was handed over: of each lane the first.
    pub(super) parcels: Vec<Parcel>,
    /// What is behind, lane by lane.
    pub(super) lanes: Vec<Lane>,
    /// What was said of each; `None` when the leases were too short to begin.
    pub(super) answers: Option<Vec<Answer>>,
}

/// A handing over that goes on.
pub(super) type Flight = Pin<Box<dyn Future<Output = Landed> + Send>>;

/// Hands messages over, if their leases last until `until` and that is long enough.
pub(super) fn start(
    line: usize,
    route: Arc<Route>,
    parcels: Vec<Parcel>,
    lanes: Vec<Lane>,
    until: Instant,
) -> Flight {
    Box::pin(async move {
        // Asked here, at the last moment: the process may have been stopped since the message was chosen, and the clock hasn't.
        if Instant::now() + route.needs() > until {
            return Landed { line, parcels, lanes, answers: None };
        }
        let answers = route.declared.destination.send(&parcels).await;
        Landed { line, parcels, lanes, answers: Some(answers) }
    })
}
