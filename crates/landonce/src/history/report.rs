//! What a history says: the row, its deliveries, what is kept aside, what was told, what can't be known.

use landonce_core::outcome::Outcome;
use landonce_store::inbox::Settled;
use serde::Serialize;
use uuid::Uuid;

/// What is known of one identity. Its JSON has these names; [`std::fmt::Display`] is for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct History {
    /// The pipeline's name.
    pub pipeline: String,
    /// The target table.
    pub table: String,
    /// The identity as it was asked for.
    pub identity: Vec<Field>,
    /// The SHA-256 of the identity, 64 hex digits.
    pub key: String,
    /// The key's UUID form, as tables have it by default.
    pub key_uuid: Uuid,
    /// The row as it is now; `None` when there is none.
    pub row: Option<Standing>,
    /// Every delivery that is known, oldest first.
    pub deliveries: Vec<Delivery>,
    /// Records of this identity that are kept in the quarantine and haven't landed since, newest first.
    pub kept: Vec<Kept>,
    /// Messages about it in the outbox, newest first, at most a hundred.
    pub messages: Vec<Message>,
    /// What can't be known, a sentence each.
    pub unknown: Vec<String>,
}

/// A field and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    /// The field.
    pub field: String,
    /// Its text as asked.
    pub text: String,
}

/// The row as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The run that changed it last, if the table says it.
    pub run_id: Option<Uuid>,
    /// How many times it has really changed, from 1, if the table counts it.
    pub revision: Option<i64>,
    /// Since when it is retired, if it is.
    pub retired_at: Option<String>,
    /// All of its columns, in order.
    pub columns: Vec<Cell>,
}

/// A column's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The column.
    pub column: String,
    /// Its value as a JSON text.
    pub json: String,
}

/// A delivery of the identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delivery {
    /// When the batch landed, by the database's clock, RFC 3339 in UTC.
    pub at: String,
    /// The batch.
    pub batch_id: String,
    /// The run that landed it.
    pub run_id: Uuid,
    /// Where it came from.
    pub source: String,
    /// The record's number in it, where its bytes were read.
    pub record: Option<u64>,
    /// What was decided; `None` where that can't be told.
    pub decided: Option<Decision>,
    /// How that is known.
    pub known_by: KnownBy,
    /// The row is as this delivery left it.
    pub is_standing: bool,
}

/// What was decided about a record, or about a row that a payload didn't have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The row was not there before.
    Inserted,
    /// The row's content changed.
    Updated,
    /// The row had been retired and came again.
    Restored,
    /// The content was there already.
    Unchanged,
    /// The record was older than the row.
    Stale,
    /// The record had the row's version with other content, or its row is another period's.
    Conflict,
    /// Another record of the batch counted for the identity.
    DuplicateInBatch,
    /// The record was bad, and kept aside.
    Quarantined,
    /// A delete record took the row away.
    Deleted,
    /// The payload didn't have the row, and it was removed.
    Removed,
    /// The payload didn't have the row, or a delete record named it, and it was marked as retired.
    Retired,
}

impl Decision {
    /// The spelling in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inserted => "inserted",
            Self::Updated => "updated",
            Self::Restored => "restored",
            Self::Unchanged => "unchanged",
            Self::Stale => "stale",
            Self::Conflict => "conflict",
            Self::DuplicateInBatch => "duplicate in batch",
            Self::Quarantined => "quarantined",
            Self::Deleted => "deleted",
            Self::Removed => "removed",
            Self::Retired => "retired",
        }
    }

    /// Whether the row was written.
    pub const fn is_change(self) -> bool {
        matches!(
            self,
            Self::Inserted | Self::Updated | Self::Restored | Self::Deleted | Self::Removed | Self::Retired
        )
    }

    /// What became of all records of a batch, where that is one thing.
    pub(super) fn of_all(outcome: &Outcome) -> Option<Self> {
        let one = |count: u64, decision: Self| (count > 0 && count == outcome.read).then_some(decision);
        one(outcome.inserted, Self::Inserted)
            .or_else(|| one(outcome.updated.min(outcome.restored), Self::Restored))
            .or_else(|| one(outcome.updated, Self::Updated).filter(|_| outcome.restored == 0))
            .or_else(|| one(outcome.unchanged, Self::Unchanged))
            .or_else(|| one(outcome.stale, Self::Stale))
            .or_else(|| one(outcome.conflicts, Self::Conflict))
            .or_else(|| one(outcome.quarantined, Self::Quarantined))
            .or_else(|| one(outcome.deleted.min(outcome.retired), Self::Retired))
            .or_else(|| one(outcome.deleted, Self::Deleted).filter(|_| outcome.retired == 0))
    }
}

/// How a decision is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// The inbox says it: the batch was this one event, or the same became of all of its records.
    Inbox,
    /// It was decided again from the archived bytes.
    Archive,
    /// The row names the run.
    Run,
}

impl KnownBy {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inbox => "by the inbox",
            Self::Archive => "by the archived bytes",
            Self::Run => "by the row's run",
        }
    }
}

/// A record in the quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The entry's id, 64 hex digits.
    pub id: String,
    /// When it was kept.
    pub at: String,
    /// The batch that first brought it.
    pub batch_id: String,
    /// The run that first found it.
    pub run_id: Uuid,
    /// Why it is bad.
    pub why: String,
}

/// A message in the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Its id.
    pub id: Uuid,
    /// The topic.
    pub topic: String,
    /// The change that it tells.
    pub kind: String,
    /// `pending`, `sent`, `dead`, `discarded`.
    pub state: &'static str,
    /// When it was enqueued.
    pub enqueued_at: String,
    /// The run whose change it tells.
    pub run_id: Option<Uuid>,
}

impl Delivery {
    pub(super) fn of(settled: &Settled, known_by: KnownBy) -> Self {
        Self {
            at: settled.settled_at.clone(),
            batch_id: settled.batch_id.clone(),
            run_id: settled.run_id,
            source: settled.source.clone(),
            record: None,
            decided: None,
            known_by,
            is_standing: false,
        }
    }
}

impl From<landonce_store::quarantine::Entry> for Kept {
    fn from(entry: landonce_store::quarantine::Entry) -> Self {
        let why = [entry.kind, entry.field, entry.detail];
        let why: Vec<String> = why.into_iter().filter(|part| !part.is_empty()).collect();
        Self {
            id: hex::encode(entry.id),
            at: entry.kept_at,
            batch_id: entry.batch_id,
            run_id: entry.run_id,
            why: why.join(": "),
        }
    }
}

impl From<landonce_store::outbox::Entry> for Message {
    fn from(entry: landonce_store::outbox::Entry) -> Self {
        Self {
            id: entry.message.id,
            topic: entry.message.topic,
            kind: entry.message.kind,
            state: entry.state.as_str(),
            enqueued_at: entry.enqueued_at,
            run_id: entry.message.run_id,
        }
    }
}
