//! The statements of a repair, from what the catalogue says and from nothing else.
//!
//! A row is told by (tableoid, ctid): nobody moves rows while the table is locked, or while one snapshot is looked at.

use landonce_core::plan::TableName;

use crate::error::Result;
use crate::postgres::quote;
use crate::repair::{By, Constraint, Doubled, Keep, Known, Reference};

/// The temporary table of marked rows: each with the row that stays.
pub(super) const DOOMED: &str = "pg_temp.landonce_doomed";
const CREATE_DOOMED: &str = "CREATE TEMP TABLE landonce_doomed (rel oid NOT NULL, at tid NOT NULL, kept_rel oid NOT NULL, \
     kept_at tid NOT NULL) ON COMMIT DROP";
const CREATE_KEYS: &str =
    "CREATE TEMP TABLE landonce_keys (rel oid NOT NULL, at tid NOT NULL, new text NOT NULL) ON COMMIT DROP";
/// A marked row `g` and the one that stays, `k`.
pub(super) const BOTH: &str = "g.tableoid = d.rel AND g.ctid = d.at";
const KEPT: &str = "k.tableoid = d.kept_rel AND k.ctid = d.kept_at";

/// Quoted names behind an alias, each.
pub(super) fn of<'n>(alias: &str, names: impl IntoIterator<Item = &'n String>) -> Result<Vec<String>> {
    names.into_iter().map(|name| Ok(format!("{alias}.{}", quote::name(name)?))).collect()
}

fn numbered(letter: char, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{letter}{at}")).collect()
}

/// `a = b AND …`, pair by pair.
fn equal(left: &[String], right: &[String]) -> String {
    let pairs: Vec<String> =
        left.iter().zip(right).map(|(left, right)| format!("{left} = {right}")).collect();
    pairs.join(" AND ")
}

