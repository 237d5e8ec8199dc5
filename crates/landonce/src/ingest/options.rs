//! What a caller says of a run, and what a run says meanwhile.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::retry::RetryPolicy;

/// How a batch is ingested.
#[derive(Clone)]
pub struct Options {
    /// The run's id; a UUIDv7 made now when left out. It is provenance, never identity.
    pub run_id: Option<Uuid>,
    /// When the transaction is run again.
    pub retry: RetryPolicy,
    /// Told how far it is; called on whichever thread.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// When the run began: a load of a period that wasn't over by then is partial. Now, when left out. It never chooses
    /// data.
    pub started_at: Option<jiff::Timestamp>,
    /// A period's payload is applied also when it is what the period holds already. Equal rows are left untouched.
    pub is_forced: bool,
    /// A person's word that this snapshot is to land although it is incomplete or implausible ([`crate::Pipeline::release`]).
    pub release: Option<Release>,
    /// The changes that the pipeline's `notify:` names are told: their messages are enqueued in the batch's transaction. They
    /// are, unless this is false.
    pub notify: bool,
    /// How long another delivery of the same batch that is under way is waited for; then it fails with [`crate::Kind::InProgress`]. As
    /// long as it takes, when left out. SQLite has one writer: there every batch waits for every other.
    pub claim_wait: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            run_id: None,
            retry: RetryPolicy::default(),
            progress: None,
            started_at: None,
            is_forced: false,
            release: None,
            notify: true,
            claim_wait: None,
        }
    }
}

/// A person's word on a held snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Release {
    /// It is to land although it isn't shown to be complete, too.
    pub is_incomplete: bool,
    /// It must still be held when it lands: nobody has released or rejected it meanwhile.
    pub must_be_held: bool,
    /// No other snapshot may have landed since this time, of the database's clock.
    pub none_since: Option<String>,
}

/// How far a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many records have been read; the last began at this byte of the decoded payload.
    Read {
        /// Records.
        records: u64,
        /// Bytes.
        offset: u64,
    },
    /// So many rows are to be written.
    ToWrite {
        /// Rows.
        rows: u64,
    },
    /// So many of them have been.
    Written {
        /// Rows.
        rows: u64,
    },
    /// An attempt has failed for a passing reason and the next begins after a wait.
    Retry {
        /// The attempt that failed, from 1.
        attempt: u32,
    },
    /// COMMIT is sent next. Until now, stopping means that nothing lands; from now on only the answer tells. A callback that
    /// doesn't return keeps the batch from landing.
    Committing,
}
