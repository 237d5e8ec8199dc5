//! What SQLite's catalogue says of a table that is to be repaired, and of the tables that point at it.

use landonce_core::plan::TableName;
use rusqlite::{Connection, OptionalExtension as _};

use crate::error::{Error, Result};
use crate::repair::{Column, Known, Reference, Unique};
use crate::sqlite::errors::during;

/// Looks a table up; `None` when there is none of that name.
pub(super) fn load(connection: &Connection, table: &TableName) -> Result<Option<Known>> {
    let doing = format!("looking up table {table}");
    if let Some(schema) = table.schema.as_deref().filter(|schema| !schema.eq_ignore_ascii_case("main")) {
        return Err(Error::refused(format!("{doing}: SQLite has no schema `{schema}`; leave it out")));
    }
    let found = connection
        .query_row(
            "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' AND name = ?1 COLLATE NOCASE",
            [&table.name],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?)),
        )
        .optional()
        .map_err(during(&doing))?;
    let Some((name, kind, is_without_rowid)) = found else { return Ok(None) };
    match kind.as_str() {
        "table" => {}
        "view" => {
            return Err(Error::refused(format!("{table} is a view; name the table that holds the rows")));
        }
        _ => {
            return Err(Error::refused(format!(
                "{table} is a virtual table, whose rows are its module's business"
            )));
        }
    }
    read(connection, name, is_without_rowid).map(Some).map_err(during(&doing))
}

