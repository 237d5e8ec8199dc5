//! The statements of a repair, from what the catalogue says and from nothing else.
//!
//! A row is told by its own number, or by its primary key where rows have no number.

use crate::error::{Error, Result};
use crate::repair::{By, Constraint, Doubled, Keep, Known, Reference};
use crate::sqlite::render::quoted;

/// The temporary table of marked rows: each with the row that stays.
pub(super) const DOOMED: &str = "temp.landonce_doomed";
/// The temporary table of rows' new keys, in hex digits.
pub(super) const KEYS: &str = "temp.landonce_keys";
/// What begins the text of an index that takes two NULLs for equal, and ends where its expressions begin.
const NULL_SAFE: &str = " /* two NULLs are equal: ";

/// Quoted names behind an alias, each.
pub(super) fn of<'n>(alias: &str, names: impl IntoIterator<Item = &'n String>) -> Result<Vec<String>> {
    names.into_iter().map(|name| Ok(format!("{alias}.{}", quoted(name)?))).collect()
}

pub(super) fn table(name: &str) -> Result<String> {
    Ok(format!("main.{}", quoted(name)?))
}

/// What tells a row: its number, or its primary key.
pub(super) fn place(known: &Known) -> Result<Vec<String>> {
    match &known.row_number {
        Some(number) => Ok(vec![number.clone()]),
        None if !known.primary_key.is_empty() => Ok(known.primary_key.clone()),
        None => Err(Error::refused(format!(
            "the columns of {} have taken every name of a row's own number (rowid, _rowid_, oid); rename one",
            known.table
        ))),
    }
}

pub(super) fn numbered(alias: &str, letter: char, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{alias}{letter}{at}")).collect()
}

pub(super) fn equal(left: &[String], right: &[String]) -> String {
    let pairs: Vec<String> =
        left.iter().zip(right).map(|(left, right)| format!("{left} = {right}")).collect();
    pairs.join(" AND ")
}

/// A marked row `g` joined with its mark, or the one that stays, `k`.
pub(super) fn joined(known: &Known, alias: &str) -> Result<String> {
    let place = place(known)?;
    let on = equal(&of(alias, &place)?, &numbered("d.", alias.chars().next().unwrap_or('g'), place.len()));
    Ok(format!("JOIN {} {alias} ON {on}", table(&known.table.name)?))
}

/// The temporary tables, empty. They outlive a transaction, so an earlier repair's may be there.
pub(super) fn create(known: &Known) -> Result<String> {
    let count = place(known)?.len();
    let mut sql = drop(known);
    let places: Vec<String> = numbered("", 'g', count).into_iter().chain(numbered("", 'k', count)).collect();
    sql.push_str(&format!("CREATE TABLE {DOOMED} ({});\n", places.join(", ")));
    sql.push_str(&format!(
        "CREATE TABLE {KEYS} ({}, new TEXT NOT NULL);\n",
        numbered("", 'p', count).join(", ")
    ));
    for (at, reference) in known.references.iter().enumerate() {
        let pairs: Vec<String> = of("p", &reference.referenced)?
            .iter()
            .enumerate()
            .map(|(at, column)| format!("{column} AS o{at}, {column} AS n{at}"))
            .collect();
        sql.push_str(&format!(
            "CREATE TABLE temp.landonce_moved_{at} AS SELECT {} FROM {} p WHERE false;\n",
            pairs.join(", "),
            table(&known.table.name)?
        ));
    }
    Ok(sql)
}

pub(super) fn drop(known: &Known) -> String {
    let mut sql = format!("DROP TABLE IF EXISTS {DOOMED};\nDROP TABLE IF EXISTS {KEYS};\n");
    for at in 0..known.references.len() {
        sql.push_str(&format!("DROP TABLE IF EXISTS temp.landonce_moved_{at};\n"));
    }
    sql
}

pub(super) fn mark(known: &Known, doubled: &Doubled) -> Result<String> {
    let place = of("t", &place(known)?)?;
    let (by, join) = match &doubled.by {
        By::Columns(columns) => (of("t", columns)?, String::new()),
        By::NewKey => {
            let on = equal(&place, &numbered("n.", 'p', place.len()));
            (vec!["n.new".to_owned()], format!(" JOIN temp.landonce_keys n ON {on}"))
        }
    };
    let mut order = match &doubled.keep {
        Some(Keep::Earliest(column)) => vec![format!("t.{} ASC NULLS LAST", quoted(column)?)],
        Some(Keep::Latest(column)) => vec![format!("t.{} DESC NULLS LAST", quoted(column)?)],
        None => Vec::new(),
    };
    order.extend(of("t", &known.primary_key)?);
    order.extend(place.iter().cloned());
    let own: Vec<String> =
        place.iter().enumerate().map(|(at, column)| format!("{column} AS g{at}")).collect();
    let kept: Vec<String> = place
        .iter()
        .enumerate()
        .map(|(at, column)| format!("first_value({column}) OVER w AS k{at}"))
        .collect();
    let names: Vec<String> =
        numbered("", 'g', place.len()).into_iter().chain(numbered("", 'k', place.len())).collect();
    Ok(format!(
        "INSERT INTO {DOOMED}\nSELECT {} FROM (\n  SELECT {}, {}, row_number() OVER w AS nth\n  FROM {} t{join}\n  \
         WINDOW w AS (PARTITION BY {} ORDER BY {})\n) WHERE nth > 1",
        names.join(", "),
        own.join(", "),
        kept.join(", "),
        table(&known.table.name)?,
        by.join(", "),
        order.join(", ")
    ))
}

