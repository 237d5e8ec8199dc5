//! Events on SQLite: one immediate transaction, its statements prepared once, row by row. There is one writer, so that a twin waits
//! where its transaction begins.

use landonce_core::json::Tape;
use landonce_core::outcome::Outcome;
use landonce_core::plan::{Absent, Guard, StageColumn, TablePlan};
use landonce_core::retry;
use rusqlite::params;
use rusqlite::types::ValueRef;

use super::errors::{during, failed};
use super::render::{self, Render, class};
use super::rows::{BoundRows, MakesRows, bind};
use super::stage::look_at;
use super::{Session, catalog, functions, inbox, notices, rows, sameness};
use crate::error::{Error, Result};
use crate::inbox::{InboxKey, Settled};
use crate::seam::{Access, Arrival, Arrived, Connection, EXPECTED, Events, Fate, Rows as _, Told};

/// What a plan's events need on this connection.
pub struct Way {
    plan: TablePlan,
    encoder: Box<dyn MakesRows>,
    outcome: String,
    write: String,
    look: String,
    /// Asks for the row that has come new.
    row: Option<String>,
    /// Asks for the identity of a row with a digest.
    same: Option<String>,
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Way").field("table", &self.plan.table).finish_non_exhaustive()
    }
}

impl Events for Session {
    type Way = Way;

    async fn way(&mut self, plan: &TablePlan, wants_rows: bool) -> Result<Option<Way>> {
        let is_simple = plan.absent == Absent::Replace
            && !plan.has_deletes
            && plan.scope.is_none()
            && plan.tombstone.is_none()
            && plan.history.is_none();
        if plan.create || !is_simple {
            return Ok(None);
        }
        self.reopen(Access::Write)?;
        let Some(catalog) = catalog::load(&self.connection, &plan.table)? else { return Ok(None) };
        let facts = catalog.facts(&self.connection, plan)?;
        functions::register(&self.connection)?;
        let render = Render::new(plan, &facts)?;
        let finds_content = match &plan.guard {
            Guard::Digest { column } => plan.sender_id && catalog.has_index_on(column),
            Guard::Columns => false,
        };
        Ok(Some(Way {
            encoder: encoder(plan),
            outcome: spelled(&EXPECTED)?,
            write: render.write(),
            look: render.look(&plan.row_columns()),
            row: wants_rows.then(|| render.row_of()),
            same: finds_content.then(|| render.stored_content()),
            plan: plan.clone(),
        }))
    }

    async fn arrive_at_once(&mut self, _: &mut Way, _: &Arrival<'_>) -> Result<Option<Told>> {
        // There is no round trip to be saved.
        Ok(None)
    }

