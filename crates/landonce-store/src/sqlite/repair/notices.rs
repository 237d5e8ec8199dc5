//! Messages that should not have gone out, found in the outbox, and their corrections, on SQLite.

use std::collections::HashMap;

use landonce_core::plan::TableName;
use rusqlite::{Row, params};
use uuid::Uuid;

use super::render::table as qualified;
use crate::error::{Error, Result};
use crate::outbox::Message;
use crate::repair::Repair as _;
use crate::repair::notices::{Correct, JsonPath, Search, Wrong};
use crate::sqlite::errors::during;
use crate::sqlite::inbox::is_there;
use crate::sqlite::render::quoted;
use crate::sqlite::{Session, outbox};

/// The names of an entity's members, in order.
const NAMES: &str =
    "(SELECT json_group_array(k) FROM (SELECT key AS k FROM json_each(o.entity) ORDER BY key))";
const DOING: &str = "looking for messages that should not have gone out";

/// A path as SQLite writes it, as a literal. Its quotes know no escape.
fn spelled(path: &JsonPath) -> Result<String> {
    if path.iter().any(|name| name.contains('"')) {
        return Err(Error::refused("a member's name with a `\"` can't be looked up in a payload on SQLite"));
    }
    let names: String = path.iter().map(|name| format!(".\"{name}\"")).collect();
    Ok(format!("'${}'", names.replace('\'', "''")))
}

/// The value at a place in a payload, as text; NULL where there is none. Numbers keep their digits.
fn at(of: &str, path: &JsonPath) -> Result<String> {
    let path = spelled(path)?;
    Ok(format!("CASE json_type({of}, {path}) WHEN 'text' THEN {of} ->> {path} ELSE {of} -> {path} END"))
}

fn recipient(of: &str, search: &Search) -> Result<String> {
    search.recipient.as_ref().map_or_else(|| Ok("NULL".to_owned()), |path| at(of, path))
}

fn wrong(row: &Row<'_>) -> rusqlite::Result<Wrong> {
    let uuid = |at: usize, text: &str| {
        text.parse().map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, Box::new(error))
        })
    };
    let repeats: Option<String> = row.get(6)?;
    Ok(Wrong {
        id: uuid(0, &row.get::<_, String>(0)?)?,
        seq: row.get(1)?,
        recipient: row.get(2)?,
        entity: row.get(3)?,
        kind: row.get(4)?,
        sent_at: row.get(5)?,
        repeats: repeats.map(|text| uuid(6, &text)).transpose()?,
    })
}

impl Correct for Session {
    async fn has_outbox(&mut self) -> Result<bool> {
        is_there(&self.connection, "landonce_outbox").map_err(during(DOING))
    }

    async fn alone(&mut self, _: &str) -> Result<()> {
        Ok(()) // one transaction writes at a time
    }

