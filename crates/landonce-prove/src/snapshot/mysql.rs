//! Reads a MySQL or MariaDB database whole, in one consistent snapshot of InnoDB's.
//!
//! Values are the server's text, which is exact for all but FLOAT (asked for as DOUBLE) and what is binary (written as
//! hex). The server doesn't show when a row was last written, so rows have no version. What there is comes from `catalog`.

mod catalog;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, Value};

use self::catalog::{Form, Found};
use super::row::{self, Writer};
use super::{Snapshot, Table, name};
use crate::error::{Error, Result};

/// Makes text exact and the same in every session.
const SETTINGS: [&str; 4] = [
    "SET NAMES utf8mb4",
    "SET SESSION time_zone = '+00:00', sql_mode = ''",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
];

/// Connects and reads everything into files in this folder, which exists and is empty.
///
/// Fails when it can't connect, when a table can't be read (the message names it), and when the disk is full.
pub async fn read(url: &str, folder: &Path) -> Result<Snapshot> {
    // The reason why a URL can't be read may hold parts of it, the password among them.
    let options =
        Opts::from_url(url).map_err(|_| Error::new("the database's URL can't be read: check its form"))?;
    let mut connection = Conn::new(options)
        .await
        .map_err(|error| Error::because("connecting to the database to read it failed", error))?;
    let snapshot = read_from(&mut connection, folder).await?;
    connection
        .disconnect()
        .await
        .map_err(|error| Error::because("closing the connection that read the database failed", error))?;
    Ok(snapshot)
}

/// The same over a connection that is there and in no transaction; its settings are other ones afterwards.
pub async fn read_from(connection: &mut Conn, folder: &Path) -> Result<Snapshot> {
    let failed = |error| Error::because("reading the database's catalogue failed", error);
    for setting in SETTINGS {
        connection.query_drop(setting).await.map_err(failed)?;
    }
    let catalog = catalog::read(connection).await.map_err(failed)?;
    let mut tables = BTreeMap::new();
    for (number, found) in catalog.tables.into_iter().enumerate() {
        let name = name::join([found.name.as_str()]);
        let (file, rows) = rows(connection, &found, &name, Writer::create(folder, number)?).await?;
        let Found { key, unique, incarnation, .. } = found;
        let columns = found.columns.into_iter().map(|(column, _)| column).collect();
        tables.insert(name, Table { columns, rows, key, unique, incarnation, file });
    }
    connection.query_drop("ROLLBACK").await.map_err(failed)?;
    Ok(Snapshot {
        tables,
        sequences: catalog.sequences,
        prepared: catalog.prepared,
        objects: catalog.objects,
    })
}

async fn rows(
    connection: &mut Conn,
    found: &Found,
    name: &str,
    mut writer: Writer,
) -> Result<(PathBuf, u64)> {
    let failed = |error| Error::because(format!("reading the rows of {name} failed"), error);
    let columns: Vec<String> = found
        .columns
        .iter()
        .map(|(column, form)| match form {
            Form::Float => format!("{} + 0e0", catalog::quote(&column.name)),
            Form::Text | Form::Binary => catalog::quote(&column.name),
        })
        .collect();
    let query = format!("SELECT {} FROM {}", columns.join(", "), catalog::quote(&found.name));
    let mut result = connection.query_iter(query).await.map_err(failed)?;
    let mut line = Vec::new();
    while let Some(row) = result.next().await.map_err(failed)? {
        line.clear();
        for (value, (_, form)) in row.unwrap().iter().zip(&found.columns) {
            line.push(b'\t');
            match value {
                Value::NULL => line.extend(row::NULL),
                Value::Bytes(bytes) if *form == Form::Binary => {
                    line.extend(b"0x");
                    line.extend(hex::encode(bytes).bytes());
                }
                Value::Bytes(bytes) => row::escape(bytes, &mut line),
                // The text protocol has bytes only; were there another, its SQL would be as exact.
                other => line.extend(other.as_sql(false).bytes()),
            }
        }
        line.push(b'\n');
        writer.lines(&line)?;
    }
    drop(result);
    writer.finish()
}
