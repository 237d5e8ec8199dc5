//! Taking parts over in the store.

use std::sync::Arc;
use std::time::Duration;

use landonce::RetryPolicy;
use landonce::position::{Part, Position};

use super::landing::land;
use super::lane::Lane;
use super::{Desk, Given, Intake, Shared, Slot, lock};
use crate::error::Error;
use crate::source::{PartName, Start};

/// Between two attempts at a store that doesn't answer.
const WAITS: RetryPolicy = RetryPolicy {
    attempts: u32::MAX,
    deadline: Duration::MAX,
    first_wait: Duration::from_millis(100),
    longest_wait: Duration::from_secs(5),
    timeouts: false,
};

/// Takes a part, as long as it takes, and gives it to the source.
pub(super) async fn take(shared: Arc<Shared>, name: PartName) {
    let part = Part {
        pipeline: shared.pipeline.name().to_owned(),
        source: name.source.clone(),
        part: name.part.clone(),
    };
    let mut failures = 0;
    let taken = loop {
        match shared.store.take_part(&part, &shared.owner).await {
            Ok(taken) => break taken,
            Err(error) if error.may_pass() => {
                failures += 1;
                tracing::warn!(part = name.shown, %error, "the store can't be asked where to go on; it is asked again");
                tokio::time::sleep(WAITS.wait(failures)).await;
            }
            Err(error) => return shared.fail(error.into()),
        }
    };
    let Ok(next) = taken.next.as_deref().map(str::parse).transpose() else {
        return shared.fail(Error::Position(format!(
            "{}: the position `{}` in the store is no number; put it right with `landonce position set`",
            name.shown,
            taken.next.unwrap_or_default()
        )));
    };
    tracing::info!(part = name.shown, epoch = taken.epoch, next, "taken");
    let lane = Arc::new(Lane::new(name.clone(), taken.epoch, Arc::clone(&shared.rules)));
    let mut parts = lock(&shared.parts);
    // Gone again meanwhile, or all is over: nobody waits for it.
    if !matches!(parts.get(&name), Some(Slot::Taking(_))) {
        return;
    }
    let task = shared.runtime.spawn(land(Arc::clone(&shared), Arc::clone(&lane), taken.next));
    parts.insert(name.clone(), Slot::Ours(Arc::clone(&lane), task));
    drop(parts);
    let start = Start { next, mark: taken.mark };
    lock(&shared.given).push(Given { part: name, start, intake: Intake(lane) });
}

impl Desk {
    /// Where a part stands in the store, and whose it is; `None` where nobody has taken it. For a worker that lost a part, and asks
    /// whether whoever took it goes on.
    ///
    /// # Errors
    /// When the store doesn't answer.
    pub async fn position(&self, name: &PartName) -> Result<Option<Position>, landonce::Error> {
        let all = self.0.store.positions(Some(self.0.pipeline.name())).await?;
        Ok(all.into_iter().find(|one| one.part.source == name.source && one.part.part == name.part))
    }
}

/// This machine's name, for people who ask whose a part is.
pub(super) fn host() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let name = told.trim();
    if name.is_empty() { "worker".to_owned() } else { name.to_owned() }
}
