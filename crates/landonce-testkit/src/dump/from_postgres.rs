//! A PostgreSQL database's dump. Values come over the simple protocol: the server's own text, of every type, unrounded.
//!
//! Leaves out what isn't a user's: system schemas, temporary tables, and the tables of extensions (PostGIS brings some).

use std::collections::BTreeMap;

use tokio_postgres::{Client, SimpleQueryMessage};

use super::{Dump, Table};

/// Which tables a dump holds.
#[derive(Debug, Clone, Copy)]
pub enum Tables<'a> {
    /// Every table and materialized view of a user. Of a partitioned table its leaves, so that a row's move is seen.
    All,
    /// These, as `schema.table`.
    Named(&'a [&'a str]),
}

/// Dumps the tables as of one moment. The client must not be inside a transaction.
///
/// # Panics
///
/// When the database refuses, or a named table isn't there.
pub async fn postgres(client: &Client, tables: Tables<'_>) -> Dump {
    // The settings that shape text end with the transaction; the caller's session keeps its own.
    client
        .batch_execute(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
             SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres';
             SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1; SET LOCAL row_security = off;
             SET LOCAL search_path = pg_catalog",
        )
        .await
        .expect("a transaction to dump in");
    let mut there: BTreeMap<String, String> = BTreeMap::new();
    for row in client
        .query(
            "SELECT n.nspname || '.' || c.relname, format('%I.%I', n.nspname, c.relname)
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't'
               AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
               AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                               AND d.objid = c.oid AND d.deptype = 'e')",
            &[],
        )
        .await
        .expect("the catalogue lists the tables")
    {
        there.insert(row.get(0), row.get(1));
    }
    if let Tables::Named(names) = tables {
        for name in names {
            let list = there.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            assert!(there.contains_key(*name), "there is no table {name}; there are: {list}");
        }
        there.retain(|name, _| names.contains(&name.as_str()));
    }
    let mut dumped = Vec::new();
    for (name, quoted) in there {
        dumped.push((name, table(client, &quoted).await));
    }
    client.batch_execute("COMMIT").await.expect("the dump's transaction ends");
    Dump::new(dumped)
}

async fn table(client: &Client, quoted: &str) -> Table {
    let messages = client
        .simple_query(&format!("SELECT * FROM {quoted}"))
        .await
        .unwrap_or_else(|error| panic!("dumping {quoted}: {error:?}"));
    let mut table = Table::default();
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                table.columns = columns.iter().map(|column| column.name().to_owned()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                table.rows.push((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect());
            }
            _ => {}
        }
    }
    table
}
