//! The contract between the engine and a store, verb by verb.
//!
//! A store promises: inside one transaction, [`Work`]'s verbs leave nothing behind unless [`Connection::commit`] says so;
//! a claim lets one delivery through and makes its twins wait for the end of that transaction; a staged batch is told
//! apart by the database itself, not by a client's earlier look; an unchanged row is never written nor locked (X2);
//! and rows are written in key order, so that two batches never wait for each other in a circle.
//!
//! The engine calls the verbs of one batch in this order, on one connection:
//!
//! ```text
//! begin → claim → open_stage → stage* → fold → classify → (next_rows → write)* → keep_bad* → enter? → advance? → settle → commit
//! ```
//!
//! What is told apart in [`Work::classify`] can change before it is written: another writer may come in between. The
//! write statement is therefore conflict-safe by itself, and what it didn't write is told apart again and counted.
//!
//! Every store passes the one conformance suite in `tests/it/`; a difference is a listed skip with a reason.

mod derives;
mod events;
mod notices;

use std::time::Duration;

use landonce_core::outcome::Outcome;
use landonce_core::pipeline::Apply;
use landonce_core::plan::{StageColumn, TableName, TablePlan, TableShape};
use landonce_core::value::Value;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::held::{Hold, State};
use crate::inbox::{Claim, Claimed, InboxKey, Settled};
use crate::ledger::{Entry, Failure, Load};
use crate::outbox::Message;
use crate::position::{Advance, Advanced, Part, Position, Taken};
use crate::quarantine::BadRow;

pub use derives::{Applied, Compared, Computed, Derives, Difference, Fault, Look};
pub use events::{Arrival, Arrived, EXPECTED, Events, Fate, Told};
pub use notices::Notices;

/// Where and how to write: a transaction that writes, or one that the database itself keeps from writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The batch transaction.
    Write,
    /// A plan: only temporary tables may be written, and the database enforces it.
    ReadOnly,
}

/// An open connection to a store.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Connection {
    /// The verbs inside a transaction on this connection.
    type Work<'c>: Work
    where
        Self: 'c;

    /// One look into the inbox, outside any transaction and without a lock. `None` also when there is no inbox yet.
    async fn look_up(&mut self, key: &InboxKey) -> Result<Option<Settled>>;

    /// One look into the ledger, outside any transaction and without a lock. `None` also when there is no ledger yet.
    async fn period(&mut self, pipeline: &str, label: &str) -> Result<Option<Entry>>;

    /// A pipeline's periods that start in `from..to` (microseconds since 1970 in UTC), by start.
    async fn periods(&mut self, pipeline: &str, from: i64, to: i64) -> Result<Vec<Entry>>;

    /// Notes in the ledger that an attempt has failed, in a small transaction of its own. What is loaded stays as it is.
    async fn fail_period(&mut self, failure: &Failure<'_>) -> Result<()>;

    /// Whether there is a table or view of that name: the cheapest look there is.
    async fn is_there(&mut self, table: &TableName) -> Result<bool>;

    /// Whether a table that is there has any row at all; `false` when there is no such table.
    async fn has_rows(&mut self, table: &TableName) -> Result<bool>;

    /// What the catalogue says of a table; `None` when there is none (or no view) of that name.
    async fn shape(&mut self, table: &TableName) -> Result<Option<TableShape>>;

    /// Makes or upgrades landonce's own tables. Safe to call at any time, also by several processes at once; needs no
    /// rights when there is nothing to do.
    async fn migrate(&mut self) -> Result<()>;

    /// As [`Connection::migrate`], and makes those of landonce's own tables again that somebody has dropped: empty. Only when a person
    /// asks for it, since what was in them is forgotten.
    async fn remake(&mut self) -> Result<()>;

    /// Makes the target table of a plan with [`TablePlan::create`]. Safe when another process has made it meanwhile.
    async fn create_target(&mut self, plan: &TablePlan) -> Result<()>;

    /// Keeps a payload for a person to look at, in a transaction of its own; once, however often it is delivered. Returns what
    /// has become of it: one that a person has rejected stays rejected.
    async fn hold(&mut self, hold: &Hold, payload: &mut (dyn std::io::Read + Send)) -> Result<State>;

    /// Says what has become of a held payload, in a transaction of its own. False when it isn't held (any more).
    async fn decide(&mut self, key: &InboxKey, state: State, run_id: Uuid) -> Result<bool>;

    /// What has become of a payload that was held; `None` when it never was, also where there is no such table yet.
    async fn held_as(&mut self, key: &InboxKey) -> Result<Option<State>>;

    /// The last batches that a pipeline has landed, newest first, at most `most`; none older than the last that a person
    /// has released, since a release says that this is how it is now.
    async fn earlier(&mut self, pipeline: &str, most: usize) -> Result<Vec<Settled>>;

    /// Makes the table of a plan's [`TablePlan::history`], with the target's columns. Safe when it is there.
    async fn create_history(&mut self, plan: &TablePlan) -> Result<()>;

    /// Takes a part of a source over, in a transaction of its own: whoever had it before can move it no more.
    async fn take_part(&mut self, part: &Part, owner: &str) -> Result<Taken>;

    /// Puts a part somewhere else, by a person's word; whoever has it loses it. `None`: as if nothing had been landed.
    async fn put_position(&mut self, part: &Part, next: Option<&str>, owner: &str) -> Result<()>;

    /// The parts that have been taken, by pipeline, source and part; none where there are no tables of landonce's yet.
    async fn positions(&mut self, pipeline: Option<&str>) -> Result<Vec<Position>>;

    /// Begins a transaction. READ COMMITTED or stronger; SQLite takes the write lock at once for [`Access::Write`].
    async fn begin(&mut self, access: Access) -> Result<()>;

    /// The verbs, inside the transaction begun.
    fn work(&mut self) -> Self::Work<'_>;

    /// Commits. An error's [`crate::Error::phase`] tells whether the COMMIT can have happened.
    async fn commit(&mut self) -> Result<()>;

    /// Rolls back. Never fails in a way that matters: a connection that is gone has rolled back too.
    async fn rollback(&mut self);
}

