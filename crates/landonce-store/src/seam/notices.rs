//! The verbs of notifications: what a batch's rows were, and what has really happened to them.
//!
//! A batch that tells its changes calls, in each round, [`Notices::remember`] behind [`super::Work::classify`] and before
//! [`super::Work::remove_missing`], and [`Notices::changes`] until nothing more comes, behind the last write and delete:
//!
//! ```text
//! classify → remember(Before) → (remember(Missing) → remove_missing)? → write* → delete → changes+
//! ```
//!
//! What is told is what the target shows, not what was meant: a row that another writer has put meanwhile is the other's to
//! tell, and one that the database refused has not changed. Where another writer has come in between so that what a row was
//! can't be known any more, the batch fails and is to be run again, as after a deadlock.

use landonce_core::notice::Change;
use uuid::Uuid;

use super::Look;
use crate::error::Result;

/// The verbs of notifications.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Notices {
    /// Remembers rows that are to be written, as they are now, and keeps other writers from them: those that are to be updated or
    /// deleted ([`Look::Before`]), those that are to go since the batch doesn't have them ([`Look::Missing`]). Returns how many.
    /// Nothing for [`Look::After`].
    async fn remember(&mut self, look: Look) -> Result<u64>;

    /// What has really happened, in key order: the next changes, at most `most`; fewer at the end. Needs
    /// [`landonce_core::plan::TablePlan::revision`] and [`landonce_core::plan::TablePlan::run_id`]. `run_id` is the run that wrote.
    async fn changes(&mut self, run_id: Uuid, most: usize) -> Result<Vec<Change>>;
}
