//! What there is in a MySQL or MariaDB database, from its information_schema.

use std::collections::{BTreeMap, HashMap};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Row};

use crate::snapshot::{Column, name};

/// Everything but rows.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) tables: Vec<Found>,
    pub(super) sequences: BTreeMap<String, String>,
    pub(super) prepared: Vec<String>,
    pub(super) objects: Vec<String>,
}

/// A table.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) columns: Vec<(Column, Form)>,
    pub(super) key: Vec<String>,
    pub(super) unique: Vec<Vec<String>>,
    /// When it was made: there is nothing better that everyone may read.
    pub(super) incarnation: String,
}

/// How a value has to be asked for and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Its text is exact.
    Text,
    /// Its text has six digits; that of the same number as DOUBLE has all.
    Float,
    /// Bytes.
    Binary,
}

/// An identifier as SQL.
pub(super) fn quote(identifier: &str) -> String {
    format!("`{}`", identifier.replace('`', "``"))
}

pub(super) async fn read(connection: &mut Conn) -> Result<Catalog, Error> {
    // MySQL 8 remembers AUTO_INCREMENT for a day; MariaDB knows no such setting.
    let _ = connection.query_drop("SET SESSION information_schema_stats_expiry = 0").await;
    let rows: Vec<(String, String, Option<String>, Option<u64>)> = connection
        .query(
            "SELECT table_name, table_type, CAST(create_time AS CHAR), auto_increment FROM information_schema.tables
             WHERE table_schema = DATABASE() ORDER BY table_name",
        )
        .await?;
    let mut references = references(connection).await?;
    let mut columns = columns(connection, &mut references).await?;
    let mut keys = keys(connection).await?;
    let mut catalog =
        Catalog { tables: Vec::new(), sequences: BTreeMap::new(), prepared: Vec::new(), objects: Vec::new() };
    for (table, kind, made_at, counter) in rows {
        match kind.as_str() {
            "BASE TABLE" | "SYSTEM VERSIONED" => {
                if let Some(counter) = counter {
                    catalog.sequences.insert(name::join([table.as_str()]), counter.to_string());
                }
                let sets = keys.remove(&table).unwrap_or_default();
                catalog.tables.push(Found {
                    columns: columns.remove(&table).unwrap_or_default(),
                    key: sets
                        .iter()
                        .find(|set| set.is_key)
                        .map(|set| set.columns.clone())
                        .unwrap_or_default(),
                    unique: sets.into_iter().map(|set| set.columns).collect(),
                    incarnation: made_at.unwrap_or_default(),
                    name: table,
                });
            }
            "SEQUENCE" => {
                let next: Option<i64> = connection
                    .query_first(format!("SELECT next_not_cached_value FROM {}", quote(&table)))
                    .await?;
                catalog.sequences.insert(name::join([table.as_str()]), next.unwrap_or_default().to_string());
            }
            _ => {}
        }
    }
    catalog.objects = connection
        .query(
            "SELECT CONCAT('view ', table_name) AS object FROM information_schema.views WHERE table_schema = DATABASE()
             UNION ALL SELECT CONCAT(LOWER(routine_type), ' ', routine_name) FROM information_schema.routines
                       WHERE routine_schema = DATABASE()
             UNION ALL SELECT CONCAT('trigger ', trigger_name) FROM information_schema.triggers
                       WHERE trigger_schema = DATABASE()
             UNION ALL SELECT CONCAT('event ', event_name) FROM information_schema.events WHERE event_schema = DATABASE()
             UNION ALL SELECT DISTINCT CONCAT('index ', index_name, ' on ', table_name)
                       FROM information_schema.statistics WHERE table_schema = DATABASE()
             ORDER BY object",
        )
        .await?;
    // Not everyone may ask; then none are told.
    let prepared: Vec<Row> = connection.query("XA RECOVER").await.unwrap_or_default();
    catalog.prepared = prepared
        .into_iter()
        .filter_map(|row| row.get::<Vec<u8>, _>("data"))
        .map(|data| String::from_utf8_lossy(&data).into_owned())
        .collect();
    Ok(catalog)
}

type References = HashMap<(String, String), (String, String)>;

async fn references(connection: &mut Conn) -> Result<References, Error> {
    let rows: Vec<(String, String, String, String)> = connection
        .query(
            "SELECT table_name, column_name, referenced_table_name, referenced_column_name
             FROM information_schema.key_column_usage
             WHERE table_schema = DATABASE() AND referenced_table_schema = DATABASE()",
        )
        .await?;
    Ok(rows
        .into_iter()
        .map(|(table, column, target, its)| ((table, column), (name::join([target.as_str()]), its)))
        .collect())
}

async fn columns(
    connection: &mut Conn,
    references: &mut References,
) -> Result<HashMap<String, Vec<(Column, Form)>>, Error> {
    let rows: Vec<(String, String, String, String, Option<String>, String)> = connection
        .query(
            "SELECT table_name, column_name, LOWER(data_type), column_type, column_default, LOWER(extra)
             FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position",
        )
        .await?;
    let mut columns: HashMap<String, Vec<(Column, Form)>> = HashMap::new();
    for (table, column, kind, type_name, default, extra) in rows {
        let form = match kind.as_str() {
            "float" => Form::Float,
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "bit" | "geometry"
            | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon"
            | "geometrycollection" | "geomcollection" | "vector" => Form::Binary,
            _ => Form::Text,
        };
        let is_counted = extra.contains("auto_increment");
        let is_made_up = default.as_deref().is_some_and(|default| {
            let default = default.to_ascii_lowercase();
            default.contains("uuid") && default.contains('(')
                || default.contains("nextval(")
                || default.contains("rand(")
        });
        let default = default
            .filter(|default| default != "NULL")
            .or_else(|| is_counted.then(|| "AUTO_INCREMENT".to_owned()));
        let column = Column {
            references: references.remove(&(table.clone(), column.clone())),
            name: column,
            type_name,
            is_generated: is_counted || is_made_up,
            default,
        };
        columns.entry(table).or_default().push((column, form));
    }
    Ok(columns)
}

/// Columns that are unique together.
#[derive(Debug)]
struct UniqueSet {
    is_key: bool,
    columns: Vec<String>,
}

async fn keys(connection: &mut Conn) -> Result<HashMap<String, Vec<UniqueSet>>, Error> {
    let rows: Vec<(String, String, Option<String>, Option<String>)> = connection
        .query(
            "SELECT table_name, index_name, IF(sub_part IS NULL, column_name, NULL), nullable FROM information_schema.statistics
             WHERE table_schema = DATABASE() AND non_unique = 0
             ORDER BY table_name, index_name <> 'PRIMARY', index_name, seq_in_index",
        )
        .await?;
    let mut keys: HashMap<String, Vec<UniqueSet>> = HashMap::new();
    let mut last = None;
    // Of an index over expressions or parts of values, nothing is told.
    let mut is_whole = true;
    for (table, index, column, nullable) in rows {
        let sets = keys.entry(table.clone()).or_default();
        let this = Some((table, index));
        if last != this {
            sets.push(UniqueSet { is_key: true, columns: Vec::new() });
            is_whole = true;
            last = this;
        }
        let Some(column) = column else {
            if is_whole {
                sets.pop();
            }
            is_whole = false;
            continue;
        };
        if is_whole && let Some(set) = sets.last_mut() {
            set.is_key &= nullable.as_deref() != Some("YES");
            set.columns.push(column);
        }
    }
    Ok(keys)
}
