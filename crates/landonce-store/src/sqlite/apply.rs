//! `apply:` on SQLite: the statement once a row, its values bound in the classes that their columns have.

use landonce_core::column::Type;
use landonce_core::pipeline::{Apply, ApplyPiece};
use landonce_core::plan::TablePlan;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::errors;
use crate::error::Error;
use crate::seam::{Row, Unapplied};

/// Runs the statement for each row, in order. Returns how many rows each has changed.
pub(super) fn apply(
    connection: &Connection,
    plan: &TablePlan,
    apply: &Apply,
    columns: &[usize],
    rows: &[Row],
) -> Result<Vec<u64>, Unapplied> {
    let mut sql = String::new();
    for piece in &apply.pieces {
        match piece {
            ApplyPiece::Text(text) => sql.push_str(text),
            ApplyPiece::Parameter(at) => sql.push_str(&format!("?{}", at + 1)),
        }
    }
    let failed = |at| move |error| Unapplied { at, error: errors::said(error) };
    let mut statement = connection.prepare_cached(&sql).map_err(failed(0))?;
    if statement.parameter_count() != columns.len() {
        let error = Error::refused("a parameter is written `:column`");
        return Err(Unapplied { at: 0, error });
    }
    let mut changed = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        for (nth, (value, column)) in (1..).zip(row.iter().zip(columns)) {
            let bound = bound(value.as_deref(), &plan.columns[*column].ty);
            statement.raw_bind_parameter(nth, bound).map_err(failed(at))?;
        }
        // What triggers change beside isn't counted, as elsewhere.
        changed.push(statement.raw_execute().map_err(failed(at))? as u64);
    }
    Ok(changed)
}

fn bound(text: Option<&str>, ty: &Type) -> Value {
    let Some(text) = text else { return Value::Null };
    let exact = match ty {
        Type::Integer { .. } => text.parse().ok().map(Value::Integer),
        Type::Boolean => match text {
            "true" => Some(Value::Integer(1)),
            "false" => Some(Value::Integer(0)),
            _ => None,
        },
        Type::Float { .. } => text.parse().ok().map(Value::Real),
        // A sum of them is one of numbers: SQLite has no exact decimals.
        Type::Decimal { .. } => text.parse().ok().map(Value::Integer),
        Type::Bytes => text.strip_prefix("\\x").and_then(|digits| hex::decode(digits).ok()).map(Value::Blob),
        _ => None,
    };
    exact.unwrap_or_else(|| Value::Text(text.to_owned()))
}
