//! Rows of a target by the values of columns, as JSON.

use landonce_core::column::Type;
use landonce_core::json::Tape;
use landonce_core::plan::{KeyForm, Match, TablePlan, TableShape};
use rusqlite::params_from_iter;
use rusqlite::types::{ToSqlOutput, Value as Owned};

use super::super::{Session, notices, render, rows};
use crate::error::{Error, Result};
use crate::reads::{Equals, Rows};

/// The rows of which these columns have these values.
pub(super) fn rows(
    session: &mut Session,
    shape: &TableShape,
    plan: &TablePlan,
    equal: &[Equals<'_>],
    most: usize,
) -> Result<Rows> {
    let doing = format!("looking for rows of {}", shape.table);
    let mut conditions = Vec::new();
    let mut cells: Vec<Owned> = Vec::new();
    for one in equal {
        if shape.column(&one.column).is_none() {
            return Err(Error::refused(format!("{doing}: there is no column `{}`", one.column)));
        }
        let mut scratch = String::new();
        let cell = rows::cell(&one.value, one.is_key, &mut scratch);
        cells.push(Owned::try_from(cell).map_err(|error| Error::refused(format!("{doing}: {error}")))?);
        conditions.push(format!("t.{} IS ?{}", render::quoted(&one.column)?, cells.len()));
    }
    if conditions.is_empty() {
        return Err(Error::refused(format!("{doing}: no column says which")));
    }
    let mut shown = Vec::new();
    for column in &shape.columns {
        shown.push(format!("t.{}", render::quoted(&column.name)?));
    }
    let sql = format!(
        "SELECT {} FROM {} AS t WHERE {} LIMIT {}",
        shown.join(", "),
        render::target(&plan.table)?,
        conditions.join(" AND "),
        most.saturating_add(1)
    );
    let types: Vec<Type> =
        shape.columns.iter().map(|column| type_of(plan, column.name.as_str(), shape)).collect();
    let mut tape = Tape::default();
    let read = |row: &rusqlite::Row<'_>| {
        let mut values = Vec::with_capacity(types.len());
        for (at, ty) in types.iter().enumerate() {
            let mut json = String::new();
            notices::write_value(row.get_ref(at)?, ty, &mut tape, &mut json);
            values.push(json);
        }
        Ok(values)
    };
    let given = params_from_iter(cells.into_iter().map(ToSqlOutput::Owned));
    let mut found = session.bounded(&doing, &plan.table.name, &sql, given, read)?;
    let is_more = found.len() > most;
    found.truncate(most);
    Ok(Rows {
        columns: shape.columns.iter().map(|column| column.name.clone()).collect(),
        rows: found,
        is_more,
    })
}

/// The plan knows what a column's values mean; the catalogue only how they are kept.
fn type_of(plan: &TablePlan, name: &str, shape: &TableShape) -> Type {
    if let Some(column) = plan.columns.iter().find(|column| column.name == name) {
        return column.ty.clone();
    }
    match &plan.matching {
        Match::Key { column, form: KeyForm::Uuid } if column == name => Type::Uuid,
        _ => shape.column(name).and_then(|column| column.ty.clone()).unwrap_or(Type::TEXT),
    }
}
