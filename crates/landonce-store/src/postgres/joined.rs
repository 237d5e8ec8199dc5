//! The verbs of a batch on a transaction that is open already: the session's own, or a caller's.

use std::time::Duration;

use landonce_core::outcome::Outcome;
use landonce_core::pipeline::Apply;
use landonce_core::plan::{StageColumn, TablePlan};
use landonce_core::retry::Code;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::link::Link;
use super::rows::{CopyRows, MakesRows};
use super::stage::{self, Open};
use super::{apply, facts, held, inbox, ledger, outbox, position, quarantine, write};
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
    link: Link<'c>,
    held: Hold<'c>,
}

/// What is remembered between the verbs.
pub(super) struct Held {
    access: Access,
    open: Option<Open>,
    /// A caller's transaction has been seen to be open.
    is_in_transaction: bool,
}

enum Hold<'c> {
    Lent(&'c mut Held),
    Own(Box<Held>),
}

impl Default for Held {
    fn default() -> Self {
        Self::new(Access::Write)
    }
}

impl Held {
    pub(super) fn new(access: Access) -> Self {
        Self { access, open: None, is_in_transaction: false }
    }
}

impl std::fmt::Debug for Joined<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_lent = matches!(self.held, Hold::Lent(_));
        f.debug_struct("Joined").field("is_lent", &is_lent).finish_non_exhaustive()
    }
}

impl<'c> Joined<'c> {
    /// The verbs on a caller's transaction. Nothing is committed here; on an error the caller rolls back.
    pub fn on(transaction: &'c impl GenericClient) -> Self {
        Self { link: Link::on(transaction), held: Hold::Own(Box::default()) }
    }

    pub(super) fn lent(link: Link<'c>, held: &'c mut Held) -> Self {
        Self { link, held: Hold::Lent(held) }
    }

    fn held(&mut self) -> (&Link<'c>, &mut Held) {
        let held = match &mut self.held {
            Hold::Lent(held) => held,
            Hold::Own(held) => held.as_mut(),
        };
        (&self.link, held)
    }

    pub(super) fn link(&self) -> &Link<'c> {
        &self.link
    }

    pub(super) fn open(&mut self) -> Result<(&Link<'c>, &mut Open)> {
        let (link, held) = self.held();
        let open = held.open.as_mut().ok_or_else(|| Error::refused("there is no open stage"))?;
        Ok((link, open))
    }

    /// For the verbs that write more than temporary tables: before the stage is open, a plan's transaction isn't
    /// read-only yet.
    pub(super) async fn writing(&mut self) -> Result<&Link<'c>> {
        let is_joined = matches!(self.held, Hold::Own(_));
        let (link, held) = self.held();
        if held.access == Access::ReadOnly {
            return Err(Error::refused("a plan only looks: nothing may be written in its transaction"));
        }
        if is_joined && !held.is_in_transaction {
            in_transaction(link).await?;
            held.is_in_transaction = true;
        }
        Ok(link)
    }
}

/// Fails outside a transaction, where each statement would be one of its own.
async fn in_transaction(link: &Link<'_>) -> Result<()> {
    let doing = "joining the caller's transaction";
    match link.batch(doing, "SAVEPOINT landonce_joined; RELEASE SAVEPOINT landonce_joined").await {
        Err(error) if error.code == Code::SqlState("25P01".to_owned()) => {
            Err(Error::refused("there is no open transaction to write in"))
        }
        done => done,
    }
}

