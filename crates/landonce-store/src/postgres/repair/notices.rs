//! Messages that should not have gone out, found in the outbox, and their corrections, on PostgreSQL.

use std::collections::HashMap;

use landonce_core::plan::TableName;
use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::outbox::Message;
use crate::postgres::inbox::without_tables;
use crate::postgres::link::Params;
use crate::postgres::{Session, outbox, quote};
use crate::repair::Repair as _;
use crate::repair::notices::{Correct, JsonPath, Search, Wrong};

const DOING: &str = "looking for messages that should not have gone out";

/// The value at a place in `o`'s payload, as text; NULL where there is none.
fn at(path: &JsonPath) -> String {
    format!("o.payload::jsonb #>> {}", array(path))
}

fn array(path: &JsonPath) -> String {
    let names: Vec<String> = path.iter().map(|name| quote::literal(name)).collect();
    format!("ARRAY[{}]::text[]", names.join(", "))
}

fn recipient(search: &Search) -> String {
    search.recipient.as_ref().map_or_else(|| "NULL::text".to_owned(), at)
}

const SENT_AT: &str = "to_char(m.sent_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";

fn wrong(row: &Row) -> Wrong {
    Wrong {
        id: row.get(0),
        seq: row.get(1),
        recipient: row.get(2),
        entity: row.get(3),
        kind: row.get(4),
        sent_at: row.get(5),
        repeats: row.get(6),
    }
}

impl Correct for Session {
    async fn has_outbox(&mut self) -> Result<bool> {
        let sql = "SELECT pg_catalog.to_regclass('landonce.outbox') IS NOT NULL";
        Ok(self.link().one(DOING, sql, &[]).await?.get(0))
    }

    async fn alone(&mut self, topic: &str) -> Result<()> {
        let sql = "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('landonce corrects ' || $1, 0))";
        let doing = "waiting for another correction of the topic";
        self.link().query(doing, sql, &[(&topic, Pg::TEXT)]).await.map(|_| ())
    }

    async fn twice(&mut self, search: &Search) -> Result<Vec<Wrong>> {
        let content = if search.ignored.is_empty() {
            "o.payload".to_owned()
        } else {
            let less: String = search.ignored.iter().map(|path| format!(" #- {}", array(path))).collect();
            format!("(o.payload::jsonb{less})::text")
        };
        let subject = if search.by.is_empty() {
            "o.producer, o.entity".to_owned()
        } else {
            let by: Vec<String> = search.by.iter().map(at).collect();
            format!("o.producer, {}", by.join(", "))
        };
        let recipient = recipient(search);
        // Two recipients of one thing are told once each.
        let sql = format!(
            "\
SELECT m.id, m.seq, m.recipient, m.entity, m.kind, {SENT_AT}, m.repeats
FROM (
  SELECT o.id, o.seq, {recipient} AS recipient, o.entity, o.kind, o.sent_at, o.corrected_by, {content} AS content,
         lag({content}) OVER w AS before, lag(o.kind) OVER w AS kind_before, lag(o.id) OVER w AS repeats
  FROM landonce.outbox o
  WHERE o.topic = $1 AND o.state = 'sent' AND o.kind <> 'correction'
  WINDOW w AS (PARTITION BY {subject}, {recipient} ORDER BY o.seq)
) m
WHERE m.content = m.before AND m.kind = m.kind_before AND m.corrected_by IS NULL
ORDER BY m.seq"
        );
        let rows = self.link().query(DOING, &sql, &[(&search.topic, Pg::TEXT)]).await;
        Ok(rows.map_err(without_tables)?.iter().map(wrong).collect())
    }

