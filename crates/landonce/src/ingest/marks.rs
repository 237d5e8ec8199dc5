//! Marks: the periods of derived tables that a batch's real changes touch, left in its own transaction.
//!
//! A pipeline without derived tables does nothing here. What a row was is looked at before it is written, what it is after:
//! a row that moves from one period to another touches both. Records that are unchanged touch nothing.

use std::collections::{BTreeMap, BTreeSet};

use landonce_core::pipeline::{Base, Derived, Pipeline, fits};
use landonce_core::plan::{Bound, From, PlanColumn, PlanError, TablePlan};
use landonce_store::due::Mark;
use landonce_store::seam::{Classified, Look, Work};
use uuid::Uuid;

use super::Job;
use crate::error::Error;
use crate::failpoint;

/// The values that tell periods, by the plan's column, as the batch has touched them so far.
#[derive(Debug, Default)]
pub(crate) struct Touched(BTreeMap<usize, BTreeSet<Bound>>);

impl Touched {
    /// With these columns to look at.
    pub(crate) fn at(columns: impl IntoIterator<Item = usize>) -> Self {
        Self(columns.into_iter().map(|column| (column, BTreeSet::new())).collect())
    }

    /// The columns to look at.
    pub(crate) fn columns(&self) -> Vec<usize> {
        self.0.keys().copied().collect()
    }

    pub(crate) fn add(&mut self, column: usize, values: impl IntoIterator<Item = Bound>) {
        self.0.entry(column).or_default().extend(values);
    }
}

/// Keeps computations out while the batch is under way.
pub(super) async fn begin<W: Work>(work: &mut W, job: &Job, touched: &mut Touched) -> Result<(), Error> {
    if job.pipeline.derived().is_empty() {
        return Ok(());
    }
    let columns = of(&job.pipeline, Base::Target, &job.plan)?;
    work.share_base(&job.pipeline.target().table).await?;
    *touched = Touched::at(columns.into_iter().map(|(column, _)| column));
    Ok(())
}

/// Looks at what is to be changed, behind the telling apart and before any write.
pub(super) async fn before<W: Work>(
    work: &mut W,
    touched: &mut Touched,
    classified: Classified,
) -> Result<(), Error> {
    if classified.changed + classified.deletes == 0 {
        return Ok(());
    }
    look(work, touched, Look::Before).await
}

/// Looks at the rows that the payload doesn't have, before they go.
pub(super) async fn vanishing<W: Work>(work: &mut W, touched: &mut Touched) -> Result<(), Error> {
    look(work, touched, Look::Missing).await
}

/// Looks at what has been written, behind the last write.
pub(super) async fn after<W: Work>(
    work: &mut W,
    touched: &mut Touched,
    classified: Classified,
) -> Result<(), Error> {
    if classified.new + classified.changed == 0 {
        return Ok(());
    }
    look(work, touched, Look::After).await
}

async fn look<W: Work>(work: &mut W, touched: &mut Touched, look: Look) -> Result<(), Error> {
    for column in touched.columns() {
        touched.add(column, work.touched(column, look).await?);
    }
    Ok(())
}

/// Leaves the marks.
pub(super) async fn leave<W: Work>(work: &mut W, job: &Job, touched: &Touched) -> Result<(), Error> {
    if job.pipeline.derived().is_empty() {
        return Ok(());
    }
    mark(work, &job.pipeline, Base::Target, &job.plan, touched, job.claim.run_id).await?;
    failpoint::at("marked");
    Ok(())
}

/// Marks all periods, of the tables that are computed from this base, which the touched values count in.
pub(crate) async fn mark<W: Work>(
    work: &mut W,
    pipeline: &Pipeline,
    base: Base,
    plan: &TablePlan,
    touched: &Touched,
    run_id: Uuid,
) -> Result<(), Error> {
    let mut found = Vec::new();
    for (column, derived) in of(pipeline, base, plan)? {
        let mut periods = BTreeMap::new();
        for &at in touched.0.get(&column).into_iter().flatten() {
            derived.touch(at, &mut periods);
        }
        found.push((derived.name(), periods));
    }
    let marks: Vec<Mark<'_>> = found
        .iter()
        .flat_map(|(derived, periods)| {
            periods.values().map(|period| Mark {
                pipeline: pipeline.name(),
                derived,
                label: period.label(),
                start: period.start().as_microsecond(),
                end: period.end().as_microsecond(),
                run_id,
            })
        })
        .collect();
    if !marks.is_empty() {
        work.mark(&marks).await?;
    }
    Ok(())
}

/// The tables that are computed from this base, each with the base's column that tells a row's period.
pub(crate) fn of<'p>(
    pipeline: &'p Pipeline,
    base: Base,
    plan: &TablePlan,
) -> Result<Vec<(usize, &'p Derived)>, Error> {
    let from_here = pipeline.derived().iter().filter(|derived| derived.base == base);
    from_here.map(|derived| Ok((column(derived, plan)?, derived))).collect()
}

/// The base's column that tells which period of a derived table a row counts in.
pub(crate) fn column(derived: &Derived, plan: &TablePlan) -> Result<usize, Error> {
    let of = &derived.of;
    let is_field = |column: &PlanColumn| matches!(&column.from, From::Field(field) if field == of);
    let at = plan
        .columns
        .iter()
        .position(is_field)
        .or_else(|| plan.columns.iter().position(|column| column.name == *of));
    let every = derived.calendar.every();
    let due = if every.holds_whole_days() { "date, timestamptz or timestamp" } else { "timestamptz" };
    let message = match at {
        Some(at) if fits(&plan.columns[at].ty, every) => return Ok(at),
        Some(at) => {
            format!(
                "`{of}` is {}, and {due} is due: it tells the periods of `{}`",
                plan.columns[at].ty,
                derived.name()
            )
        }
        None => format!(
            "`{of}` has no column, and it tells the periods of `{}` (`derive.of`); declare one with its type: {due}",
            derived.name()
        ),
    };
    Err(PlanError { table: plan.table.to_string(), message }.into())
}