/// An index on the marks, to tell whether a row is marked.
pub(super) fn index_doomed(known: &Known) -> Result<String> {
    let count = place(known)?.len();
    Ok(format!(
        "CREATE INDEX temp.landonce_doomed_of ON landonce_doomed ({})",
        numbered("", 'g', count).join(", ")
    ))
}

pub(super) fn marked(known: &Known, compared: &[String]) -> Result<String> {
    let differs: Vec<String> = of("g", compared)?
        .iter()
        .zip(of("k", compared)?)
        .map(|(gone, kept)| format!("{gone} IS NOT {kept} COLLATE BINARY"))
        .collect();
    let differs = if differs.is_empty() { "false".to_owned() } else { differs.join(" OR ") };
    let kept = numbered("", 'k', place(known)?.len()).join(", ");
    Ok(format!(
        "SELECT (SELECT count(*) FROM (SELECT DISTINCT {kept} FROM {DOOMED})), count(*), count(*) FILTER (WHERE {differs})\n\
         FROM {DOOMED} d {} {}",
        joined(known, "g")?,
        joined(known, "k")?
    ))
}

/// The rows of the first groups, the one that stays first.
pub(super) fn groups(known: &Known, most: usize) -> Result<String> {
    let place = place(known)?;
    let kept = numbered("", 'k', place.len()).join(", ");
    let gone = numbered("", 'g', place.len()).join(", ");
    let behind: Vec<String> = numbered("d.", 'k', place.len());
    let row = equal(&of("t", &place)?, &numbered("r.", 'g', place.len()));
    let columns = of("t", known.columns.iter().map(|column| &column.name))?;
    let own = numbered("", 'k', place.len())
        .iter()
        .zip(numbered("", 'g', place.len()))
        .map(|(kept, gone)| format!("{kept} AS {gone}"))
        .collect::<Vec<_>>()
        .join(", ");
    Ok(format!(
        "WITH f AS (SELECT DISTINCT {kept} FROM {DOOMED} ORDER BY {kept} LIMIT {most}),\n\
         r AS (SELECT {kept}, {own}, true AS stays FROM f\n  UNION ALL\n  \
         SELECT {kept}, {gone}, false FROM (\n    SELECT d.*, row_number() OVER (PARTITION BY {} ORDER BY {gone}) AS nth\n    \
         FROM {DOOMED} d JOIN f USING ({kept})) WHERE nth <= {most})\n\
         SELECT r.stays, {} FROM r JOIN {} t ON {row}\nORDER BY {kept}, r.stays DESC, {gone}",
        behind.join(", "),
        columns.join(", "),
        table(&known.table.name)?
    ))
}

/// The old and the new value of what a reference points at, for every marked row; and an index to find them by.
pub(super) fn moved(known: &Known, at: usize) -> Result<String> {
    let reference = &known.references[at];
    let (gone, kept) = (of("g", &reference.referenced)?, of("k", &reference.referenced)?);
    let pairs: Vec<String> = gone.iter().zip(&kept).map(|(gone, kept)| format!("{gone}, {kept}")).collect();
    let is_there: Vec<String> = gone.iter().map(|gone| format!("{gone} IS NOT NULL")).collect();
    let differ: Vec<String> =
        gone.iter().zip(&kept).map(|(gone, kept)| format!("{gone} IS NOT {kept}")).collect();
    Ok(format!(
        "INSERT INTO temp.landonce_moved_{at}\nSELECT {} FROM {DOOMED} d {} {}\nWHERE {} AND ({});\n\
         CREATE INDEX temp.landonce_moved_{at}_old ON landonce_moved_{at} ({});",
        pairs.join(", "),
        joined(known, "g")?,
        joined(known, "k")?,
        is_there.join(" AND "),
        differ.join(" OR "),
        numbered("", 'o', reference.columns.len()).join(", ")
    ))
}

/// Joins a reference's rows `c` with where they go, `m`.
pub(super) fn points(reference: &Reference) -> Result<String> {
    Ok(equal(&numbered("m.", 'o', reference.columns.len()), &of("c", &reference.columns)?))
}

/// Rows that are to go themselves are not moved.
pub(super) fn stays(known: &Known, reference: &Reference) -> Result<String> {
    if !reference.is_own {
        return Ok("true".to_owned());
    }
    let place = place(known)?;
    let same = equal(&of("c", &place)?, &numbered("x.", 'g', place.len()));
    Ok(format!("NOT EXISTS (SELECT 1 FROM {DOOMED} x WHERE {same})"))
}

