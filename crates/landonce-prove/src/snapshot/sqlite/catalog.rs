//! What there is in a SQLite database: from its schema table and pragmas.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, Error, OptionalExtension};

use crate::snapshot::{Column, name};

/// Everything but rows.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) tables: Vec<Found>,
    pub(super) sequences: BTreeMap<String, String>,
    pub(super) objects: Vec<String>,
}

/// A table.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    /// A name under which its rowid can be had, if it has one.
    pub(super) rowid: Option<&'static str>,
    pub(super) columns: Vec<Column>,
    pub(super) key: Vec<String>,
    pub(super) unique: Vec<Vec<String>>,
    pub(super) incarnation: String,
}

/// A column as the pragma tells it.
struct Info {
    name: String,
    type_name: String,
    is_not_null: bool,
    default: Option<String>,
    /// Its place in the primary key, from 1; 0 for none.
    place_in_key: u32,
}

pub(super) fn read(connection: &Connection) -> Result<Catalog, Error> {
    let mut tables = Vec::new();
    let mut objects = Vec::new();
    let mut list = connection.prepare(
        "SELECT l.name, l.type, l.wr, coalesce(s.sql, ''), coalesce(s.rootpage, 0)
         FROM pragma_table_list l JOIN main.sqlite_schema s ON s.type = 'table' AND s.name = l.name
         WHERE l.schema = 'main' AND l.type IN ('table', 'virtual') AND substr(l.name, 1, 7) <> 'sqlite_'
         ORDER BY l.name",
    )?;
    let mut rows = list.query([])?;
    while let Some(row) = rows.next()? {
        let (name, kind, sql): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
        let is_virtual = kind == "virtual";
        // Whose module isn't here can't be read; the tables in which it keeps its rows are its own business.
        if is_virtual && connection.prepare(&format!("SELECT * FROM main.{}", name::quote(&name))).is_err() {
            objects.push(format!("virtual table {name}"));
            continue;
        }
        let has_rowid = !is_virtual && !row.get::<_, bool>(2)?;
        let root: i64 = row.get(4)?;
        tables.push(table(connection, name, has_rowid, &sql, root)?);
    }
    let mut others = connection.prepare(
        "SELECT type || ' ' || name FROM main.sqlite_schema
         WHERE type <> 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY 1",
    )?;
    for object in others.query_map([], |row| row.get(0))? {
        objects.push(object?);
    }
    Ok(Catalog { tables, sequences: sequences(connection)?, objects })
}

fn sequences(connection: &Connection) -> Result<BTreeMap<String, String>, Error> {
    let is_there = connection
        .query_row("SELECT 1 FROM main.sqlite_schema WHERE name = 'sqlite_sequence'", [], |_| Ok(()))
        .optional()?;
    if is_there.is_none() {
        return Ok(BTreeMap::new());
    }
    let mut list = connection.prepare("SELECT name, CAST(seq AS TEXT) FROM main.sqlite_sequence")?;
    let rows =
        list.query_map([], |row| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?.unwrap_or_default())))?;
    rows.collect()
}

