//! What became of a batch.

use landonce_core::outcome::Outcome;
use uuid::Uuid;

use crate::error::Located;

/// What became of a batch. A duplicate is a value, not an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// Whether this delivery landed or an earlier one had.
    pub status: Status,
    /// The batch's id.
    pub batch_id: String,
    /// The run that landed it: this one, or for a skipped duplicate the earlier one.
    pub run_id: Uuid,
    /// The counts; for a skipped duplicate those of the delivery that landed.
    pub outcome: Outcome,
    /// How many times the transaction was tried by this call.
    pub attempts: u32,
    /// How the commit is known.
    pub commit: Commit,
    /// The period that the batch is a load of, in a pipeline that is loaded by periods.
    pub period: Option<OfPeriod>,
    /// What a person should know: kept records, equal content under several ids.
    pub notes: Notes,
}

/// A load of a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfPeriod {
    /// The period's label.
    pub label: String,
    /// The period was over when the run began. A partial load is due again afterwards.
    pub is_complete: bool,
    /// How many loads the period has had, with this one.
    pub loads: u64,
}

impl OfPeriod {
    /// A load of which records wait for their rows to leave other periods isn't complete.
    pub(crate) fn unless_moved(self, notes: &Notes) -> Self {
        Self { is_complete: self.is_complete && notes.moved == 0, ..self }
    }
}

/// Whether this delivery landed or an earlier one had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// This delivery landed.
    Processed,
    /// An earlier delivery of the same batch had landed; nothing was written anywhere.
    SkippedDuplicate,
    /// A snapshot that is incomplete or implausible: the target is as it was, and the payload is kept for a person to
    /// look at. The counts are what it would have done.
    Held,
}

impl Status {
    /// The spelling in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Processed => "processed",
            Self::SkippedDuplicate => "skipped_duplicate",
            Self::Held => "held",
        }
    }
}

/// How the commit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// The database answered.
    Clean,
    /// COMMIT's answer was lost; the inbox told that it had landed (X4).
    Recovered,
}

impl Commit {
    /// The spelling in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Recovered => "recovered",
        }
    }
}

/// What a person should know about a batch beyond its counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notes {
    /// Bad records and conflicts that were kept aside, up to a limit.
    pub kept: Vec<Located>,
    /// Quarantine entries that were not there before.
    pub kept_new: u64,
    /// Records that were kept aside because their row is in another period or another owner's. Where it leaves there, they
    /// land with the next run: the load counts as partial.
    pub moved: u64,
    /// Rows that the payload doesn't have, and that were left all the same, because bad records may be theirs.
    pub withheld: u64,
    /// Why the run was held, one sentence each.
    pub reasons: Vec<String>,
    /// The payload of a held run is kept; false where a person has rejected it before.
    pub is_payload_kept: bool,
    /// Messages about changes that this batch has put into the outbox.
    pub enqueued: u64,
    /// New rows whose content was there under another sender's id (G3).
    pub same_content: u64,
    /// Some of them: the record's number, and the other row's key.
    pub same_content_samples: Vec<(u64, String)>,
}
