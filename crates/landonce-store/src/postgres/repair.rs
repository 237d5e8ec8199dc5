//! Repair on PostgreSQL: the verbs of [`Repair`], each one statement or a few.

mod keys;
mod known;
mod lost;
mod notices;
mod render;
mod scripted;
#[cfg(test)]
mod snapshots;

use std::time::Duration;

use futures_util::TryStreamExt as _;
use landonce_core::plan::TableName;
use landonce_core::retry::Code;
use tokio_postgres::types::{ToSql, Type as Pg};

use super::{Session, quote};
use crate::error::{Error, Result};
use crate::repair::{Collision, Constraint, Doubled, Group, Known, Marked, Moved, Order, Repair, Sink};
use crate::seam::Access;

/// Output forms that any server reads back exactly, whatever its settings; and no row is hidden by a policy unsaid.
const SETTINGS: &str = "SET LOCAL row_security = off; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres'; \
     SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; SET LOCAL xmloption = content";

/// A script's first words. `standard_conforming_strings` is what the literals are made for.
const SCRIPT_BEGIN: &str = "BEGIN;\nSET LOCAL client_encoding = 'UTF8';\nSET LOCAL standard_conforming_strings = on;\n\
     SET LOCAL DateStyle = 'ISO, YMD';\nSET LOCAL IntervalStyle = 'postgres';\nSET LOCAL xmloption = content;\n\
     SET LOCAL row_security = off;\n";

/// About how long one INSERT of a script is.
const STATEMENT: usize = 64 * 1024;

impl Session {
    /// Writes rows of literals as INSERTs, as they come from the server.
    async fn script_inserts(&self, into: &str, sql: &str, sink: Sink<'_>) -> Result<()> {
        let doing = "writing the script";
        let link = self.link();
        let failed = |error: &tokio_postgres::Error| super::errors::failed(error, &link.lost, doing);
        let none: [(&(dyn ToSql + Sync), Pg); 0] = [];
        let rows = link.client.query_typed_raw(sql, none).await.map_err(|error| failed(&error))?;
        let mut rows = std::pin::pin!(rows);
        let mut length = 0;
        while let Some(row) = rows.try_next().await.map_err(|error| failed(&error))? {
            let tuple: &str = row.get(0);
            let before = if length == 0 { format!("INSERT INTO {into} VALUES\n") } else { ",\n".to_owned() };
            put(sink, before.as_bytes())?;
            put(sink, tuple.as_bytes())?;
            length += tuple.len();
            if length > STATEMENT {
                put(sink, b";\n")?;
                length = 0;
            }
        }
        if length > 0 {
            put(sink, b";\n")?;
        }
        Ok(())
    }
}

fn put(sink: Sink<'_>, bytes: &[u8]) -> Result<()> {
    sink(bytes).map_err(|error| Error::refused(format!("writing the script: {error}")))
}

impl Repair for Session {
    async fn known(&mut self, table: &TableName) -> Result<Option<Known>> {
        known::load(&self.link(), table).await
    }

    async fn begin_repair(&mut self, known: &Known, access: Access, wait: Duration) -> Result<()> {
        let (level, before, after) = match access {
            Access::Write => {
                let wait = wait.as_millis().max(1);
                ("READ COMMITTED", format!("SET LOCAL lock_timeout = {wait}; {}; ", render::lock(known)?), "")
            }
            Access::ReadOnly => ("REPEATABLE READ", String::new(), "; SET TRANSACTION READ ONLY"),
        };
        let rollback = if self.is_begun { "ROLLBACK; " } else { "" };
        self.is_begun = true;
        let begin = format!("{rollback}BEGIN ISOLATION LEVEL {level}; {before}{SETTINGS}");
        self.link().batch("beginning", &begin).await.map_err(|error| locked(error, known, wait))?;
        let create = format!("{}{after}", render::create(known)?);
        self.link().batch("making temporary tables", &create).await
    }

