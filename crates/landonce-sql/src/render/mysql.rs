//! `ON DUPLICATE KEY UPDATE`, held to the meaning of `ON CONFLICT (key)`.
//!
//! MariaDB and MySQL update whichever row a unique index has found, so the statement itself looks at whose row that is: its first
//! assignment sets a key column to itself, and fails where the row has another key. The comparison is one of bytes: two keys that
//! an index can't tell apart (`a` and `A`, `a` and `a `) are two identities, and taking one for the other would lose a row silently.
//! A NULL in a key is equal to nothing, as in the index.
//!
//! Assignments run from left to right, and see what those before them have set. Here each of them sees the old row, as SQL says: they
//! are put in an order in which they do, or refused where there is none.

use landonce_core::plan::TableName;

use super::Writer;
use crate::upsert::{Action, Assignment, Expr, Piece, Rows};
use crate::{Dialect, Refused};

/// What the error 1690 of MariaDB and MySQL says when the row which is there isn't that of the key: another unique index has
/// found it, or the key's index takes two keys for one which differ in their bytes. Nothing was written then.
///
/// SQL has no word for "fail" in an expression. An overflow is always an error, in every `sql_mode`, and its message shows the expression.
pub const OTHER_ROW: &str = "the row that is there has another key: another unique index is in conflict, \
or the index takes two keys for one";

/// What the row that comes is called on MySQL.
pub(super) fn alias(table: &TableName) -> &'static str {
    if table.name.eq_ignore_ascii_case("new") { "`incoming`" } else { "`new`" }
}

pub(super) fn statement(
    out: &mut Writer<'_>,
    set: &[Assignment],
    only_if: Option<&Expr>,
) -> Result<(), Refused> {
    let upsert = out.upsert;
    let ordered = in_order(set, only_if)?;
    out.head("INSERT INTO ")?;
    match &upsert.rows {
        Rows::Values(rows) => {
            out.values(rows)?;
            if out.dialect == Dialect::MySql {
                out.push(&format!(" AS {}", alias(&upsert.table)));
            }
        }
        // As a table of its own, so that no name in it is mistaken for one of the target's columns.
        Rows::Query(query) if out.dialect == Dialect::MySql => {
            out.push(" SELECT * FROM (");
            out.expr(query)?;
            out.push(&format!(") AS {} (", alias(&upsert.table)));
            out.names(&upsert.columns)?;
            out.push(")");
        }
        Rows::Query(query) => {
            out.push(" WITH `incoming` (");
            out.names(&upsert.columns)?;
            out.push(") AS (");
            out.expr(query)?;
            out.push(") SELECT * FROM `incoming`");
        }
    }
    out.push(" ON DUPLICATE KEY UPDATE ");
    guard(out)?;
    for assignment in ordered {
        out.push(", ");
        out.name(&assignment.column)?;
        out.push(" = ");
        match only_if {
            None => out.expr(&assignment.value)?,
            Some(condition) => {
                out.push("IF(");
                out.expr(condition)?;
                out.push(", ");
                out.expr(&assignment.value)?;
                out.push(", ");
                out.stored(&assignment.column)?;
                out.push(")");
            }
        }
    }
    returning(out, set.is_empty() || only_if.is_some())
}

/// ``k = IF(the keys are equal OR an error, k, k)``: whatever the column's type, its value isn't touched.
fn guard(out: &mut Writer<'_>) -> Result<(), Refused> {
    let key = &out.upsert.key;
    let Some(first) = key.first() else {
        return Err(Refused::new("no key is given", "name the columns by which a row is the same"));
    };
    out.name(first)?;
    out.push(" = IF(");
    for column in key {
        out.push("CAST(");
        out.stored(column)?;
        out.push(" AS BINARY) = CAST(");
        out.incoming(column)?;
        out.push(" AS BINARY)");
        out.push(if Some(column) == key.last() { " OR " } else { " AND " });
    }
    // It hangs on a column, so that it isn't computed before a row is in conflict. It is never NULL.
    out.push(&format!("~0 + COALESCE(LENGTH(CONCAT('{}', ", OTHER_ROW.replace('\'', "''")));
    out.stored(first)?;
    out.push(")), 1), ");
    out.stored(first)?;
    out.push(", ");
    out.stored(first)?;
    out.push(")");
    Ok(())
}

/// The assignments so that each comes before those which set what it reads.
fn in_order<'s>(set: &'s [Assignment], only_if: Option<&Expr>) -> Result<Vec<&'s Assignment>, Refused> {
    let mut left: Vec<&Assignment> = set.iter().collect();
    let mut ordered = Vec::with_capacity(set.len());
    while !left.is_empty() {
        // One that nobody else who is left reads: whoever comes later doesn't mind that it's set.
        let free = left.iter().position(|setter| {
            left.iter().all(|reader| {
                reader.column == setter.column
                    || !reads(&reader.value, only_if).any(|column| same(column, &setter.column))
            })
        });
        let Some(free) = free else {
            let names: Vec<String> =
                left.iter().map(|assignment| format!("`{}`", assignment.column)).collect();
            return Err(Refused::new(
                format!(
                    "the new values of {} each depend on what the others were, and MariaDB and MySQL assign one after the other",
                    names.join(", ")
                ),
                "let the condition read one of the columns that change at most, or do it in two steps: SELECT … FOR UPDATE, then UPDATE",
            ));
        };
        ordered.push(left.remove(free));
    }
    Ok(ordered)
}

fn reads<'e>(value: &'e Expr, only_if: Option<&'e Expr>) -> impl Iterator<Item = &'e str> {
    value.0.iter().chain(only_if.into_iter().flat_map(|condition| &condition.0)).filter_map(|piece| {
        match piece {
            Piece::Stored(column) => Some(column.as_str()),
            _ => None,
        }
    })
}

/// Column names don't mind case there.
fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn returning(out: &mut Writer<'_>, may_leave_rows: bool) -> Result<(), Refused> {
    if out.upsert.returning.is_empty() {
        return Ok(());
    }
    let fix = "run it without RETURNING, and SELECT the columns by the key in the same transaction";
    if out.dialect == Dialect::MySql {
        return Err(Refused::new("MySQL has no RETURNING", fix));
    }
    if may_leave_rows {
        let what = if matches!(out.upsert.action, Action::Update { .. }) {
            "whose condition is false"
        } else {
            "that was there"
        };
        return Err(Refused::new(
            format!("MariaDB would also return a row {what}, which wasn't written"),
            fix,
        ));
    }
    out.returning()
}