impl Work for Joined<'_> {
    type Rows = CopyRows;
    type Encoder = Box<dyn MakesRows>;

    async fn claim(&mut self, claim: &Claim) -> Result<Claimed> {
        inbox::claim(self.writing().await?, claim).await
    }

    async fn claim_within(&mut self, claim: &Claim, wait: Duration) -> Result<Claimed> {
        inbox::claim_within(self.writing().await?, claim, wait).await
    }

    async fn open_stage(&mut self, plan: &TablePlan) -> Result<()> {
        let is_joined = matches!(self.held, Hold::Own(_));
        self.close_stage().await?;
        if is_joined {
            // Outside a transaction the stage would be gone before its first row.
            self.writing().await?;
        }
        let (link, held) = self.held();
        held.open = Some(Open::new(link, plan, held.access, is_joined).await?);
        Ok(())
    }

    fn encoder(&self, plan: &TablePlan, columns: &[StageColumn]) -> Box<dyn MakesRows> {
        let held = match &self.held {
            Hold::Lent(held) => &**held,
            Hold::Own(held) => held,
        };
        match &held.open {
            Some(open) if open.plan == *plan => facts::layout(&open.facts, columns).encoder(),
            // Without a stage the catalogue hasn't been asked: the types are those that landonce would make.
            _ => facts::layout(&facts::made(plan), columns).encoder(),
        }
    }

    async fn stage(&mut self, rows: CopyRows) -> Result<Vec<Refused>> {
        let (link, open) = self.open()?;
        open.stage(link, rows).await
    }

    async fn fold(&mut self) -> Result<Folded> {
        let (link, open) = self.open()?;
        open.fold(link).await
    }

    async fn classify(&mut self) -> Result<Classified> {
        let (link, open) = self.open()?;
        open.classify(link).await
    }

    async fn next_rows(&mut self, most: usize) -> Result<Vec<Todo>> {
        let (link, open) = self.open()?;
        open.next_rows(link, most).await
    }

    async fn write(&mut self, rows: CopyRows, run_id: Uuid) -> Result<Written> {
        self.writing().await?;
        let (link, open) = self.open()?;
        write::write(link, open, rows, run_id).await
    }

    async fn delete(&mut self, run_id: Uuid) -> Result<u64> {
        self.writing().await?;
        let (link, open) = self.open()?;
        open.delete(link, run_id).await
    }

    async fn missing(&mut self) -> Result<u64> {
        let (link, open) = self.open()?;
        open.missing(link).await
    }

    async fn remove_missing(&mut self, run_id: Uuid) -> Result<u64> {
        self.writing().await?;
        let (link, open) = self.open()?;
        open.remove_missing(link, run_id).await
    }

    async fn survey(&mut self) -> Result<Survey> {
        let (link, open) = self.open()?;
        open.survey(link).await
    }

    async fn keep_history(&mut self) -> Result<()> {
        self.writing().await?;
        let (link, open) = self.open()?;
        open.keep_history(link).await
    }

    async fn holds(&mut self, query: &str) -> Result<bool> {
        let (link, _) = self.open()?;
        stage::holds(link, query).await
    }

    async fn same_content(&mut self, samples: usize) -> Result<SameContent> {
        let (link, open) = self.open()?;
        open.same_content(link, samples).await
    }

    async fn keep_bad(&mut self, rows: &[BadRow<'_>]) -> Result<u64> {
        quarantine::keep(self.writing().await?, rows).await
    }

    async fn resolve_bad(&mut self, ids: &[[u8; 32]], run_id: Uuid) -> Result<u64> {
        quarantine::resolve(self.writing().await?, ids, run_id).await
    }

    async fn period(&mut self, pipeline: &str, label: &str) -> Result<Option<Entry>> {
        ledger::period(self.writing().await?, pipeline, label).await
    }

    async fn enter(&mut self, load: &Load<'_>, expected_loads: u64) -> Result<bool> {
        ledger::enter(self.writing().await?, load, expected_loads).await
    }

    async fn decide(&mut self, key: &InboxKey, state: State, run_id: Uuid) -> Result<bool> {
        held::decide(self.writing().await?, key, state, run_id).await
    }

    async fn advance(&mut self, advance: &Advance, run_id: Uuid) -> Result<Advanced> {
        position::advance(self.writing().await?, advance, run_id).await
    }

    async fn bring_about(
        &mut self,
        plan: &TablePlan,
        apply: &Apply,
        columns: &[usize],
        rows: &[Row],
    ) -> Result<Vec<u64>, Unapplied> {
        let link = self.writing().await.map_err(|error| Unapplied { at: 0, error })?;
        apply::apply(link, plan, apply, columns, rows).await
    }

    async fn enqueue(&mut self, messages: &[Message]) -> Result<u64> {
        outbox::enqueue(self.writing().await?, messages).await
    }

    async fn settle(&mut self, claim: &Claim, outcome: &Outcome) -> Result<()> {
        inbox::settle(self.writing().await?, claim, outcome).await
    }

    async fn close_stage(&mut self) -> Result<()> {
        let (link, held) = self.held();
        match held.open.take() {
            // In a transaction that is read-only nothing can be dropped; it ends with a rollback anyway.
            Some(_) if held.access == Access::ReadOnly => Ok(()),
            Some(open) => open.close(link).await,
            None => Ok(()),
        }
    }
}
