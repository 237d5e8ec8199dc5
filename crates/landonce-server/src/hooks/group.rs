//! Group commit: events that wait at the same time share a transaction, each with its own answer and its own failure.
//!
//! There is no timer. A committer that is free takes all that wait, up to a number; while it commits, the next ones gather. So an
//! idle server adds no latency, and the busier it is, the more events share the disk's one flush.

use std::sync::Arc;

use landonce::events::{Event, Inlet};
use landonce::{Error, Receipt};
use tokio::sync::{Mutex, OwnedSemaphorePermit, mpsc, oneshot};

use super::answer;
use crate::problem::Problem;

/// The queue of a hook's events. Those who commit them end when it is dropped and empty.
pub(super) struct Group {
    queue: mpsc::UnboundedSender<(Event, Asker)>,
}

/// Who waits for an event's answer.
struct Asker {
    told: oneshot::Sender<Result<Receipt, Problem>>,
    /// The queue has no bound of its own: the door's is one for all that wait.
    _permit: OwnedSemaphorePermit,
}

type Queue = Arc<Mutex<mpsc::UnboundedReceiver<(Event, Asker)>>>;

impl Group {
    /// At most so many events a transaction, and so many transactions at once.
    pub(super) fn new(inlet: &Inlet, most: usize, committers: usize) -> Self {
        let (queue, waiting) = mpsc::unbounded_channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..committers {
            tokio::spawn(commit(inlet.clone(), Arc::clone(&waiting), most));
        }
        Self { queue }
    }

    /// Lands an event with those that wait beside it. It lands even if nobody waits for the answer.
    pub(super) async fn land(&self, event: Event, permit: OwnedSemaphorePermit) -> Result<Receipt, Problem> {
        let (told, answer) = oneshot::channel();
        self.queue.send((event, Asker { told, _permit: permit })).map_err(|_| answer::unknown())?;
        answer.await.unwrap_or_else(|_| Err(answer::unknown()))
    }
}

async fn commit(inlet: Inlet, queue: Queue, most: usize) {
    let mut taken = Vec::new();
    // Whoever holds the queue waits for the first event; the other one is committing, or waits for the queue.
    while queue.lock().await.recv_many(&mut taken, most).await > 0 {
        let (events, askers): (Vec<_>, Vec<_>) = taken.drain(..).unzip();
        let landing = {
            let inlet = inlet.clone();
            // A panic below ends this task, and not the committer.
            tokio::spawn(async move { inlet.land(events).await })
        };
        let landed = landing.await.unwrap_or_else(|_| Ok(Vec::new()));
        tell(inlet.pipeline().name(), askers, landed);
    }
}

/// Whoever has hung up isn't told, and that is no failure.
fn tell(name: &str, askers: Vec<Asker>, landed: Result<Vec<Result<Receipt, Error>>, Error>) {
    match landed {
        Ok(receipts) => {
            let mut receipts = receipts.into_iter();
            for asker in askers {
                let answer =
                    receipts.next().map(|landed| landed.map_err(|error| answer::failed(name, &error)));
                let _ = asker.told.send(answer.unwrap_or_else(|| Err(answer::unknown())));
            }
        }
        Err(error) => {
            let problem = answer::failed(name, &error);
            for asker in askers {
                let _ = asker.told.send(Err(problem.clone()));
            }
        }
    }
}