/// Values of a row as text, NULL as `None`.
pub type Row = Vec<Option<String>>;

/// Why [`Work::bring_about`] has stopped.
#[derive(Debug)]
pub struct Unapplied {
    /// The index of the row at which it failed.
    pub at: usize,
    /// What the database said.
    pub error: Error,
}

/// Rows on their way to the database, in the store's own wire form. Filled on any thread, sent on the connection's.
pub trait Rows: Send + 'static {
    /// Appends one row. The values are those of the columns the rows were made for, in order; [`StageColumn::Key`] takes
    /// [`Value::Uuid`], [`Value::Bytes`] or [`Value::Text`] by the key's form, [`StageColumn::Digest`] takes
    /// [`Value::Bytes`], counters and flags take [`Value::Integer`] and [`Value::Boolean`].
    fn push(&mut self, values: &[Value<'_>]);

    /// How many rows there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes they take.
    fn size(&self) -> usize;
}

/// The verbs of the batch transaction.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Work: Derives + Notices {
    /// The store's form of rows.
    type Rows: Rows;
    /// What makes such rows, on whichever thread decodes.
    type Encoder: Fn() -> Self::Rows + Clone + Send + 'static;

    /// Inserts the inbox row, or finds the one that is there. A concurrent twin waits here until the first has ended.
    async fn claim(&mut self, claim: &Claim) -> Result<Claimed>;

    /// [`Work::claim`], which waits for a twin at most so long where the store lets several write at once, and then fails with 55P03. The
    /// transaction can only be rolled back then.
    async fn claim_within(&mut self, claim: &Claim, wait: Duration) -> Result<Claimed>;

    /// Makes the temporary stage for a plan, private to this connection and gone with the transaction.
    async fn open_stage(&mut self, plan: &TablePlan) -> Result<()>;

    /// What makes rows of these columns for the plan ([`TablePlan::stage_columns`] or [`TablePlan::row_columns`]).
    fn encoder(&self, plan: &TablePlan, columns: &[StageColumn]) -> Self::Encoder;

    /// Sends staged rows. Rows that the database refuses are returned by number and left out (see [`Refused`]).
    async fn stage(&mut self, rows: Self::Rows) -> Result<Vec<Refused>>;

    /// Folds identities that repeat inside the batch, by the rule of the mode: insert-once keeps the first; upsert keeps the
    /// highest version, then the first of that version (others of that version with other content are conflicts); without
    /// a version the last. Leaves one staged row per identity.
    async fn fold(&mut self) -> Result<Folded>;

    /// Tells the staged records apart against the target, by one join, and remembers those that need writing.
    async fn classify(&mut self) -> Result<Classified>;

    /// The next records that need a row sent or keeping aside, in key order, at most `most`; empty at the end.
    async fn next_rows(&mut self, most: usize) -> Result<Vec<Todo>>;

    /// Writes rows (all of them [`Class::New`] or [`Class::Changed`]) with one conflict-safe statement in key order.
    /// Rows that the database refuses (a check, a domain, a foreign key, another unique index, a trigger) are found, left out
    /// and returned; the others are written.
    async fn write(&mut self, rows: Self::Rows, run_id: Uuid) -> Result<Written>;

    /// Deletes the rows that the batch's delete records name; in a plan with a [`TablePlan::tombstone`] marks them as retired by the
    /// run, with the record's version. Returns how many there were. A row that is retired already stays so: it takes a newer
    /// delete's version, and isn't counted.
    async fn delete(&mut self, run_id: Uuid) -> Result<u64>;

    /// How many rows that the batch speaks for ([`TablePlan::scope`]) it doesn't have; 0 for a plan without. Call after
    /// [`Work::classify`]. A record whose row is there, but outside, is [`Class::Conflict`] and never written.
    async fn missing(&mut self) -> Result<u64>;

    /// Deletes those rows, in key order; in a plan with a [`TablePlan::tombstone`] marks them as retired by the run. Returns
    /// how many there were.
    async fn remove_missing(&mut self, run_id: Uuid) -> Result<u64>;

    /// How much of what the batch speaks for is there, and how much of it comes again. Of a plan without a scope only the
    /// latter. Call after [`Work::classify`] and before anything is written.
    async fn survey(&mut self) -> Result<Survey>;

    /// Brings the history up to the target as it is now: versions that are no more are closed, those that have come are
    /// opened, the others aren't touched.
    async fn keep_history(&mut self) -> Result<()>;

    /// Asks a query of the user's that gives one row with one boolean, inside the transaction. NULL and no row are false.
    async fn holds(&mut self, query: &str) -> Result<bool>;

    /// Equal content under another id (G3): pairs among the batch's new rows, in the batch or against the target. Returns
    /// how many and up to `samples` of them. Call before the first [`Work::write`].
    async fn same_content(&mut self, samples: usize) -> Result<SameContent>;

    /// Keeps bad records whole, once however often delivered. Returns how many were not there before.
    async fn keep_bad(&mut self, rows: &[BadRow<'_>]) -> Result<u64>;

    /// Marks quarantined records as landed by this run. Returns how many of them were open until now.
    async fn resolve_bad(&mut self, ids: &[[u8; 32]], run_id: Uuid) -> Result<u64>;

    /// What the ledger has of a period, seen from inside the transaction.
    async fn period(&mut self, pipeline: &str, label: &str) -> Result<Option<Entry>>;

    /// Enters a period's load in the ledger, if as many loads are there as were when the run looked. False when another
    /// load has come in between: the engine rolls back and goes again. A concurrent twin waits here until the first has
    /// ended.
    async fn enter(&mut self, load: &Load<'_>, expected_loads: u64) -> Result<bool>;

    /// Says what has become of a held payload that lands now. False when it isn't held.
    async fn decide(&mut self, key: &InboxKey, state: State, run_id: Uuid) -> Result<bool>;

    /// Runs a statement of the user's once for each of these rows, in their order: values of the plan's `columns`, for the statement's
    /// parameters. Returns how many rows each run has changed.
    async fn bring_about(
        &mut self,
        plan: &TablePlan,
        apply: &Apply,
        columns: &[usize],
        rows: &[Row],
    ) -> Result<Vec<u64>, Unapplied>;

    /// Enqueues messages that the outbox doesn't have yet, in their order. Returns how many those were.
    async fn enqueue(&mut self, messages: &[Message]) -> Result<u64>;

    /// Moves a part of the source behind the batch, if it is in the epoch and at the place that the batch began with. Call it late: from
    /// here on whoever takes the part over waits for this transaction's end.
    async fn advance(&mut self, advance: &Advance, run_id: Uuid) -> Result<Advanced>;

    /// Writes the outcome into the claimed inbox row.
    async fn settle(&mut self, claim: &Claim, outcome: &Outcome) -> Result<()>;

    /// Drops the stage, also when the transaction goes on (a caller's own transaction).
    async fn close_stage(&mut self) -> Result<()>;
}

/// A record among the staged ones, by where it stands in the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its number for messages: line or index.
    pub number: u64,
    /// Where its text starts.
    pub offset: u64,
    /// How long it is.
    pub len: u32,
}

/// What [`Work::fold`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// Records folded into another one.
    pub duplicates: u64,
    /// Records of the same identity and version as the one kept, but with other content.
    pub conflicts: Vec<Place>,
}

/// What [`Work::classify`] found, counted by the database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Classified {
    /// Not in the target.
    pub new: u64,
    /// In the target with other content, and not newer there.
    pub changed: u64,
    /// In the target with equal content; or a delete of what isn't there; or, insert-once, in the target at all.
    pub unchanged: u64,
    /// In the target with a higher version.
    pub stale: u64,
    /// In the target with the same version and other content.
    pub conflicts: u64,
    /// Delete records whose row is in the target.
    pub deletes: u64,
}

