//! The checker: a derived table is equal to its query over the base, period by period, both ways. Writes nothing; the database
//! itself is told to refuse writes.

use landonce_core::period::Period;
use landonce_core::pipeline::Pipeline;
use landonce_core::plan;
use landonce_store::seam::{Access, Compared, Connection, Derives, Difference};

use super::periods;
use crate::error::Error;

/// How many differing rows of a period are told.
const SAMPLES: usize = 20;

/// A derived table, held against its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The table, as it is declared.
    pub table: String,
    /// Its columns, in the order of the rows that differ.
    pub columns: Vec<String>,
    /// How many periods were compared.
    pub periods: u64,
    /// Those that differ, by start.
    pub differing: Vec<Differing>,
}

/// A period in which a derived table isn't what its query gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// Its label.
    pub label: String,
    /// It is marked as due, so that the next `derive` computes it.
    pub is_due: bool,
    /// How many rows differ.
    pub count: u64,
    /// The first of them.
    pub samples: Vec<Difference>,
}

/// Holds every derived table against its query.
pub(crate) async fn check<C: Connection>(
    mut connection: C,
    pipeline: &Pipeline,
) -> Result<Vec<Checked>, Error> {
    let mut tables = Vec::new();
    for (at, derived) in pipeline.derived().iter().enumerate() {
        let periods = periods::known(&mut connection, pipeline, at).await?;
        let mut differing = Vec::new();
        for period in &periods {
            let mut found = one(&mut connection, pipeline, at, period).await?;
            if found.as_ref().is_some_and(|found| !found.is_due) {
                // Between its look at the rows and its look at the marks, somebody may have computed it.
                found = one(&mut connection, pipeline, at, period).await?;
            }
            differing.extend(found);
        }
        tables.push(Checked {
            table: derived.name(),
            columns: derived.columns.iter().map(|column| column.name.clone()).collect(),
            periods: periods.len() as u64,
            differing,
        });
    }
    Ok(tables)
}

async fn one<C: Connection>(
    connection: &mut C,
    pipeline: &Pipeline,
    at: usize,
    period: &Period,
) -> Result<Option<Differing>, Error> {
    let derived = &pipeline.derived()[at];
    let shape = connection.shape(&derived.table).await?;
    if shape.is_none() {
        let message = "isn't there yet; `landonce derive` makes and fills it".to_owned();
        return Err(plan::PlanError { table: derived.name(), message }.into());
    }
    let plan = plan::derived(derived, shape.as_ref(), period)?;
    connection.begin(Access::ReadOnly).await?;
    let looked = async {
        let mut work = connection.work();
        let query = derived.query.of(period);
        let Compared { count, samples } =
            work.compare(&plan, &query, derived.calendar.zone(), SAMPLES).await?;
        if count == 0 {
            return Ok(None);
        }
        let dues = work.due(pipeline.name(), &derived.name()).await?;
        let is_due = dues.iter().any(|due| derived.covering(due.start, due.end).contains(period));
        Ok(Some(Differing { label: period.label().to_owned(), is_due, count, samples }))
    };
    let found = looked.await;
    connection.rollback().await;
    found
}
