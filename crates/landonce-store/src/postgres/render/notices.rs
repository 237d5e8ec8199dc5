//! Notifications as SQL: rows remembered before they are written, and what has really happened to them.

use landonce_core::plan::{Match, StageColumn};

use super::derive::of_classes;
use super::stage::{class, fetch_from};
use super::{Fact, OLD, Render, STAGE, list, staged};
use crate::postgres::catalog::Compare;
use crate::postgres::quote;
use crate::postgres::wire::Wire;
use crate::seam::Look;

/// What happened, as the query spells it.
pub(in crate::postgres) mod kind {
    /// Another writer's row was overwritten unseen: what it was can't be told.
    pub(in crate::postgres) const UNSEEN: i16 = 0;
    pub(in crate::postgres) const INSERTED: i16 = 1;
    pub(in crate::postgres) const UPDATED: i16 = 2;
    pub(in crate::postgres) const RETIRED: i16 = 3;
    pub(in crate::postgres) const RESTORED: i16 = 4;
    pub(in crate::postgres) const DELETED: i16 = 5;
}

/// The cursor over what has happened.
const CURSOR: &str = "landonce_changes";
/// Beside the names of staged columns, in our tables.
const REVISION: &str = "landonce_revision";
const IS_RETIRED: &str = "landonce_is_retired";

impl Render<'_> {
    /// Makes the table for rows as they were.
    pub(in crate::postgres) fn create_old(&self) -> String {
        format!(
            "DROP TABLE IF EXISTS {OLD};\nCREATE TEMPORARY TABLE {} ON COMMIT DROP AS\nSELECT {} FROM {} t\nWITH NO DATA",
            OLD.trim_start_matches("pg_temp."),
            self.as_ours(),
            self.target
        )
    }

    /// Remembers rows and locks them in key order; `None` when none can be to be written. The owner's values are bound for
    /// [`Look::Missing`].
    ///
    /// No row is locked that wouldn't be: these are about to be written, in this order, by this transaction.
    pub(in crate::postgres) fn remember(&self, look: Look, is_all_new: bool) -> Option<String> {
        let target = &self.target;
        let from = match look {
            Look::After => return None,
            Look::Before if is_all_new => return None,
            Look::Missing => {
                let missing = self.is_missing(self.plan.scope.as_ref()?);
                format!("{target} t\nWHERE {missing}")
            }
            Look::Before => format!(
                "(SELECT s.* FROM {}) s JOIN {target} t ON {}",
                of_classes(&[class::CHANGED, class::DELETE]),
                self.matches("t", "s")
            ),
        };
        // An update of no key column leaves those alone who only point at the row.
        let is_update = look == Look::Before && (!self.plan.has_deletes || self.retired_at.is_some());
        let strength = if is_update { "NO KEY UPDATE" } else { "UPDATE" };
        let order = list(self.identity().into_iter().map(|(name, _, _)| format!("t.{name}")));
        Some(format!(
            "INSERT INTO {OLD}\nSELECT {}\nFROM {from}\nORDER BY {order}\nFOR {strength} OF t",
            self.as_ours()
        ))
    }

    /// Opens the cursor over what has happened: (kind, key, revision, old row, new row), in key order. `run` is the run that
    /// wrote; `has_old` says that rows were remembered.
    pub(in crate::postgres) fn open_changes(&self, run: &str, is_all_new: bool, has_old: bool) -> String {
        let there =
            format!("(SELECT {}, true AS landonce_is_there FROM {} t) t", self.as_ours(), self.target);
        let keys = |of: &str| {
            list(self.identity().iter().enumerate().map(|(at, (_, key, _))| format!("{of}.{key} AS k{at}")))
        };
        let rows = |of: &str| if of.is_empty() { "NULL::text".to_owned() } else { self.row_as_json(of) };
        let revision = |of: &str| format!("coalesce({of}.{REVISION}, 0)::bigint");
        let written = if is_all_new {
            format!("{STAGE} s{}", self.but_deletes())
        } else {
            of_classes(&[class::NEW, class::CHANGED])
        };
        let is_known = if has_old {
            format!(" AND NOT EXISTS (SELECT FROM {OLD} o WHERE {})", self.matches_ours("o", "s"))
        } else {
            String::new()
        };
        let run_id = self.run_id.as_deref().unwrap_or_default();
        let mut parts = Vec::new();
        if has_old {
            parts.push(format!(
                "\
  SELECT (CASE WHEN t.landonce_is_there IS NULL THEN {deleted} WHEN o.{IS_RETIRED} AND NOT t.{IS_RETIRED} THEN {restored}
               WHEN t.{IS_RETIRED} AND NOT o.{IS_RETIRED} THEN {retired} ELSE {updated} END)::smallint AS kind,
         {key} AS key, coalesce(t.{REVISION}, o.{REVISION}, 0)::bigint AS revision,
         {old} AS old, CASE WHEN t.landonce_is_there THEN {new} END AS new, {keys}
  FROM {OLD} o LEFT JOIN {there} ON {same}
  WHERE t.landonce_is_there IS NULL OR {now} > {then}",
                deleted = kind::DELETED,
                restored = kind::RESTORED,
                retired = kind::RETIRED,
                updated = kind::UPDATED,
                key = self.key_as_text("o"),
                old = rows("o"),
                new = rows("t"),
                keys = keys("o"),
                same = self.matches_ours("t", "o"),
                now = revision("t"),
                then = revision("o"),
            ));
        }
        parts.push(format!(
            "\
  SELECT (CASE WHEN {now} = 1 THEN {inserted} ELSE {unseen} END)::smallint AS kind, {key} AS key, {now} AS revision,
         NULL::text AS old, {new} AS new, {keys}
  FROM (SELECT s.* FROM {written}) s JOIN (SELECT {ours}, t.{run_id}::text AS landonce_run FROM {target} t) t ON {same}
  WHERE t.landonce_run = {run}{is_known}",
            inserted = kind::INSERTED,
            unseen = kind::UNSEEN,
            key = self.key_as_text("t"),
            now = revision("t"),
            new = rows("t"),
            keys = keys("t"),
            ours = self.as_ours(),
            target = self.target,
            same = self.matches_ours("t", "s"),
            run = quote::literal(run),
        ));
        let order = list((0..self.identity().len()).map(|at| format!("c.k{at}")));
        format!(
            "DECLARE {CURSOR} NO SCROLL CURSOR FOR\nSELECT c.kind, c.key, c.revision, c.old, c.new FROM (\n{}\n) c ORDER BY {order}",
            parts.join("\n  UNION ALL\n")
        )
    }

    /// Statistics for the planner.
    pub(in crate::postgres) fn analyze_old(&self) -> String {
        format!("ANALYZE {OLD} ({})", list(self.identity().into_iter().map(|(_, staged, _)| staged)))
    }

    /// The row `t` of the target under the names of our tables.
    fn as_ours(&self) -> String {
        let key = self.key.iter().map(|key| format!("t.{key} AS {}", staged(StageColumn::Key)));
        let columns = self.names.iter().enumerate().map(|(at, name)| format!("t.{name} AS c{at}"));
        let revision = self.revision.as_ref().map_or_else(
            || format!("NULL::bigint AS {REVISION}"),
            |revision| format!("t.{revision} AS {REVISION}"),
        );
        let is_retired = self.retired_at.as_ref().map_or_else(
            || format!("false AS {IS_RETIRED}"),
            |retired_at| format!("t.{retired_at} IS NOT NULL AS {IS_RETIRED}"),
        );
        list(key.chain(columns).chain([revision, is_retired]))
    }

    fn key_as_text(&self, of: &str) -> String {
        match (&self.plan.matching, &self.facts.key) {
            (Match::Columns(_), _) => "''::text".to_owned(),
            (Match::Key { .. }, Wire::Bytes) => format!("encode({of}.landonce_key, 'hex')"),
            (Match::Key { .. }, _) => format!("{of}.landonce_key::text"),
        }
    }

    /// A row of ours as a JSON array. Put together as text: a function takes at most 100 arguments, a table has more columns.
    fn row_as_json(&self, of: &str) -> String {
        self.as_json_array(|at| format!("{of}.c{at}"))
    }

    /// The row `t` of the target itself in the same form.
    pub(super) fn target_as_json(&self) -> String {
        self.as_json_array(|at| format!("t.{}", self.names[at]))
    }

    fn as_json_array(&self, value: impl Fn(usize) -> String) -> String {
        let values = self.facts.columns.iter().enumerate().map(|(at, fact)| {
            format!("coalesce(({})::text, 'null')", as_json(&value(at), &fact.wire, &schema(fact)))
        });
        format!("'[' || {} || ']'", values.collect::<Vec<_>>().join(" || ',' || "))
    }
}

