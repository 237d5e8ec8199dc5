//! Derived tables: what a batch touches, and a period computed into a temporary table, applied, compared.
//!
//! The SQL is `render/derive.rs`'s, the marks are `due.rs`'s.

use std::collections::BTreeSet;

use landonce_core::column::Type;
use landonce_core::pipeline::{Part, QUARTER};
use landonce_core::plan::{Bound, TableName, TablePlan};
use landonce_core::time;
use rusqlite::{Connection, Params, params_from_iter};

use super::catalog::Facts;
use super::errors::during;
use super::joined::Joined;
use super::render::{self, Render};
use super::{catalog, due, functions};
use crate::due::{Due, Mark};
use crate::error::{Error, Result};
use crate::seam::{Applied, Compared, Computed, Derives, Difference, Fault, Look};

impl Derives for Joined<'_> {
    async fn share_base(&mut self, _: &TableName) -> Result<()> {
        self.writing().map(|_| ())
    }

    async fn own_base(&mut self, _: &TableName) -> Result<()> {
        self.writing().map(|_| ())
    }

    async fn touched(&mut self, column: usize, look: Look) -> Result<Vec<Bound>> {
        let (connection, open) = self.open()?;
        open.walked()?;
        let Some(sql) = open.render()?.touched(column, look).filter(|_| open.facts.is_there) else {
            return Ok(Vec::new());
        };
        let doing = format!("looking for the periods of {} that the batch touches", open.plan.table);
        let owner: Vec<&str> = if look == Look::Missing { open.owner().collect() } else { Vec::new() };
        bounds(connection, &doing, &sql, params_from_iter(owner), &open.plan.columns[column].ty)
    }

    async fn mark(&mut self, marks: &[Mark<'_>]) -> Result<()> {
        due::mark(self.writing()?, marks)
    }

    async fn due(&mut self, pipeline: &str, derived: &str) -> Result<Vec<Due>> {
        due::due(self.connection(), pipeline, derived)
    }

    async fn unmark(&mut self, pipeline: &str, derived: &str, due: &Due) -> Result<u64> {
        due::unmark(self.writing()?, pipeline, derived, due)
    }

    async fn values(&mut self, plan: &TablePlan, column: usize) -> Result<Vec<Bound>> {
        let connection = self.connection();
        let Some(facts) = found(connection, plan)? else { return Ok(Vec::new()) };
        let sql = Render::new(plan, &facts)?.values(column);
        let doing = format!("looking for the periods of {}", plan.table);
        bounds(connection, &doing, &sql, [], &plan.columns[column].ty)
    }

    async fn compute(&mut self, plan: &TablePlan, query: &[Part<'_>], _: &str) -> Result<Computed> {
        compute(self.writing()?, plan, query)
    }

    async fn apply(&mut self, plan: &TablePlan, touched: &[usize]) -> Result<Applied> {
        let connection = self.writing()?;
        let doing = format!("writing into {}", plan.table);
        let facts = there(connection, plan)?;
        let render = Render::new(plan, &facts)?;
        let mut applied = Applied::default();
        for &column in touched {
            let sql = render.differing(column)?;
            let found = bounds(connection, &doing, &sql, [], &plan.columns[column].ty)?;
            applied.touched.extend(found.into_iter().map(|at| (column, at)));
        }
        let execute =
            |sql: &str| connection.execute(sql, []).map(|count| count as u64).map_err(during(&doing));
        // Deletes come first, so that a value which only one row may have is free for its next one.
        applied.deleted = execute(&render.delete_vanished()?)?;
        if let Some(sql) = render.update_differing() {
            applied.updated = execute(&sql)?;
        }
        applied.inserted = execute(&render.insert_computed())?;
        drop_tables(connection, &doing)?;
        Ok(applied)
    }

    async fn compare(
        &mut self,
        plan: &TablePlan,
        query: &[Part<'_>],
        _: &str,
        samples: usize,
    ) -> Result<Compared> {
        let connection = self.connection();
        let doing = format!("comparing {} with its query", plan.table);
        // The transaction sees one state of the file from its first look on.
        compute(connection, plan, query)?;
        let facts = there(connection, plan)?;
        let render = Render::new(plan, &facts)?;
        connection.execute_batch(&render.fill_compared()?.join(";\n")).map_err(during(&doing))?;
        let read = || {
            let mut statement = connection.prepare(&render.compared())?;
            // One row is asked for in any case: it carries the count.
            let rows = statement.query_map([samples.max(1) as i64], |row| {
                let count: i64 = row.get(0)?;
                Ok((count as u64, Difference { expected: row.get(1)?, found: row.get(2)? }))
            })?;
            rows.collect::<rusqlite::Result<Vec<(u64, Difference)>>>()
        };
        let rows = read().map_err(during(&doing))?;
        drop_tables(connection, &doing)?;
        Ok(Compared {
            count: rows.first().map_or(0, |(count, _)| *count),
            samples: rows.into_iter().take(samples).map(|(_, difference)| difference).collect(),
        })
    }
}

fn compute(connection: &Connection, plan: &TablePlan, query: &[Part<'_>]) -> Result<Computed> {
    let doing = format!("computing {}", plan.table);
    functions::register(connection)?;
    let facts = there(connection, plan)?;
    let render = Render::new(plan, &facts)?;
    for sql in render.compute(query) {
        connection.execute_batch(&sql).map_err(during(&doing))?;
    }
    let steps = || {
        let rows: i64 =
            connection
                .query_row(&format!("SELECT count(*) FROM {}", render::DERIVED), [], |row| row.get(0))?;
        let float: Option<String> = connection.query_row(&render.floats(), [], |row| row.get(0))?;
        Ok((rows as u64, float))
    };
    let (rows, float) = steps().map_err(during(&doing))?;
    let faults = render.faults()?;
    let told = |row: &rusqlite::Row<'_>| Ok([row.get::<_, Option<String>>(0)?, row.get(1)?, row.get(2)?]);
    let [null, outside, repeated] = connection.query_row(&faults, [], told).map_err(during(&doing))?;
    let fault = float
        .map(Fault::Float)
        .or_else(|| null.map(Fault::NullKey))
        .or_else(|| outside.map(Fault::Outside))
        .or_else(|| repeated.map(Fault::Repeated));
    Ok(Computed { rows, fault })
}

fn drop_tables(connection: &Connection, doing: &str) -> Result<()> {
    connection.execute_batch(&render::drop_derived()).map_err(during(doing))
}

fn found(connection: &Connection, plan: &TablePlan) -> Result<Option<Facts>> {
    catalog::load(connection, &plan.table)?.map(|catalog| catalog.facts(connection, plan)).transpose()
}

fn there(connection: &Connection, plan: &TablePlan) -> Result<Facts> {
    let gone = || Error::refused(format!("table {} is not there; create it first", plan.table));
    found(connection, plan)?.ok_or_else(gone)
}

/// Times as texts, as a plan's column has them; those that can't be read are in no period.
fn bounds(
    connection: &Connection,
    doing: &str,
    sql: &str,
    params: impl Params,
    ty: &Type,
) -> Result<Vec<Bound>> {
    let bound = |text: &str| match ty {
        Type::Timestamptz => {
            let micros = time::timestamptz(text).ok()?;
            Some(Bound::Timestamptz(micros.div_euclid(QUARTER) * QUARTER))
        }
        _ => time::date(text).ok().map(Bound::Date),
    };
    let read = || {
        let mut found = BTreeSet::new();
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            found.extend(row.get_ref(0)?.as_str().ok().and_then(bound));
        }
        Ok(found.into_iter().collect())
    };
    read().map_err(during(doing))
}
