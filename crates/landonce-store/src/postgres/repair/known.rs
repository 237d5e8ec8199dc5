//! What PostgreSQL's catalogue says of a table that is to be repaired, and of the tables that point at it.

use landonce_core::plan::TableName;
use tokio_postgres::types::Type as Pg;

use crate::error::{Error, Result};
use crate::postgres::link::{Link, Params};
use crate::postgres::quote;
use crate::repair::{Column, Known, Reference, Unique};

const RELATION: &str = "\
SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text, c.relispartition,
       c.relkind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid),
       pg_catalog.current_setting('server_version_num')::int >= 150000
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = pg_catalog.to_regclass($1)";

const COLUMNS: &str = "\
SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated <> '',
       t.typcategory = 'D'
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum";

// PostgreSQL 14 has no indnullsnotdistinct: read through JSON, a column that isn't there is a null.
const UNIQUE: &str = "\
SELECT c.relname::text, i.indisprimary,
       ARRAY(SELECT a.attname::text
             FROM unnest(i.indkey) WITH ORDINALITY k(attnum, at)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE k.at <= i.indnkeyatts ORDER BY k.at),
       coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::bool, false),
       NOT EXISTS (SELECT FROM unnest(i.indkey) WITH ORDINALITY k(attnum, at)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE k.at <= i.indnkeyatts AND NOT a.attnotnull)
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = $1 AND i.indisunique AND i.indisvalid AND i.indisready
  AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY i.indisprimary DESC, c.relname";

// A partition's copy of its parent's constraint has a parent; the parent's speaks for all.
const REFERENCES: &str = "\
SELECT f.conname::text, n.nspname::text, c.relname::text, c.oid, c.oid = $1, f.confupdtype = 'c',
       ARRAY(SELECT a.attname::text FROM unnest(f.conkey) WITH ORDINALITY k(attnum, at)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.attnum ORDER BY k.at),
       ARRAY(SELECT a.attname::text FROM unnest(f.confkey) WITH ORDINALITY k(attnum, at)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.attnum ORDER BY k.at)
FROM pg_catalog.pg_constraint f JOIN pg_catalog.pg_class c ON c.oid = f.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE f.contype = 'f' AND f.confrelid = $1 AND f.conparentid = 0
ORDER BY n.nspname, c.relname, f.conname";

// The bits of tgtype are PostgreSQL's: 8 on DELETE, 16 on UPDATE.
const TRIGGERS: &str = "\
SELECT tgname::text FROM pg_catalog.pg_trigger
WHERE tgrelid = $1 AND NOT tgisinternal AND tgenabled <> 'D' AND tgtype::int & $2 <> 0 ORDER BY 1";
const ON_DELETE: i32 = 8;
const ON_UPDATE: i32 = 16;

/// Looks a table up; `None` when there is none of that name.
pub(super) async fn load(link: &Link<'_>, table: &TableName) -> Result<Option<Known>> {
    let doing = format!("looking up table {table}");
    let name = quote::table(table)?;
    let Some(relation) = link.query(&doing, RELATION, &[(&name, Pg::TEXT)]).await?.pop() else {
        return Ok(None);
    };
    let (oid, kind, can_guard_nulls): (u32, String, bool) =
        (relation.get(0), relation.get(3), relation.get(6));
    let what = match kind.as_str() {
        "r" | "p" if relation.get(4) => Some("a partition; name the table that it belongs to"),
        "r" if relation.get(5) => {
            Some("a table that others inherit from, which share its rows; repair each by itself")
        }
        "r" | "p" => None,
        "v" | "m" => Some("a view; name the table that holds the rows"),
        "f" => Some("a foreign table; repair it where it lives"),
        _ => Some("no table"),
    };
    if let Some(what) = what {
        return Err(Error::refused(format!("{table} is {what}")));
    }
    let params: Params<'_> = &[(&oid, Pg::OID)];
    let found = link.query(&doing, COLUMNS, params).await?;
    let columns = found.iter().map(|row| Column {
        name: row.get(0),
        sql_type: row.get(1),
        is_nullable: !row.get::<_, bool>(2),
        is_generated: row.get(3),
        is_moment: row.get(4),
    });
    let columns = columns.collect();
    let (unique, primary_key) = unique(link, &doing, oid).await?;
    let mut references = Vec::new();
    for row in link.query(&doing, REFERENCES, params).await? {
        references.push(reference(link, &doing, &row).await?);
    }
    Ok(Some(Known {
        table: TableName { schema: Some(relation.get(1)), name: relation.get(2) },
        columns,
        primary_key,
        row_number: None,
        unique,
        references,
        triggers: triggers(link, &doing, oid, ON_DELETE).await?,
        can_index_beside: kind == "r",
        can_guard_nulls,
        guards_nulls_by_expressions: false,
    }))
}

async fn reference(link: &Link<'_>, doing: &str, row: &tokio_postgres::Row) -> Result<Reference> {
    let oid: u32 = row.get(3);
    let columns: Vec<String> = row.get(6);
    let (mut unique, primary) = unique(link, doing, oid).await?;
    let row_key = if primary.is_empty() {
        let never_null = unique.iter().find(|unique| unique.is_null_safe && !unique.nulls_are_equal);
        never_null.map(|unique| unique.columns.clone()).unwrap_or_default()
    } else {
        primary
    };
    unique.retain(|unique| unique.columns.iter().any(|column| columns.contains(column)));
    Ok(Reference {
        name: row.get(0),
        table: TableName { schema: Some(row.get(1)), name: row.get(2) },
        is_own: row.get(4),
        columns,
        referenced: row.get(7),
        row_key,
        unique,
        triggers: triggers(link, doing, oid, ON_UPDATE).await?,
        follows_updates: row.get(5),
    })
}

/// The unique indexes over plain columns, and the primary key's columns.
async fn unique(link: &Link<'_>, doing: &str, oid: u32) -> Result<(Vec<Unique>, Vec<String>)> {
    let mut primary = Vec::new();
    let mut unique = Vec::new();
    for row in link.query(doing, UNIQUE, &[(&oid, Pg::OID)]).await? {
        let columns: Vec<String> = row.get(2);
        if row.get(1) {
            primary.clone_from(&columns);
        }
        let (nulls_are_equal, never_null): (bool, bool) = (row.get(3), row.get(4));
        unique.push(Unique {
            name: row.get(0),
            columns,
            is_null_safe: nulls_are_equal || never_null,
            nulls_are_equal: nulls_are_equal && !never_null,
        });
    }
    Ok((unique, primary))
}

async fn triggers(link: &Link<'_>, doing: &str, oid: u32, on: i32) -> Result<Vec<String>> {
    let rows = link.query(doing, TRIGGERS, &[(&oid, Pg::OID), (&on, Pg::INT4)]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
