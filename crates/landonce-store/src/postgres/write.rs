//! Writing rows into the target: straight while everything is new and nothing stands in the way, else through the one
//! conflict-safe statement.

use landonce_core::plan::{Absent, PlanColumn, TablePlan};
use landonce_core::retry::Code;
use landonce_core::value::Value;
use tokio_postgres::Statement;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::link::Link;
use super::render::{Facts, Render};
use super::rows::{CopyRows, Cut, Sealed};
use super::savepoint::{self, Attempt};
use super::stage::{Open, places};
use super::wire;
use crate::error::{Error, Result};
use crate::seam::{Refused, Written};

/// What writing remembers from chunk to chunk.
#[derive(Default)]
pub(super) struct Chunks {
    /// The batch has nothing to update: its rows may go straight into the target.
    pub(super) is_insert_only: bool,
    /// Straight COPYs that went through, and those that met a row that was there or one that the server refused.
    went_straight: u32,
    turned_back: u32,
    straight: Option<Statement>,
    by_rows: Option<ByRows>,
}

/// The way through the temporary table.
#[derive(Clone)]
struct ByRows {
    copy: Statement,
    write: String,
    left: String,
}

impl Chunks {
    /// A straight COPY that fails is work for nothing: a few bad rows in a long batch may cost it, one in every chunk not.
    const fn is_straight_worth_trying(&self) -> bool {
        self.is_insert_only && self.turned_back <= 2 + self.went_straight / 4
    }
}

/// Writes rows. Those that the server refuses are found, left out and returned.
pub(super) async fn write(link: &Link<'_>, open: &mut Open, rows: CopyRows, run_id: Uuid) -> Result<Written> {
    let sealed = rows.seal()?;
    let mut written = Written::default();
    if sealed.len() == 0 || straight(link, open, &sealed, run_id, &mut written).await? {
        return Ok(written);
    }
    let doing = format!("writing into {}", open.plan.table);
    let way = if let Some(way) = &open.chunks.by_rows {
        way.clone()
    } else {
        let way = make_way(link, &open.plan, &open.facts).await?;
        open.chunks.by_rows.insert(way).clone()
    };
    let mut attempt =
        Chunk { link, columns: &open.plan.columns, doing, way, sealed: &sealed, run_id, written };
    let refused = savepoint::all_but_refused(link, sealed.len(), &mut attempt).await?;
    let mut written = attempt.written;
    written
        .refused
        .extend(refused.into_iter().map(|(row, error)| savepoint::refused(sealed.place(row), error)));
    Ok(written)
}

async fn make_way(link: &Link<'_>, plan: &TablePlan, facts: &Facts) -> Result<ByRows> {
    let render = Render::new(plan, facts)?;
    let doing = "making the table for a chunk of rows";
    link.batch(doing, &render.create_rows()?).await?;
    Ok(ByRows {
        copy: link.prepare(doing, &render.copy_rows()).await?,
        write: render.write(),
        left: render.left(),
    })
}

/// A chunk through the temporary table.
struct Chunk<'a, 'c> {
    link: &'a Link<'c>,
    columns: &'a [PlanColumn],
    doing: String,
    way: ByRows,
    sealed: &'a Sealed,
    run_id: Uuid,
    written: Written,
}

impl Attempt for Chunk<'_, '_> {
    fn doing(&self) -> &str {
        &self.doing
    }

    /// Outside the savepoint, where the table was made, emptying it is a matter of its file alone.
    fn prepare(&self) -> &'static str {
        "TRUNCATE pg_temp.landonce_rows; "
    }

    async fn attempt(&mut self, rows: std::ops::Range<usize>) -> Result<()> {
        let sent = rows.len() as u64;
        self.link.copy(&self.way.copy, self.sealed.pieces(rows), self.columns).await?;
        let row = self.link.one("", &self.way.write, &[(&self.run_id, Pg::UUID)]).await?;
        let (inserted, updated): (i64, i64) = (row.get(0), row.get(1));
        let (inserted, updated) = (inserted as u64, updated as u64);
        if inserted + updated < sent {
            self.look_again(sent - inserted - updated).await?;
        }
        self.written.inserted += inserted;
        self.written.updated += updated;
        Ok(())
    }
}

