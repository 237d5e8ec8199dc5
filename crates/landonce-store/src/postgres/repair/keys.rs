//! Keys anew on PostgreSQL.

use landonce_core::plan::KeyForm;
use tokio_postgres::types::Type as Pg;

use super::{SCRIPT_BEGIN, put, render, scripted};
use crate::error::Result;
use crate::postgres::{Session, quote};
use crate::repair::{Constraint, KeyColumn, Known, Make, Read, Rekey, Shown, Sink};

/// How many rows are in memory at once.
const CHUNK: usize = 5_000;
const NEXT: &str = "FETCH 5000 FROM landonce_rows_to_key";

/// The note of a row's new key, next to the row `t`.
const NOTED: &str = "n.rel = t.tableoid AND n.at = t.ctid";

/// A noted key as the column's value.
fn value(form: KeyForm) -> &'static str {
    match form {
        KeyForm::Uuid => "n.new::uuid",
        KeyForm::Bytes => "decode(n.new, 'hex')",
        KeyForm::Hex => "n.new",
    }
}

fn shown(known: &Known, read: &Read) -> Result<String> {
    let column = format!("t.{}", quote::name(&read.column)?);
    let sql_type =
        known.columns.iter().find(|known| known.name == read.column).map(|known| known.sql_type.as_str());
    let sql_type = sql_type.unwrap_or_default();
    Ok(match read.shown {
        Shown::Micros if sql_type.starts_with("timestamp") => {
            format!(
                "CASE WHEN isfinite({column}) THEN (extract(epoch FROM {column}) * 1000000)::bigint::text ELSE {column}::text END"
            )
        }
        Shown::Hex if sql_type == "bytea" => format!("encode({column}, 'hex')"),
        Shown::Hex if sql_type == "uuid" => format!("replace({column}::text, '-', '')"),
        _ => format!("{column}::text"),
    })
}

/// Rows whose key changes, marked ones left out.
fn changes(known: &Known, column: &KeyColumn) -> Result<String> {
    let differs = if column.is_there {
        format!("t.{} IS DISTINCT FROM {}", quote::name(&column.name)?, value(column.form))
    } else {
        "true".to_owned()
    };
    Ok(format!(
        "FROM {} t JOIN pg_temp.landonce_keys n ON {NOTED}\nWHERE {differs} AND NOT EXISTS (SELECT FROM {} d WHERE d.rel = t.tableoid \
         AND d.at = t.ctid)",
        quote::table(&known.table)?,
        render::DOOMED
    ))
}

impl Rekey for Session {
    async fn give_keys(&mut self, known: &Known, reads: &[Read], make: Make<'_>) -> Result<()> {
        let doing = "reading rows to make their keys";
        let link = self.link();
        let columns: Vec<String> = reads.iter().map(|read| shown(known, read)).collect::<Result<_>>()?;
        link.batch(
            doing,
            &format!(
                "DECLARE landonce_rows_to_key NO SCROLL CURSOR FOR SELECT t.tableoid, t.ctid::text, ARRAY[{}]::text[] FROM {} t",
                columns.join(", "),
                quote::table(&known.table)?
            ),
        )
        .await?;
        loop {
            let rows = link.query(doing, NEXT, &[]).await?;
            let (mut relations, mut places, mut keys) = (Vec::new(), Vec::new(), Vec::new());
            for row in &rows {
                let values: Vec<Option<String>> = row.get(2);
                if let Some(key) = make(&values) {
                    relations.push(row.get::<_, u32>(0));
                    places.push(row.get::<_, String>(1));
                    keys.push(key);
                }
            }
            let sql =
                "INSERT INTO pg_temp.landonce_keys SELECT r, p::tid, k FROM unnest($1, $2, $3) u(r, p, k)";
            link.execute(
                doing,
                sql,
                &[(&relations, Pg::OID_ARRAY), (&places, Pg::TEXT_ARRAY), (&keys, Pg::TEXT_ARRAY)],
            )
            .await?;
            if rows.len() < CHUNK {
                break;
            }
        }
        link.batch(doing, "CLOSE landonce_rows_to_key; ANALYZE pg_temp.landonce_keys").await
    }

    async fn changed_keys(&mut self, known: &Known, column: &KeyColumn) -> Result<u64> {
        let sql = format!("SELECT count(*) {}", changes(known, column)?);
        let row = self.link().one("comparing keys", &sql, &[]).await?;
        Ok(row.get::<_, i64>(0) as u64)
    }

    async fn script_keys(
        &mut self,
        known: &Known,
        column: &KeyColumn,
        constraint: Option<&Constraint>,
        sink: Sink<'_>,
    ) -> Result<()> {
        put(sink, SCRIPT_BEGIN.as_bytes())?;
        let (table, name) = (quote::table(&known.table)?, quote::name(&column.name)?);
        if !column.is_there {
            if let Some(constraint) = constraint {
                put(sink, scripted::unconstrain(known, constraint)?.as_bytes())?;
            }
            // Fails where the repair didn't happen, or was taken back: there is no such column then.
            return put(sink, format!("ALTER TABLE {table} DROP COLUMN {name};\n").as_bytes());
        }
        let open = format!(
            "CREATE TEMP TABLE landonce_rekeyed ON COMMIT DROP AS SELECT t.{name} AS new, t.{name} AS before FROM {table} t WITH NO DATA;\n"
        );
        put(sink, open.as_bytes())?;
        let rows = format!(
            "SELECT {} {}",
            scripted::tuple(&[value(column.form).to_owned(), format!("t.{name}")]),
            changes(known, column)?
        );
        self.script_inserts("pg_temp.landonce_rekeyed", &rows, sink).await?;
        let mut close = format!(
            "DO $landonce$ BEGIN\nIF (SELECT count(*) FROM {table} t JOIN pg_temp.landonce_rekeyed r ON t.{name} = r.new) <> (SELECT \
             count(*) FROM pg_temp.landonce_rekeyed) THEN\n  RAISE EXCEPTION USING MESSAGE = {};\nEND IF;\nEND $landonce$;\n",
            render::text(&scripted::refusal(known))
        );
        if let Some(constraint) = constraint {
            close.push_str(&scripted::unconstrain(known, constraint)?);
        }
        close.push_str(&format!(
            "UPDATE {table} t SET {name} = r.before FROM pg_temp.landonce_rekeyed r WHERE t.{name} = r.new;\n"
        ));
        put(sink, close.as_bytes())
    }

    async fn write_keys(&mut self, known: &Known, column: &KeyColumn) -> Result<u64> {
        let doing = "writing the new keys";
        let (table, name) = (quote::table(&known.table)?, quote::name(&column.name)?);
        if !column.is_there {
            let ty = match column.form {
                KeyForm::Uuid => "uuid",
                KeyForm::Bytes => "bytea",
                KeyForm::Hex => "text",
            };
            self.link().batch(doing, &format!("ALTER TABLE {table} ADD COLUMN {name} {ty}")).await?;
        }
        let sql = format!(
            "UPDATE {table} t SET {name} = {0} FROM pg_temp.landonce_keys n WHERE {NOTED} AND t.{name} IS DISTINCT FROM {0}",
            value(column.form)
        );
        let written = self.link().execute(doing, &sql, &[]).await?;
        if !column.is_there {
            let sql = format!(
                "SET CONSTRAINTS ALL IMMEDIATE; ALTER TABLE {table} ALTER COLUMN {name} SET NOT NULL"
            );
            self.link().batch(doing, &sql).await?;
        }
        Ok(written)
    }
}