pub(super) fn count_moved(known: &Known, at: usize) -> Result<String> {
    let reference = &known.references[at];
    let lost: Vec<String> =
        numbered("m.", 'n', reference.columns.len()).iter().map(|n| format!("{n} IS NULL")).collect();
    Ok(format!(
        "SELECT count(*), count(*) FILTER (WHERE {}) FROM {} c JOIN temp.landonce_moved_{at} m ON {} WHERE {}",
        lost.join(" OR "),
        table(&reference.table.name)?,
        points(reference)?,
        stays(known, reference)?
    ))
}

/// Where a column of a reference's row goes: moved if it is one of the reference's.
pub(super) fn after(reference: &Reference, column: &str) -> Result<String> {
    Ok(match reference.columns.iter().position(|moved| moved.eq_ignore_ascii_case(column)) {
        Some(at) => format!("m.n{at}"),
        None => format!("c.{}", quoted(column)?),
    })
}

/// Groups of rows that one unique index would refuse: how many groups there are, a group's rows, its values.
pub(super) fn collisions(known: &Known, at: usize, index: usize, most: usize) -> Result<String> {
    let reference = &known.references[at];
    let unique = &reference.unique[index];
    let names = numbered("", 'u', unique.columns.len());
    let mut values = Vec::new();
    for (column, name) in unique.columns.iter().zip(&names) {
        let stored = format!("c.{}", quoted(column)?);
        let then = after(reference, column)?;
        values.push(format!("CASE WHEN m.o0 IS NULL THEN {stored} ELSE {then} END AS {name}"));
    }
    let row: Vec<String> = of("c", &reference.row_key)?;
    let row = if row.is_empty() { "''".to_owned() } else { row.join(" || ', ' || ") };
    let filter = if unique.nulls_are_equal {
        "true".to_owned()
    } else {
        names.iter().map(|name| format!("{name} IS NOT NULL")).collect::<Vec<_>>().join(" AND ")
    };
    Ok(format!(
        "SELECT count(*) OVER (), group_concat(of_row, char(10)), {}\nFROM (\n  SELECT {}, m.o0 IS NOT NULL AS moves, {row} AS \
         of_row\n  FROM {} c LEFT JOIN temp.landonce_moved_{at} m ON {}\n  WHERE {}\n) WHERE {filter}\nGROUP BY {} \
         HAVING count(*) > 1 AND max(moves) ORDER BY {} LIMIT {most}",
        names.join(", "),
        values.join(", "),
        table(&reference.table.name)?,
        points(reference)?,
        stays(known, reference)?,
        names.join(", "),
        names.join(", ")
    ))
}

pub(super) fn repoint(known: &Known, at: usize) -> Result<String> {
    let reference = &known.references[at];
    let mut set = Vec::new();
    for (at, column) in reference.columns.iter().enumerate() {
        set.push(format!("{} = m.n{at}", quoted(column)?));
    }
    Ok(format!(
        "UPDATE {} AS c SET {} FROM temp.landonce_moved_{at} m WHERE {} AND {}",
        table(&reference.table.name)?,
        set.join(", "),
        points(reference)?,
        stays(known, reference)?
    ))
}

pub(super) fn remove(known: &Known) -> Result<String> {
    let place = place(known)?;
    let columns: Vec<String> = place.iter().map(|name| quoted(name)).collect::<Result<_>>()?;
    Ok(format!(
        "DELETE FROM {} WHERE ({}) IN (SELECT {} FROM {DOOMED})",
        table(&known.table.name)?,
        columns.join(", "),
        numbered("", 'g', place.len()).join(", ")
    ))
}

/// The unique index. `collations` are those of its columns: an expression would have none by itself.
pub(super) fn constraint(known: &Known, constraint: &Constraint, collations: &[String]) -> Result<String> {
    let columns: Vec<String> = constraint.columns.iter().map(|name| quoted(name)).collect::<Result<_>>()?;
    let (note, parts) = if constraint.guards_nulls {
        let mut parts = Vec::new();
        for ((name, column), collation) in constraint.columns.iter().zip(&columns).zip(collations) {
            let is_nullable = known.columns.iter().any(|of| &of.name == name && of.is_nullable);
            if is_nullable {
                parts.push(format!("{column} IS NULL, ifnull({column}, 0) COLLATE {collation}"));
            } else {
                parts.push(column.clone());
            }
        }
        // Without the note the index works as well, and only isn't known again.
        let note = format!("{NULL_SAFE}{} */ ", columns.join(", "));
        (if columns.iter().any(|name| name.contains("*/")) { " ".to_owned() } else { note }, parts)
    } else {
        (" ".to_owned(), columns)
    };
    Ok(format!(
        "CREATE UNIQUE INDEX {} ON {}{note}({})",
        table(&constraint.name)?,
        quoted(&known.table.name)?,
        parts.join(", ")
    ))
}

/// The columns of an index that [`constraint`] made so that two NULLs are equal.
pub(super) fn null_safe_columns(sql: &str) -> Option<Vec<String>> {
    let list = sql.split_once(NULL_SAFE)?.1.split_once(" */ ")?.0;
    let list = list.strip_prefix('"')?.strip_suffix('"')?;
    Some(list.split("\", \"").map(|name| name.replace("\"\"", "\"")).collect())
}
