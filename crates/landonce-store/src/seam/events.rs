//! The short way for events: batches of one record, many of them in one transaction, each with a claim of its own.
//!
//! A store promises of it what it promises of a batch's long way: what it leaves is what the events would leave one by one, a twin
//! waits for the end of whoever claimed first, rows are written in key order by the same guarded statement, and a duplicate writes
//! nothing. It does so in one statement where it can, since a webhook's time is the time of its round trips.
//!
//! ```text
//! way? → arrive_at_once | arrive (begins) → restate? → commit | rollback
//! ```
//!
//! The claims of one call must be of distinct batches, and its records of distinct identities.

use landonce_core::outcome::Outcome;
use landonce_core::plan::TablePlan;
use landonce_core::value::Value;

use super::Connection;
use crate::error::Result;
use crate::inbox::{Claim, InboxKey, Settled};

/// The outcome that an event is claimed with, before it is known whether its row is new.
pub const EXPECTED: Outcome = Outcome {
    read: 1,
    inserted: 1,
    updated: 0,
    unchanged: 0,
    stale: 0,
    conflicts: 0,
    duplicates: 0,
    quarantined: 0,
    deleted: 0,
    removed: 0,
    retired: 0,
    restored: 0,
};

/// A connection that lands events.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Events: Connection {
    /// What is made once for a plan on this connection: statements and forms.
    type Way;

    /// The short way for a plan; `None` where its events have to go the long way. `wants_rows`: the rows that come new are told.
    async fn way(&mut self, plan: &TablePlan, wants_rows: bool) -> Result<Option<Self::Way>>;

    /// Claims one event, writes its row and commits, in one step where the store can; it is new then, or was found. `None`: nothing has
    /// happened, and [`Events::arrive`] is to be called. An error whose [`crate::Error::phase`] says so may have happened.
    async fn arrive_at_once(&mut self, way: &mut Self::Way, arrival: &Arrival<'_>) -> Result<Option<Told>>;

    /// Begins a transaction, claims the events and writes the rows of those that are new, each claim settled with [`EXPECTED`]. An
    /// error that blames a row ([`landonce_core::retry::blames_row`]) is that of one of the events, and nobody knows which.
    async fn arrive(&mut self, way: &mut Self::Way, arrivals: &[Arrival<'_>]) -> Result<Arrived>;

    /// Settles claims of this transaction with another outcome than the expected one.
    async fn restate(&mut self, outcomes: &[(InboxKey, Outcome)]) -> Result<()>;

    /// Looks into the inbox for several batches, without a lock; those that aren't there are left out.
    async fn look_up_all(&mut self, keys: &[InboxKey]) -> Result<Vec<Settled>>;
}

/// An event that wants in.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// Its claim.
    pub claim: &'a Claim,
    /// The values of [`TablePlan::row_columns`].
    pub values: &'a [Value<'a>],
}

/// What has become of the events of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrived {
    /// Of each, in order.
    All(Vec<Told>),
    /// These can't land this way, by their index: the transaction must be rolled back, and the others come again without them.
    But(Vec<usize>),
}

/// What has become of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Whether it was there, and else what its record did.
    pub fate: Fate,
    /// The row that has come new, as a JSON array of the plan's columns, where that was asked for.
    pub row: Option<String>,
    /// The key of a row with equal content under another sender's id, where there is an index to find it by (G3).
    pub same_content: Option<String>,
}

/// What an event's record did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// An earlier delivery of the event has landed; nothing was written.
    Found,
    /// Its row is new.
    Inserted,
    /// Its row is changed.
    Updated,
    /// Its row was there, equal (insert-once: at all).
    Unchanged,
    /// Its row was there, newer.
    Stale,
}

impl Told {
    pub(crate) fn of(fate: Fate) -> Self {
        Self { fate, row: None, same_content: None }
    }
}