/// The tables that must not be written meanwhile: the repaired one, and those that point at it.
pub(super) fn lock(known: &Known) -> Result<String> {
    let mut tables = vec![quote::table(&known.table)?];
    for reference in &known.references {
        let table = quote::table(&reference.table)?;
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    Ok(format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", tables.join(", ")))
}

/// The temporary tables, empty: made before a transaction is told to read only.
pub(super) fn create(known: &Known) -> Result<String> {
    let mut sql = format!("{CREATE_DOOMED}; {CREATE_KEYS}");
    let table = quote::table(&known.table)?;
    for (at, reference) in known.references.iter().enumerate() {
        let pairs: Vec<String> = of("p", &reference.referenced)?
            .iter()
            .enumerate()
            .map(|(at, column)| format!("{column} AS o{at}, {column} AS n{at}"))
            .collect();
        sql.push_str(&format!(
            "; CREATE TEMP TABLE landonce_moved_{at} ON COMMIT DROP AS SELECT {} FROM {table} p WITH NO DATA",
            pairs.join(", ")
        ));
    }
    Ok(sql)
}

pub(super) fn mark(known: &Known, doubled: &Doubled) -> Result<String> {
    let (by, join) = match &doubled.by {
        By::Columns(columns) => (of("t", columns)?, ""),
        By::NewKey => (
            vec!["n.new".to_owned()],
            " JOIN pg_temp.landonce_keys n ON n.rel = t.tableoid AND n.at = t.ctid",
        ),
    };
    let mut order = match &doubled.keep {
        Some(Keep::Earliest(column)) => vec![format!("t.{} ASC NULLS LAST", quote::name(column)?)],
        Some(Keep::Latest(column)) => vec![format!("t.{} DESC NULLS LAST", quote::name(column)?)],
        None => Vec::new(),
    };
    order.extend(of("t", &known.primary_key)?);
    order.extend(["t.tableoid".to_owned(), "t.ctid".to_owned()]);
    Ok(format!(
        "INSERT INTO {DOOMED}\nSELECT rel, at, kept_rel, kept_at FROM (\n  SELECT t.tableoid AS rel, t.ctid AS at,\n    \
         first_value(t.tableoid) OVER w AS kept_rel, first_value(t.ctid) OVER w AS kept_at, row_number() OVER w AS nth\n  \
         FROM {} t{join}\n  WINDOW w AS (PARTITION BY {} ORDER BY {})\n) s WHERE nth > 1",
        quote::table(&known.table)?,
        by.join(", "),
        order.join(", ")
    ))
}

pub(super) fn marked(known: &Known, compared: &[String]) -> Result<String> {
    let differs: Vec<String> = of("g", compared)?
        .iter()
        .zip(of("k", compared)?)
        .map(|(gone, kept)| format!("{gone}::text IS DISTINCT FROM {kept}::text"))
        .collect();
    let differs = if differs.is_empty() { "false".to_owned() } else { differs.join(" OR ") };
    let table = quote::table(&known.table)?;
    Ok(format!(
        "SELECT (SELECT count(*) FROM (SELECT DISTINCT kept_rel, kept_at FROM {DOOMED}) s), count(*),\n  \
         count(*) FILTER (WHERE {differs})\nFROM {DOOMED} d JOIN {table} g ON {BOTH} JOIN {table} k ON {KEPT}"
    ))
}

pub(super) fn groups(known: &Known, most: usize) -> Result<String> {
    let columns: Vec<String> = of("t", known.columns.iter().map(|column| &column.name))?
        .iter()
        .map(|column| format!("{column}::text"))
        .collect();
    Ok(format!(
        "WITH f AS (SELECT DISTINCT kept_rel, kept_at FROM {DOOMED} ORDER BY 1, 2 LIMIT {most}),\n\
         r AS (SELECT kept_rel, kept_at, kept_rel AS rel, kept_at AS at, true AS stays FROM f\n  UNION ALL\n  \
         SELECT kept_rel, kept_at, rel, at, false FROM (\n    SELECT d.*, row_number() OVER (PARTITION BY d.kept_rel, d.kept_at \
         ORDER BY d.rel, d.at) AS nth\n    FROM {DOOMED} d JOIN f USING (kept_rel, kept_at)) s WHERE nth <= {most})\n\
         SELECT r.stays, ARRAY[{}]::text[] FROM r JOIN {} t ON t.tableoid = r.rel AND t.ctid = r.at\n\
         ORDER BY r.kept_rel, r.kept_at, r.stays DESC, r.rel, r.at",
        columns.join(", "),
        quote::table(&known.table)?
    ))
}

/// The old and the new value of what a reference points at, for every marked row.
pub(super) fn moved(known: &Known, at: usize) -> Result<String> {
    let reference = &known.references[at];
    let (gone, kept) = (of("g", &reference.referenced)?, of("k", &reference.referenced)?);
    let pairs: Vec<String> = gone.iter().zip(&kept).map(|(gone, kept)| format!("{gone}, {kept}")).collect();
    let is_there: Vec<String> = gone.iter().map(|gone| format!("{gone} IS NOT NULL")).collect();
    let table = quote::table(&known.table)?;
    Ok(format!(
        "INSERT INTO pg_temp.landonce_moved_{at}\nSELECT {} FROM {DOOMED} d JOIN {table} g ON {BOTH} JOIN {table} k ON {KEPT}\n\
         WHERE {} AND ({}) IS DISTINCT FROM ({})",
        pairs.join(", "),
        is_there.join(" AND "),
        gone.join(", "),
        kept.join(", ")
    ))
}

/// Joins a reference's rows `c` with where they go, `m`.
pub(super) fn points(reference: &Reference) -> Result<String> {
    let old = numbered('o', reference.columns.len()).iter().map(|o| format!("m.{o}")).collect::<Vec<_>>();
    Ok(equal(&of("c", &reference.columns)?, &old))
}

/// Rows that are to go themselves are not moved.
pub(super) fn stays(reference: &Reference) -> String {
    if reference.is_own {
        format!("NOT EXISTS (SELECT FROM {DOOMED} x WHERE x.rel = c.tableoid AND x.at = c.ctid)")
    } else {
        "true".to_owned()
    }
}

pub(super) fn count_moved(known: &Known, at: usize) -> Result<String> {
    let reference = &known.references[at];
    let lost: Vec<String> =
        numbered('n', reference.columns.len()).iter().map(|n| format!("m.{n} IS NULL")).collect();
    Ok(format!(
        "SELECT count(*), count(*) FILTER (WHERE {}) FROM {} c JOIN pg_temp.landonce_moved_{at} m ON {} WHERE {}",
        lost.join(" OR "),
        quote::table(&reference.table)?,
        points(reference)?,
        stays(reference)
    ))
}

/// Where a column of a reference's row goes: moved if it is one of the reference's.
pub(super) fn after(reference: &Reference, column: &str) -> Result<String> {
    Ok(match reference.columns.iter().position(|moved| moved == column) {
        Some(at) => format!("m.n{at}"),
        None => format!("c.{}", quote::name(column)?),
    })
}

/// Groups of rows that one unique index would refuse: each group's number of all, its values, its rows.
pub(super) fn collisions(known: &Known, at: usize, index: usize, most: usize) -> Result<String> {
    let reference = &known.references[at];
    let unique = &reference.unique[index];
    let names = numbered('u', unique.columns.len());
    let mut values = Vec::new();
    for (column, name) in unique.columns.iter().zip(&names) {
        let stored = format!("c.{}", quote::name(column)?);
        let then = after(reference, column)?;
        values.push(format!("CASE WHEN m.o0 IS NULL THEN {stored} ELSE {then} END AS {name}"));
    }
    let mut row: Vec<String> =
        of("c", &reference.row_key)?.iter().map(|key| format!("{key}::text")).collect();
    if row.is_empty() {
        row.push("c.ctid::text".to_owned());
    }
    let filter = if unique.nulls_are_equal {
        "true".to_owned()
    } else {
        names.iter().map(|name| format!("{name} IS NOT NULL")).collect::<Vec<_>>().join(" AND ")
    };
    let texts: Vec<String> = names.iter().map(|name| format!("{name}::text")).collect();
    Ok(format!(
        "SELECT count(*) OVER (), ARRAY[{}]::text[], (array_agg(of_row ORDER BY of_row))[1:{most}]\nFROM (\n  SELECT {}, \
         m.o0 IS NOT NULL AS moves, pg_catalog.concat_ws(', ', {}) AS of_row\n  FROM {} c LEFT JOIN pg_temp.landonce_moved_{at} m \
         ON {}\n  WHERE {}\n) s WHERE {filter}\nGROUP BY {} HAVING count(*) > 1 AND bool_or(moves) ORDER BY {} LIMIT {most}",
        texts.join(", "),
        values.join(", "),
        row.join(", "),
        quote::table(&reference.table)?,
        points(reference)?,
        stays(reference),
        names.join(", "),
        names.join(", ")
    ))
}

pub(super) fn repoint(known: &Known, at: usize) -> Result<String> {
    let reference = &known.references[at];
    let mut set = Vec::new();
    for (at, column) in reference.columns.iter().enumerate() {
        set.push(format!("{} = m.n{at}", quote::name(column)?));
    }
    Ok(format!(
        "UPDATE {} c SET {} FROM pg_temp.landonce_moved_{at} m WHERE {} AND {}",
        quote::table(&reference.table)?,
        set.join(", "),
        points(reference)?,
        stays(reference)
    ))
}

pub(super) fn remove(known: &Known) -> Result<String> {
    Ok(format!(
        "DELETE FROM {} t USING {DOOMED} d WHERE t.tableoid = d.rel AND t.ctid = d.at",
        quote::table(&known.table)?
    ))
}

/// The unique index, and the constraint that stands on it.
pub(super) fn constraint(
    known: &Known,
    constraint: &Constraint,
    is_beside: bool,
) -> Result<(String, String)> {
    let (table, name) = (quote::table(&known.table)?, quote::name(&constraint.name)?);
    let columns: Vec<String> =
        constraint.columns.iter().map(|name| quote::name(name)).collect::<Result<_>>()?;
    let columns = columns.join(", ");
    let nulls = if constraint.guards_nulls { " NULLS NOT DISTINCT" } else { "" };
    if is_beside {
        let index = format!("CREATE UNIQUE INDEX CONCURRENTLY {name} ON {table} ({columns}){nulls}");
        return Ok((index, format!("ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE USING INDEX {name}")));
    }
    Ok((String::new(), format!("ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE{nulls} ({columns})")))
}

/// The constraint's index, which lives in its table's schema.
pub(super) fn index_name(known: &Known, constraint: &Constraint) -> Result<String> {
    quote::table(&TableName { schema: known.table.schema.clone(), name: constraint.name.clone() })
}

/// Whether there is such an index on the table itself: another table's is none of ours.
pub(super) fn own_index(known: &Known, constraint: &Constraint, state: &str) -> Result<String> {
    Ok(format!(
        "SELECT FROM pg_catalog.pg_index i WHERE i.indexrelid = pg_catalog.to_regclass({}) AND i.indrelid = \
         pg_catalog.to_regclass({}) AND {state}",
        text(&index_name(known, constraint)?),
        text(&quote::table(&known.table)?)
    ))
}

/// A text as a literal.
pub(super) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