fn table(
    connection: &Connection,
    name: String,
    has_rowid: bool,
    sql: &str,
    root: i64,
) -> Result<Found, Error> {
    let infos = infos(connection, &name)?;
    let mut references = references(connection, &name)?;
    let mut in_key: Vec<&Info> = infos.iter().filter(|info| info.place_in_key > 0).collect();
    in_key.sort_by_key(|info| info.place_in_key);
    let mut key: Vec<String> = in_key.iter().map(|info| info.name.clone()).collect();
    // Exactly this type makes the column another name of the rowid.
    let alias = match in_key.as_slice() {
        [only] if has_rowid && only.type_name.eq_ignore_ascii_case("INTEGER") => Some(only.name.clone()),
        _ => None,
    };
    let is_counted = sql.to_ascii_uppercase().contains("AUTOINCREMENT");

    let mut unique = unique_sets(connection, &name)?;
    if !key.is_empty() && !unique.contains(&key) {
        unique.insert(0, key.clone());
    }
    if key.is_empty() {
        let is_not_null = |name: &String| infos.iter().any(|info| info.name == *name && info.is_not_null);
        key = unique.iter().find(|set| set.iter().all(is_not_null)).cloned().unwrap_or_default();
    }
    let rowid = ["rowid", "_rowid_", "oid"]
        .into_iter()
        .find(|rowid| has_rowid && !infos.iter().any(|info| info.name.eq_ignore_ascii_case(rowid)));
    let columns = infos
        .into_iter()
        .map(|info| {
            let is_alias = alias.as_ref() == Some(&info.name);
            let is_random = info.default.as_deref().is_some_and(|default| {
                let default = default.to_ascii_lowercase();
                default.contains("random(") || default.contains("randomblob(")
            });
            Column {
                is_generated: is_alias || is_random,
                default: info
                    .default
                    .or_else(|| (is_alias && is_counted).then(|| "AUTOINCREMENT".to_owned())),
                references: references.remove(&info.name.to_ascii_lowercase()),
                name: info.name,
                type_name: info.type_name,
            }
        })
        .collect();
    Ok(Found { name, rowid, columns, key, unique, incarnation: format!("{root} {sql}") })
}

fn infos(connection: &Connection, table: &str) -> Result<Vec<Info>, Error> {
    // Hidden 1 is a virtual table's own; 2 and 3 are generated columns.
    let mut list = connection.prepare(
        r#"SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 1 ORDER BY cid"#,
    )?;
    let rows = list.query_map([table], |row| {
        Ok(Info {
            name: row.get(0)?,
            type_name: row.get(1)?,
            is_not_null: row.get(2)?,
            default: row.get(3)?,
            place_in_key: row.get(4)?,
        })
    })?;
    rows.collect()
}

/// Every set that is unique by an index without a predicate and without expressions.
fn unique_sets(connection: &Connection, table: &str) -> Result<Vec<Vec<String>>, Error> {
    let mut list = connection.prepare(
        r#"SELECT name FROM pragma_index_list(?1, 'main') WHERE "unique" AND NOT partial ORDER BY seq DESC"#,
    )?;
    let indexes: Vec<String> = list.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut parts =
        connection.prepare("SELECT name FROM pragma_index_xinfo(?1, 'main') WHERE key ORDER BY seqno")?;
    let mut sets = Vec::new();
    for index in indexes {
        let names: Vec<Option<String>> =
            parts.query_map([index], |row| row.get(0))?.collect::<Result<_, _>>()?;
        if let Some(set) = names.into_iter().collect::<Option<Vec<String>>>() {
            sets.push(set);
        }
    }
    Ok(sets)
}

/// Foreign keys by column in lower case. Without a column at the other end, the primary key is meant.
fn references(connection: &Connection, table: &str) -> Result<HashMap<String, (String, String)>, Error> {
    let mut list = connection.prepare(
        r#"SELECT k."from", t.name,
                  coalesce(k."to", (SELECT c.name FROM pragma_table_info(t.name, 'main') c WHERE c.pk = k.seq + 1))
           FROM pragma_foreign_key_list(?1, 'main') k
           JOIN main.sqlite_schema t ON t.type = 'table' AND t.name = k."table" COLLATE NOCASE
           ORDER BY k.id DESC, k.seq"#,
    )?;
    let mut found = HashMap::new();
    let mut rows = list.query([table])?;
    while let Some(row) = rows.next()? {
        let (from, table): (String, String) = (row.get(0)?, row.get(1)?);
        if let Some(column) = row.get::<_, Option<String>>(2)? {
            found.entry(from.to_ascii_lowercase()).or_insert((name::join([table.as_str()]), column));
        }
    }
    Ok(found)
}
