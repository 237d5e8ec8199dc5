//! A database copied by SQL: made, its sequences and tables, its code, its rows, its views and triggers, in this order.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};

use super::{code, failed, identifier};
use crate::error::{Error, Result};

/// Copies a database into a new one. Returns in what it isn't the same.
pub(super) async fn copy(conn: &mut Conn, from: &str, to: &str) -> Result<Vec<String>> {
    let copying = |error| failed(&format!("cannot copy the database {from}"), error);
    let text: Option<(String, String)> = conn
        .exec_first(
            "SELECT default_character_set_name, default_collation_name FROM information_schema.schemata \
             WHERE schema_name = ?",
            (from,),
        )
        .await
        .map_err(copying)?;
    let Some((charset, collation)) = text else {
        return Err(Error::new(format!("there is no database {from}, or it may not be seen")));
    };
    let made = format!("CREATE DATABASE {} CHARACTER SET {charset} COLLATE {collation}", identifier(to));
    conn.query_drop(made).await.map_err(|error| {
        failed(
            "cannot create a database for the trials (the user needs CREATE on `landonce\\_prove\\_%`.*)",
            error,
        )
    })?;
    // Values are copied as they are: a 0 in an AUTO_INCREMENT column, a date that strictness would refuse.
    conn.query_drop(
        "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0, unique_checks = 0, \
         sql_quote_show_create = 1",
    )
    .await
    .map_err(copying)?;
    // INSERT … SELECT would lock what it reads in the source otherwise.
    conn.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await.map_err(copying)?;
    let all: Vec<(String, String)> = conn
        .exec("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = ?", (from,))
        .await
        .map_err(copying)?;
    let of = |kinds: &'static [&str]| {
        all.iter().filter(move |(_, kind)| kinds.contains(&kind.as_str())).map(|(name, _)| name.as_str())
    };
    let mut notes = Vec::new();
    for name in of(&["SEQUENCE"]) {
        make(conn, "SEQUENCE", name, from, to).await.map_err(copying)?;
        let next: Option<i64> = conn
            .query_first(format!(
                "SELECT next_not_cached_value FROM {}.{}",
                identifier(from),
                identifier(name)
            ))
            .await
            .map_err(copying)?;
        let set = format!("SELECT SETVAL({}.{}, {}, 0)", identifier(to), identifier(name), next.unwrap_or(1));
        conn.query_drop(set).await.map_err(copying)?;
    }
    let tables: Vec<&str> = of(&["BASE TABLE", "SYSTEM VERSIONED"]).collect();
    for name in &tables {
        make(conn, "TABLE", name, from, to).await.map_err(copying)?;
    }
    code::routines(conn, from, to, &mut notes).await.map_err(copying)?;
    for name in &tables {
        fill(conn, name, from, to).await.map_err(copying)?;
    }
    for name in of(&["SYSTEM VERSIONED"]) {
        notes.push(format!("the history of the system-versioned table {name} isn't copied"));
    }
    code::views(conn, of(&["VIEW"]).collect(), from, to, &mut notes).await.map_err(copying)?;
    code::triggers(conn, from, to, &mut notes).await.map_err(copying)?;
    code::events(conn, from, &mut notes).await.map_err(copying)?;
    conn.query_drop("SET SESSION foreign_key_checks = 1, unique_checks = 1").await.map_err(copying)?;
    Ok(notes)
}

/// Makes an object as SHOW CREATE tells it, in the other database.
async fn make(
    conn: &mut Conn,
    kind: &str,
    name: &str,
    from: &str,
    to: &str,
) -> Result<(), mysql_async::Error> {
    let shown: Option<Row> =
        conn.query_first(format!("SHOW CREATE {kind} {}.{}", identifier(from), identifier(name))).await?;
    let text: Option<String> = shown.and_then(|row| row.get(1));
    conn.query_drop(format!("USE {}", identifier(to))).await?;
    conn.query_drop(moved(&text.unwrap_or_default(), from, to)).await
}

async fn fill(conn: &mut Conn, name: &str, from: &str, to: &str) -> Result<(), mysql_async::Error> {
    let columns: Vec<String> = conn
        .exec(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ? \
             AND COALESCE(generation_expression, '') = '' ORDER BY ordinal_position",
            (from, name),
        )
        .await?;
    let columns: Vec<String> = columns.iter().map(|column| identifier(column)).collect();
    let (columns, name) = (columns.join(", "), identifier(name));
    conn.query_drop(format!(
        "INSERT INTO {}.{name} ({columns}) SELECT {columns} FROM {}.{name}",
        identifier(to),
        identifier(from)
    ))
    .await
}

/// SHOW CREATE names the database wherever it is needed, and always quoted.
pub(super) fn moved(text: &str, from: &str, to: &str) -> String {
    text.replace(&format!("{}.", identifier(from)), &format!("{}.", identifier(to)))
}
