//! The tables of a SQLite file, opened for reading only.

use rusqlite::{Connection, OpenFlags};

use super::{Column, Schema, Table, Unique};
use crate::Error;

/// Reads every table of the file.
pub(super) fn read(path: &str, schema: &mut Schema) -> Result<String, Error> {
    let fail =
        |error: rusqlite::Error| Error::because(format!("the schema of `{path}` can't be read"), error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
    let mut statement = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")
        .map_err(fail)?;
    let names: Vec<(String, Option<String>)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(fail)?
        .collect::<Result<_, _>>()
        .map_err(fail)?;
    let mut referenced = Vec::new();
    for (name, sql) in names {
        let mut table = columns(&connection, &name, sql.as_deref()).map_err(fail)?;
        unique(&connection, &mut table).map_err(fail)?;
        let mut keys =
            connection.prepare("SELECT \"table\" FROM pragma_foreign_key_list(?1)").map_err(fail)?;
        let tables = keys.query_map([&name], |row| row.get::<_, String>(0)).map_err(fail)?;
        referenced.extend(tables.flatten().map(|it| it.to_lowercase()));
        schema.tables.insert(name.to_lowercase(), table);
    }
    for name in referenced {
        if let Some(table) = schema.tables.get_mut(&name) {
            table.is_referenced = true;
        }
    }
    Ok(path.to_owned())
}

fn columns(connection: &Connection, name: &str, sql: Option<&str>) -> Result<Table, rusqlite::Error> {
    let mut table = Table { name: name.to_owned(), ..Table::default() };
    let counts = sql.is_some_and(|sql| sql.to_uppercase().contains("AUTOINCREMENT"));
    let mut statement = connection
        .prepare("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?1) ORDER BY cid")?;
    let mut rows = statement.query([name])?;
    let mut keys: Vec<(i64, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        let column: String = row.get::<_, String>(0)?.to_lowercase();
        let type_name: String = row.get(1)?;
        let default: Option<String> = row.get(3)?;
        let position: i64 = row.get(4)?;
        if position > 0 {
            keys.push((position, column.clone()));
        }
        let is_chance = default.as_ref().is_some_and(|it| it.to_lowercase().contains("random"));
        table.columns.push(Column {
            name: column,
            is_not_null: row.get(2)?,
            is_generated: is_chance,
            default,
            type_name,
            span: None,
        });
    }
    keys.sort();
    table.primary_key = keys.into_iter().map(|(_, name)| name).collect();
    // A lone INTEGER PRIMARY KEY is the row's number, which SQLite gives out itself.
    if let [key] = table.primary_key.as_slice()
        && let Some(column) = table.columns.iter_mut().find(|it| it.name == *key)
        && column.type_name.eq_ignore_ascii_case("integer")
    {
        column.is_generated |= counts;
        column.is_not_null = true;
    }
    Ok(table)
}

fn unique(connection: &Connection, table: &mut Table) -> Result<(), rusqlite::Error> {
    let mut statement = connection
        .prepare("SELECT name, partial FROM pragma_index_list(?1) WHERE \"unique\" AND origin <> 'pk' ORDER BY seq DESC")?;
    let found: Vec<(String, bool)> = statement
        .query_map([&table.name], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (name, is_partial) in found {
        let mut info = connection.prepare("SELECT name FROM pragma_index_info(?1) ORDER BY seqno")?;
        let columns: Vec<Option<String>> =
            info.query_map([&name], |row| row.get(0))?.collect::<Result<_, _>>()?;
        table.unique.push(Unique {
            name: Some(name),
            columns: columns
                .into_iter()
                .map(|it| it.map_or("(expression)".into(), |it| it.to_lowercase()))
                .collect(),
            is_partial,
            nulls_not_distinct: false,
            span: None,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_tables_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE Orders (id INTEGER PRIMARY KEY AUTOINCREMENT, k TEXT NOT NULL, UNIQUE (k));
                 CREATE UNIQUE INDEX part ON orders (k, id) WHERE k > '';
                 CREATE TABLE lines (order_id REFERENCES orders, n, PRIMARY KEY (n, order_id));",
            )
            .unwrap();
        drop(connection);
        let mut schema = Schema::default();
        read(path.to_str().unwrap(), &mut schema).unwrap();
        let orders = schema.table("orders").unwrap();
        assert!(orders.column("id").unwrap().is_generated && orders.is_referenced);
        assert_eq!(orders.keys(), [&["id".to_owned()][..], &["k".to_owned()][..]]);
        assert!(orders.unique[1].is_partial);
        assert_eq!(schema.table("lines").unwrap().primary_key, ["n", "order_id"]);
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error_and_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.db");
        assert!(read(path.to_str().unwrap(), &mut Schema::default()).is_err());
        assert!(!path.exists());
    }
}
