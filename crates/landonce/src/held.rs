//! Held snapshots: looked at, released or rejected by a person.

use std::io::{Seek as _, Write as _};

use landonce_core::pipeline::Whole;
use uuid::Uuid;

pub use landonce_store::held::{Held, Hold, State};
use landonce_store::inbox::Settled;

use crate::batch::Batch;
use crate::error::{Error, Repr};
use crate::ingest::{Options, Preview, Release};
use crate::payload::{Payload, PayloadError};
use crate::pipeline::Pipeline;
use crate::receipt::Receipt;
use crate::store::{Pending, Store};

/// What a release is to go through although of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Although {
    /// The payload isn't shown to be complete: rows that it doesn't have may be there.
    pub incomplete: bool,
    /// Another snapshot has landed since: releasing this one sets the source back.
    pub newer: bool,
}

impl Pipeline {
    /// Lands a held snapshot, because a person says that it is right. It is compared anew with what is there now.
    ///
    /// # Errors
    /// When it is incomplete, or another one has landed since, and [`Although`] doesn't say that this is known.
    pub fn release<'a>(
        &'a self,
        store: &'a Store,
        held: &'a Held,
        although: Although,
        options: &'a Options,
    ) -> Pending<'a, Receipt> {
        Box::pin(async move {
            self.check_own(held)?;
            if held.state != State::Held {
                return Err(Error::declaration(format!(
                    "the run {} is {} already; nothing is left to release",
                    short(held),
                    held.state.as_str()
                )));
            }
            if !held.hold.is_complete && !although.incomplete {
                return Err(Error::declaration(format!(
                    "the payload of {} isn't shown to be complete, so that rows it doesn't have would go: fetch it again, or say that \
                     you know (`--although-incomplete`)\n{}",
                    short(held),
                    held.hold.reasons.join("\n")
                )));
            }
            if let Some(newer) = store.landed_since(held).await?
                && !although.newer
            {
                return Err(set_back(&held.hold.digest, &newer));
            }
            let batch = store.held_batch(held).await?;
            let release = Some(Release {
                is_incomplete: although.incomplete,
                must_be_held: true,
                none_since: (!although.newer).then(|| held.held_at.clone()),
            });
            self.ingest_with(store, &batch, &Options { release, is_forced: true, ..options.clone() }).await
        })
    }

    /// What a release would change now.
    ///
    /// # Errors
    /// When the payload isn't kept any more, and as for [`Pipeline::preview`].
    pub fn preview_held<'a>(
        &'a self,
        store: &'a Store,
        held: &'a Held,
        samples: usize,
    ) -> Pending<'a, Preview> {
        Box::pin(async move {
            self.check_own(held)?;
            let batch = store.held_batch(held).await?;
            self.preview(store, &batch, samples).await
        })
    }

    fn check_own(&self, held: &Held) -> Result<(), Error> {
        if held.hold.pipeline != self.name() {
            return Err(Error::declaration(format!(
                "the run {} is one of the pipeline `{}`, and this one is `{}`",
                short(held),
                held.hold.pipeline,
                self.name()
            )));
        }
        if !matches!(self.declared().whole(), Some(Whole::Snapshot(_))) {
            return Err(Error::declaration(format!(
                "`{}` takes no snapshots (`mode: snapshot`)",
                self.name()
            )));
        }
        Ok(())
    }
}

impl Store {
    /// The payload of a held run, as the batch that it was.
    fn held_batch<'a>(&'a self, held: &'a Held) -> Pending<'a, Batch> {
        Box::pin(async move {
            let key = held.hold.key();
            let spool = |source| Repr::Payload(PayloadError::spooling(&std::env::temp_dir(), source));
            let mut file = tempfile::tempfile().map_err(spool)?;
            let mut nth = 0;
            while let Some(bytes) = self.held_piece(&key, nth).await? {
                file.write_all(&bytes).map_err(spool)?;
                nth += 1;
            }
            if nth == 0 && held.state != State::Held {
                return Err(Error::declaration(format!(
                    "the run {} was {}, and its payload isn't kept any more",
                    short(held),
                    held.state.as_str()
                )));
            }
            file.rewind().map_err(spool)?;
            let batch = Batch::from_payload(Payload::spool(held.hold.source.clone(), file, None)?);
            if nth == 0 && batch.digest() != held.hold.digest {
                return Err(Error::declaration(format!(
                    "the payload of {} isn't kept any more: somebody has released or rejected it meanwhile (`landonce held list --all`)",
                    short(held)
                )));
            }
            if batch.digest() != held.hold.digest {
                return Err(Error::internal(format!(
                    "the payload of the held run {} has the SHA-256 {}",
                    short(held),
                    hex::encode(batch.digest())
                )));
            }
            Ok(match &held.hold.batch_id {
                Some(id) => batch.with_id(id.clone()),
                None => batch,
            })
        })
    }

    /// Rejects a held run: its payload is dropped, and the same one is held again whenever it comes. False when it isn't
    /// held any more.
    pub fn reject<'a>(&'a self, held: &'a Held, run_id: Uuid) -> Pending<'a, bool> {
        self.decide(held.hold.key(), State::Rejected, run_id)
    }
}

/// Releasing a payload would put back what another one has brought since it was held.
pub(crate) fn set_back(digest: &[u8; 32], newer: &Settled) -> Error {
    Error::declaration(format!(
        "another snapshot has landed since {} was held ({}, at {}): releasing it would set the source back; reject it \
         (`landonce held reject`), or say that you know (`--although-newer`)",
        hex::encode(&digest[..6]),
        newer.source,
        newer.settled_at
    ))
}

fn short(held: &Held) -> String {
    hex::encode(&held.hold.digest[..6])
}
