//! Derived tables: what a batch touches, and a period computed into a temporary table, applied, compared.
//!
//! The SQL is `render/derive.rs`'s, the marks are `due.rs`'s.

use landonce_core::column::Type;
use landonce_core::pipeline::{Part, QUARTER};
use landonce_core::plan::{Bound, TableName, TablePlan};
use tokio_postgres::types::Type as Pg;

use super::joined::Joined;
use super::link::Link;
use super::render::{self, Facts, Render};
use super::{catalog, due, facts, quote};
use crate::due::{Due, Mark};
use crate::error::{Error, Result};
use crate::seam::{Applied, Compared, Computed, Derives, Difference, Fault, Look};

/// How many computed rows make statistics worth their round trip.
const WORTH_ANALYZING: u64 = 500;

impl Derives for Joined<'_> {
    async fn share_base(&mut self, base: &TableName) -> Result<()> {
        due::share(self.writing().await?, base).await
    }

    async fn own_base(&mut self, base: &TableName) -> Result<()> {
        due::own(self.writing().await?, base).await
    }

    async fn touched(&mut self, column: usize, look: Look) -> Result<Vec<Bound>> {
        let (link, open) = self.open()?;
        let Some(sql) = open.render()?.touched(column, look, open.is_all_new()?) else {
            return Ok(Vec::new());
        };
        let owner = if look == Look::Missing { open.owner() } else { Vec::new() };
        let doing = format!("looking for the periods of {} that the batch touches", open.plan.table);
        let rows = link.query(&doing, &sql, &owner).await?;
        Ok(bounds(&rows, &open.plan.columns[column].ty))
    }

    async fn mark(&mut self, marks: &[Mark<'_>]) -> Result<()> {
        due::mark(self.writing().await?, marks).await
    }

    async fn due(&mut self, pipeline: &str, derived: &str) -> Result<Vec<Due>> {
        due::due(self.link(), pipeline, derived).await
    }

    async fn unmark(&mut self, pipeline: &str, derived: &str, due: &Due) -> Result<u64> {
        due::unmark(self.writing().await?, pipeline, derived, due).await
    }

    async fn values(&mut self, plan: &TablePlan, column: usize) -> Result<Vec<Bound>> {
        let link = self.link();
        let Some(facts) = found(link, plan).await? else { return Ok(Vec::new()) };
        let sql = Render::new(plan, &facts)?.values(column);
        let rows = link.query(&format!("looking for the periods of {}", plan.table), &sql, &[]).await?;
        Ok(bounds(&rows, &plan.columns[column].ty))
    }

    async fn compute(&mut self, plan: &TablePlan, query: &[Part<'_>], zone: &str) -> Result<Computed> {
        let link = self.writing().await?;
        let doing = format!("computing {}", plan.table);
        let facts = there(link, plan).await?;
        let render = Render::new(plan, &facts)?;
        let prepare = format!("{};\n{}", in_zone(zone), render.create_derived());
        link.batch(&doing, &prepare).await?;
        let rows = link.execute(&doing, &render.compute(query), &[]).await?;
        if rows >= WORTH_ANALYZING {
            link.batch(&doing, &render::analyze_derived()).await?;
        }
        let row = link.one(&doing, &render.faults()?, &[]).await?;
        let told = |at: usize| row.get::<_, Option<String>>(at);
        let fault = told(0)
            .map(Fault::NullKey)
            .or_else(|| told(1).map(Fault::Outside))
            .or_else(|| told(2).map(Fault::Repeated));
        Ok(Computed { rows, fault })
    }

    async fn apply(&mut self, plan: &TablePlan, touched: &[usize]) -> Result<Applied> {
        let link = self.writing().await?;
        let doing = format!("writing into {}", plan.table);
        let facts = there(link, plan).await?;
        let render = Render::new(plan, &facts)?;
        let mut applied = Applied::default();
        for &column in touched {
            let rows = link.query(&doing, &render.differing(column)?, &[]).await?;
            let found = bounds(&rows, &plan.columns[column].ty);
            applied.touched.extend(found.into_iter().map(|at| (column, at)));
        }
        // Deletes come first, so that a value which only one row may have is free for its next one.
        applied.deleted = link.execute(&doing, &render.delete_vanished()?, &[]).await?;
        if let Some(sql) = render.update_differing() {
            applied.updated = link.execute(&doing, &sql, &[]).await?;
        }
        applied.inserted = link.execute(&doing, &render.insert_computed(), &[]).await?;
        Ok(applied)
    }

    async fn compare(
        &mut self,
        plan: &TablePlan,
        query: &[Part<'_>],
        zone: &str,
        samples: usize,
    ) -> Result<Compared> {
        let link = self.link();
        let doing = format!("comparing {} with its query", plan.table);
        let facts = there(link, plan).await?;
        let render = Render::new(plan, &facts)?;
        // From here on the server itself refuses to write to anything but temporary tables, whatever the query calls.
        let prepare = format!("{};\n{};\nSET TRANSACTION READ ONLY", in_zone(zone), render.create_compared());
        link.batch(&doing, &prepare).await?;
        link.query(&doing, &render.fill_compared(query)?, &[]).await?;
        // One row is asked for in any case: it carries the count.
        let most = samples.max(1) as i64;
        let rows = link.query(&doing, &render.compared(), &[(&most, Pg::INT8)]).await?;
        Ok(Compared {
            count: rows.first().map_or(0, |row| row.get::<_, i64>(0) as u64),
            samples: rows
                .iter()
                .take(samples)
                .map(|row| Difference { expected: row.get(1), found: row.get(2) })
                .collect(),
        })
    }
}

async fn found(link: &Link<'_>, plan: &TablePlan) -> Result<Option<Facts>> {
    catalog::load(link, &plan.table).await?.map(|catalog| facts::of(plan, &catalog)).transpose()
}

async fn there(link: &Link<'_>, plan: &TablePlan) -> Result<Facts> {
    let gone = || Error::refused(format!("table {} is not there; create it first", plan.table));
    found(link, plan).await?.ok_or_else(gone)
}

/// What a query makes of an instant without saying in which zone is then the same on every machine.
fn in_zone(zone: &str) -> String {
    format!("SET LOCAL TimeZone TO {}", quote::literal(zone))
}

/// Whole days or quarters of an hour since 1970, as a plan's column has them.
fn bounds(rows: &[tokio_postgres::Row], ty: &Type) -> Vec<Bound> {
    let bound = |row: &tokio_postgres::Row| {
        let count: i64 = row.get::<_, Option<i64>>(0)?;
        match ty {
            Type::Timestamptz => count.checked_mul(QUARTER).map(Bound::Timestamptz),
            _ => i32::try_from(count).ok().map(Bound::Date),
        }
    };
    rows.iter().filter_map(bound).collect()
}