impl Chunk<'_, '_> {
    /// Rows that were not written: another writer has put them meanwhile, or somebody's trigger has skipped them.
    async fn look_again(&mut self, left: u64) -> Result<()> {
        let row = self.link.one("", &self.way.left, &[(&self.run_id, Pg::UUID)]).await?;
        let stale: i64 = row.get(0);
        let conflicts = places(&row, 1);
        let skipped = places(&row, 4);
        let told = stale as u64 + conflicts.len() as u64 + skipped.len() as u64;
        self.written.stale += stale as u64;
        self.written.conflicts.extend(conflicts);
        self.written.unchanged += left.saturating_sub(told);
        self.written.refused.extend(skipped.into_iter().map(|place| Refused {
            place,
            name: String::new(),
            message: "the database took the row without an error, but it isn't there: a trigger or rule skips it"
                .to_owned(),
        }));
        Ok(())
    }
}

/// Tries to COPY the whole chunk into the target itself. `false`: nothing has happened, the other way is to be taken.
async fn straight(
    link: &Link<'_>,
    open: &mut Open,
    sealed: &Sealed,
    run_id: Uuid,
    written: &mut Written,
) -> Result<bool> {
    let Some((cut, more, fields)) = widening(open, run_id) else { return Ok(false) };
    let doing = format!("writing into {}", open.plan.table);
    let statement = if let Some(statement) = &open.chunks.straight {
        statement.clone()
    } else {
        let sql = Render::new(&open.plan, &open.facts)?.copy_target();
        open.chunks.straight.insert(link.prepare(&doing, &sql).await?).clone()
    };
    let mut attempt = Straight { link, doing, statement, sealed, cut, more, fields };
    let is_written = match savepoint::once(link, 0..sealed.len(), &mut attempt).await? {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(error = %error, "a straight COPY was refused; going by way of the conflict-safe statement");
            false
        }
    };
    if is_written {
        written.inserted += sealed.len() as u64;
        open.chunks.went_straight += 1;
    } else {
        open.chunks.turned_back += 1;
    }
    Ok(is_written)
}

/// What a straight COPY cuts off the rows and adds to them; `None` when the way isn't open.
fn widening(open: &Open, run_id: Uuid) -> Option<(Cut, Vec<u8>, i16)> {
    let is_rounding = open.facts.columns.iter().any(|fact| fact.must_fit.is_some());
    if !open.facts.takes_copy || is_rounding || !open.chunks.is_straight_worth_trying() {
        return None;
    }
    let mut more = Vec::new();
    let mut fields = 0;
    if let Some(wire) = &open.facts.run_id {
        let value = match wire {
            wire::Wire::Uuid => Value::Uuid(*run_id.as_bytes()),
            _ => Value::Text(run_id.to_string().into()),
        };
        wire::field(&mut more, wire, &value).ok()?;
        fields += 1;
    }
    if let Some(wire) = &open.facts.revision {
        wire::field(&mut more, wire, &Value::Integer(1)).ok()?;
        fields += 1;
    }
    // The presence bits close a row; the target doesn't have them.
    let cut = if open.plan.absent == Absent::Keep { Cut { fields: 1, bytes: 12 } } else { Cut::default() };
    Some((cut, more, fields))
}

/// A chunk straight into the target.
struct Straight<'a, 'c> {
    link: &'a Link<'c>,
    doing: String,
    statement: Statement,
    sealed: &'a Sealed,
    cut: Cut,
    more: Vec<u8>,
    fields: i16,
}

impl Attempt for Straight<'_, '_> {
    fn doing(&self) -> &str {
        &self.doing
    }

    fn prepare(&self) -> &'static str {
        ""
    }

    async fn attempt(&mut self, _: std::ops::Range<usize>) -> Result<()> {
        let pieces = self.sealed.widened(self.cut, &self.more, self.fields);
        let taken = self.link.copy(&self.statement, pieces, &[]).await?;
        if taken < self.sealed.len() as u64 {
            // A trigger has skipped rows: the other way tells which.
            return Err(Error {
                code: Code::SqlState("23000".to_owned()),
                ..Error::refused("rows were skipped")
            });
        }
        Ok(())
    }
}
