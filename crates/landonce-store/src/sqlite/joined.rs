//! The verbs of a batch on a transaction that is open already: the session's own, or a caller's.

use std::time::Duration;

use landonce_core::outcome::Outcome;
use landonce_core::pipeline::Apply;
use landonce_core::plan::{StageColumn, TablePlan};
use rusqlite::Connection;
use uuid::Uuid;

use super::rows::{self, BoundRows, MakesRows};
use super::stage::{self, Open};
use super::{apply, held, inbox, ledger, outbox, position, quarantine, sameness, write};
use crate::error::{Error, Result};
use crate::held::State;
use crate::inbox::{Claim, Claimed, InboxKey};
use crate::ledger::{Entry, Load};
use crate::outbox::Message;
use crate::position::{Advance, Advanced};
use crate::quarantine::BadRow;
use crate::seam::{
    Access, Classified, Folded, Refused, Row, SameContent, Survey, Todo, Unapplied, Work, Written,
};

/// The verbs inside a transaction.
///
/// Made by [`super::Session`] for a transaction of its own, or by [`Joined::on`] for a caller's: then the caller commits,
/// after [`Work::close_stage`].
pub struct Joined<'c> {
    connection: &'c Connection,
    held: Hold<'c>,
}

/// What is remembered between the verbs.
pub(super) struct Held {
    access: Access,
    open: Option<Open>,
}

enum Hold<'c> {
    Lent(&'c mut Held),
    Own(Box<Held>),
}

impl Held {
    pub(super) fn new(access: Access) -> Self {
        Self { access, open: None }
    }

    /// Drops the stage, if there is one.
    pub(super) fn close(&mut self, connection: &Connection) -> Result<()> {
        self.open.take().map_or(Ok(()), |_| stage::close(connection))
    }
}

impl std::fmt::Debug for Joined<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_lent = matches!(self.held, Hold::Lent(_));
        f.debug_struct("Joined").field("is_lent", &is_lent).finish_non_exhaustive()
    }
}

impl<'c> Joined<'c> {
    /// The verbs on a caller's transaction (a `rusqlite::Transaction` derefs to its connection). Nothing is committed here;
    /// on an error the caller rolls back.
    pub fn on(connection: &'c Connection) -> Self {
        Self { connection, held: Hold::Own(Box::new(Held::new(Access::Write))) }
    }

    pub(super) fn lent(connection: &'c Connection, held: &'c mut Held) -> Self {
        Self { connection, held: Hold::Lent(held) }
    }

    fn held(&mut self) -> &mut Held {
        match &mut self.held {
            Hold::Lent(held) => held,
            Hold::Own(held) => held,
        }
    }

    pub(super) const fn connection(&self) -> &'c Connection {
        self.connection
    }

    pub(super) fn open(&mut self) -> Result<(&'c Connection, &mut Open)> {
        let connection = self.connection;
        let open = self.held().open.as_mut().ok_or_else(|| Error::refused("there is no open stage"))?;
        Ok((connection, open))
    }

    /// For the verbs that write more than temporary tables.
    pub(super) fn writing(&mut self) -> Result<&'c Connection> {
        if self.held().access == Access::ReadOnly {
            return Err(Error::refused("a plan only looks: nothing may be written in its transaction"));
        }
        // In autocommit each statement would be a transaction of its own.
        if self.connection.is_autocommit() {
            return Err(Error::refused("there is no open transaction to write in"));
        }
        Ok(self.connection)
    }
}

