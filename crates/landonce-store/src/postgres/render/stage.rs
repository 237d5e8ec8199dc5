//! Telling staged records apart as SQL: folding, classes, the rows to come, equal content under another id.

use landonce_core::plan::{Absent, Match, StageColumn, WriteMode};

use super::{Compare, Render, STAGE, TODO, distinct, list, staged};
use crate::postgres::catalog::Relation;

/// The classes of records, as the temporary table spells them.
pub(in crate::postgres) mod class {
    /// Nothing to do; never in the table.
    pub(in crate::postgres) const UNCHANGED: i16 = 0;
    /// To be inserted.
    pub(in crate::postgres) const NEW: i16 = 1;
    /// To be updated.
    pub(in crate::postgres) const CHANGED: i16 = 2;
    /// To be kept aside.
    pub(in crate::postgres) const CONFLICT: i16 = 3;
    /// Older than what is there.
    pub(in crate::postgres) const STALE: i16 = 4;
    /// To be deleted.
    pub(in crate::postgres) const DELETE: i16 = 5;
}

/// The cursor over the records that need something done.
const CURSOR: &str = "landonce_next";

impl Render<'_> {
    /// Whether an identity repeats, when no mark can tell.
    pub(in crate::postgres) fn repeats(&self) -> String {
        let keys = self.key_order("s");
        format!("SELECT EXISTS (SELECT FROM {STAGE} s GROUP BY {keys} HAVING count(*) > 1)")
    }

    /// Leaves one staged record per identity. Returns (duplicates, conflicts' numbers, offsets, lengths).
    pub(in crate::postgres) fn fold(&self) -> String {
        let keys = self.key_order("s");
        // With a hashed key the marks name the few identities to look at; equality of the database's own needs no mark.
        let (repeated, join) = match self.plan.matching {
            Match::Key { .. } => (
                format!(
                    "repeated AS (\n  SELECT DISTINCT s.landonce_key FROM {STAGE} s WHERE s.landonce_may_repeat\n), "
                ),
                " JOIN repeated r ON r.landonce_key = s.landonce_key",
            ),
            Match::Columns(_) => (String::new(), ""),
        };
        let version = self.version().map(|(_, version)| version);
        let has_turns =
            self.plan.has_deletes && (version.is_some() || self.plan.mode == WriteMode::InsertOnce);
        let order = match (self.plan.mode, &version) {
            _ if has_turns => "s.turn, s.landonce_offset".to_owned(),
            (WriteMode::InsertOnce, _) => "s.landonce_offset".to_owned(),
            (WriteMode::Upsert, Some(version)) => format!("s.{version} DESC, s.landonce_offset"),
            (WriteMode::Upsert, None) => "s.landonce_offset DESC".to_owned(),
        };
        let conflict = version.as_ref().map_or("false".to_owned(), |version| {
            let is_rival = if has_turns {
                "s.turn = 0".to_owned()
            } else {
                format!("s.{version} = first_value(s.{version}) OVER w")
            };
            format!("{is_rival} AND ({})", self.differs_from_first())
        });
        let source = if has_turns {
            self.turns(version.as_deref(), join)
        } else {
            format!("(SELECT s.*, s.ctid AS at FROM {STAGE} s{join}) s")
        };
        format!(
            "\
WITH {repeated}folded AS MATERIALIZED (
  SELECT k.* FROM (
    SELECT s.at, s.landonce_number, s.landonce_offset, s.landonce_len, row_number() OVER w AS nth, {conflict} AS is_conflict
    FROM {source}
    WINDOW w AS (PARTITION BY {keys} ORDER BY {order})
  ) k WHERE k.nth > 1
), gone AS (
  DELETE FROM {STAGE} s WHERE s.ctid = ANY (ARRAY(SELECT f.at FROM folded f))
)
SELECT count(*) FILTER (WHERE NOT f.is_conflict), {}
FROM folded f",
            places("f", "f.is_conflict")
        )
    }

    /// The records of repeated identities with their turn, where a put and a delete keep their order although the first
    /// put of a version counts: 0 is a put behind the last delete, 1 that delete, 2 what came before it, 3 an older version.
    fn turns(&self, version: Option<&str>, join: &str) -> String {
        let keys = self.key_order("s");
        let is_top = version.map_or("true".to_owned(), |version| {
            format!("(s.{version} IS NULL OR s.{version} = max(s.{version}) OVER (PARTITION BY {keys}))")
        });
        format!(
            "(
    SELECT s.*, CASE WHEN NOT s.is_top THEN 3 WHEN s.landonce_offset < s.turned THEN 2
                     WHEN s.landonce_offset = s.turned THEN 1 ELSE 0 END AS turn
    FROM (
      SELECT s.*, max(s.landonce_offset) FILTER (WHERE s.landonce_is_delete AND s.is_top) OVER (PARTITION BY {keys}) AS turned
      FROM (SELECT s.*, s.ctid AS at, {is_top} AS is_top FROM {STAGE} s{join}) s
    ) s
  ) s"
        )
    }

    /// The content of a staged record differs from that of the one that is kept.
    fn differs_from_first(&self) -> String {
        let mut columns: Vec<(String, &Compare)> = Vec::new();
        let plain = &Compare::Plain;
        if self.digest.is_some() {
            columns.push((staged(StageColumn::Digest), plain));
        } else {
            let guarded = self.guarded();
            let has =
                |column: &StageColumn| matches!(column, StageColumn::Column(at) if guarded.contains(at));
            for column in self.plan.stage_columns().into_iter().filter(has) {
                let StageColumn::Column(at) = column else { continue };
                columns.push((staged(column), &self.facts.columns[at].compare));
            }
        }
        if self.plan.absent == Absent::Keep {
            columns.push((staged(StageColumn::Present), plain));
        }
        let tests: Vec<String> = columns
            .iter()
            .map(|(name, compare)| {
                distinct(&format!("s.{name}"), &format!("first_value(s.{name}) OVER w"), compare)
            })
            .collect();
        if tests.is_empty() { "false".to_owned() } else { tests.join(" OR ") }
    }

    /// Statistics for the planner: an empty estimate would make it loop.
    pub(in crate::postgres) fn analyze(&self) -> String {
        let keys = list(self.identity().into_iter().map(|(_, staged, _)| staged));
        format!("ANALYZE {STAGE} ({keys})")
    }

    /// Whether the target has any row at all. A view's answer may cost as much as the join.
    pub(in crate::postgres) fn has_rows(&self) -> Option<String> {
        let is_plain = matches!(self.facts.relation, Some(Relation::Table | Relation::Partitioned));
        is_plain.then(|| format!("SELECT EXISTS (SELECT FROM {} t)", self.target))
    }

    /// Remembers what needs doing, in key order: by one join, of which unchanged records never come out.
    pub(in crate::postgres) fn classify(&self, is_made: bool) -> String {
        let extra = self.todo_extra().map(|column| format!(", d.{column}")).collect::<String>();
        let head = if is_made {
            format!("INSERT INTO {TODO}")
        } else {
            format!("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS", TODO.trim_start_matches("pg_temp."))
        };
        format!(
            "\
{head}
SELECT d.class, d.landonce_number, d.landonce_offset, d.landonce_len{extra}
FROM ({}) d
WHERE d.class <> {}
ORDER BY {}",
            self.told_apart(&Told::default()),
            class::UNCHANGED,
            self.key_order("d")
        )
    }

    /// Every staged record with its class against the target as it is now.
    pub(super) fn told_apart(&self, told: &Told<'_>) -> String {
        self.told_apart_in(STAGE, told)
    }

    /// The same of any records that have the stage's columns.
    pub(super) fn told_apart_in(&self, records: &str, told: &Told<'_>) -> String {
        let mut needed: Vec<&str> = self.identity().iter().map(|(name, _, _)| *name).collect();
        match &self.digest {
            Some(digest) => needed.push(digest),
            None => needed.extend(self.guarded().into_iter().map(|at| self.names[at].as_str())),
        }
        needed.extend(self.version().map(|(name, _)| name));
        needed.extend(self.scoped());
        needed.extend(self.retired_at.as_deref());
        needed.extend(told.needed);
        let mut seen = std::collections::BTreeSet::new();
        needed.retain(|name| seen.insert(*name));
        let more = told.more.as_ref().map(|more| format!(", {more}")).unwrap_or_default();
        format!(
            "\n  SELECT s.*, {} AS class{more}\n  FROM {records} s{}\n  LEFT JOIN (SELECT {}, true AS is_there FROM {} t) t ON {}\n",
            self.class_case(),
            told.join,
            list(needed.into_iter().map(|name| format!("t.{name}"))),
            self.target,
            self.matches("t", "s")
        )
    }

    fn class_case(&self) -> String {
        let mut cases = Vec::new();
        let mut case = |test: &str, class: i16| {
            cases.push(if test.is_empty() {
                format!("ELSE {class}")
            } else {
                format!("WHEN {test} THEN {class}")
            });
        };
        let differs = self.differs("t", |column| format!("s.{}", staged(column)));
        if self.plan.has_deletes {
            case("t.is_there IS NULL AND s.landonce_is_delete", class::UNCHANGED);
        }
        case("t.is_there IS NULL", class::NEW);
        if self.plan.mode == WriteMode::InsertOnce {
            if self.plan.has_deletes {
                case("s.landonce_is_delete", class::DELETE);
            }
            case("", class::UNCHANGED);
        } else {
            let version = self.version().map(|(name, staged)| (format!("t.{name}"), format!("s.{staged}")));
            if let Some((there, given)) = &version {
                case(&format!("{there} > {given}"), class::STALE);
            }
            if let Some(outside) = self.outside("t", |column| format!("s.{}", staged(column))) {
                case(&outside, class::CONFLICT);
            }
            if self.plan.has_deletes {
                if let Some(retired_at) = &self.retired_at {
                    let newer = version
                        .as_ref()
                        .map(|(there, given)| format!(" AND ({there} < {given}) IS NOT TRUE"));
                    let newer = newer.unwrap_or_default();
                    case(
                        &format!("s.landonce_is_delete AND t.{retired_at} IS NOT NULL{newer}"),
                        class::UNCHANGED,
                    );
                }
                // Of the same version too: a delete often carries that of the row it found.
                case("s.landonce_is_delete", class::DELETE);
            }
            case(&format!("NOT ({differs})"), class::UNCHANGED);
            if let Some((there, given)) = &version {
                // Behind a delete of its own version a put counts: the later of the two.
                let stands =
                    self.retired_at.as_ref().map(|at| format!(" AND t.{at} IS NULL")).unwrap_or_default();
                case(&format!("{there} = {given}{stands}"), class::CONFLICT);
            }
            case("", class::CHANGED);
        }
        format!("(CASE {} END)::smallint", cases.join(" "))
    }

    /// How many staged records are deletes, when none of them can find a row.
    pub(in crate::postgres) fn count_deletes(&self) -> Option<String> {
        self.plan.has_deletes.then(|| format!("SELECT count(*) FROM {STAGE} s WHERE s.landonce_is_delete"))
    }

    /// The records that need a row sent or keeping aside, in key order. The table was filled in that order, and a
    /// temporary table is read in the order in which it was filled.
    pub(in crate::postgres) fn open_cursor(&self, is_all_new: bool) -> String {
        let rows = if is_all_new {
            format!(
                "SELECT {}::smallint, s.landonce_number, s.landonce_offset, s.landonce_len FROM {STAGE} s{} ORDER BY {}",
                class::NEW,
                self.but_deletes(),
                self.key_order("s")
            )
        } else {
            format!(
                "SELECT d.class, d.landonce_number, d.landonce_offset, d.landonce_len FROM {TODO} d WHERE d.class <= {}",
                class::CONFLICT
            )
        };
        format!("DECLARE {CURSOR} NO SCROLL CURSOR FOR\n{rows}")
    }

    pub(super) fn but_deletes(&self) -> &'static str {
        if self.plan.has_deletes { " WHERE NOT s.landonce_is_delete" } else { "" }
    }

    /// Content of new records that is there under another id (G3), in the batch or in the target: how many, and the
    /// first `$1` of them with the other's key.
    pub(in crate::postgres) fn same_content(&self, is_all_new: bool) -> String {
        let source = if is_all_new {
            format!("{STAGE} s{}", self.but_deletes())
        } else {
            format!("{TODO} s WHERE s.class = {}", class::NEW)
        };
        let identity = self.identity();
        let first = list(
            identity
                .iter()
                .enumerate()
                .map(|(at, (_, staged, _))| format!("first_value(s.{staged}) OVER w AS first{at}")),
        );
        let as_text = |columns: Vec<String>| {
            let shown: Vec<String> = columns.iter().map(|column| shown(column, &self.facts.key)).collect();
            if let [one] = shown.as_slice() {
                one.clone()
            } else {
                format!("concat_ws(', ', {})", shown.join(", "))
            }
        };
        let first_key = as_text((0..identity.len()).map(|at| format!("p.first{at}")).collect());
        let (stored, join, or_stored, key) = match (&self.digest, self.facts.relation) {
            (Some(digest), Some(_)) if !is_all_new => (
                format!(
                    "stored AS (\n  SELECT DISTINCT t.{digest} AS digest FROM {} t\n  WHERE t.{digest} IN (SELECT s.landonce_digest FROM {source})\n), ",
                    self.target
                ),
                " LEFT JOIN stored o ON o.digest = k.landonce_digest",
                " OR o.digest IS NOT NULL",
                format!(
                    "coalesce((SELECT {} FROM {} t WHERE t.{digest} = p.landonce_digest LIMIT 1), {first_key})",
                    as_text(identity.iter().map(|(name, _, _)| format!("t.{name}")).collect()),
                    self.target
                ),
            ),
            _ => (String::new(), "", "", first_key),
        };
        format!(
            "\
WITH told AS (
  SELECT s.landonce_digest, s.landonce_number, s.landonce_offset, s.landonce_len, row_number() OVER w AS nth, {first}
  FROM {source}
  WINDOW w AS (PARTITION BY s.landonce_digest ORDER BY s.landonce_offset)
), {stored}pairs AS MATERIALIZED (
  SELECT k.* FROM told k{join} WHERE k.nth > 1{or_stored}
)
SELECT (SELECT count(*) FROM pairs), p.landonce_number, p.landonce_offset, p.landonce_len, {key}
FROM pairs p ORDER BY p.landonce_offset LIMIT $1"
        )
    }
}

