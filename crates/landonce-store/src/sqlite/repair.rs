//! Repair on SQLite: the verbs of [`Repair`], each one statement or a few.

mod keys;
mod known;
mod literal;
mod lost;
mod notices;
mod render;
mod scripted;
#[cfg(test)]
mod snapshots;

use std::ffi::CStr;
use std::time::Duration;

use landonce_core::plan::TableName;
use rusqlite::types::ValueRef;

use super::Session;
use super::errors::during;
use super::render::quoted;
use crate::error::{Error, Result};
use crate::repair::{Collision, Constraint, Doubled, Group, Known, Marked, Moved, Order, Repair, Sink};
use crate::seam::{Access, Connection as _};

/// A script's first words. Rows may come back before what they point at.
const SCRIPT_BEGIN: &str = "BEGIN IMMEDIATE;\nPRAGMA defer_foreign_keys = ON;\n";
const SCRIPT_END: &str =
    "DROP TABLE IF EXISTS temp.landonce_rows;\nDROP TABLE temp.landonce_state;\nCOMMIT;\n";

/// About how long one INSERT of a script is, and how many rows it has at most: SQLite limits the terms of a VALUES not at
/// all, but parses each statement whole.
const STATEMENT: usize = 64 * 1024;

impl Session {
    fn execute(&self, doing: &str, sql: &str) -> Result<u64> {
        self.connection.execute(sql, []).map(|rows| rows as u64).map_err(during(doing))
    }

    fn counts(&self, doing: &str, sql: &str) -> Result<(u64, u64)> {
        let counted = self
            .connection
            .query_row(sql, [], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)));
        counted.map_err(during(doing))
    }

    /// Writes rows as INSERTs of literals, one at a time from the database.
    fn script_inserts(&self, into: &str, sql: &str, sink: Sink<'_>) -> Result<()> {
        let doing = "writing the script";
        let mut statement = self.connection.prepare(sql).map_err(during(doing))?;
        let count = statement.column_count();
        let mut rows = statement.query([]).map_err(during(doing))?;
        let mut tuple = Vec::new();
        let mut length = 0;
        while let Some(row) = rows.next().map_err(during(doing))? {
            tuple.clear();
            let before = if length == 0 { format!("INSERT INTO {into} VALUES\n") } else { ",\n".to_owned() };
            tuple.extend_from_slice(before.as_bytes());
            for at in 0..count {
                tuple.push(if at == 0 { b'(' } else { b',' });
                literal::write(row.get_ref(at).map_err(during(doing))?, &mut tuple);
            }
            tuple.push(b')');
            put(sink, &tuple)?;
            length += tuple.len();
            if length > STATEMENT {
                put(sink, b";\n")?;
                length = 0;
            }
        }
        if length > 0 { put(sink, b";\n") } else { Ok(()) }
    }
}

fn put(sink: Sink<'_>, bytes: &[u8]) -> Result<()> {
    sink(bytes).map_err(|error| Error::refused(format!("writing the script: {error}")))
}

/// A value as text, for people.
fn shown(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(format!("{number:?}")),
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Some(format!("x'{}'", hex::encode(bytes))),
    }
}

fn texts(row: &rusqlite::Row<'_>, from: usize, count: usize) -> rusqlite::Result<Vec<Option<String>>> {
    (from..from + count).map(|at| Ok(shown(row.get_ref(at)?))).collect()
}

impl Repair for Session {
    async fn known(&mut self, table: &TableName) -> Result<Option<Known>> {
        known::load(&self.connection, table)
    }

    async fn begin_repair(&mut self, known: &Known, access: Access, wait: Duration) -> Result<()> {
        if access == Access::Write {
            self.connection.busy_timeout(wait).map_err(during("beginning"))?;
        }
        self.begin(access).await.map_err(|error| Error {
            message: format!("{}; waiting longer: --lock-timeout", error.message),
            ..error
        })?;
        self.connection.execute_batch(&render::create(known)?).map_err(during("making temporary tables"))
    }

    async fn rows(&mut self, known: &Known, columns: &[String]) -> Result<(u64, u64)> {
        let nulls: Vec<String> =
            render::of("t", columns)?.iter().map(|column| format!("{column} IS NULL")).collect();
        let table = render::table(&known.table.name)?;
        let sql = format!("SELECT count(*), count(*) FILTER (WHERE {}) FROM {table} t", nulls.join(" OR "));
        self.counts("counting rows", &sql)
    }

    async fn order(&mut self, known: &Known, column: &str) -> Result<Order> {
        let column = quoted(column)?;
        // The digit of the version: the thirteenth of 32, written out or in bytes.
        let digits = format!("replace(iif(typeof({column}) = 'blob', hex({column}), {column}), '-', '')");
        let sql = format!(
            "SELECT count(*) FILTER (WHERE {column} IS NULL), count(*) FILTER (WHERE length({digits}) <> 32 OR substr({digits}, 13, 1) \
             <> '7') FROM {}",
            render::table(&known.table.name)?
        );
        let (nulls, other_than_v7) = self.counts("looking at run ids", &sql)?;
        Ok(Order { nulls, other_than_v7 })
    }

