//! Rows of a target by the values of columns, as JSON.

use landonce_core::plan::TableShape;
use landonce_core::time;
use landonce_core::value::Value;
use tokio_postgres::types::{ToSql, Type as Pg};

use super::super::{Session, quote};
use crate::error::{Error, Result};
use crate::reads::{Equals, Rows};

/// The rows of which these columns have these values.
pub(super) async fn rows(
    session: &mut Session,
    shape: &TableShape,
    equal: &[Equals<'_>],
    most: usize,
) -> Result<Rows> {
    let doing = format!("looking for rows of {}", shape.table);
    let mut conditions = Vec::new();
    let mut texts = Vec::new();
    for one in equal {
        let name = quote::name(&one.column)?;
        let column = shape
            .column(&one.column)
            .ok_or_else(|| Error::refused(format!("{doing}: there is no column `{}`", one.column)))?;
        if one.value == Value::Null {
            conditions.push(format!("t.{name} IS NULL"));
            continue;
        }
        texts.push(text(&one.value).ok_or_else(|| {
            Error::refused(format!("{doing}: no row is found by the values of `{}`", one.column))
        })?);
        conditions.push(format!("t.{name} = CAST(${}::text AS {})", texts.len(), column.sql_type));
    }
    if conditions.is_empty() {
        return Err(Error::refused(format!("{doing}: no column says which")));
    }
    let mut shown = Vec::new();
    for column in &shape.columns {
        shown.push(format!("coalesce(to_json(t.{})::text, 'null')", quote::name(&column.name)?));
    }
    let sql = format!(
        "SELECT ARRAY[{}]::text[] FROM {} t WHERE {} LIMIT {}",
        shown.join(", "),
        quote::table(&shape.table)?,
        conditions.join(" AND "),
        most.saturating_add(1)
    );
    let params: Vec<(&(dyn ToSql + Sync), Pg)> =
        texts.iter().map(|text| (text as &(dyn ToSql + Sync), Pg::TEXT)).collect();
    let found = session.look(&doing, &sql, &params).await?;
    let mut rows: Vec<Vec<String>> = found.iter().map(|row| row.get(0)).collect();
    let is_more = rows.len() > most;
    rows.truncate(most);
    Ok(Rows { columns: shape.columns.iter().map(|column| column.name.clone()).collect(), rows, is_more })
}

/// A value as the text that its type's input takes; `None` for what has none that a cast reads back.
fn text(value: &Value<'_>) -> Option<String> {
    let mut out = String::new();
    match value {
        Value::Null | Value::Array(_) | Value::Geometry(_) => return None,
        Value::Text(text) | Value::Json(text) => out.push_str(text),
        Value::Integer(number) => out.push_str(&number.to_string()),
        Value::Decimal(number) => out.push_str(&number.to_plain()),
        Value::Float(number) => out.push_str(&number.to_string()),
        Value::Boolean(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Date(days) => time::write_date(*days, &mut out),
        Value::Timestamptz(micros) => time::write_timestamptz(*micros, &mut out),
        Value::Timestamp(micros) => time::write_timestamp(*micros, &mut out),
        Value::Uuid(bytes) => out.push_str(&uuid::Uuid::from_bytes(*bytes).to_string()),
        Value::Bytes(bytes) => {
            out.push_str("\\x");
            out.push_str(&hex::encode(bytes));
        }
    }
    Some(out)
}
