//! Landing a lane's batches, one after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use landonce::position::{Advance, Part};
use landonce::{Batch, Kind, Options, RetryPolicy};
use tokio::time::{sleep, sleep_until};
use uuid::Uuid;

use super::Shared;
use super::filling::Sealed;
use super::lane::{Lane, Look};
use crate::error::Error;
use crate::source::PartName;

/// Between two rounds of attempts at a batch that can't land for a passing reason.
const WAITS: RetryPolicy = RetryPolicy {
    attempts: u32::MAX,
    deadline: Duration::MAX,
    first_wait: Duration::from_millis(500),
    longest_wait: Duration::from_secs(15),
    timeouts: false,
};

/// How a batch has ended.
enum Ended {
    Landed,
    /// It can't land from here: the part is another's, or all is over.
    Not,
}

/// Whoever lands ends by returning; a panic would leave a lane that nobody empties.
struct Unless(Arc<Shared>);

impl Drop for Unless {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::Internal("landing a batch broke off unexpectedly".to_owned()));
        }
    }
}

/// Lands what comes into a lane, until it is over. `from` is where the part stands in the store.
pub(super) async fn land(shared: Arc<Shared>, lane: Arc<Lane>, mut from: Option<String>) {
    let _unless = Unless(Arc::clone(&shared));
    loop {
        let woken = lane.wake.notified();
        match lane.look() {
            Look::Due => {}
            Look::At(due) => {
                tokio::select! {
                    () = woken => {}
                    () = sleep_until(due.into()) => {}
                }
                continue;
            }
            Look::Idle => {
                woken.await;
                continue;
            }
            Look::Over => return,
        }
        // What comes while others have their turn goes with this batch.
        let Ok(_turn) = shared.turns.acquire().await else { return };
        let Some(sealed) = lane.seal() else { continue };
        let to = sealed.next.to_string();
        let ended = until_landed(&shared, &lane, from.as_deref(), sealed).await;
        lane.arrived();
        match ended {
            Ended::Landed => from = Some(to),
            Ended::Not => return,
        }
        shared.look_for_the_end();
    }
}

async fn until_landed(shared: &Shared, lane: &Lane, from: Option<&str>, sealed: Sealed) -> Ended {
    let (next, count, began) = (sealed.next, sealed.count, Instant::now());
    let batch = batch(shared, lane, from, sealed);
    let options = Options { run_id: Some(Uuid::now_v7()), ..Options::default() };
    let mut failures = 0;
    loop {
        let error = match shared.pipeline.ingest_with(&shared.store, &batch, &options).await {
            Ok(receipt) => {
                let took_ms = began.elapsed().as_millis() as u64;
                let part = lane.name.shown.as_str();
                tracing::debug!(part, next, messages = count, took_ms, outcome = ?receipt.outcome, "landed");
                if receipt.outcome.quarantined > 0 {
                    let bad = receipt.outcome.quarantined;
                    tracing::warn!(
                        part,
                        bad,
                        "messages went into the quarantine (`landonce quarantine list`)"
                    );
                }
                shared.landed(&lane.name, next, count, &receipt.outcome);
                return Ended::Landed;
            }
            Err(error) => error,
        };
        match error.kind() {
            Kind::Fenced => {
                tracing::warn!(%error, "the part is another's");
                lane.leave();
                shared.fenced(&lane.name);
                return Ended::Not;
            }
            _ if error.may_pass() => {
                failures += 1;
                let wait = WAITS.wait(failures);
                let wait_ms = wait.as_millis() as u64;
                tracing::warn!(code = error.code().as_str(), %error, wait_ms, "a batch can't land now; it waits");
                shared.waited();
                let until = Instant::now() + wait;
                while Instant::now() < until {
                    if lane.is_gone() || shared.has_failed() {
                        return Ended::Not;
                    }
                    tokio::select! {
                        () = sleep(until.saturating_duration_since(Instant::now())) => {}
                        () = lane.wake.notified() => {}
                    }
                }
            }
            _ => {
                shared.fail(error.into());
                return Ended::Not;
            }
        }
        if lane.is_gone() {
            return Ended::Not;
        }
    }
}

fn batch(shared: &Shared, lane: &Lane, from: Option<&str>, sealed: Sealed) -> Batch {
    let PartName { source, part, shown } = &lane.name;
    let kind = source.split(' ').next().unwrap_or_default();
    let id = format!("{shown}@{}..{}#{}-{}", sealed.first, sealed.next, lane.epoch, shared.token);
    let advance = Advance {
        part: Part {
            pipeline: shared.pipeline.name().to_owned(),
            source: source.clone(),
            part: part.clone(),
        },
        epoch: lane.epoch,
        from: from.map(str::to_owned),
        to: sealed.next.to_string(),
        mark: sealed.mark,
    };
    Batch::from_payload(sealed.messages.into_payload(format!("{kind} {shown}")))
        .with_id(id)
        .advancing(advance)
}
