//! What people look at: batches page by page, figures over time, what waits, the rows of a run, what was done by hand.
//!
//! Reads only, but for [`Reads::record_action`]. Each look is one statement with an end: where no index helps, as for the rows of
//! a run in a table of the user's, the database stops after [`PATIENCE`] and the message says why. A database without landonce's
//! tables has nothing to show.

use std::time::Duration;

use landonce_core::outcome::Outcome;
use landonce_core::plan::TablePlan;
use landonce_core::value::Value;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::held::Held;
use crate::inbox::{InboxKey, Settled};
use crate::quarantine::Entry;
use crate::seam::Connection;

/// The longest that a look takes.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The longest span that figures are made of, in microseconds: 32 days.
pub const LONGEST_SPAN: i64 = 32 * 24 * 3_600_000_000;

/// Microseconds of an hour.
pub(crate) const HOUR: i64 = 3_600_000_000;

/// Which batches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchFilter {
    /// Of this pipeline; of all when left out.
    pub pipeline: Option<String>,
    /// Behind this one: the page that follows it.
    pub before: Option<Cursor>,
}

/// Where a page ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// When the last batch of the page was settled, as [`Settled::settled_at`] has it.
    pub settled_at: String,
    /// Its inbox key, which decides between batches of one moment.
    pub key: InboxKey,
}

impl Cursor {
    /// Behind this batch.
    pub fn behind(settled: &Settled) -> Self {
        Self {
            settled_at: settled.settled_at.clone(),
            key: InboxKey::of(&settled.pipeline, &settled.batch_id),
        }
    }
}

/// Microseconds since 1970 in UTC: from the first, before the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first moment.
    pub from: i64,
    /// The first moment behind it.
    pub to: i64,
}

impl Span {
    pub(crate) fn check(self) -> Result<()> {
        if self.to.saturating_sub(self.from) > LONGEST_SPAN {
            return Err(Error::refused(
                "figures are made of a span of at most 32 days; ask for a shorter one",
            ));
        }
        Ok(())
    }
}

/// What a pipeline landed in an hour. Deliveries that were skipped write nothing, so they are in no figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// The pipeline's name.
    pub pipeline: String,
    /// The hour's first moment, in microseconds since 1970 in UTC.
    pub hour: i64,
    /// How many batches landed.
    pub batches: u64,
    /// The sums of their counts.
    pub outcome: Outcome,
}

/// How many, and since when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How many.
    pub count: u64,
    /// Since when the oldest waits, RFC 3339 in UTC; `None` when nothing does.
    pub since: Option<String>,
}

/// What of a pipeline waits for somebody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The pipeline's name.
    pub pipeline: String,
    /// Bad records that are kept and haven't landed since.
    pub quarantined: Waiting,
    /// Snapshots that are held for a person.
    pub held: Waiting,
    /// Periods of derived tables that are to be computed.
    pub due: Waiting,
}

/// A column and the value that it is to have.
#[derive(Debug, Clone, PartialEq)]
pub struct Equals<'v> {
    /// The column.
    pub column: String,
    /// The value; [`Value::Null`] finds NULL.
    pub value: Value<'v>,
    /// The column is the hashed key, which a store may keep in a form of its own.
    pub is_key: bool,
}

/// Rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The names of all of its columns, in order.
    pub columns: Vec<String>,
    /// The rows; each column's value as a JSON text.
    pub rows: Vec<Vec<String>>,
    /// There are more than were asked for.
    pub is_more: bool,
}

/// Something that was done by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// What it is known by.
    pub id: Uuid,
    /// When, by the database's clock, RFC 3339 in UTC. Empty in what is to be recorded: the database says it.
    pub at: String,
    /// Who did it: a token's name, never the token.
    pub who: String,
    /// What was done, as `held release`.
    pub what: String,
    /// To which thing.
    pub subject: String,
    /// How it ended.
    pub detail: String,
}