/// The next changes.
pub(in crate::postgres) fn fetch_changes(most: usize) -> String {
    fetch_from(CURSOR, most)
}

/// The cursor's end.
pub(in crate::postgres) fn close_changes() -> String {
    format!("CLOSE {CURSOR}")
}

/// Where the functions of geometries are.
fn schema(fact: &Fact) -> String {
    match &fact.compare {
        Compare::Geometry { schema } => format!("\"{}\"", schema.replace('"', "\"\"")),
        _ => "public".to_owned(),
    }
}

/// A value as JSON, NULL as NULL. Times are spelled out: left to itself, the server takes the session's zone.
fn as_json(value: &str, wire: &Wire, schema: &str) -> String {
    let finite = |form: &str, of: &str| {
        format!(
            "CASE WHEN isfinite({value}) THEN to_json(to_char({of}, '{form}')) ELSE to_json(({value})::text) END"
        )
    };
    match wire {
        Wire::Boolean
        | Wire::Int2
        | Wire::Int4
        | Wire::Int8
        | Wire::Numeric
        | Wire::Float4
        | Wire::Float8 => {
            format!("to_json({value})")
        }
        Wire::Text | Wire::Uuid => format!("to_json(({value})::text)"),
        Wire::Date => finite("YYYY-MM-DD", value),
        Wire::Timestamp => finite("YYYY-MM-DD\"T\"HH24:MI:SS.US", value),
        Wire::Timestamptz => {
            finite("YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"", &format!("({value})::timestamptz AT TIME ZONE 'UTC'"))
        }
        Wire::Bytes => format!("to_json(E'\\\\x' || encode({value}, 'hex'))"),
        // As jsonb: a text that others have written may have a name twice.
        Wire::Json | Wire::Jsonb => format!("({value})::jsonb"),
        Wire::Geometry => format!("{schema}.st_asgeojson({value}, 15, 0)"),
        Wire::Array { item, .. } => format!(
            "CASE WHEN {value} IS NOT NULL THEN (SELECT coalesce(json_agg({} ORDER BY u.n), '[]') FROM unnest({value}) WITH ORDINALITY u (v, n)) END",
            match &**item {
                Wire::Geometry => format!("{}::json", as_json("u.v", item, schema)),
                _ => as_json("u.v", item, schema),
            }
        ),
    }
}

#[cfg(test)]
mod snapshots;
