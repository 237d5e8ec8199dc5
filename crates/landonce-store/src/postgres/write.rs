//! Writing rows into the target: straight while everything is new and nothing stands in the way (`straight.rs`), else
//! through the one conflict-safe statement.

use landonce_core::plan::{PlanColumn, TablePlan};
use tokio_postgres::Statement;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::link::{Fault, Link};
use super::render::{Facts, Render};
use super::rows::{CopyRows, Sealed};
use super::savepoint::{self, Attempt, Pending};
use super::stage::{Open, places};
use super::straight::Straight;
use crate::error::Result;
use crate::seam::{Refused, Written};

/// How often a straight COPY of one chunk may fail before the rest of the chunk goes the other way.
const MOST_FAILURES: usize = 8;

/// The fewest rows that are worth a COPY of their own.
const FEWEST_STRAIGHT: usize = 16;

/// The way through the temporary table.
#[derive(Clone)]
pub(super) struct ByRows {
    copy: Statement,
    write: String,
    left: String,
}

/// Writes rows, in their order. Those that the server refuses are found, left out and returned.
pub(super) async fn write(link: &Link<'_>, open: &mut Open, rows: CopyRows, run_id: Uuid) -> Result<Written> {
    let sealed = rows.seal()?;
    let mut written = Written::default();
    let mut pending = Pending::new(0..sealed.len());
    let mut straight = Straight::open(link, open, &sealed, run_id).await?;
    let mut failures = 0;
    while let Some(rows) = pending.next() {
        if let Some(straight) = &mut straight
            && failures < MOST_FAILURES
            && (failures == 0 || rows.len() >= FEWEST_STRAIGHT)
        {
            let Err(fault) = savepoint::once(link, rows.clone(), straight).await? else { continue };
            tracing::debug!(error = %fault.error, "a straight COPY was turned back");
            failures += 1;
            pending.split(rows, fault.row);
            continue;
        }
        let way = by_rows(link, open).await?;
        let doing = format!("writing into {}", open.plan.table);
        let columns = &open.plan.columns;
        let mut chunk = Chunk { link, columns, doing, way, sealed: &sealed, run_id, written };
        let refused = savepoint::all_but_refused(link, rows, &mut chunk).await?;
        written = chunk.written;
        let named = refused.into_iter().map(|(row, error)| savepoint::refused(sealed.place(row), error));
        written.refused.extend(named);
    }
    if let Some(straight) = straight {
        written.inserted += straight.inserted;
        let count =
            if failures < MOST_FAILURES { &mut open.straight.went } else { &mut open.straight.turned_back };
        *count += 1;
    }
    Ok(written)
}

async fn by_rows(link: &Link<'_>, open: &mut Open) -> Result<ByRows> {
    if let Some(way) = &open.by_rows {
        return Ok(way.clone());
    }
    let way = make_way(link, &open.plan, &open.facts).await?;
    Ok(open.by_rows.insert(way).clone())
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

    async fn attempt(&mut self, rows: std::ops::Range<usize>) -> Result<(), Fault> {
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
