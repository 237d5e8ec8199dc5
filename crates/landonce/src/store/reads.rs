//! What people look at, on a store of any kind.

use landonce_core::plan;
use landonce_core::value::Value;
use landonce_store::inbox::{InboxKey, Settled};
use landonce_store::reads::{Action, Backlog, BatchFilter, Equals, Figure, Reads as _, Rows, Span};
use landonce_store::seam::{Access, Connection as _};
use uuid::Uuid;

use super::on::ask;
use super::{Pending, Store, any_period};
use crate::error::Error;
use crate::history;
use crate::pipeline::Pipeline;

/// How many batches of one run are told: a run of many files lands many.
const OF_A_RUN: usize = 100;

impl Store {
    /// Batches that have landed, newest first, at most `limit`: the page behind [`BatchFilter::before`]. None where there are no
    /// tables of landonce's yet.
    pub fn batches_page<'a>(&'a self, filter: &'a BatchFilter, limit: usize) -> Pending<'a, Vec<Settled>> {
        ask!(self, Access::ReadOnly, [filter], |mut session| Ok(session.batches_page(filter, limit).await?))
    }

    /// The batch of this id, if it has landed: one look by its key.
    pub fn batch<'a>(&'a self, pipeline: &'a str, batch_id: &'a str) -> Pending<'a, Option<Settled>> {
        let key = InboxKey::of(pipeline, batch_id);
        ask!(self, Access::ReadOnly, [], |mut session| Ok(session.look_up(&key).await?))
    }

    /// The batches that a run has landed, oldest first, the first hundred. Looked for around the time that a UUIDv7 tells.
    pub fn batches_of_run(&self, run_id: Uuid) -> Pending<'_, Vec<Settled>> {
        ask!(self, Access::ReadOnly, [], |mut session| Ok(session.batches_of_run(run_id, OF_A_RUN).await?))
    }

    /// What landed in each hour of a span of at most 32 days, by hour and pipeline. Skipped deliveries write nothing, so they are in
    /// no figure.
    pub fn figures(&self, span: Span) -> Pending<'_, Vec<Figure>> {
        ask!(self, Access::ReadOnly, [], |mut session| Ok(session.figures(span).await?))
    }

    /// What waits for somebody, of every pipeline that has anything waiting, by name: bad records, held snapshots, periods of derived
    /// tables. ([`crate::outbox::Outbox::depth`] tells of messages.)
    pub fn backlog(&self) -> Pending<'_, Vec<Backlog>> {
        ask!(self, Access::ReadOnly, [], |mut session| Ok(session.backlog().await?))
    }

    /// The rows of a pipeline's table that a run was the last to change, at most `limit`; `None` when there is no table.
    ///
    /// # Errors
    /// When the table has no column for the run, and when it takes longer than five seconds: an index on that column is the way then.
    pub fn rows_of_run<'a>(
        &'a self,
        pipeline: &'a Pipeline,
        run_id: Uuid,
        limit: usize,
    ) -> Pending<'a, Option<Rows>> {
        ask!(self, Access::ReadOnly, [pipeline], |mut session| {
            let declared = any_period(pipeline.declared())?;
            let Some(shape) = session.shape(&declared.target().table).await? else { return Ok(None) };
            let plan = plan::resolve(&declared, Some(&shape))?;
            let Some(column) = plan.run_id.clone() else {
                return Err(Error::declaration(format!(
                    "the table {} has no column that names the run which changed a row; `target.managed.run_id` says which it is",
                    plan.table
                )));
            };
            let run = Equals { column, value: Value::Uuid(run_id.into_bytes()), is_key: false };
            Ok(session.rows(&plan, &[run], limit).await?)
        })
    }

    pub(crate) fn seen<'a>(
        &'a self,
        pipeline: &'a Pipeline,
        identity: &'a [(String, String)],
    ) -> Pending<'a, history::Seen> {
        let identity = identity.to_vec();
        ask!(self, Access::ReadOnly, [pipeline, identity], |mut session| history::see(
            &mut session,
            pipeline.declared(),
            identity
        )
        .await)
    }

    /// Keeps what somebody has done by hand: who (a token's name, never the token), what, to which thing, and how it ended.
    pub fn record_action<'a>(
        &'a self,
        who: &'a str,
        what: &'a str,
        subject: &'a str,
        detail: &'a str,
    ) -> Pending<'a, ()> {
        let [who, what, subject, detail] = [who, what, subject, detail].map(str::to_owned);
        let action = Action { id: Uuid::now_v7(), at: String::new(), who, what, subject, detail };
        ask!(self, Access::Write, [action], |mut session| {
            session.migrate().await?;
            Ok(session.record_action(action).await?)
        })
    }

    /// What was done by hand, newest first.
    pub fn actions(&self, limit: usize) -> Pending<'_, Vec<Action>> {
        ask!(self, Access::ReadOnly, [], |mut session| Ok(session.actions(limit).await?))
    }
}