/// What [`Work::survey`] found of the rows that the batch speaks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survey {
    /// Rows that are there and not retired.
    pub standing: u64,
    /// Retired rows that the batch has again.
    pub returning: u64,
}

/// What a record that isn't done with needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Its row is to be inserted.
    New,
    /// Its row is to be updated.
    Changed,
    /// It is to be kept aside.
    Conflict,
}

/// A record that needs something done, from [`Work::next_rows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Todo {
    /// What it needs.
    pub class: Class,
    /// Where it stands.
    pub place: Place,
}

/// What [`Work::write`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows that another writer had meanwhile made equal (or, insert-once, made at all).
    pub unchanged: u64,
    /// Rows that another writer had meanwhile made newer.
    pub stale: u64,
    /// Records that another writer had meanwhile put in conflict.
    pub conflicts: Vec<Place>,
    /// Rows that the database refused.
    pub refused: Vec<Refused>,
}

/// A row that the database refused, and its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which record.
    pub place: Place,
    /// The column or constraint named by the database, if any.
    pub name: String,
    /// The database's message and code, without the row's values.
    pub message: String,
}

/// What [`Work::same_content`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SameContent {
    /// New rows whose content is there under another id.
    pub count: u64,
    /// Some of them, with the stored row's key as text.
    pub samples: Vec<(Place, String)>,
}
