//! `apply:` as it is meant: a statement taken apart at its parameters. Columns are looked for when the target is known
//! ([`Apply::bind`]); running it is the stores' business.

mod parse;

pub(super) use parse::skipped;

use super::check::{Checked, fault};
use crate::column::Type;
use crate::json::{Kind, Tape};
use crate::plan::TablePlan;
use crate::spec::ApplySpec;

/// A statement that runs once for each record that is newly inserted, in the transaction of its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apply {
    /// The statement's text and its parameters, in order.
    pub pieces: Vec<ApplyPiece>,
    /// The columns that parameters stand for, each once.
    pub names: Vec<String>,
    /// How many rows it must change; any number when `None`.
    pub rows: Option<u64>,
}

/// A piece of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyPiece {
    /// SQL as it is written.
    Text(String),
    /// A parameter: an index into [`Apply::names`].
    Parameter(usize),
}

pub(super) fn resolve(specs: &[ApplySpec]) -> Checked<Vec<Apply>> {
    specs.iter().map(one).collect()
}

fn one(spec: &ApplySpec) -> Checked<Apply> {
    let (pieces, names) = match parse::statement(&spec.sql) {
        Ok(parsed) => parsed,
        Err(message) => return fault("apply.sql", message),
    };
    Ok(Apply { pieces, names, rows: spec.rows })
}

impl Apply {
    /// The plan's column for each of [`Apply::names`].
    ///
    /// # Errors
    /// What is wrong, in a sentence: a column that records don't fill, or one whose values have no plain text.
    pub fn bind(&self, plan: &TablePlan) -> Result<Vec<usize>, String> {
        if plan.run_id.is_none() || plan.revision.is_none() {
            return Err(
                "`apply` finds the records that are new by the run and the revision of their rows, and the table has no column for \
                 one of them; add it (`landonce_run_id uuid`, `landonce_revision bigint`), or name another under `target.managed`"
                    .to_owned(),
            );
        }
        self.names.iter().map(|name| column(plan, name)).collect()
    }

    /// The statement's values, from a row as a JSON array of the plan's columns: each as text, `None` for NULL.
    ///
    /// # Errors
    /// When the text is no such row.
    pub fn values(&self, columns: &[usize], row: &str) -> Result<Vec<Option<String>>, String> {
        let mut tape = Tape::default();
        let json = tape.scan(row.as_bytes()).map_err(|bad| format!("a row can't be read: {bad}"))?;
        let row: Vec<_> = json.items().collect();
        let value = |&at: &usize| {
            let value = row.get(at).ok_or_else(|| "a row has too few values".to_owned())?;
            Ok(match value.kind() {
                Kind::Null => None,
                Kind::Plain | Kind::Escaped => value.string().map(std::borrow::Cow::into_owned),
                _ => Some(value.span().to_owned()),
            })
        };
        columns.iter().map(value).collect()
    }
}

fn column(plan: &TablePlan, name: &str) -> Result<usize, String> {
    let Some(at) = plan.columns.iter().position(|column| column.name == name) else {
        let names: Vec<&str> = plan.columns.iter().map(|column| column.name.as_str()).collect();
        return Err(format!(
            "`apply` names `:{name}`, and records fill no such column; they fill {}",
            names.join(", ")
        ));
    };
    match plan.columns[at].ty {
        Type::Array(_) | Type::Geometry { .. } => Err(format!(
            "`apply` names `:{name}`, whose values are {}; only single values can be parameters",
            plan.columns[at].ty
        )),
        _ => Ok(at),
    }
}
