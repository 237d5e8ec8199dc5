//! Retired rows on SQLite: found by their run, written down, brought back.

use uuid::Uuid;

use super::render::{numbered, of, table};
use super::scripted::STATE;
use super::{SCRIPT_BEGIN, put, texts};
use crate::error::Result;
use crate::repair::lost::{Load, Marks, Restore};
use crate::repair::{Known, Sink};
use crate::sqlite::Session;
use crate::sqlite::errors::during;
use crate::sqlite::held;
use crate::sqlite::render::quoted;

/// The rows `t` that these runs have retired. A run's id is a text here, and its digits need no quoting.
fn are_retired(marks: &Marks, runs: &[Uuid]) -> Result<String> {
    let runs: Vec<String> = runs.iter().map(|run| format!("'{}'", run.hyphenated())).collect();
    Ok(format!("t.{} IN ({}) AND t.{} IS NOT NULL", quoted(&marks.by)?, runs.join(", "), quoted(&marks.at)?))
}

impl Restore for Session {
    async fn landed(&mut self, pipeline: &str) -> Result<Vec<Load>> {
        held::landed(&self.connection, pipeline)
    }

    async fn retired(
        &mut self,
        known: &Known,
        marks: &Marks,
        run: Uuid,
        most: usize,
    ) -> Result<(u64, Vec<Vec<Option<String>>>)> {
        let doing = "looking for retired rows";
        let from = format!("FROM {} t WHERE {}", table(&known.table.name)?, are_retired(marks, &[run])?);
        let (count, _) = self.counts(doing, &format!("SELECT count(*), 0 {from}"))?;
        let shown = of("t", &marks.shown)?;
        let sql = format!(
            "SELECT {0} {from} ORDER BY {1} LIMIT {most}",
            shown.join(", "),
            of("t", &marks.identity)?.join(", ")
        );
        let first = || {
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query_map([], |row| texts(row, 0, shown.len()))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        Ok((count, first().map_err(during(doing))?))
    }

    async fn script_retired(
        &mut self,
        known: &Known,
        marks: &Marks,
        runs: &[Uuid],
        sink: Sink<'_>,
    ) -> Result<()> {
        let name = table(&known.table.name)?;
        let kept: Vec<&String> =
            marks.identity.iter().chain([&marks.at, &marks.by]).chain(&marks.revision).collect();
        let columns = of("t", kept.iter().copied())?;
        let named: Vec<String> =
            columns.iter().enumerate().map(|(at, column)| format!("{column} AS c{at}")).collect();
        let count = marks.identity.len();
        let is_row: Vec<String> = columns[..count]
            .iter()
            .zip(numbered("r.", 'c', count))
            .map(|(column, kept)| format!("{column} = {kept}"))
            .collect();
        let is_row = is_row.join(" AND ");
        let mut set = vec![
            format!("{} = r.c{count}", quoted(&marks.at)?),
            format!("{} = r.c{}", quoted(&marks.by)?, count + 1),
        ];
        let mut is_as_left = format!("{} IS NULL", columns[count]);
        if let Some(revision) = &marks.revision {
            let at = count + 2;
            set.push(format!("{} = r.c{at}", quoted(revision)?));
            is_as_left.push_str(&format!(" AND {} = coalesce(r.c{at}, 0) + 1", columns[at]));
        }
        let open = format!(
            "{SCRIPT_BEGIN}{STATE}CREATE TABLE temp.landonce_rows AS SELECT {} FROM {name} t WHERE false;\n",
            named.join(", ")
        );
        put(sink, open.as_bytes())?;
        let rows = format!("SELECT {} FROM {name} t WHERE {}", columns.join(", "), are_retired(marks, runs)?);
        self.script_inserts("temp.landonce_rows", &rows, sink)?;
        let close = format!(
            "INSERT INTO temp.landonce_state SELECT (SELECT count(*) FROM temp.landonce_rows r JOIN {name} t ON {is_row} WHERE {is_as_left}) = \
             (SELECT count(*) FROM temp.landonce_rows);\n\
             UPDATE {name} AS t SET {} FROM temp.landonce_rows r WHERE {is_row} AND EXISTS (SELECT 1 FROM temp.landonce_state);\n",
            set.join(", ")
        );
        put(sink, close.as_bytes())
    }

    async fn restore(&mut self, known: &Known, marks: &Marks, runs: &[Uuid]) -> Result<u64> {
        let mut set =
            vec![format!("{} = NULL", quoted(&marks.at)?), format!("{} = NULL", quoted(&marks.by)?)];
        if let Some(revision) = &marks.revision {
            let name = quoted(revision)?;
            set.push(format!("{name} = coalesce({name}, 0) + 1"));
        }
        let sql = format!(
            "UPDATE {} AS t SET {} WHERE {}",
            table(&known.table.name)?,
            set.join(", "),
            are_retired(marks, runs)?
        );
        self.execute("bringing retired rows back", &sql)
    }
}