impl Work for Joined<'_> {
    type Rows = BoundRows;
    type Encoder = Box<dyn MakesRows>;

    async fn claim(&mut self, claim: &Claim) -> Result<Claimed> {
        inbox::claim(self.writing()?, claim)
    }

    async fn claim_within(&mut self, claim: &Claim, _: Duration) -> Result<Claimed> {
        // Whoever is in here is the only one who writes.
        inbox::claim(self.writing()?, claim)
    }

    async fn open_stage(&mut self, plan: &TablePlan) -> Result<()> {
        let connection = self.connection;
        let held = self.held();
        held.close(connection)?;
        held.open = Some(Open::new(connection, plan, held.access)?);
        Ok(())
    }

    fn encoder(&self, plan: &TablePlan, columns: &[StageColumn]) -> Box<dyn MakesRows> {
        rows::encoder(plan, columns)
    }

    async fn stage(&mut self, rows: BoundRows) -> Result<Vec<Refused>> {
        let (connection, open) = self.open()?;
        open.stage(connection, &rows)
    }

    async fn fold(&mut self) -> Result<Folded> {
        let (connection, open) = self.open()?;
        open.fold(connection)
    }

    async fn classify(&mut self) -> Result<Classified> {
        let (connection, open) = self.open()?;
        open.classify(connection)
    }

    async fn next_rows(&mut self, most: usize) -> Result<Vec<Todo>> {
        let (connection, open) = self.open()?;
        open.next_rows(connection, most)
    }

    async fn write(&mut self, rows: BoundRows, run_id: Uuid) -> Result<Written> {
        self.writing()?;
        let (connection, open) = self.open()?;
        write::write(connection, open, &rows, run_id)
    }

    async fn delete(&mut self, run_id: Uuid) -> Result<u64> {
        self.writing()?;
        let (connection, open) = self.open()?;
        open.delete(connection, run_id)
    }

    async fn missing(&mut self) -> Result<u64> {
        let (connection, open) = self.open()?;
        open.walked()?;
        open.missing(connection)
    }

    async fn remove_missing(&mut self, run_id: Uuid) -> Result<u64> {
        self.writing()?;
        let (connection, open) = self.open()?;
        open.walked()?;
        open.remove_missing(connection, run_id)
    }

    async fn survey(&mut self) -> Result<Survey> {
        let (connection, open) = self.open()?;
        open.walked()?;
        open.survey(connection)
    }

    async fn keep_history(&mut self) -> Result<()> {
        self.writing()?;
        let (connection, open) = self.open()?;
        open.keep_history(connection)
    }

    async fn holds(&mut self, query: &str) -> Result<bool> {
        let (connection, _) = self.open()?;
        stage::holds(connection, query)
    }

    async fn same_content(&mut self, samples: usize) -> Result<SameContent> {
        let (connection, open) = self.open()?;
        sameness::same_content(connection, open, samples)
    }

    async fn keep_bad(&mut self, rows: &[BadRow<'_>]) -> Result<u64> {
        quarantine::keep(self.writing()?, rows)
    }

    async fn resolve_bad(&mut self, ids: &[[u8; 32]], run_id: Uuid) -> Result<u64> {
        quarantine::resolve(self.writing()?, ids, run_id)
    }

    async fn period(&mut self, pipeline: &str, label: &str) -> Result<Option<Entry>> {
        ledger::period(self.writing()?, pipeline, label)
    }

    async fn enter(&mut self, load: &Load<'_>, expected_loads: u64) -> Result<bool> {
        ledger::enter(self.writing()?, load, expected_loads)
    }

    async fn decide(&mut self, key: &InboxKey, state: State, run_id: Uuid) -> Result<bool> {
        held::decide(self.writing()?, key, state, run_id)
    }

    async fn advance(&mut self, advance: &Advance, run_id: Uuid) -> Result<Advanced> {
        position::advance(self.writing()?, advance, run_id)
    }

    async fn bring_about(
        &mut self,
        plan: &TablePlan,
        apply: &Apply,
        columns: &[usize],
        rows: &[Row],
    ) -> Result<Vec<u64>, Unapplied> {
        let connection = self.writing().map_err(|error| Unapplied { at: 0, error })?;
        apply::apply(connection, plan, apply, columns, rows)
    }

    async fn enqueue(&mut self, messages: &[Message]) -> Result<u64> {
        outbox::enqueue(self.writing()?, messages)
    }

    async fn settle(&mut self, claim: &Claim, outcome: &Outcome) -> Result<()> {
        inbox::settle(self.writing()?, claim, outcome)
    }

    async fn close_stage(&mut self) -> Result<()> {
        let connection = self.connection;
        self.held().close(connection)
    }
}