    async fn rows(&mut self, known: &Known, columns: &[String]) -> Result<(u64, u64)> {
        let nulls: Vec<String> =
            render::of("t", columns)?.iter().map(|column| format!("{column} IS NULL")).collect();
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE {}) FROM {} t",
            nulls.join(" OR "),
            quote::table(&known.table)?
        );
        let row = self.link().one("counting rows", &sql, &[]).await?;
        Ok((row.get::<_, i64>(0) as u64, row.get::<_, i64>(1) as u64))
    }

    async fn order(&mut self, known: &Known, column: &str) -> Result<Order> {
        let column = quote::name(column)?;
        // The digit of the version: behind two groups of hex digits and their hyphens.
        let sql = format!(
            "SELECT count(*) FILTER (WHERE {column} IS NULL), count(*) FILTER (WHERE substr({column}::text, 15, 1) <> '7') FROM {}",
            quote::table(&known.table)?
        );
        let row = self.link().one("looking at run ids", &sql, &[]).await?;
        Ok(Order { nulls: row.get::<_, i64>(0) as u64, other_than_v7: row.get::<_, i64>(1) as u64 })
    }

    async fn mark(&mut self, known: &Known, doubled: &Doubled) -> Result<()> {
        let sql = render::mark(known, doubled)?;
        self.link().execute("looking for duplicates", &sql, &[]).await?;
        self.link().batch("looking for duplicates", "ANALYZE pg_temp.landonce_doomed").await
    }

    async fn marked(&mut self, known: &Known, compared: &[String]) -> Result<Marked> {
        let row = self.link().one("counting duplicates", &render::marked(known, compared)?, &[]).await?;
        let count = |at: usize| row.get::<_, i64>(at) as u64;
        Ok(Marked { groups: count(0), rows: count(1), differing: count(2) })
    }

    async fn groups(&mut self, known: &Known, most: usize) -> Result<Vec<Group>> {
        let rows = self.link().query("reading duplicates", &render::groups(known, most)?, &[]).await?;
        let mut groups: Vec<Group> = Vec::new();
        for row in rows {
            let values: Vec<Option<String>> = row.get(1);
            match groups.last_mut() {
                Some(group) if !row.get::<_, bool>(0) => group.gone.push(values),
                _ => groups.push(Group { kept: values, gone: Vec::new() }),
            }
        }
        Ok(groups)
    }

    async fn move_reference(&mut self, known: &Known, at: usize) -> Result<Moved> {
        let doing = format!("looking at {}", known.references[at].table);
        self.link().execute(&doing, &render::moved(known, at)?, &[]).await?;
        self.link().batch(&doing, &format!("ANALYZE pg_temp.landonce_moved_{at}")).await?;
        let row = self.link().one(&doing, &render::count_moved(known, at)?, &[]).await?;
        Ok(Moved { rows: row.get::<_, i64>(0) as u64, lost: row.get::<_, i64>(1) as u64 })
    }

    async fn collisions(&mut self, known: &Known, at: usize, most: usize) -> Result<(u64, Vec<Collision>)> {
        let reference = &known.references[at];
        let doing = format!("looking at {}", reference.table);
        let (mut total, mut found) = (0, Vec::new());
        for (index, unique) in reference.unique.iter().enumerate() {
            let rows = self.link().query(&doing, &render::collisions(known, at, index, most)?, &[]).await?;
            total += rows.first().map_or(0, |row| row.get::<_, i64>(0) as u64);
            found.extend(rows.iter().map(|row| Collision {
                index: unique.name.clone(),
                values: row.get(1),
                rows: row.get(2),
            }));
        }
        found.truncate(most);
        Ok((total, found))
    }

    async fn script_rows(
        &mut self,
        known: &Known,
        by: &[String],
        constraint: Option<&Constraint>,
        sink: Sink<'_>,
    ) -> Result<()> {
        if !by.is_empty() {
            put(sink, SCRIPT_BEGIN.as_bytes())?;
        }
        put(sink, scripted::open(known)?.as_bytes())?;
        self.script_inserts("pg_temp.landonce_rows", &scripted::rows(known)?, sink).await?;
        put(sink, scripted::close(known, by, constraint)?.as_bytes())
    }

    async fn script_reference(&mut self, known: &Known, at: usize, sink: Sink<'_>) -> Result<()> {
        let (open, close) = scripted::around_reference(known, at)?;
        put(sink, open.as_bytes())?;
        let into = format!("pg_temp.landonce_references_{at}");
        self.script_inserts(&into, &scripted::reference(known, at)?, sink).await?;
        put(sink, close.as_bytes())
    }

    fn script_end(&self) -> &'static str {
        "COMMIT;\n"
    }

    async fn repoint(&mut self, known: &Known, at: usize) -> Result<u64> {
        let doing = format!("pointing {} at the rows that stay", known.references[at].table);
        self.link().execute(&doing, &render::repoint(known, at)?, &[]).await
    }

    async fn remove(&mut self, known: &Known) -> Result<u64> {
        let doing = format!("deleting duplicates from {}", known.table);
        self.link().execute(&doing, &render::remove(known)?, &[]).await
    }

    async fn constrain(&mut self, known: &Known, constraint: &Constraint) -> Result<()> {
        // What waits for the end of the transaction stands in the way of ALTER TABLE.
        let (_, add) = render::constraint(known, constraint, false)?;
        let sql = format!("SET CONSTRAINTS ALL IMMEDIATE; {add}");
        self.link().batch("adding the unique constraint", &sql).await
    }

    async fn constrain_after(&mut self, known: &Known, constraint: &Constraint) -> Result<()> {
        let (index, add) = render::constraint(known, constraint, true)?;
        let doing = "adding the unique constraint";
        // What an earlier attempt that was cut off has left is never valid.
        let left = render::own_index(known, constraint, "NOT i.indisvalid")?;
        let dropped = format!("DROP INDEX IF EXISTS {}", render::index_name(known, constraint)?);
        if !self.link().query(doing, &left, &[]).await?.is_empty() {
            self.link().batch(doing, &dropped).await?;
        }
        let made = async {
            self.link().batch(doing, &index).await?;
            self.link().batch(doing, &add).await
        };
        if let Err(error) = made.await {
            // An index that could not be built stays behind, and costs every writer.
            if self.link().query(doing, &left, &[]).await.is_ok_and(|found| !found.is_empty()) {
                let _ = self.link().batch(doing, &dropped).await;
            }
            return Err(error);
        }
        Ok(())
    }
}

/// Somebody else writes, and does not stop: which tables, how long, what to do.
fn locked(error: Error, known: &Known, wait: Duration) -> Error {
    if error.code != Code::SqlState("55P03".to_owned()) {
        return error;
    }
    Error {
        message: format!(
            "somebody else writes to {} or a table that points at it, and did not end within {} s: {}; nothing was changed. Stop the writers \
             or wait longer with --lock-timeout",
            known.table,
            wait.as_secs(),
            error.message
        ),
        ..error
    }
}