    async fn baseless(
        &mut self,
        search: &Search,
        producer: &str,
        table: &TableName,
    ) -> Result<(Vec<Wrong>, u64)> {
        let Some(known) = self.known(table).await? else {
            return Err(Error::refused(format!("there is no table {table}")));
        };
        let types: HashMap<&str, &str> =
            known.columns.iter().map(|column| (column.name.as_str(), column.sql_type.as_str())).collect();
        // What entities are made of: one set of columns, or a few where the identity was declared otherwise once.
        let shapes = "\
SELECT DISTINCT coalesce((SELECT array_agg(k ORDER BY k) FROM jsonb_object_keys(
  CASE WHEN jsonb_typeof(o.entity::jsonb) = 'object' THEN o.entity::jsonb ELSE '{}'::jsonb END) k), '{}')
FROM landonce.outbox o WHERE o.topic = $1 AND o.producer = $2 AND o.kind <> 'correction'";
        let params: Params<'_> = &[(&search.topic, Pg::TEXT), (&producer, Pg::TEXT)];
        let shapes = self.link().query(DOING, shapes, params).await.map_err(without_tables)?;
        let (mut tests, mut is_judged) = (Vec::new(), Vec::new());
        for row in &shapes {
            let names: Vec<String> = row.get(0);
            let same: Option<Vec<String>> = names
                .iter()
                .map(|name| {
                    let sql_type = types.get(name.as_str())?;
                    let column = quote::name(name).ok()?;
                    Some(format!(
                        "t.{column} IS NOT DISTINCT FROM CAST(m.entity::jsonb ->> {} AS {sql_type})",
                        quote::literal(name)
                    ))
                })
                .collect();
            let is_shape = format!(
                "ARRAY(SELECT k FROM jsonb_object_keys(m.entity::jsonb) k ORDER BY k) = {}",
                array(&names)
            );
            if let Some(same) = same.filter(|same| !same.is_empty()) {
                tests.push(format!(
                    "({is_shape} AND NOT EXISTS (SELECT FROM {} t WHERE {}))",
                    quote::table(&known.table)?,
                    same.join(" AND ")
                ));
                is_judged.push(is_shape);
            }
        }
        let any = |of: &[String]| if of.is_empty() { "false".to_owned() } else { of.join("\n   OR ") };
        // The last word about an entity tells whether its end was told.
        let last = "\
SELECT o.*, first_value(o.kind) OVER (PARTITION BY o.entity ORDER BY o.seq DESC) AS last_kind
  FROM landonce.outbox o
  WHERE o.topic = $1 AND o.producer = $2 AND o.kind <> 'correction' AND o.state IN ('sent', 'pending')
    AND jsonb_typeof(o.entity::jsonb) = 'object'";
        let recipient = recipient(search).replace("o.payload", "m.payload");
        let sql = format!(
            "\
SELECT m.id, m.seq, {recipient}, m.entity, m.kind, {SENT_AT}, NULL::uuid
FROM ({last}) m
WHERE m.state = 'sent' AND m.corrected_by IS NULL AND m.last_kind NOT IN ('retired', 'deleted')
  AND ({})
ORDER BY m.seq",
            any(&tests)
        );
        let rows = self.link().query(DOING, &sql, params).await?;
        let unjudged = format!(
            "SELECT count(*) FROM landonce.outbox m WHERE m.topic = $1 AND m.producer = $2 AND m.kind <> 'correction' AND m.state = 'sent'\n  \
             AND (jsonb_typeof(m.entity::jsonb) <> 'object' OR NOT ({}))",
            any(&is_judged)
        );
        let unjudged: i64 = self.link().one(DOING, &unjudged, params).await?.get(0);
        Ok((rows.iter().map(wrong).collect(), unjudged as u64))
    }

    async fn correct(&mut self, correction: &Message, named: &[Uuid]) -> Result<()> {
        let link = self.link();
        outbox::enqueue(&link, std::slice::from_ref(correction)).await?;
        let sql = "UPDATE landonce.outbox SET corrected_by = $1 WHERE id = ANY($2) AND corrected_by IS NULL";
        let params: Params<'_> = &[(&correction.id, Pg::UUID), (&named, Pg::UUID_ARRAY)];
        link.execute("marking the messages that a correction names", sql, params).await.map(|_| ())
    }
}