    async fn twice(&mut self, search: &Search) -> Result<Vec<Wrong>> {
        let content = if search.ignored.is_empty() {
            "o.payload".to_owned()
        } else {
            let paths = search.ignored.iter().map(spelled).collect::<Result<Vec<_>>>()?;
            format!("json_remove(o.payload, {})", paths.join(", "))
        };
        let recipient = recipient("o.payload", search)?;
        let subject = if search.by.is_empty() {
            "o.producer, o.entity".to_owned()
        } else {
            let by = search.by.iter().map(|path| at("o.payload", path)).collect::<Result<Vec<_>>>()?;
            format!("o.producer, {}", by.join(", "))
        };
        // Two recipients of one thing are told once each.
        let sql = format!(
            "\
SELECT m.id, m.seq, m.recipient, m.entity, m.kind, m.sent_at, m.repeats
FROM (
  SELECT o.id, o.seq, {recipient} AS recipient, o.entity, o.kind, o.sent_at, o.corrected_by, {content} AS content,
         lag({content}) OVER w AS before, lag(o.kind) OVER w AS kind_before, lag(o.id) OVER w AS repeats
  FROM main.landonce_outbox o
  WHERE o.topic = ?1 AND o.state = 'sent' AND o.kind <> 'correction'
  WINDOW w AS (PARTITION BY {subject}, {recipient} ORDER BY o.seq)
) m
WHERE m.content = m.before AND m.kind = m.kind_before AND m.corrected_by IS NULL
ORDER BY m.seq"
        );
        let found = || {
            let mut statement = self.connection.prepare(&sql)?;
            statement.query_map([&search.topic], wrong)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        found().map_err(during(DOING))
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
        let shapes = format!(
            "SELECT DISTINCT {NAMES} FROM main.landonce_outbox o\n\
             WHERE o.topic = ?1 AND o.producer = ?2 AND o.kind <> 'correction' AND json_type(o.entity) = 'object'"
        );
        let read = || {
            let mut statement = self.connection.prepare(&shapes)?;
            let rows = statement.query_map([&search.topic, producer], |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let names_here = NAMES.replace("o.entity", "m.entity");
        let (mut tests, mut is_judged) = (Vec::new(), Vec::new());
        for shape in read().map_err(during(DOING))? {
            let names: Vec<String> = serde_json::from_str(&shape).unwrap_or_default();
            let mut same = Vec::new();
            for name in &names {
                let Some(sql_type) = types.get(name.as_str()) else { break };
                let value = at("m.entity", &vec![name.clone()])?;
                // As it is stored: no JSON word, and 1 and 0 for what is true and false.
                let kind = format!("json_type(m.entity, {})", spelled(&vec![name.clone()])?);
                let value = format!(
                    "CASE {kind} WHEN 'true' THEN 1 WHEN 'false' THEN 0 WHEN 'null' THEN NULL ELSE {value} END"
                );
                // A column's affinity makes a number of a text where it is one.
                same.push(if sql_type.eq_ignore_ascii_case("blob") {
                    format!("t.{} IS unhex({value}, '-')", quoted(name)?)
                } else {
                    format!("t.{} IS {value}", quoted(name)?)
                });
            }
            if names.is_empty() || same.len() < names.len() {
                continue;
            }
            let is_shape = format!("{names_here} = '{}'", shape.replace('\'', "''"));
            tests.push(format!(
                "({is_shape} AND NOT EXISTS (SELECT 1 FROM {} t WHERE {}))",
                qualified(&known.table.name)?,
                same.join(" AND ")
            ));
            is_judged.push(is_shape);
        }
        let any = |of: &[String]| if of.is_empty() { "false".to_owned() } else { of.join("\n   OR ") };
        let recipient = recipient("m.payload", search)?;
        // The last word about an entity tells whether its end was told.
        let sql = format!(
            "\
SELECT m.id, m.seq, {recipient}, m.entity, m.kind, m.sent_at, NULL
FROM (
  SELECT o.*, first_value(o.kind) OVER (PARTITION BY o.entity ORDER BY o.seq DESC) AS last_kind
  FROM main.landonce_outbox o
  WHERE o.topic = ?1 AND o.producer = ?2 AND o.kind <> 'correction' AND o.state IN ('sent', 'pending')
    AND json_type(o.entity) = 'object'
) m
WHERE m.state = 'sent' AND m.corrected_by IS NULL AND m.last_kind NOT IN ('retired', 'deleted')
  AND ({})
ORDER BY m.seq",
            any(&tests)
        );
        let unjudged = format!(
            "SELECT count(*) FROM main.landonce_outbox m WHERE m.topic = ?1 AND m.producer = ?2 AND m.kind <> 'correction'\n  \
             AND m.state = 'sent' AND (json_type(m.entity) <> 'object' OR NOT ({}))",
            any(&is_judged)
        );
        let found = || {
            let mut statement = self.connection.prepare(&sql)?;
            let found = statement.query_map([&search.topic, producer], wrong)?;
            let found = found.collect::<rusqlite::Result<Vec<_>>>()?;
            let unjudged: i64 =
                self.connection.query_row(&unjudged, [&search.topic, producer], |row| row.get(0))?;
            Ok((found, unjudged as u64))
        };
        found().map_err(during(DOING))
    }

    async fn correct(&mut self, correction: &Message, named: &[Uuid]) -> Result<()> {
        outbox::enqueue(&self.connection, std::slice::from_ref(correction))?;
        let mark = || {
            let mut statement = self.connection.prepare_cached(
                "UPDATE main.landonce_outbox SET corrected_by = ?1 WHERE id = ?2 AND corrected_by IS NULL",
            )?;
            for id in named {
                statement.execute(params![correction.id.to_string(), id.to_string()])?;
            }
            Ok(())
        };
        mark().map_err(during("marking the messages that a correction names"))
    }
}