fn read(connection: &Connection, name: String, is_without_rowid: bool) -> rusqlite::Result<Known> {
    let (columns, primary_key) = columns(connection, &name)?;
    let unique = unique(connection, &name, &columns)?;
    let row_number = if is_without_rowid { None } else { spare_name(&columns) };
    let known = Known {
        references: references(connection, &name, &primary_key)?,
        triggers: triggers(connection, &name, "DELETE")?,
        table: TableName { schema: None, name },
        columns,
        primary_key,
        row_number,
        unique,
        can_index_beside: false,
        can_guard_nulls: true,
        guards_nulls_by_expressions: true,
    };
    Ok(known)
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<(Vec<Column>, Vec<String>)> {
    let mut listed = connection.prepare(
        "SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 1",
    )?;
    let mut columns = Vec::new();
    let mut primary: Vec<(i64, String)> = Vec::new();
    let mut rows = listed.query([table])?;
    while let Some(row) = rows.next()? {
        let (name, sql_type): (String, String) = (row.get(0)?, row.get(1)?);
        let in_primary: i64 = row.get(3)?;
        if in_primary > 0 {
            primary.push((in_primary, name.clone()));
        }
        let word = sql_type.to_ascii_uppercase();
        columns.push(Column {
            name,
            is_nullable: !row.get::<_, bool>(2)?,
            is_generated: row.get::<_, i64>(4)? != 0,
            // There is no type for a moment: a text in one spelling sorts as time does, and so does a number.
            is_moment: ["DATE", "TIME", "TEXT", "CHAR", "INT"].iter().any(|part| word.contains(part)),
            sql_type,
        });
    }
    primary.sort();
    let primary: Vec<String> = primary.into_iter().map(|(_, name)| name).collect();
    // The row's own number is never NULL, whatever its declaration says.
    if let [only] = primary.as_slice()
        && let Some(column) = columns.iter_mut().find(|column| &column.name == only)
        && column.sql_type.eq_ignore_ascii_case("INTEGER")
    {
        column.is_nullable = false;
    }
    Ok((columns, primary))
}

fn unique(connection: &Connection, table: &str, columns: &[Column]) -> rusqlite::Result<Vec<Unique>> {
    let mut listed = connection.prepare(
        "SELECT name FROM pragma_index_list(?1, 'main') WHERE \"unique\" AND NOT partial ORDER BY origin = 'pk' DESC, name",
    )?;
    let names: Vec<String> = listed.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut unique = Vec::new();
    for name in names {
        let mut of =
            connection.prepare("SELECT name FROM pragma_index_xinfo(?1, 'main') WHERE key ORDER BY seqno")?;
        let found: Vec<Option<String>> =
            of.query_map([&name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        if let Some(named) = found.iter().cloned().collect::<Option<Vec<String>>>() {
            let is_null_safe = columns
                .iter()
                .filter(|column| named.contains(&column.name))
                .all(|column| !column.is_nullable);
            unique.push(Unique { name, columns: named, is_null_safe, nulls_are_equal: false });
        } else if let Some(columns) = null_safe(connection, &name)? {
            unique.push(Unique { name, columns, is_null_safe: true, nulls_are_equal: true });
        }
    }
    if let Some(column) = row_number(connection, table, columns)? {
        let name = "PRIMARY KEY".to_owned();
        unique.push(Unique { name, columns: vec![column], is_null_safe: true, nulls_are_equal: false });
    }
    Ok(unique)
}

/// The column that is the row's own number: unique without an index.
fn row_number(connection: &Connection, table: &str, columns: &[Column]) -> rusqlite::Result<Option<String>> {
    let has_rowid = has_row_number(connection, table)?;
    let primary: Vec<String> = connection
        .prepare("SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE pk > 0")?
        .query_map([table], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let [only] = primary.as_slice() else { return Ok(None) };
    let is_integer =
        columns.iter().any(|column| &column.name == only && column.sql_type.eq_ignore_ascii_case("INTEGER"));
    Ok((has_rowid && is_integer).then(|| only.clone()))
}

/// The columns of an index that an earlier repair made ([`super::render::constraint`]); its text says which.
fn null_safe(connection: &Connection, index: &str) -> rusqlite::Result<Option<Vec<String>>> {
    let sql: Option<String> = connection
        .query_row("SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?1", [index], |row| {
            row.get(0)
        })
        .optional()?
        .flatten();
    Ok(sql.as_deref().and_then(super::render::null_safe_columns))
}

fn references(connection: &Connection, table: &str, primary: &[String]) -> rusqlite::Result<Vec<Reference>> {
    let mut listed = connection.prepare(
        "SELECT l.name, f.id, f.on_update, f.\"from\", f.\"to\"
         FROM pragma_table_list l JOIN pragma_foreign_key_list(l.name, 'main') f
         WHERE l.schema = 'main' AND l.type = 'table' AND f.\"table\" = ?1 COLLATE NOCASE
         ORDER BY l.name, f.id, f.seq",
    )?;
    let mut references: Vec<(i64, Reference)> = Vec::new();
    let mut rows = listed.query([table])?;
    while let Some(row) = rows.next()? {
        let (child, id, on_update): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let is_next = references
            .last()
            .is_none_or(|(last, of)| (*last, of.table.name.as_str()) != (id, child.as_str()));
        if is_next {
            let (columns, key) = columns(connection, &child)?;
            let triggers = triggers(connection, &child, "UPDATE")?;
            references.push((
                id,
                Reference {
                    name: format!("foreign key {id}"),
                    is_own: child.eq_ignore_ascii_case(table),
                    unique: unique(connection, &child, &columns)?,
                    table: TableName { schema: None, name: child },
                    columns: Vec::new(),
                    referenced: Vec::new(),
                    row_key: key,
                    triggers,
                    follows_updates: on_update == "CASCADE",
                },
            ));
        }
        if let Some((_, reference)) = references.last_mut() {
            // A key that names no columns points at the primary key.
            let to: Option<String> = row.get(4)?;
            let nth = reference.referenced.len();
            reference.referenced.extend(to.or_else(|| primary.get(nth).cloned()));
            reference.columns.push(row.get(3)?);
        }
    }
    let mut references: Vec<Reference> = references.into_iter().map(|(_, reference)| reference).collect();
    for reference in &mut references {
        let (columns, _) = columns(connection, &reference.table.name)?;
        // A row's own number tells it apart in any table; a primary key that isn't this number could hold NULL.
        if row_number(connection, &reference.table.name, &columns)?.is_none()
            && has_row_number(connection, &reference.table.name)?
        {
            reference.row_key = spare_name(&columns).into_iter().collect();
        }
        let moved = &reference.columns;
        let is_moved = |column: &String| moved.iter().any(|moved| moved.eq_ignore_ascii_case(column));
        reference.unique.retain(|unique| unique.columns.iter().any(is_moved));
    }
    references.retain(|reference| reference.referenced.len() == reference.columns.len());
    Ok(references)
}

/// What still names the row's own number where columns have taken some of its names.
fn spare_name(columns: &[Column]) -> Option<String> {
    let is_taken = |name: &&str| columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    ["rowid", "_rowid_", "oid"].iter().find(|name| !is_taken(name)).map(ToString::to_string)
}

fn has_row_number(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT NOT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?1 COLLATE NOCASE",
        [table],
        |row| row.get(0),
    )
}

/// Triggers of a table that fire on one kind of change: SQLite keeps their text only, which names it before the table.
fn triggers(connection: &Connection, table: &str, on: &str) -> rusqlite::Result<Vec<String>> {
    let mut listed = connection.prepare(
        "SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
           AND instr(upper(substr(sql, 1, instr(upper(sql), ' ON '))), ?2) > 0 ORDER BY name",
    )?;
    listed.query_map([table, on], |row| row.get(0))?.collect()
}
