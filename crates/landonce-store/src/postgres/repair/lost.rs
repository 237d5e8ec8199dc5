//! Retired rows on PostgreSQL: found by their run, written down, brought back.

use uuid::Uuid;

use super::render::{of, text};
use super::{SCRIPT_BEGIN, put, scripted};
use crate::error::Result;
use crate::postgres::{Session, held, quote};
use crate::repair::lost::{Load, Marks, Restore};
use crate::repair::{Known, Sink};

/// The rows `t` that these runs have retired. A run's digits need no quoting.
fn are_retired(marks: &Marks, runs: &[Uuid]) -> Result<String> {
    let runs: Vec<String> =
        runs.iter().map(|run| format!("CAST('{}' AS {})", run.hyphenated(), marks.by_type)).collect();
    Ok(format!(
        "t.{} IN ({}) AND t.{} IS NOT NULL",
        quote::name(&marks.by)?,
        runs.join(", "),
        quote::name(&marks.at)?
    ))
}

impl Restore for Session {
    async fn landed(&mut self, pipeline: &str) -> Result<Vec<Load>> {
        held::landed(&self.link(), pipeline).await
    }

    async fn retired(
        &mut self,
        known: &Known,
        marks: &Marks,
        run: Uuid,
        most: usize,
    ) -> Result<(u64, Vec<Vec<Option<String>>>)> {
        let doing = "looking for retired rows";
        let from = format!("FROM {} t WHERE {}", quote::table(&known.table)?, are_retired(marks, &[run])?);
        let count = self.link().one(doing, &format!("SELECT count(*) {from}"), &[]).await?;
        let shown: Vec<String> =
            of("t", &marks.shown)?.into_iter().map(|column| format!("{column}::text")).collect();
        let sql = format!(
            "SELECT ARRAY[{}] {from} ORDER BY {} LIMIT {most}",
            shown.join(", "),
            of("t", &marks.identity)?.join(", ")
        );
        let rows = self.link().query(doing, &sql, &[]).await?;
        Ok((count.get::<_, i64>(0) as u64, rows.iter().map(|row| row.get(0)).collect()))
    }

    async fn script_retired(
        &mut self,
        known: &Known,
        marks: &Marks,
        runs: &[Uuid],
        sink: Sink<'_>,
    ) -> Result<()> {
        let table = quote::table(&known.table)?;
        let kept: Vec<&String> =
            marks.identity.iter().chain([&marks.at, &marks.by]).chain(&marks.revision).collect();
        let columns = of("t", kept.iter().copied())?;
        let named: Vec<String> =
            columns.iter().enumerate().map(|(at, column)| format!("{column} AS c{at}")).collect();
        let count = marks.identity.len();
        let is_row: Vec<String> =
            columns[..count].iter().enumerate().map(|(at, column)| format!("{column} = r.c{at}")).collect();
        let is_row = is_row.join(" AND ");
        let mut set = vec![
            format!("{} = r.c{count}", quote::name(&marks.at)?),
            format!("{} = r.c{}", quote::name(&marks.by)?, count + 1),
        ];
        let mut is_as_left = format!("{} IS NULL", columns[count]);
        if let Some(revision) = &marks.revision {
            let at = count + 2;
            set.push(format!("{} = r.c{at}", quote::name(revision)?));
            is_as_left.push_str(&format!(" AND {} = coalesce(r.c{at}, 0) + 1", columns[at]));
        }
        let open = format!(
            "{SCRIPT_BEGIN}CREATE TEMP TABLE landonce_rows ON COMMIT DROP AS SELECT {} FROM {table} t WITH NO DATA;\n",
            named.join(", ")
        );
        put(sink, open.as_bytes())?;
        let rows = format!(
            "SELECT {} FROM {table} t WHERE {}",
            scripted::tuple(&columns),
            are_retired(marks, runs)?
        );
        self.script_inserts("pg_temp.landonce_rows", &rows, sink).await?;
        let close = format!(
            "LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE;\n\
             DO $landonce$ BEGIN\nIF (SELECT count(*) FROM {table} t JOIN pg_temp.landonce_rows r ON {is_row} WHERE {is_as_left}) <> (SELECT \
             count(*) FROM pg_temp.landonce_rows) THEN\n  RAISE EXCEPTION USING MESSAGE = {};\nEND IF;\nEND $landonce$;\n\
             UPDATE {table} t SET {} FROM pg_temp.landonce_rows r WHERE {is_row};\n",
            text(&scripted::refusal(known)),
            set.join(", ")
        );
        put(sink, close.as_bytes())
    }

    async fn restore(&mut self, known: &Known, marks: &Marks, runs: &[Uuid]) -> Result<u64> {
        let mut set = vec![
            format!("{} = NULL", quote::name(&marks.at)?),
            format!("{} = NULL", quote::name(&marks.by)?),
        ];
        if let Some(revision) = &marks.revision {
            let name = quote::name(revision)?;
            set.push(format!("{name} = coalesce(t.{name}, 0) + 1"));
        }
        let sql = format!(
            "UPDATE {} t SET {} WHERE {}",
            quote::table(&known.table)?,
            set.join(", "),
            are_retired(marks, runs)?
        );
        self.link().execute("bringing retired rows back", &sql, &[]).await
    }
}