    async fn mark(&mut self, known: &Known, doubled: &Doubled) -> Result<()> {
        let doing = "looking for duplicates";
        self.execute(doing, &render::mark(known, doubled)?)?;
        self.execute(doing, &render::index_doomed(known)?).map(|_| ())
    }

    async fn marked(&mut self, known: &Known, compared: &[String]) -> Result<Marked> {
        let sql = render::marked(known, compared)?;
        let counted = self.connection.query_row(&sql, [], |row| {
            let count = |at: usize| row.get::<_, i64>(at).map(|count| count as u64);
            Ok(Marked { groups: count(0)?, rows: count(1)?, differing: count(2)? })
        });
        counted.map_err(during("counting duplicates"))
    }

    async fn groups(&mut self, known: &Known, most: usize) -> Result<Vec<Group>> {
        let sql = render::groups(known, most)?;
        let read = || {
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query([])?;
            let mut groups: Vec<Group> = Vec::new();
            while let Some(row) = rows.next()? {
                let values = texts(row, 1, known.columns.len())?;
                match groups.last_mut() {
                    Some(group) if !row.get::<_, bool>(0)? => group.gone.push(values),
                    _ => groups.push(Group { kept: values, gone: Vec::new() }),
                }
            }
            Ok(groups)
        };
        read().map_err(during("reading duplicates"))
    }

    async fn move_reference(&mut self, known: &Known, at: usize) -> Result<Moved> {
        let doing = format!("looking at {}", known.references[at].table);
        self.connection.execute_batch(&render::moved(known, at)?).map_err(during(&doing))?;
        let (rows, lost) = self.counts(&doing, &render::count_moved(known, at)?)?;
        Ok(Moved { rows, lost })
    }

    async fn collisions(&mut self, known: &Known, at: usize, most: usize) -> Result<(u64, Vec<Collision>)> {
        let reference = &known.references[at];
        let doing = format!("looking at {}", reference.table);
        let (mut total, mut found) = (0, Vec::new());
        for (index, unique) in reference.unique.iter().enumerate() {
            let sql = render::collisions(known, at, index, most)?;
            let read = || {
                let mut statement = self.connection.prepare(&sql)?;
                let rows = statement.query_map([], |row| {
                    let of_rows: String = row.get::<_, Option<String>>(1)?.unwrap_or_default();
                    let collision = Collision {
                        index: unique.name.clone(),
                        values: texts(row, 2, unique.columns.len())?,
                        rows: of_rows.lines().take(most).map(str::to_owned).collect(),
                    };
                    Ok((row.get::<_, i64>(0)? as u64, collision))
                })?;
                rows.collect::<rusqlite::Result<Vec<_>>>()
            };
            let rows = read().map_err(during(&doing))?;
            total += rows.first().map_or(0, |(count, _)| *count);
            found.extend(rows.into_iter().map(|(_, collision)| collision));
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
        self.script_inserts("temp.landonce_rows", &scripted::rows(known)?, sink)?;
        put(sink, scripted::close(known, by, constraint)?.as_bytes())
    }

    async fn script_reference(&mut self, known: &Known, at: usize, sink: Sink<'_>) -> Result<()> {
        let (open, close) = scripted::around_reference(known, at)?;
        put(sink, open.as_bytes())?;
        let into = format!("temp.landonce_references_{at}");
        self.script_inserts(&into, &scripted::reference(known, at)?, sink)?;
        put(sink, close.as_bytes())
    }

    fn script_end(&self) -> &'static str {
        SCRIPT_END
    }

    async fn repoint(&mut self, known: &Known, at: usize) -> Result<u64> {
        let doing = format!("pointing {} at the rows that stay", known.references[at].table);
        self.execute(&doing, &render::repoint(known, at)?)
    }

    async fn remove(&mut self, known: &Known) -> Result<u64> {
        self.execute(&format!("deleting duplicates from {}", known.table), &render::remove(known)?)
    }

    async fn constrain(&mut self, known: &Known, constraint: &Constraint) -> Result<()> {
        let doing = "adding the unique index";
        let mut collations = Vec::new();
        for column in &constraint.columns {
            let (_, collation, ..) = self
                .connection
                .column_metadata(Some("main"), known.table.name.as_str(), column.as_str())
                .map_err(during(doing))?;
            let name = collation.as_deref().map_or("BINARY".into(), |name: &CStr| name.to_string_lossy());
            collations.push(quoted(&name)?);
        }
        self.execute(doing, &render::constraint(known, constraint, &collations)?).map(|_| ())
    }

    async fn constrain_after(&mut self, known: &Known, constraint: &Constraint) -> Result<()> {
        self.constrain(known, constraint).await
    }
}