/// The looks.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Reads: Connection {
    /// The batches that landed last, newest first.
    async fn batches(&mut self, limit: usize) -> Result<Vec<Settled>>;

    /// Kept records that have not landed since, of one pipeline or of all, newest first.
    async fn quarantine(&mut self, pipeline: Option<&str>, limit: usize) -> Result<Vec<Entry>>;

    /// The kept record whose id begins with these hex digits. Fails when several do, and when they aren't hex digits.
    async fn quarantine_entry(&mut self, id_prefix: &str) -> Result<Option<Entry>>;

    /// Held runs, of one pipeline or of all, newest first; those that wait for a person, or all.
    async fn held(&mut self, pipeline: Option<&str>, is_all: bool) -> Result<Vec<Held>>;

    /// A piece of a held payload; `None` behind the last.
    async fn held_piece(&mut self, key: &InboxKey, nth: u32) -> Result<Option<Vec<u8>>>;

    /// Batches that have landed, newest first, at most `limit` of them.
    async fn batches_page(&mut self, filter: &BatchFilter, limit: usize) -> Result<Vec<Settled>>;

    /// The batches that a run has landed, oldest first, at most `most`. No index has runs: they are looked for around the time that a
    /// UUIDv7 tells, and where none are there, or for any other id, everywhere.
    async fn batches_of_run(&mut self, run_id: Uuid, most: usize) -> Result<Vec<Settled>>;

    /// The events about one record ([`crate::inbox::subject`]), the newest `most` of them, newest first.
    async fn batches_about(&mut self, subject: Uuid, most: usize) -> Result<Vec<Settled>>;

    /// What landed in each hour of a span, by hour and pipeline. Fails for a span of more than 32 days.
    async fn figures(&mut self, span: Span) -> Result<Vec<Figure>>;

    /// What waits for somebody, for every pipeline of which anything does, by name.
    async fn backlog(&mut self) -> Result<Vec<Backlog>>;

    /// The rows of a plan's table in which the columns have these values, at most `most`. `None` when there is no such table.
    async fn rows(&mut self, plan: &TablePlan, equal: &[Equals<'_>], most: usize) -> Result<Option<Rows>>;

    /// Keeps what was done by hand. Needs the tables ([`Connection::migrate`]).
    async fn record_action(&mut self, action: &Action) -> Result<()>;

    /// What was done by hand, newest first.
    async fn actions(&mut self, limit: usize) -> Result<Vec<Action>>;
}

/// The moments between which a run's batches are looked for, in microseconds since 1970; `None` where its id has no time.
pub(crate) fn around(run_id: Uuid) -> Option<(i64, i64)> {
    if run_id.get_version_num() != 7 {
        return None;
    }
    let (seconds, nanos) = run_id.get_timestamp()?.to_unix();
    let at = i64::try_from(seconds).ok()?.checked_mul(1_000_000)? + i64::from(nanos / 1000);
    Some((at - HOUR, at.checked_add(48 * HOUR)?))
}

/// A look that was ended, with what would make it quick.
pub(crate) fn too_long(mut error: Error, what: &str) -> Error {
    error.message = format!("{what} took longer than {} s and was ended", PATIENCE.as_secs());
    error
}

/// The sums of [`Outcome`], by the names of its counts.
pub(crate) fn summed(of: impl Fn(&str) -> u64) -> Outcome {
    Outcome {
        read: of("read"),
        inserted: of("inserted"),
        updated: of("updated"),
        unchanged: of("unchanged"),
        stale: of("stale"),
        conflicts: of("conflicts"),
        duplicates: of("duplicates"),
        quarantined: of("quarantined"),
        deleted: of("deleted"),
        removed: of("removed"),
        retired: of("retired"),
        restored: of("restored"),
    }
}

/// The names of [`Outcome`]'s counts.
pub(crate) const COUNTS: [&str; 12] = [
    "read",
    "inserted",
    "updated",
    "unchanged",
    "stale",
    "conflicts",
    "duplicates",
    "quarantined",
    "deleted",
    "removed",
    "retired",
    "restored",
];

/// Puts counts of several kinds side by side, by pipeline.
pub(crate) fn backlogs(found: [Vec<(String, Waiting)>; 3]) -> Vec<Backlog> {
    let mut all = std::collections::BTreeMap::<String, Backlog>::new();
    for (kind, counts) in found.into_iter().enumerate() {
        for (pipeline, waiting) in counts {
            let backlog =
                all.entry(pipeline.clone()).or_insert_with(|| Backlog { pipeline, ..Backlog::default() });
            match kind {
                0 => backlog.quarantined = waiting,
                1 => backlog.held = waiting,
                _ => backlog.due = waiting,
            }
        }
    }
    all.into_values().collect()
}
