//! `apply:` on PostgreSQL: the statement once a row, its values bound as text and cast to their columns' types.

use futures_util::future::join_all;
use landonce_core::pipeline::{Apply, ApplyPiece};
use landonce_core::plan::TablePlan;
use tokio_postgres::types::{ToSql, Type as Pg};

use super::link::Link;
use super::render;
use crate::error::Result;
use crate::seam::{Row, Unapplied};

/// How many go out before the first is answered. They are answered in order.
const AHEAD: usize = 16;

/// Runs the statement for each row, in order. Returns how many rows each has changed.
pub(super) async fn apply(
    link: &Link<'_>,
    plan: &TablePlan,
    apply: &Apply,
    columns: &[usize],
    rows: &[Row],
) -> Result<Vec<u64>, Unapplied> {
    let sql = sql(plan, apply, columns).map_err(|error| Unapplied { at: 0, error })?;
    let mut changed = Vec::with_capacity(rows.len());
    for rows in rows.chunks(AHEAD) {
        let params: Vec<Vec<(&(dyn ToSql + Sync), Pg)>> =
            rows.iter().map(|row| row.iter().map(|value| (value as _, Pg::TEXT)).collect()).collect();
        let sent = params.iter().map(|params| link.execute("", &sql, params));
        // So few are polled in order, and so sent in order.
        for one in join_all(sent).await {
            changed.push(one.map_err(|error| Unapplied { at: changed.len(), error })?);
        }
    }
    Ok(changed)
}

fn sql(plan: &TablePlan, apply: &Apply, columns: &[usize]) -> Result<String> {
    let mut sql = String::new();
    for piece in &apply.pieces {
        match piece {
            ApplyPiece::Text(text) => sql.push_str(text),
            ApplyPiece::Parameter(at) => {
                let column = &plan.columns[columns[*at]];
                let ty = match &column.sql_type {
                    Some(ty) => ty.clone(),
                    None => render::sql_type(&column.ty)?,
                };
                sql.push_str(&format!("CAST(${}::text AS {ty})", at + 1));
            }
        }
    }
    Ok(sql)
}
