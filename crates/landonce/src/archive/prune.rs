//! Pruning: archived batches are forgotten by policy, and never while their sender may still deliver them again or while
//! their bytes are all that there is of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use landonce_archive::{Manifest, Swept};
use landonce_store::inbox::Settled;

use crate::error::Error;
use crate::pipeline::Pipeline;
use crate::store::{Pending, Store};

/// What pruning has done, or would do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pruned {
    /// Batches that are forgotten.
    pub forgotten: Vec<Manifest>,
    /// Batches kept because `keep_for` isn't over, or isn't declared.
    pub young: u64,
    /// Batches kept because the sender may still deliver them again (`retry_window`).
    pub may_be_retried: u64,
    /// Batches kept, however old, because they never landed: their bytes are all that there is of them.
    pub never_landed: Vec<Manifest>,
    /// Blobs that nothing needs any more.
    pub swept: Swept,
}

impl Pipeline {
    /// Forgets archived batches that are older than the pipeline's `archive.keep_for`. Refuses those inside `retry_window`,
    /// counted from the last delivery that wasn't a skipped duplicate or from when it landed, and those that never landed
    /// unless `takes_never_landed`. Writes nothing unless `is_applied`.
    pub fn prune_archive<'a>(
        &'a self,
        store: &'a Store,
        now: Timestamp,
        takes_never_landed: bool,
        is_applied: bool,
    ) -> Pending<'a, Pruned> {
        Box::pin(async move {
            let archive = self.archive()?;
            let Some(declared) = self.declared().archive() else {
                return Err(Error::internal("an archive was opened that isn't declared"));
            };
            let manifests = archive.list(self.name(), None, None).await?;
            let ids: BTreeSet<String> = manifests.iter().map(|one| one.batch_id.clone()).collect();
            let ids: Vec<String> = ids.into_iter().collect();
            let seen = store.look(self.name(), &ids, &self.declared().target().table).await?;
            let landed: BTreeMap<String, Settled> =
                seen.landed.into_iter().map(|settled| (settled.batch_id.clone(), settled)).collect();
            let mut pruned = Pruned::default();
            for manifest in manifests {
                let settled = landed.get(&manifest.batch_id);
                let last_seen = settled
                    .and_then(|settled| settled.settled_at.parse::<Timestamp>().ok())
                    .map_or(manifest.received_at, |at| at.max(manifest.received_at));
                let is_within = |time: Duration| {
                    SignedDuration::try_from(time).is_ok_and(|time| now.duration_since(last_seen) < time)
                };
                if is_within(declared.retry_window) {
                    pruned.may_be_retried += 1;
                } else if declared.keep_for.is_none_or(is_within) {
                    pruned.young += 1;
                } else if settled.is_none() && !takes_never_landed {
                    pruned.never_landed.push(manifest);
                } else {
                    if is_applied {
                        archive.forget(&manifest).await?;
                    }
                    pruned.forgotten.push(manifest);
                }
            }
            pruned.swept = archive.sweep(now, is_applied).await?;
            Ok(pruned)
        })
    }
}
