//! What new records bring about (`apply:`): a balance that changes with the COMMIT that lands the payment (I8).
//!
//! The statements run once for each row that the batch has inserted, in key order, inside its transaction: never for a duplicate,
//! never for a row that was there. The caller knows which rows those are.

use landonce_core::pipeline::{Apply, Pipeline};
use landonce_core::plan::{PlanError, TablePlan};
use landonce_core::retry;
use landonce_store::seam::{Unapplied, Work};

use crate::error::{Error, Repr};

/// A pipeline's statements over the columns of a plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Applied(Vec<(Apply, Vec<usize>)>);

/// A row that has come new.
pub(super) struct New<'a> {
    /// Its key as text; empty where columns are the key.
    pub(super) key: &'a str,
    /// A JSON array of the plan's columns.
    pub(super) row: Option<&'a str>,
}

/// Why a statement didn't go through.
pub(super) struct Fault {
    /// The statement, from 1.
    nth: usize,
    /// The row at which it stopped.
    pub(super) at: usize,
    why: Why,
}

enum Why {
    /// It changed another number of rows than it must.
    Rows(String),
    Failed(landonce_store::Error),
}

impl Fault {
    /// A row is to blame, not the statement.
    pub(super) fn blames_row(&self) -> bool {
        match &self.why {
            Why::Rows(_) => true,
            Why::Failed(error) => retry::blames_row(&error.code),
        }
    }

    /// The same as an error of the whole.
    pub(super) fn into_error(self, source_name: &str, record: String) -> Error {
        let Self { nth, .. } = self;
        let is_row = self.blames_row();
        match self.why {
            Why::Failed(error) if !is_row => error.while_doing(&format!("`apply`, statement {nth}")).into(),
            Why::Failed(landonce_store::Error { message: told, .. }) | Why::Rows(told) => {
                Repr::Applied { source_name: source_name.to_owned(), nth, record, told }.into()
            }
        }
    }
}

impl Applied {
    pub(super) fn new(pipeline: &Pipeline, plan: &TablePlan) -> Result<Self, Error> {
        let bound = pipeline.applied().iter().map(|apply| Ok((apply.clone(), apply.bind(plan)?)));
        let bound: Result<Vec<_>, String> = bound.collect();
        Ok(Self(bound.map_err(|message| PlanError { table: plan.table.to_string(), message })?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs every statement for every row.
    pub(super) async fn run<W: Work>(
        &self,
        work: &mut W,
        plan: &TablePlan,
        rows: &[&str],
    ) -> Result<Result<(), Fault>, Error> {
        for (nth, (apply, columns)) in (1..).zip(&self.0) {
            let values = rows.iter().map(|row| apply.values(columns, row).map_err(Error::internal));
            let values = values.collect::<Result<Vec<_>, Error>>()?;
            let changed = match work.bring_about(plan, apply, columns, &values).await {
                Ok(changed) => changed,
                Err(Unapplied { at, error }) => return Ok(Err(Fault { nth, at, why: Why::Failed(error) })),
            };
            let Some(want) = apply.rows else { continue };
            if let Some(at) = changed.iter().position(|changed| *changed != want) {
                let told = format!("it changed {} rows, and `rows` says {want}", changed[at]);
                return Ok(Err(Fault { nth, at, why: Why::Rows(told) }));
            }
        }
        Ok(Ok(()))
    }
}

/// Runs the statements for a batch's new rows.
pub(super) async fn all<'a, W: Work>(
    work: &mut W,
    applied: &Applied,
    plan: &TablePlan,
    source_name: &str,
    new: impl Iterator<Item = New<'a>>,
) -> Result<(), Error> {
    if applied.is_empty() {
        return Ok(());
    }
    let new: Vec<(&str, &str)> = new.filter_map(|new| Some((new.key, new.row?))).collect();
    let rows: Vec<&str> = new.iter().map(|(_, row)| *row).collect();
    let ran = applied.run(work, plan, &rows).await?;
    ran.map_err(|fault| {
        let record = named(&new, fault.at);
        fault.into_error(source_name, record)
    })
}

/// A record by its key, or by its row where columns are the key.
fn named(new: &[(&str, &str)], at: usize) -> String {
    let (key, row) = new.get(at).copied().unwrap_or_default();
    landonce_core::bad_record::shorten(if key.is_empty() { row } else { key })
}