/// What else [`Render::told_apart`] selects, needs of the target, and joins the stage with.
#[derive(Debug, Default)]
pub(super) struct Told<'a> {
    pub(super) more: Option<String>,
    pub(super) needed: Option<&'a str>,
    pub(super) join: String,
}

/// How many of each class need something done.
pub(in crate::postgres) fn count_todo() -> String {
    format!("SELECT d.class, count(*) FROM {TODO} d GROUP BY d.class")
}

/// The next records of the cursor.
pub(in crate::postgres) fn fetch(most: usize) -> String {
    fetch_from(CURSOR, most)
}

/// The next rows of a cursor.
pub(super) fn fetch_from(cursor: &str, most: usize) -> String {
    format!("FETCH FORWARD {most} FROM {cursor}")
}

/// The cursor's end.
pub(in crate::postgres) fn close_cursor() -> String {
    format!("CLOSE {CURSOR}")
}

/// Places of rows as three arrays, in the batch's order.
pub(super) fn places(of: &str, when: &str) -> String {
    list(["landonce_number", "landonce_offset", "landonce_len"].into_iter().map(|column| {
        format!("array_agg({of}.{column} ORDER BY {of}.landonce_offset) FILTER (WHERE {when})")
    }))
}

/// A key as text for people.
pub(super) fn shown(column: &str, key: &crate::postgres::wire::Wire) -> String {
    if *key == crate::postgres::wire::Wire::Bytes {
        format!("encode({column}, 'hex')")
    } else {
        format!("{column}::text")
    }
}
