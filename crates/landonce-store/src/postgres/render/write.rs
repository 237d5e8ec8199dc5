//! Writing as SQL: the conflict-safe statement of a chunk, what it left, deletes, and the straight COPY.

use landonce_core::plan::{Absent, From, Match, StageColumn, WriteMode};

use super::stage::{Told, class, places};
use super::{ROWS, Render, STAGE, list, present, staged};
use crate::postgres::catalog::Relation;

impl Render<'_> {
    /// Writes a chunk's rows in key order; `$1` is the run. Returns (inserted, updated).
    ///
    /// Conflict-safe by itself: a row that another writer has put in between is locked, looked at again by the guard
    /// and only then updated.
    pub(in crate::postgres) fn write(&self) -> String {
        let mut columns = Vec::new();
        let mut values = Vec::new();
        let is_change = self.plan.absent == Absent::Keep && self.plan.mode == WriteMode::Upsert;
        for column in self.row_columns() {
            match column {
                StageColumn::Present => continue,
                StageColumn::Column(at) if is_change => values.push(self.proposed(at)),
                _ => values.push(format!("r.{}", staged(column))),
            }
            columns.push(self.target_column(column).to_owned());
        }
        if let Some(run_id) = &self.run_id {
            columns.push(run_id.clone());
            values.push("$1::uuid".to_owned());
        }
        if let Some(revision) = &self.revision {
            columns.push(revision.clone());
            values.push("1".to_owned());
        }
        // A proposed row must pass the table's checks even when it ends as an update: what a change doesn't name is
        // filled from the row that is there.
        let there = if is_change {
            format!("\n  LEFT JOIN {} o ON {}", self.target, self.matches("o", "r"))
        } else {
            String::new()
        };
        let arbiter = list(self.identity().into_iter().map(|(name, _, _)| name.to_owned()));
        let (head, returning, tally) = self.tally();
        format!(
            "\
WITH {head}written AS (
  INSERT INTO {} AS t ({})
  SELECT {}
  FROM {ROWS} r{there}
  ORDER BY {}
  ON CONFLICT ({arbiter}) {}
  RETURNING {returning}
)
{tally}",
            self.target,
            columns.join(", "),
            values.join(", "),
            self.key_order("r"),
            self.on_conflict(is_change),
        )
    }

    /// How the rows that came back are counted: (what comes before, what they return, the count).
    fn tally(&self) -> (String, String, String) {
        if self.plan.mode == WriteMode::InsertOnce {
            return (String::new(), "1".to_owned(), "SELECT count(*), 0::bigint FROM written w".to_owned());
        }
        if self.facts.relation == Some(Relation::Table) {
            let tally = "SELECT count(*) FILTER (WHERE w.is_new), count(*) FILTER (WHERE NOT w.is_new) FROM written w";
            return (String::new(), "t.xmax = 0 AS is_new".to_owned(), tally.to_owned());
        }
        // Partitioned tables and views have no xmax to return: new is what wasn't there when the statement began.
        let identity = self.identity();
        let head = format!(
            "before AS MATERIALIZED (\n  SELECT {}, true AS is_there FROM {ROWS} r JOIN {} o ON {}\n), ",
            list(identity.iter().map(|(_, staged, _)| format!("r.{staged}"))),
            self.target,
            self.matches("o", "r")
        );
        let tally = format!(
            "SELECT count(*) FILTER (WHERE b.is_there IS NULL), count(b.is_there)\nFROM written w LEFT JOIN before b ON {}",
            self.matches_ours("w", "b")
        );
        let returning = list(identity.iter().map(|(name, staged, _)| format!("t.{name} AS {staged}")));
        (head, returning, tally)
    }

    /// The value that an insert proposes for a column of a change.
    fn proposed(&self, at: usize) -> String {
        let (old, given) =
            (format!("o.{}", self.names[at]), format!("r.{}", staged(StageColumn::Column(at))));
        if matches!(&self.plan.matching, Match::Columns(of) if of.contains(&at)) {
            return given;
        }
        self.kept_or(at, &old, &given, &format!("r.{}", staged(StageColumn::Present)))
    }

    fn kept_or(&self, at: usize, old: &str, given: &str, bits: &str) -> String {
        if self.plan.columns[at].from == From::Rest {
            return self.merged(at, old, given);
        }
        format!("CASE WHEN {} THEN {given} ELSE {old} END", present(bits, at))
    }

    /// What becomes of a row whose identity is there. `is_change` looks into the chunk's temporary table.
    pub(super) fn on_conflict(&self, is_change: bool) -> String {
        let updated = self.updated();
        let sets_nothing = updated.is_empty() && self.digest.is_none() && self.retired_at.is_none();
        if self.plan.mode == WriteMode::InsertOnce || sets_nothing {
            return "DO NOTHING".to_owned();
        }
        let mut sets = Vec::new();
        if let Some(digest) = &self.digest {
            sets.push(format!("{digest} = EXCLUDED.{digest}"));
        }
        let bits = format!("p.{}", staged(StageColumn::Present));
        // EXCLUDED has the target's columns only: the presence bits are looked up beside it.
        let of_row = format!("FROM {ROWS} p WHERE {}", self.looks_up("EXCLUDED", "p"));
        if is_change {
            let names = list(updated.iter().map(|&at| self.names[at].clone()));
            let values = list(updated.iter().map(|&at| {
                let name = &self.names[at];
                // Merged with the row that is locked now, not with the one that the proposal saw.
                self.kept_or(
                    at,
                    &format!("t.{name}"),
                    &format!("p.{}", staged(StageColumn::Column(at))),
                    &bits,
                )
            }));
            sets.push(format!("({names}) = (SELECT {values} {of_row})"));
        } else {
            sets.extend(updated.iter().map(|&at| format!("{0} = EXCLUDED.{0}", self.names[at])));
        }
        if let Some(run_id) = &self.run_id {
            sets.push(format!("{run_id} = EXCLUDED.{run_id}"));
        }
        if let Some(revision) = &self.revision {
            sets.push(format!("{revision} = coalesce(t.{revision}, 0) + 1"));
        }
        // A row that comes again is restored.
        sets.extend(self.retired_at.iter().chain(&self.retired_by).map(|name| format!("{name} = NULL")));
        let mut guard = if is_change {
            format!(
                "EXISTS (SELECT {of_row} AND {})",
                self.differs("t", |column| format!("p.{}", staged(column)))
            )
        } else {
            self.differs("t", |column| format!("EXCLUDED.{}", self.target_column(column)))
        };
        if let Some((version, _)) = self.version() {
            let retired = self
                .retired_at
                .as_ref()
                .map(|at| format!(" OR (t.{at} IS NOT NULL AND t.{version} = EXCLUDED.{version})"));
            guard.push_str(&format!(
                "\n  AND (t.{version} < EXCLUDED.{version} OR t.{version} IS NULL{})",
                retired.unwrap_or_default()
            ));
        }
        if let Some(outside) = self.outside("t", |column| format!("EXCLUDED.{}", self.target_column(column)))
        {
            guard.push_str(&format!("\n  AND NOT ({outside})"));
        }
        format!("DO UPDATE SET {}\n  WHERE {guard}", sets.join(", "))
    }

    /// Tells a chunk's rows apart again, after a write that left some of them: `$1` is the run. Returns (stale,
    /// conflicts' places, places of rows that are nowhere).
    pub(in crate::postgres) fn left(&self) -> String {
        // Rows that this write has put are neither stale nor in conflict, whatever a trigger made of them.
        let is_another = match &self.run_id {
            Some(run_id) => {
                format!("t.is_there AND t.{run_id}::text IS DISTINCT FROM $1::uuid::text AS is_another")
            }
            None => "t.is_there AND $1::uuid IS NOT NULL AS is_another".to_owned(),
        };
        let told = self.told_apart(&Told {
            more: Some(is_another),
            needed: self.run_id.as_deref(),
            join: format!(" JOIN {ROWS} r ON {}", self.matches_ours("r", "s")),
        });
        format!(
            "SELECT count(*) FILTER (WHERE d.class = {} AND d.is_another), {}, {}\nFROM ({told}) d",
            class::STALE,
            places("d", &format!("d.class = {} AND d.is_another", class::CONFLICT)),
            places("d", &format!("d.class = {}", class::NEW)),
        )
    }

    /// Deletes what the batch's delete records name, locked in key order first.
    pub(in crate::postgres) fn delete(&self) -> String {
        let version = self
            .version()
            .map(|(name, staged)| format!(" AND (t.{name} > s.{staged}) IS NOT TRUE"))
            .unwrap_or_default();
        let keys = list(self.identity().into_iter().map(|(_, staged, _)| format!("s.{staged}")));
        format!(
            "\
WITH doomed AS MATERIALIZED (
  SELECT {keys}
  FROM {} t JOIN {STAGE} s ON {}
  WHERE s.landonce_is_delete{version}
  ORDER BY {}
  FOR UPDATE OF t
)
DELETE FROM {} t USING doomed d WHERE {}",
            self.target,
            self.matches("t", "s"),
            self.key_order("s"),
            self.target,
            self.matches("t", "d"),
        )
    }

    /// The straight COPY into the target, for rows that are all new: what the chunk's rows hold, then the run and the
    /// revision.
    pub(in crate::postgres) fn copy_target(&self) -> String {
        let of_rows = self
            .row_columns()
            .into_iter()
            .filter(|column| *column != StageColumn::Present)
            .map(|column| self.target_column(column).to_owned());
        let columns = of_rows.chain(self.run_id.clone()).chain(self.revision.clone());
        format!("COPY {} ({}) FROM STDIN (FORMAT BINARY)", self.target, list(columns))
    }
}
