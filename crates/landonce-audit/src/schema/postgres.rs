//! The tables of a live PostgreSQL database, from its catalogue, in one transaction that can only read.

use landonce_store::postgres::Database;
use tokio_postgres::{Client, Row};

use super::{Column, Schema, Table, Unique};
use crate::Error;

const COLUMNS: &str = "
    SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
           a.attidentity <> '' , pg_get_expr(d.adbin, d.adrelid), a.attgenerated <> '',
           EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND f.confrelid = c.oid)
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
     ORDER BY 1, 2, a.attnum";

const KEYS: &str = "
    SELECT n.nspname, c.relname, i.relname, x.indisprimary, x.indpred IS NOT NULL,
           coalesce((to_jsonb(x) ->> 'indnullsnotdistinct')::boolean, false),
           ARRAY(SELECT coalesce(a.attname::text, pg_get_indexdef(x.indexrelid, k.ord::int, true))
                   FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k (num, ord)
                   LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num AND k.num > 0
                  WHERE k.ord <= x.indnkeyatts ORDER BY k.ord)
      FROM pg_index x
      JOIN pg_class c ON c.oid = x.indrelid
      JOIN pg_class i ON i.oid = x.indexrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE x.indisunique AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
     ORDER BY 1, 2, x.indisprimary DESC, i.relname";

/// Reads every table that isn't the server's own.
pub(super) async fn read(url: &str, schema: &mut Schema) -> Result<String, Error> {
    let database = Database::from_url(url).map_err(connecting)?;
    let place = database.place().to_owned();
    let client = database.client().await.map_err(connecting)?;
    let fail =
        |error: tokio_postgres::Error| Error::because(format!("the schema of {place} can't be read"), error);
    client
        .batch_execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await
        .map_err(fail)?;
    load(&client, schema).await.map_err(fail)?;
    client.batch_execute("ROLLBACK").await.map_err(fail)?;
    schema.shorten();
    Ok(place)
}

/// The store's message says what, where and what to do already.
#[expect(clippy::needless_pass_by_value, reason = "the form that map_err asks for")]
fn connecting(error: landonce_store::Error) -> Error {
    Error::new(error.to_string())
}

async fn load(client: &Client, schema: &mut Schema) -> Result<(), tokio_postgres::Error> {
    for row in client.query(COLUMNS, &[]).await? {
        let table = entry(schema, &row);
        let default: Option<String> = row.get(6);
        let is_computed: bool = row.get(7);
        let made = default.as_ref().is_some_and(|it| {
            let it = it.to_lowercase();
            ["nextval(", "gen_random_uuid(", "uuid_generate_v", "uuidv4(", "uuidv7(", "random("]
                .iter()
                .any(|call| it.contains(call))
        });
        table.is_referenced = row.get(8);
        table.columns.push(Column {
            name: row.get::<_, String>(2).to_lowercase(),
            type_name: row.get(3),
            is_not_null: row.get(4),
            is_generated: row.get::<_, bool>(5) || (made && !is_computed),
            default,
            span: None,
        });
    }
    for row in client.query(KEYS, &[]).await? {
        let columns: Vec<String> =
            row.get::<_, Vec<String>>(6).into_iter().map(|it| it.to_lowercase()).collect();
        let table = entry(schema, &row);
        if row.get(3) {
            table.primary_key = columns;
        } else {
            table.unique.push(Unique {
                name: Some(row.get(2)),
                columns,
                is_partial: row.get(4),
                nulls_not_distinct: row.get(5),
                span: None,
            });
        }
    }
    Ok(())
}

fn entry<'a>(schema: &'a mut Schema, row: &Row) -> &'a mut Table {
    let name = format!("{}.{}", row.get::<_, String>(0), row.get::<_, String>(1));
    schema.tables.entry(name.to_lowercase()).or_insert_with(|| Table { name, ..Table::default() })
}