    async fn arrive(&mut self, way: &mut Way, arrivals: &[Arrival<'_>]) -> Result<Arrived> {
        let mut rows = (way.encoder)();
        for Arrival { claim, values } in arrivals {
            claim.has_only_text()?;
            rows.push(values);
        }
        self.begin(Access::Write).await?;
        inbox::with_tables(&self.connection, "claiming events")?;
        one_by_one(&self.connection, way, arrivals, &rows)
    }

    async fn restate(&mut self, outcomes: &[(InboxKey, Outcome)]) -> Result<()> {
        let doing = "settling events in the inbox";
        for (key, outcome) in outcomes {
            let outcome = spelled(outcome)?;
            let update = || self.connection.prepare_cached(render::RESTATE)?.execute(params![key.0, outcome]);
            if update().map_err(during(doing))? != 1 {
                return Err(Error::refused(format!(
                    "{doing}: a claim of this transaction isn't there any more"
                )));
            }
        }
        Ok(())
    }

    async fn look_up_all(&mut self, keys: &[InboxKey]) -> Result<Vec<Settled>> {
        let found = keys.iter().map(|key| inbox::look_up(&self.connection, key));
        found.filter_map(Result::transpose).collect()
    }
}

fn encoder(plan: &TablePlan) -> Box<dyn MakesRows> {
    rows::encoder(plan, &plan.row_columns())
}

/// Claims and writes in the order given: nobody else writes meanwhile, so that no order can be the wrong one.
fn one_by_one(
    connection: &rusqlite::Connection,
    way: &Way,
    arrivals: &[Arrival<'_>],
    rows: &BoundRows,
) -> Result<Arrived> {
    let doing = format!("writing into {}", way.plan.table);
    let mut next = arrivals.iter();
    let mut told = Vec::with_capacity(arrivals.len());
    let mut aside = Vec::new();
    let mut at = 0;
    let each = |cells: &[ValueRef<'_>]| {
        let (Some(arrival), true) = (next.next(), aside.is_empty()) else { return Ok(()) };
        match one(connection, way, arrival, cells, &doing)? {
            Some(one) => told.push(one),
            None => aside.push(at),
        }
        at += 1;
        Ok(())
    };
    let unfit = rows.each(each)?;
    if !unfit.is_empty() {
        // Their numbers are their places among the rows; which ones they are the long way says, in its own words.
        return Ok(Arrived::But((0..arrivals.len()).collect()));
    }
    Ok(if aside.is_empty() { Arrived::All(told) } else { Arrived::But(aside) })
}

/// One event; `None` when it can't land this way.
fn one(
    connection: &rusqlite::Connection,
    way: &Way,
    arrival: &Arrival<'_>,
    cells: &[ValueRef<'_>],
    doing: &str,
) -> Result<Option<Told>> {
    let claim = arrival.claim;
    let run_id = claim.run_id.hyphenated().to_string();
    let claimed = || {
        let (key, digest) = (claim.key().0, claim.digest);
        let mut insert = connection.prepare_cached(render::CLAIM)?;
        let inserted = insert.execute(params![
            key,
            claim.pipeline,
            claim.batch_id,
            digest,
            run_id,
            claim.source,
            way.outcome
        ])?;
        if inserted == 1 {
            inbox::about(connection, claim)?;
        }
        Ok(inserted == 1)
    };
    if !claimed().map_err(during("claiming an event"))? {
        return Ok(Some(Told::of(Fate::Found)));
    }
    let mut look = connection.prepare_cached(&way.look).map_err(during(doing))?;
    let was_there = look_at(&mut look, cells).map_err(during(doing))?.is_some();
    let same_content = match &way.same {
        Some(sql) if !was_there => match digest(&way.plan, cells) {
            Some(digest) => sameness::stored(connection, sql, &way.plan, digest)?,
            None => None,
        },
        _ => None,
    };
    let mut write = connection.prepare_cached(&way.write).map_err(during(doing))?;
    let mut written = || {
        bind(&mut write, cells)?;
        if way.plan.run_id.is_some() {
            write.raw_bind_parameter(way.plan.row_columns().len() + 1, &run_id)?;
        }
        write.raw_execute()
    };
    match written() {
        Ok(0) => Ok(match look_at(&mut look, cells).map_err(during(doing))? {
            Some(class::UNCHANGED) => Some(Told::of(Fate::Unchanged)),
            Some(class::STALE) => Some(Told::of(Fate::Stale)),
            // In conflict, or left out by a trigger.
            _ => None,
        }),
        Ok(_) if was_there => Ok(Some(Told::of(Fate::Updated))),
        Ok(_) => {
            let row = way.row.as_ref().map(|sql| row_of(connection, sql, &way.plan, cells)).transpose();
            Ok(Some(Told { fate: Fate::Inserted, row: row?, same_content }))
        }
        Err(error) => {
            let error = failed(error, doing);
            if retry::blames_row(&error.code) { Ok(None) } else { Err(error) }
        }
    }
}

fn digest<'c>(plan: &TablePlan, cells: &[ValueRef<'c>]) -> Option<ValueRef<'c>> {
    let at = plan.row_columns().iter().position(|column| *column == StageColumn::Digest)?;
    cells.get(at).copied()
}

/// The row that was written, as a JSON array of the plan's columns.
fn row_of(
    connection: &rusqlite::Connection,
    sql: &str,
    plan: &TablePlan,
    cells: &[ValueRef<'_>],
) -> Result<String> {
    let read = || {
        let mut select = connection.prepare_cached(sql)?;
        bind(&mut select, cells)?;
        let mut rows = select.raw_query();
        let mut out = String::from("[");
        if let Some(row) = rows.next()? {
            let mut tape = Tape::default();
            for (at, column) in plan.columns.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                notices::write_value(row.get_ref(at)?, &column.ty, &mut tape, &mut out);
            }
        }
        out.push(']');
        Ok(out)
    };
    read().map_err(during("reading the row that was written"))
}

fn spelled(outcome: &Outcome) -> Result<String> {
    serde_json::to_string(outcome)
        .map_err(|error| Error::refused(format!("the outcome can't be spelled as JSON: {error}")))
}
