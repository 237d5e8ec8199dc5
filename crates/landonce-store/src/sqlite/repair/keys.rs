//! Keys anew on SQLite.

use landonce_core::plan::KeyForm;
use rusqlite::types::Value;

use super::render::{self, DOOMED, KEYS};
use super::scripted::STATE;
use super::{SCRIPT_BEGIN, put, shown};
use crate::error::Result;
use crate::repair::{Constraint, KeyColumn, Known, Make, Read, Rekey, Shown, Sink};
use crate::sqlite::Session;
use crate::sqlite::errors::during;
use crate::sqlite::render::quoted;

/// How many rows are in memory at once.
const CHUNK: usize = 5_000;

/// A noted key as the column's value.
fn value(form: KeyForm) -> &'static str {
    match form {
        KeyForm::Uuid | KeyForm::Bytes => "unhex(n.new)",
        KeyForm::Hex => "n.new",
    }
}

fn read(read: &Read) -> Result<String> {
    let column = format!("t.{}", quoted(&read.column)?);
    Ok(match read.shown {
        // There is no type for a moment: what landonce has written is a text already.
        Shown::Text | Shown::Micros => column,
        Shown::Hex => format!("iif(typeof({column}) = 'blob', lower(hex({column})), {column})"),
    })
}

/// Joins a row `t` with the note of its new key.
fn noted(known: &Known) -> Result<String> {
    let place = render::place(known)?;
    Ok(render::equal(&render::of("t", &place)?, &render::numbered("n.", 'p', place.len())))
}

/// Rows whose key changes, marked ones left out.
fn changes(known: &Known, column: &KeyColumn) -> Result<String> {
    let differs = if column.is_there {
        format!("t.{} IS NOT {}", quoted(&column.name)?, value(column.form))
    } else {
        "true".to_owned()
    };
    let place = render::place(known)?;
    let doomed =
        render::equal(&render::numbered("n.", 'p', place.len()), &render::numbered("d.", 'g', place.len()));
    Ok(format!(
        "FROM {KEYS} n JOIN {} t ON {}\nWHERE {differs} AND NOT EXISTS (SELECT 1 FROM {DOOMED} d WHERE {doomed})",
        render::table(&known.table.name)?,
        noted(known)?
    ))
}

impl Rekey for Session {
    async fn give_keys(&mut self, known: &Known, reads: &[Read], make: Make<'_>) -> Result<()> {
        let place = render::place(known)?;
        let columns: Vec<String> = reads.iter().map(read).collect::<Result<_>>()?;
        let at = render::of("t", &place)?.join(", ");
        let slots = vec!["?"; place.len()].join(", ");
        let next = |where_: &str| -> Result<String> {
            Ok(format!(
                "SELECT {at}, {} FROM {} t {where_} ORDER BY {at} LIMIT {CHUNK}",
                columns.join(", "),
                render::table(&known.table.name)?
            ))
        };
        let (first, next) = (next("")?, next(&format!("WHERE ({at}) > ({slots})"))?);
        let insert = format!("INSERT INTO {KEYS} VALUES ({slots}, ?)");
        let index = format!(
            "CREATE INDEX temp.landonce_keys_of ON landonce_keys ({})",
            render::numbered("", 'p', place.len()).join(", ")
        );
        let mut give = || {
            let mut insert = self.connection.prepare(&insert)?;
            let mut last: Option<Vec<Value>> = None;
            loop {
                let mut statement =
                    self.connection.prepare_cached(if last.is_some() { &next } else { &first })?;
                let mut rows =
                    statement.query(rusqlite::params_from_iter(last.take().into_iter().flatten()))?;
                let mut count = 0;
                while let Some(row) = rows.next()? {
                    count += 1;
                    let mut place: Vec<Value> =
                        (0..place.len()).map(|at| row.get(at)).collect::<Result<_, _>>()?;
                    let mut values = Vec::with_capacity(reads.len());
                    for at in place.len()..place.len() + reads.len() {
                        values.push(shown(row.get_ref(at)?));
                    }
                    if count == CHUNK {
                        last = Some(place.clone());
                    }
                    if let Some(key) = make(&values) {
                        place.push(Value::Text(key));
                        insert.execute(rusqlite::params_from_iter(place))?;
                    }
                }
                if last.is_none() {
                    return Ok(());
                }
            }
        };
        let given: rusqlite::Result<()> = give();
        given.map_err(during("reading rows to make their keys"))?;
        self.execute("reading rows to make their keys", &index).map(|_| ())
    }

    async fn changed_keys(&mut self, known: &Known, column: &KeyColumn) -> Result<u64> {
        let sql = format!("SELECT count(*), 0 {}", changes(known, column)?);
        self.counts("comparing keys", &sql).map(|(count, _)| count)
    }

    async fn script_keys(
        &mut self,
        known: &Known,
        column: &KeyColumn,
        constraint: Option<&Constraint>,
        sink: Sink<'_>,
    ) -> Result<()> {
        put(sink, SCRIPT_BEGIN.as_bytes())?;
        put(sink, STATE.as_bytes())?;
        let (table, name) = (render::table(&known.table.name)?, quoted(&column.name)?);
        let unconstrain = match constraint {
            Some(constraint) => format!("DROP INDEX IF EXISTS {};\n", render::table(&constraint.name)?),
            None => String::new(),
        };
        let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
        if !column.is_there {
            let sql = format!(
                "INSERT INTO temp.landonce_state SELECT EXISTS (SELECT 1 FROM pragma_table_xinfo({}, 'main') WHERE name = {});\n\
                 {unconstrain}ALTER TABLE {table} DROP COLUMN {name};\n",
                text(&known.table.name),
                text(&column.name)
            );
            return put(sink, sql.as_bytes());
        }
        let open = format!(
            "CREATE TABLE temp.landonce_rekeyed AS SELECT t.{name} AS new, t.{name} AS before FROM {table} t WHERE false;\n"
        );
        put(sink, open.as_bytes())?;
        let rows = format!("SELECT {}, t.{name} {}", value(column.form), changes(known, column)?);
        self.script_inserts("temp.landonce_rekeyed", &rows, sink)?;
        let close = format!(
            "INSERT INTO temp.landonce_state SELECT (SELECT count(*) FROM temp.landonce_rekeyed r JOIN {table} t ON t.{name} = r.new) = \
             (SELECT count(*) FROM temp.landonce_rekeyed);\n\
             {unconstrain}CREATE INDEX temp.landonce_rekeyed_new ON landonce_rekeyed (new);\n\
             UPDATE {table} AS t SET {name} = r.before FROM temp.landonce_rekeyed r WHERE t.{name} = r.new AND EXISTS (SELECT 1 FROM \
             temp.landonce_state);\nDROP TABLE temp.landonce_rekeyed;\n"
        );
        put(sink, close.as_bytes())
    }

    async fn write_keys(&mut self, known: &Known, column: &KeyColumn) -> Result<u64> {
        let doing = "writing the new keys";
        let (table, name) = (render::table(&known.table.name)?, quoted(&column.name)?);
        if !column.is_there {
            let ty = if column.form == KeyForm::Hex { "TEXT" } else { "BLOB" };
            self.connection
                .execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {name} {ty}"))
                .map_err(during(doing))?;
        }
        let sql = format!(
            "UPDATE {table} AS t SET {name} = {0} FROM {KEYS} n WHERE {1} AND t.{name} IS NOT {0}",
            value(column.form),
            noted(known)?
        );
        self.execute(doing, &sql)
    }
}
