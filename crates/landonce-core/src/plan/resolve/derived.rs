//! A derived table held against a catalogue: a plan of declared columns only, matched by the key's own.

use super::{PlanError, Resolved, agreed, no_column, planned};
use crate::period::Period;
use crate::pipeline::Derived;
use crate::plan::{Absent, From, Guard, Match, PlanColumn, Scope, Span, TablePlan, TableShape, WriteMode};

/// The plan of a derived table, for one of its periods: `shape` is `None` when landonce makes it.
///
/// # Errors
/// When the table that is there isn't one for what is declared.
pub fn derived(of: &Derived, shape: Option<&TableShape>, period: &Period) -> Result<TablePlan, PlanError> {
    let columns = columns(of, shape)
        .and_then(|columns| is_unique(of, shape).map(|()| columns))
        .map_err(|message| PlanError { table: of.name(), message })?;
    let span = Span::of(of.field, &columns[of.field].ty, period);
    Ok(TablePlan {
        table: shape.map_or_else(|| of.table.clone(), |shape| shape.table.clone()),
        create: shape.is_none(),
        columns,
        matching: Match::Columns(of.key.clone()),
        guard: Guard::Columns,
        run_id: None,
        revision: None,
        version: None,
        mode: WriteMode::Upsert,
        absent: Absent::Replace,
        unguarded: Vec::new(),
        has_deletes: false,
        scope: Some(Scope { period: Some(span), owner: Vec::new() }),
        tombstone: None,
        history: None,
        sender_id: false,
    })
}

fn columns(of: &Derived, shape: Option<&TableShape>) -> Resolved<Vec<PlanColumn>> {
    let is_key = |at: usize| of.key.contains(&at);
    let column = |(at, declared): (usize, &crate::pipeline::DeclaredColumn)| {
        let Some(shape) = shape else {
            return Ok(PlanColumn {
                name: declared.name.clone(),
                from: From::Field(declared.field.clone()),
                ty: declared.ty.clone(),
                sql_type: None,
                nullable: !is_key(at),
            });
        };
        let found = shape.column(&declared.name).ok_or_else(|| no_column(shape, &declared.name))?;
        if found.is_generated {
            return Err(format!("the database fills `{}` itself; take it out of `columns`", declared.name));
        }
        let ty = agreed(Some(&declared.ty), found, shape.is_loosely_typed)?;
        // A key without a value is refused before it is written.
        Ok(PlanColumn { nullable: found.nullable && !is_key(at), ..planned(found, &declared.field, ty) })
    };
    of.columns.iter().enumerate().map(column).collect()
}

/// The database itself keeps two rows of one key apart.
fn is_unique(of: &Derived, shape: Option<&TableShape>) -> Resolved<()> {
    let names: Vec<&str> = of.key.iter().map(|&at| of.columns[at].name.as_str()).collect();
    match shape {
        Some(shape) if shape.unique_on(&names).is_none() => Err(format!(
            "nothing enforces the key ({}); add a unique constraint on exactly these columns",
            names.join(", ")
        )),
        _ => Ok(()),
    }
}
