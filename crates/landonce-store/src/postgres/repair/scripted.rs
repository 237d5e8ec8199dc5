//! A script's statements: what is written down of rows before they are deleted, and how they come back.

use super::render::{BOTH, DOOMED, after, index_name, of, own_index, points, stays, text};
use crate::error::Result;
use crate::postgres::quote;
use crate::repair::{Constraint, Known};

/// A value as a literal, in the type's own output form, which its input form reads exactly.
pub(super) fn literal(expression: &str) -> String {
    format!("pg_catalog.format('%L', {expression})")
}

/// A row of literals: `(1,'a',NULL)`.
pub(super) fn tuple(expressions: &[String]) -> String {
    let literals: Vec<String> = expressions.iter().map(|expression| literal(expression)).collect();
    format!("'(' || {} || ')'", literals.join(" || ',' || "))
}

/// The columns that a script can write.
fn written(known: &Known) -> Vec<&String> {
    known.columns.iter().filter(|column| !column.is_generated).map(|column| &column.name).collect()
}

/// The marked rows as rows of literals.
pub(super) fn rows(known: &Known) -> Result<String> {
    Ok(format!(
        "SELECT {} FROM {DOOMED} d JOIN {} g ON {BOTH} ORDER BY d.rel, d.at",
        tuple(&of("g", written(known))?),
        quote::table(&known.table)?
    ))
}

/// Why a script changes nothing.
pub(super) fn refusal(known: &Known) -> String {
    format!("{} is not as the repair left it, or this script has run before; nothing is changed", known.table)
}

/// What a script does to take a constraint away: it, or the index that it was to stand on.
pub(super) fn unconstrain(known: &Known, constraint: &Constraint) -> Result<String> {
    let name = quote::name(&constraint.name)?;
    Ok(format!(
        "ALTER TABLE {} DROP CONSTRAINT IF EXISTS {name};\nDO $landonce$ BEGIN\nIF EXISTS ({}) THEN\n  DROP INDEX {};\nEND \
         IF;\nEND $landonce$;\n",
        quote::table(&known.table)?,
        own_index(known, constraint, "true")?,
        index_name(known, constraint)?
    ))
}

/// What a script does before its rows: a place for them.
pub(super) fn open(known: &Known) -> Result<String> {
    Ok(format!(
        "CREATE TEMP TABLE landonce_rows ON COMMIT DROP AS SELECT {} FROM {} g WITH NO DATA;\n",
        of("g", written(known))?.join(", "),
        quote::table(&known.table)?
    ))
}

/// What a script does after its rows: looks whether the state is the one that the repair left, and puts them back.
pub(super) fn close(known: &Known, by: &[String], constraint: Option<&Constraint>) -> Result<String> {
    let table = quote::table(&known.table)?;
    let quoted: Vec<String> = by.iter().map(|name| quote::name(name)).collect::<Result<_>>()?;
    let list = quoted.join(", ");
    let guard = format!(
        "DO $landonce$ BEGIN\nIF EXISTS (SELECT FROM (SELECT {list}, 1 AS gone, 0 AS stored FROM pg_temp.landonce_rows\n  UNION ALL \
         SELECT {list}, 0, 1 FROM {table}) s\n  GROUP BY {list} HAVING sum(gone) > 0 AND sum(stored) <> 1) THEN\n  RAISE EXCEPTION \
         USING MESSAGE = {};\nEND IF;\nEND $landonce$;\n",
        text(&refusal(known))
    );
    let mut sql = if by.is_empty() { String::new() } else { guard };
    if let Some(constraint) = constraint {
        sql.push_str(&unconstrain(known, constraint)?);
    }
    let columns: Vec<String> =
        written(known).into_iter().map(|name| quote::name(name)).collect::<Result<_>>()?;
    let columns = columns.join(", ");
    sql.push_str(&format!(
        "INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM pg_temp.landonce_rows;\n"
    ));
    Ok(sql)
}

/// A reference's rows before they move, as rows of literals: how each is found afterwards, and what it pointed at.
pub(super) fn reference(known: &Known, at: usize) -> Result<String> {
    let reference = &known.references[at];
    let mut expressions = Vec::new();
    for column in &reference.row_key {
        expressions.push(after(reference, column)?);
    }
    expressions.extend(of("c", &reference.columns)?);
    Ok(format!(
        "SELECT {} FROM {} c JOIN pg_temp.landonce_moved_{at} m ON {} WHERE {}",
        tuple(&expressions),
        quote::table(&reference.table)?,
        points(reference)?,
        stays(reference)
    ))
}

/// What a script does before and after a reference's rows.
pub(super) fn around_reference(known: &Known, at: usize) -> Result<(String, String)> {
    let reference = &known.references[at];
    let table = quote::table(&reference.table)?;
    let mut columns = Vec::new();
    let mut is_row = Vec::new();
    for (at, column) in of("c", &reference.row_key)?.into_iter().enumerate() {
        is_row.push(format!("{column} = r.k{at}"));
        columns.push(format!("{column} AS k{at}"));
    }
    let mut set = Vec::new();
    for (at, column) in reference.columns.iter().enumerate() {
        let column = quote::name(column)?;
        columns.push(format!("c.{column} AS f{at}"));
        set.push(format!("{column} = r.f{at}"));
    }
    let open = format!(
        "CREATE TEMP TABLE landonce_references_{at} ON COMMIT DROP AS SELECT {} FROM {table} c WITH NO DATA;\n",
        columns.join(", ")
    );
    let close = format!(
        "UPDATE {table} c SET {} FROM pg_temp.landonce_references_{at} r WHERE {};\n",
        set.join(", "),
        is_row.join(" AND ")
    );
    Ok((open, close))
}
