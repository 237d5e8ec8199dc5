//! A script's statements: what is written down of rows before they are deleted, and how they come back.

use super::render::{DOOMED, after, joined, numbered, of, points, stays, table};
use crate::error::{Error, Result};
use crate::repair::{Constraint, Known};
use crate::sqlite::render::quoted;

/// What a script notes of the state that it finds: a row when it is the one that the repair left, else none, and an error.
pub(super) const STATE: &str = "CREATE TABLE temp.landonce_state (is_as_left INTEGER CONSTRAINT is_as_the_repair_left_it CHECK (is_as_left));\n";

/// What a script writes of a row: its columns, and its own number where that is no column.
pub(super) fn written(known: &Known) -> Vec<String> {
    let mut written: Vec<String> = known
        .columns
        .iter()
        .filter(|column| !column.is_generated)
        .map(|column| column.name.clone())
        .collect();
    let is_column = known.unique.iter().any(|unique| unique.name == "PRIMARY KEY");
    written.extend(known.row_number.clone().filter(|_| !is_column));
    written
}

pub(super) fn rows(known: &Known) -> Result<String> {
    Ok(format!("SELECT {} FROM {DOOMED} d {}", of("g", &written(known))?.join(", "), joined(known, "g")?))
}

/// What a script does before its rows: a place for them. Columns keep their affinity there, so values stay what they are.
pub(super) fn open(known: &Known) -> Result<String> {
    let columns: Vec<String> = of("g", &written(known))?
        .iter()
        .enumerate()
        .map(|(at, column)| format!("{column} AS c{at}"))
        .collect();
    Ok(format!(
        "CREATE TABLE temp.landonce_rows AS SELECT {} FROM {} g WHERE false;\n",
        columns.join(", "),
        table(&known.table.name)?
    ))
}

/// What a script does after its rows: looks whether the state is the one that the repair left, and puts them back. A shell
/// goes on after an error, so every statement looks at what was found.
pub(super) fn close(known: &Known, by: &[String], constraint: Option<&Constraint>) -> Result<String> {
    let name = table(&known.table.name)?;
    let written = written(known);
    let at = |column: &String| written.iter().position(|written| written == column);
    let staged: Vec<String> = by.iter().filter_map(at).map(|at| format!("c{at}")).collect();
    let stored: Vec<String> = by.iter().map(|name| quoted(name)).collect::<Result<_>>()?;
    if staged.len() != stored.len() {
        return Err(Error::refused("a generated column is in the key; name those that it is made of"));
    }
    let aliased = |columns: &[String]| {
        let aliased: Vec<String> =
            columns.iter().enumerate().map(|(at, column)| format!("{column} AS b{at}")).collect();
        aliased.join(", ")
    };
    let names = numbered("", 'b', by.len()).join(", ");
    // A stored value comes first, so that its collation is the comparison's.
    let guard = format!(
        "{STATE}INSERT INTO temp.landonce_state SELECT NOT EXISTS (SELECT 1 FROM (SELECT {}, 1 AS stored, 0 AS gone FROM {name}\n  \
         UNION ALL SELECT {}, 0, 1 FROM temp.landonce_rows)\n  GROUP BY {names} HAVING sum(gone) > 0 AND sum(stored) <> 1);\n",
        aliased(&stored),
        aliased(&staged)
    );
    let mut sql = if by.is_empty() { String::new() } else { guard };
    if let Some(constraint) = constraint {
        sql.push_str(&format!("DROP INDEX IF EXISTS {};\n", table(&constraint.name)?));
    }
    let into: Vec<String> = written.iter().map(|name| quoted(name)).collect::<Result<_>>()?;
    sql.push_str(&format!(
        "INSERT INTO {name} ({}) SELECT {} FROM temp.landonce_rows WHERE EXISTS (SELECT 1 FROM temp.landonce_state);\n",
        into.join(", "),
        numbered("", 'c', written.len()).join(", ")
    ));
    Ok(sql)
}

/// A reference's rows before they move: how each is found afterwards, and what it pointed at.
pub(super) fn reference(known: &Known, at: usize) -> Result<String> {
    let reference = &known.references[at];
    let mut expressions = Vec::new();
    for column in &reference.row_key {
        expressions.push(after(reference, column)?);
    }
    expressions.extend(of("c", &reference.columns)?);
    Ok(format!(
        "SELECT {} FROM {} c JOIN temp.landonce_moved_{at} m ON {} WHERE {}",
        expressions.join(", "),
        table(&reference.table.name)?,
        points(reference)?,
        stays(known, reference)?
    ))
}

/// What a script does before and after a reference's rows.
pub(super) fn around_reference(known: &Known, at: usize) -> Result<(String, String)> {
    let reference = &known.references[at];
    let table = table(&reference.table.name)?;
    let (mut columns, mut is_row, mut set) = (Vec::new(), Vec::new(), Vec::new());
    for (at, column) in of("c", &reference.row_key)?.into_iter().enumerate() {
        is_row.push(format!("{column} = r.k{at}"));
        columns.push(format!("{column} AS k{at}"));
    }
    for (at, column) in reference.columns.iter().enumerate() {
        let column = quoted(column)?;
        columns.push(format!("c.{column} AS f{at}"));
        set.push(format!("{column} = r.f{at}"));
    }
    let open = format!(
        "CREATE TABLE temp.landonce_references_{at} AS SELECT {} FROM {table} c WHERE false;\n",
        columns.join(", ")
    );
    let close = format!(
        "UPDATE {table} AS c SET {} FROM temp.landonce_references_{at} r WHERE {} AND EXISTS (SELECT 1 FROM \
         temp.landonce_state);\nDROP TABLE temp.landonce_references_{at};\n",
        set.join(", "),
        is_row.join(" AND ")
    );
    Ok((open, close))
}
