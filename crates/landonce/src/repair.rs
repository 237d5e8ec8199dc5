//! Repair: mends what other pipelines have broken, in a table that is somebody's own.
//!
//! Nothing is changed by a plan: the database itself refuses writes. To apply is one transaction, and before it commits, a
//! script that takes everything back is on the disk. This is the only place where landonce deletes a user's rows.
//!
//! - [`Dedupe`] finds rows that are one by their natural key, keeps the one that was first, points references at it, and adds
//!   the constraint that was missing.
//! - [`Keys`] gives every row the key that another declaration of its identity makes.
//! - [`Lost`] finds loads that fell short and took rows away, and brings the rows back.
//! - [`Notices`] finds notices that went out twice or in error, and enqueues one correction per recipient that names them all.

mod act;
mod constraint;
mod dedupe;
mod keep;
mod keys;
mod lost;
mod notices;
mod pointing;
mod report;
mod script;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use landonce_core::plan::TableName;
use landonce_store::seam::Access;
use uuid::Uuid;

use crate::error::{Error, Repr};
use crate::pipeline::Pipeline;
use crate::store::{Pending, Store};

pub use landonce_store::repair::Keep;
pub use landonce_store::repair::notices::Search;
pub use lost::{BeforeLoad, FullPayload, LostLoad, LostReport};
pub use notices::{CorrectedNotice, Correction, NoticesReport};
pub use report::{
    Added, Cell, ClashingRows, ConstraintReport, KeptBy, KeysReport, ReferenceReport, Report, ShownGroup,
    Status, Unverified,
};

/// When a unique constraint is added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Constrain {
    /// Beside writers, after the transaction, where the database can do that; else in it. A duplicate that is written in
    /// between keeps it from being added.
    #[default]
    After,
    /// In the transaction: writers wait until the index is built, and no duplicate can come in between.
    Inside,
    /// Not at all.
    Never,
}

/// How a repair is made, whatever it repairs.
#[derive(Clone)]
pub struct Options {
    /// The repair's id, which names its script.
    pub run_id: Uuid,
    /// The folder of the script.
    pub folder: PathBuf,
    /// The longest wait for writers to end.
    pub lock_timeout: Duration,
    /// How many examples of each thing are shown.
    pub examples: usize,
    /// Told right before COMMIT is sent.
    pub at_commit: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            run_id: Uuid::now_v7(),
            folder: PathBuf::from("."),
            lock_timeout: Duration::from_secs(10),
            examples: 5,
            at_commit: None,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("run_id", &self.run_id)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// Rows that are one by their natural key: all but one are to go.
#[derive(Debug, Clone)]
pub struct Dedupe {
    /// The table.
    pub table: TableName,
    /// The natural key's columns. Two NULLs are equal here.
    pub key: Vec<String>,
    /// Which row stays; what the table tells by itself when left out.
    pub keep: Option<Keep>,
    /// When the unique constraint is added.
    pub constrain: Constrain,
}

impl Dedupe {
    /// What [`Dedupe::apply`] would do. Writes nothing; the database itself is told to refuse writes.
    pub fn plan<'a>(&'a self, store: &'a Store, options: &'a Options) -> Pending<'a, Report> {
        store.dedupe(self, options, Access::ReadOnly)
    }

    /// Does it, unless the report's status says why not ([`Status::Refused`]); with nothing to do it writes nothing.
    pub fn apply<'a>(&'a self, store: &'a Store, options: &'a Options) -> Pending<'a, Report> {
        store.dedupe(self, options, Access::Write)
    }
}

/// A table whose key is made otherwise than its pipeline declares now: every row gets the key that it declares.
#[derive(Debug, Clone)]
pub struct Keys {
    /// The pipeline as it is to be.
    pub pipeline: Pipeline,
    /// The pipeline as it made the keys that are there: the same table, another identity.
    pub old: Pipeline,
    /// Rows whose old key isn't what the old pipeline makes of them get a new one all the same.
    pub force: bool,
    /// Rows that get one key are one: all but one are deleted, as [`Dedupe`] does it.
    pub dedupe: bool,
    /// Which of them stays; what the table tells by itself when left out.
    pub keep: Option<Keep>,
}

impl Keys {
    /// What [`Keys::apply`] would do. Writes nothing; the database itself is told to refuse writes.
    pub fn plan<'a>(&'a self, store: &'a Store, options: &'a Options) -> Pending<'a, KeysReport> {
        store.rekey(self, options, Access::ReadOnly)
    }

    /// Does it, unless the report's status says why not ([`Status::Refused`]); with nothing to do it writes nothing.
    pub fn apply<'a>(&'a self, store: &'a Store, options: &'a Options) -> Pending<'a, KeysReport> {
        store.rekey(self, options, Access::Write)
    }
}

/// Loads of a pipeline that fell short of the ones before them and took rows away: the rows come back.
#[derive(Debug, Clone)]
pub struct Lost {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// How far below the median of the loads before it a load is too far: 0.2 is a fifth.
    pub share: f64,
    /// Only the load of this run, whether it fell short or not.
    pub load: Option<Uuid>,
}

impl Lost {
    /// What is lost. Writes nothing; the database itself is told to refuse writes.
    pub fn plan<'a>(&'a self, store: &'a Store, options: &'a Options) -> Pending<'a, LostReport> {
        store.lost(self, options, Access::ReadOnly)
    }

    /// Brings back the rows that such loads have retired, in one transaction. Rows that were deleted are not in the table:
    /// [`Lost::land`].
    pub fn apply<'a>(&'a self, store: &'a Store, options: &'a Options) -> Pending<'a, LostReport> {
        store.lost(self, options, Access::Write)
    }

    /// Lands a full payload, if something is lost: as any load of the pipeline, released. There is no script for it.
    pub fn land<'a>(
        &'a self,
        store: &'a Store,
        payload: &'a FullPayload,
        options: &'a Options,
        attempts: &'a crate::ingest::Options,
    ) -> Pending<'a, LostReport> {
        Box::pin(lost::land(store, self, payload, options, attempts))
    }
}

/// Notices of a topic that went out twice, or in error.
#[derive(Debug, Clone)]
pub struct Notices {
    /// What is looked for.
    pub search: Search,
    /// The pipeline that enqueued them: then notices about rows that its table hasn't got are looked for too.
    pub pipeline: Option<Pipeline>,
}

impl Notices {
    /// What [`Notices::apply`] would do. Writes nothing; the database itself is told to refuse writes.
    pub fn plan<'a>(&'a self, store: &'a Store, options: &'a Options) -> Pending<'a, NoticesReport> {
        store.notices(self, options, Access::ReadOnly)
    }

    /// Enqueues one correction per recipient, in one transaction. No script takes it back: `landonce outbox discard` keeps a
    /// correction that isn't sent yet from being sent.
    pub fn apply<'a>(&'a self, store: &'a Store, options: &'a Options) -> Pending<'a, NoticesReport> {
        store.notices(self, options, Access::Write)
    }
}

pub(crate) use dedupe::dedupe;
pub(crate) use keys::rekey;
pub(crate) use lost::lost;
pub(crate) use notices::notices;

/// A repair that can't be made as asked.
fn refused(message: impl Into<String>) -> Error {
    Repr::Repair(message.into()).into()
}
