//! Events as SQL: one statement claims a group of them and writes the rows of those that are new.
//!
//! Each value of an event goes as an item of an array a column; the guard of the write is that of a batch's long way.

use landonce_core::plan::StageColumn;

use super::stage::{Told, shown};
use super::{Render, list, staged};
use crate::postgres::inbox;
use crate::postgres::quote;

/// What is given of each event beside its row: the column's name and type. The parameters in front are a mark of the statement
/// (`$1`) and the pipeline (`$2`).
pub(in crate::postgres) const GIVEN: [(&str, &str); 6] = [
    ("landonce_inbox", "bytea"),
    ("landonce_batch", "text"),
    ("landonce_of", "bytea"),
    ("landonce_run", "uuid"),
    ("landonce_source", "text"),
    ("landonce_subject", "uuid"),
];

/// A column of the rows as it is given: the type that its array goes in, and the type to cast it to, where that is another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) struct Given {
    pub(in crate::postgres) column: StageColumn,
    pub(in crate::postgres) passed_as: &'static str,
    pub(in crate::postgres) cast: Option<String>,
}

impl Render<'_> {
    /// Claims and writes. Returns for each event (its number from 1, claimed, its row is new or NULL where none was written, the new
    /// row, the key of a row with equal content).
    ///
    /// `mark` is bound as `$1` as well: a pooler may have put another one's statement under our statement's name, and what is given
    /// doesn't reach that.
    pub(in crate::postgres) fn arrive(
        &self,
        given: &[Given],
        mark: &str,
        outcome: &str,
        wants: Wants,
    ) -> String {
        let [claim, write] = self.claim_and_write(given, outcome);
        format!(
            "\
WITH given AS MATERIALIZED (
{given}
), claimed AS (
{claim}
  FROM given s ORDER BY s.landonce_inbox
  ON CONFLICT (key) DO NOTHING
  RETURNING i.key
), written AS (
{write}
  FROM given r JOIN claimed c ON c.key = r.landonce_inbox
  ORDER BY {order}
  {conflict}
)
SELECT s.landonce_nth, c.key IS NOT NULL, w.is_new, w.row_text, {same}
FROM given s LEFT JOIN claimed c ON c.key = s.landonce_inbox
LEFT JOIN written w ON c.key IS NOT NULL AND {ours}",
            given = Self::given(given, mark),
            order = self.key_order("r"),
            conflict = self.conflict_and_return(wants),
            same = self.same_stored(wants.same_content, "w.is_new"),
            ours = self.matches_ours("w", "s"),
        )
    }

    /// The same for one event, whose values are bound one by one: an array a column, taken apart again, costs more than the writing.
    ///
    /// `is_all` makes it a transaction of its own: it fails, and nothing has happened, unless the event was there or its row is new.
    pub(in crate::postgres) fn arrive_one(
        &self,
        given: &[Given],
        mark: &str,
        outcome: &str,
        wants: Wants,
        is_all: bool,
    ) -> String {
        let [claim, write] = self.claim_and_write(given, outcome);
        format!(
            "\
WITH given AS NOT MATERIALIZED (
{given}
), claimed AS (
{claim}
  FROM given s
  ON CONFLICT (key) DO NOTHING
  RETURNING i.key
), written AS (
{write}
  FROM given r CROSS JOIN claimed c
  {conflict}
)
SELECT s.landonce_nth, EXISTS (SELECT FROM claimed), (SELECT w.is_new FROM written w), (SELECT w.row_text FROM written w), {same}{or_fail}
FROM given s",
            or_fail = if is_all { OR_FAIL } else { "" },
            given = Self::given_one(given, mark),
            conflict = self.conflict_and_return(wants),
            same = self.same_stored(wants.same_content, "(SELECT w.is_new FROM written w)"),
        )
    }

    /// The heads of both inserts, less what they select from.
    fn claim_and_write(&self, given: &[Given], outcome: &str) -> [String; 2] {
        let mut columns: Vec<String> =
            given.iter().map(|given| self.target_column(given.column).to_owned()).collect();
        let mut values: Vec<String> =
            given.iter().map(|given| format!("r.{}", staged(given.column))).collect();
        if let Some(run_id) = &self.run_id {
            columns.push(run_id.clone());
            values.push("r.landonce_run".to_owned());
        }
        if let Some(revision) = &self.revision {
            columns.push(revision.clone());
            values.push("1".to_owned());
        }
        [
            format!(
                "\
  INSERT INTO landonce.inbox AS i (key, pipeline, batch_id, batch_digest, run_id, source, subject, outcome, settled_at)
  SELECT s.landonce_inbox, $2::text, s.landonce_batch, s.landonce_of, s.landonce_run, s.landonce_source, s.landonce_subject,
         {}::jsonb, clock_timestamp()",
                quote::literal(outcome)
            ),
            format!(
                "  INSERT INTO {} AS t ({})\n  SELECT {}",
                self.target,
                columns.join(", "),
                values.join(", ")
            ),
        ]
    }

    fn conflict_and_return(&self, wants: Wants) -> String {
        let on_conflict = self.on_conflict(false);
        let is_new = if on_conflict == "DO NOTHING" { "true" } else { "t.xmax = 0" };
        let row = if wants.rows { self.target_as_json() } else { "NULL::text".to_owned() };
        let identity = self.identity();
        let keys = list(identity.iter().map(|(name, staged, _)| format!("t.{name} AS {staged}")));
        let arbiter = list(identity.iter().map(|(name, _, _)| (*name).to_owned()));
        format!(
            "ON CONFLICT ({arbiter}) {on_conflict}\n  RETURNING {is_new} AS is_new, {row} AS row_text, {keys}"
        )
    }

    /// Tells the events apart against the target as it is now: (number, class).
    pub(in crate::postgres) fn arrived(&self, given: &[Given], mark: &str) -> String {
        let told = self.told_apart_in("given", &Told::default());
        format!(
            "WITH given AS MATERIALIZED (\n{}\n)\nSELECT d.landonce_nth, d.class FROM ({told}) d",
            Self::given(given, mark)
        )
    }

    fn given(given: &[Given], mark: &str) -> String {
        let first = GIVEN.len() + 3;
        let beside = GIVEN.iter().enumerate().map(|(at, (_, ty))| format!("${}::{ty}[]", at + 3));
        let of_rows =
            given.iter().enumerate().map(|(at, given)| format!("${}::{}[]", first + at, given.passed_as));
        let names = GIVEN.iter().map(|(name, _)| (*name).to_owned());
        let names = names.chain(given.iter().map(|given| staged(given.column)));
        let mut selected: Vec<String> = GIVEN.iter().map(|(name, _)| format!("g.{name}")).collect();
        selected.extend(given.iter().map(|given| {
            let name = staged(given.column);
            match &given.cast {
                Some(cast) => format!("g.{name}::{cast} AS {name}"),
                None => format!("g.{name}"),
            }
        }));
        format!(
            "  SELECT g.landonce_nth, {}\n  FROM unnest({})\n    WITH ORDINALITY AS g({}, landonce_nth)\n  WHERE $1::text = {} AND $2::text IS NOT NULL",
            selected.join(", "),
            list(beside.chain(of_rows)),
            list(names),
            quote::literal(mark)
        )
    }

    fn given_one(given: &[Given], mark: &str) -> String {
        let first = GIVEN.len() + 3;
        let beside = GIVEN.iter().enumerate().map(|(at, (name, ty))| format!("${}::{ty} AS {name}", at + 3));
        let of_rows = given.iter().enumerate().map(|(at, given)| {
            let cast = given.cast.as_ref().map(|cast| format!("::{cast}")).unwrap_or_default();
            format!("${}::{}{cast} AS {}", first + at, given.passed_as, staged(given.column))
        });
        format!(
            "  SELECT 1::bigint AS landonce_nth, {}\n  WHERE $1::text = {} AND $2::text IS NOT NULL",
            list(beside.chain(of_rows)),
            quote::literal(mark)
        )
    }

    /// The key of a stored row with the content of a row that has come new (G3).
    fn same_stored(&self, is_wanted: bool, is_new: &str) -> String {
        let (Some(digest), true) = (&self.digest, is_wanted) else { return "NULL::text".to_owned() };
        let keys: Vec<String> =
            self.identity().iter().map(|(name, _, _)| shown(&format!("t.{name}"), &self.facts.key)).collect();
        format!(
            // As a range, in order: of an equality and LIMIT 1 the server may think that reading the table finds one sooner.
            "CASE WHEN {is_new} THEN (SELECT concat_ws(', ', {}) FROM {} t WHERE t.{digest} >= s.landonce_digest AND t.{digest} <= s.landonce_digest ORDER BY t.{digest} LIMIT 1) END",
            keys.join(", "),
            self.target
        )
    }
}

/// Divides by zero when an event is claimed with an outcome that isn't its own.
const OR_FAIL: &str = ",
       1 / (CASE WHEN EXISTS (SELECT FROM claimed) AND (SELECT w.is_new FROM written w) IS NOT TRUE THEN 0 ELSE 1 END)";

/// What else is asked of the rows that come new.
#[derive(Debug, Clone, Copy)]
pub(in crate::postgres) struct Wants {
    pub(in crate::postgres) rows: bool,
    pub(in crate::postgres) same_content: bool,
}

/// Settles claims with other outcomes than the expected: keys and outcomes are bound as arrays.
pub(in crate::postgres) const RESTATE: &str = "\
UPDATE landonce.inbox i SET outcome = o.outcome::jsonb
FROM unnest($1::bytea[], $2::text[]) AS o(key, outcome)
WHERE i.key = o.key";

/// Looks several batches up.
pub(in crate::postgres) fn look_up_all() -> String {
    format!(
        "SELECT {}\nFROM landonce.inbox WHERE key = ANY ($1::bytea[]) AND outcome IS NOT NULL",
        inbox::SETTLED
    )
}
