//! What an [`Upsert`] must be, before any store is thought of.

use std::collections::BTreeSet;

use crate::upsert::{Action, Assignment, Expr, Piece, Rows, Upsert};
use crate::{Dialect, Refused};

/// Refuses what no store could run, and what would mean something else than it says.
pub(crate) fn check(upsert: &Upsert, dialect: Dialect) -> Result<(), Refused> {
    distinct(&upsert.columns, "is given twice")?;
    distinct(&upsert.key, "is twice in the key")?;
    if upsert.columns.is_empty() {
        return Err(Refused::new("no column is given", "name the columns that the rows give"));
    }
    if upsert.key.is_empty() {
        return Err(Refused::new("no key is given", "name the columns by which a row is the same"));
    }
    if let Some(missing) = upsert.key.iter().find(|column| !upsert.columns.contains(column)) {
        return Err(Refused::new(
            format!(
                "the key column `{missing}` isn't among the columns that are given, so every row would be a new one"
            ),
            "give its value; a generated value identifies nothing",
        ));
    }
    rows(upsert)?;
    if let Action::Update { set, only_if } = &upsert.action {
        update(upsert, set, only_if.as_ref())?;
    }
    params(upsert, dialect)
}

fn rows(upsert: &Upsert) -> Result<(), Refused> {
    let no_column = |expr: &Expr| match expr
        .0
        .iter()
        .find(|piece| matches!(piece, Piece::Incoming(_) | Piece::Stored(_)))
    {
        Some(Piece::Incoming(column) | Piece::Stored(column)) => Err(Refused::new(
            format!("a row that comes can't be made of the column `{column}`"),
            "give a value, or use the column in what is updated",
        )),
        _ => Ok(()),
    };
    match &upsert.rows {
        Rows::Query(query) => no_column(query),
        Rows::Values(rows) if rows.is_empty() => {
            Err(Refused::new("there is no row", "give one row at least"))
        }
        Rows::Values(rows) => {
            for (at, row) in rows.iter().enumerate() {
                if row.len() != upsert.columns.len() {
                    return Err(Refused::new(
                        format!(
                            "row {} has {} values for {} columns",
                            at + 1,
                            row.len(),
                            upsert.columns.len()
                        ),
                        "give each column one value",
                    ));
                }
                row.iter().try_for_each(no_column)?;
            }
            Ok(())
        }
    }
}

fn update(upsert: &Upsert, set: &[Assignment], only_if: Option<&Expr>) -> Result<(), Refused> {
    if set.is_empty() {
        return Err(Refused::new("an update that sets nothing", "set a column, or leave the row alone"));
    }
    let names: Vec<String> = set.iter().map(|assignment| assignment.column.clone()).collect();
    distinct(&names, "is set twice")?;
    for expr in set.iter().map(|assignment| &assignment.value).chain(only_if) {
        for piece in &expr.0 {
            if let Piece::Incoming(column) = piece
                && !upsert.columns.contains(column)
            {
                return Err(Refused::new(
                    format!(
                        "the column `{column}` of the row that comes is used, and the row doesn't give it"
                    ),
                    "give it a value, or use another column",
                ));
            }
        }
    }
    Ok(())
}

/// Parameters are numbered from 1 without a gap, and there aren't more of them than the store takes.
fn params(upsert: &Upsert, dialect: Dialect) -> Result<(), Refused> {
    let mut numbers = BTreeSet::new();
    let mut places = 0;
    for expr in exprs(upsert) {
        for piece in &expr.0 {
            if let Piece::Param(number) = piece {
                numbers.insert(*number);
                places += 1;
            }
        }
    }
    if let Some((want, has)) =
        numbers.iter().enumerate().map(|(at, has)| (at + 1, *has)).find(|(want, has)| want != has)
    {
        return Err(Refused::new(
            format!("parameter {} is used, and parameter {want} isn't", has.max(want)),
            "number the parameters from 1 without a gap",
        ));
    }
    let count = if dialect.is_mysql_like() { places } else { numbers.len() };
    if count > dialect.most_params() {
        return Err(Refused::new(
            format!(
                "{count} parameters are more than the {} that {} takes in a statement",
                dialect.most_params(),
                dialect.name()
            ),
            "write fewer rows a statement, in one transaction",
        ));
    }
    Ok(())
}

/// All expressions, in the order in which they were written.
fn exprs(upsert: &Upsert) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = match &upsert.rows {
        Rows::Query(query) => vec![query],
        Rows::Values(rows) => rows.iter().flatten().collect(),
    };
    if let Action::Update { set, only_if } = &upsert.action {
        all.extend(set.iter().map(|assignment| &assignment.value));
        all.extend(only_if);
    }
    all
}

fn distinct(names: &[String], why: &str) -> Result<(), Refused> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(Refused::new(format!("the column `{twice}` {why}"), "name it once")),
        None => Ok(()),
    }
}
