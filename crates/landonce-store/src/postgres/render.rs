//! A plan as SQL: pure text, made once per stage, shown in the snapshots beside it.
//!
//! This file holds what all statements share: names, the match of a staged row with the target's, what makes them
//! differ, and the order of keys. `render/tables.rs` makes tables, `render/stage.rs` tells records apart,
//! `render/write.rs` writes. Running them is left to `stage.rs` and `write.rs`.
//!
//! The temporary tables' columns have names of our own (`c0`, `c1` …, `landonce_…`), so that no name of the target's can
//! clash with them or shadow another.

mod derive;
mod events;
mod history;
mod notices;
mod retire;
mod scope;
mod stage;
mod tables;
mod write;

#[cfg(test)]
mod snapshots;

use landonce_core::plan::{Absent, From, Guard, Match, StageColumn, TablePlan, WriteMode};

use super::catalog::{Compare, Relation};
use super::quote;
use super::wire::Wire;
use crate::error::Result;

pub(super) use derive::analyze_derived;
pub(super) use events::{GIVEN, Given, RESTATE, Wants, look_up_all};
pub(super) use notices::{close_changes, fetch_changes, kind};
pub(super) use stage::{class, close_cursor, count_todo, fetch};
pub(super) use tables::sql_type;

/// The stage: what the batch says of each record.
pub(super) const STAGE: &str = "pg_temp.landonce_stage";
/// The staged records that need something done.
pub(super) const TODO: &str = "pg_temp.landonce_todo";
/// A chunk of whole rows on its way into the target.
pub(super) const ROWS: &str = "pg_temp.landonce_rows";
/// Rows as they were before the batch wrote them, where its changes are told.
pub(super) const OLD: &str = "pg_temp.landonce_old";
/// The rows of a period of a derived table, as they were computed.
pub(super) const DERIVED: &str = "pg_temp.landonce_derived";

/// What the catalogue adds to a plan.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// What the target is; `None` while there is none.
    pub(super) relation: Option<Relation>,
    /// It takes COPY as it takes INSERT.
    pub(super) takes_copy: bool,
    /// Of the plan's columns, in order.
    pub(super) columns: Vec<Fact>,
    /// Of the columns that landonce fills, where the plan has them.
    pub(super) key: Wire,
    pub(super) run_id: Option<Wire>,
    pub(super) revision: Option<Wire>,
}

/// What the catalogue says of one of the plan's columns.
#[derive(Debug, Clone)]
pub(super) struct Fact {
    pub(super) wire: Wire,
    pub(super) compare: Compare,
    /// The type to stage it in, where the column's own would do too much too early.
    pub(super) staged_as: Option<String>,
    /// The type that must keep every digit: the server would round to it without a word.
    pub(super) must_fit: Option<String>,
}

/// A plan with its names quoted, ready to be made into statements.
#[derive(Debug)]
pub(super) struct Render<'a> {
    plan: &'a TablePlan,
    facts: &'a Facts,
    target: String,
    names: Vec<String>,
    key: Option<String>,
    digest: Option<String>,
    run_id: Option<String>,
    revision: Option<String>,
    retired_at: Option<String>,
    retired_by: Option<String>,
}

impl<'a> Render<'a> {
    /// Fails on names that PostgreSQL would cut.
    pub(super) fn new(plan: &'a TablePlan, facts: &'a Facts) -> Result<Self> {
        let optional = |name: Option<&String>| name.map(|name| quote::name(name)).transpose();
        let key = match &plan.matching {
            Match::Key { column, .. } => Some(column),
            Match::Columns(_) => None,
        };
        let digest = match &plan.guard {
            Guard::Digest { column } => Some(column),
            Guard::Columns => None,
        };
        Ok(Self {
            plan,
            facts,
            target: quote::table(&plan.table)?,
            names: plan.columns.iter().map(|column| quote::name(&column.name)).collect::<Result<_>>()?,
            key: optional(key)?,
            digest: optional(digest)?,
            run_id: optional(plan.run_id.as_ref())?,
            revision: optional(plan.revision.as_ref())?,
            retired_at: optional(plan.tombstone.as_ref().map(|tombstone| &tombstone.at))?,
            retired_by: optional(plan.tombstone.as_ref().and_then(|tombstone| tombstone.by.as_ref()))?,
        })
    }

    /// The columns that identify a row: (in the target, in our tables, whether NULL is a value there).
    fn identity(&self) -> Vec<(&str, String, bool)> {
        match (&self.plan.matching, &self.key) {
            (Match::Columns(of), _) => of
                .iter()
                .map(|&at| {
                    let name = self.names[at].as_str();
                    (name, staged(StageColumn::Column(at)), self.plan.columns[at].nullable)
                })
                .collect(),
            (Match::Key { .. }, key) => {
                vec![(key.as_deref().unwrap_or_default(), staged(StageColumn::Key), false)]
            }
        }
    }

    /// The identity's columns in our tables, in order: the order in which rows are written and locked.
    fn key_order(&self, of: &str) -> String {
        list(self.identity().iter().map(|(_, staged, _)| format!("{of}.{staged}")))
    }

    /// One row is the other's: `t` the target's names, `s` ours.
    fn matches(&self, t: &str, s: &str) -> String {
        let pairs: Vec<(String, String, bool)> = self
            .identity()
            .iter()
            .map(|(name, staged, nullable)| (format!("{t}.{name}"), format!("{s}.{staged}"), *nullable))
            .collect();
        same(&pairs)
    }

    /// As [`Render::matches`], in a form that an index on our side can answer row by row.
    fn looks_up(&self, t: &str, s: &str) -> String {
        let test = |(name, staged, nullable): &(&str, String, bool)| {
            same_column(&format!("{t}.{name}"), &format!("{s}.{staged}"), *nullable)
        };
        self.identity().iter().map(test).collect::<Vec<_>>().join(" AND ")
    }

    /// Two rows of ours are of one identity.
    fn matches_ours(&self, a: &str, b: &str) -> String {
        let pairs: Vec<(String, String, bool)> = self
            .identity()
            .iter()
            .map(|(_, staged, nullable)| (format!("{a}.{staged}"), format!("{b}.{staged}"), *nullable))
            .collect();
        same(&pairs)
    }

    /// The columns that a comparison looks at, beside the identity and what changes per attempt.
    fn guarded(&self) -> Vec<usize> {
        let is_key = |at: &usize| matches!(&self.plan.matching, Match::Columns(of) if of.contains(at));
        (0..self.plan.columns.len()).filter(|at| !is_key(at) && !self.plan.unguarded.contains(at)).collect()
    }

    /// The columns that an update sets, beside those that landonce fills.
    fn updated(&self) -> Vec<usize> {
        let is_key = |at: &usize| matches!(&self.plan.matching, Match::Columns(of) if of.contains(at));
        (0..self.plan.columns.len()).filter(|at| !is_key(at)).collect()
    }

    /// The row `t` isn't as `s` has it: its content differs, or it is retired; `new` names a staged column.
    fn differs(&self, t: &str, new: impl Fn(StageColumn) -> String) -> String {
        let content = self.content_differs(t, new);
        match &self.retired_at {
            Some(retired_at) => format!("({content} OR {t}.{retired_at} IS NOT NULL)"),
            None => content,
        }
    }

    fn content_differs(&self, t: &str, new: impl Fn(StageColumn) -> String) -> String {
        if let Some(digest) = &self.digest {
            return format!("{t}.{digest} IS DISTINCT FROM {}", new(StageColumn::Digest));
        }
        let tests: Vec<String> = self
            .guarded()
            .into_iter()
            .map(|at| {
                let old = format!("{t}.{}", self.names[at]);
                let given = new(StageColumn::Column(at));
                let compare = &self.facts.columns[at].compare;
                if self.plan.absent == Absent::Replace {
                    return distinct(&old, &given, compare);
                }
                if self.plan.columns[at].from == From::Rest {
                    return distinct(&old, &self.merged(at, &old, &given), compare);
                }
                format!(
                    "({} AND {})",
                    present(&new(StageColumn::Present), at),
                    distinct(&old, &given, compare)
                )
            })
            .collect();
        if tests.is_empty() { "false".to_owned() } else { format!("({})", tests.join(" OR ")) }
    }

    /// The rest of a record that is a change: its fields over those that are there.
    fn merged(&self, at: usize, old: &str, given: &str) -> String {
        if self.facts.columns[at].wire == Wire::Json {
            let (old, given) = (format!("{old}::jsonb"), format!("{given}::jsonb"));
            return format!("({})::json", self.merged_jsonb(&old, &given));
        }
        self.merged_jsonb(old, given)
    }

    #[expect(clippy::unused_self, reason = "reads as a part of merged")]
    fn merged_jsonb(&self, old: &str, given: &str) -> String {
        format!(
            "CASE WHEN jsonb_typeof({old}) = 'object' AND {given} IS NOT NULL THEN {old} || {given} \
             ELSE coalesce({given}, {old}) END"
        )
    }

    /// The version's column: (in the target, in our tables).
    fn version(&self) -> Option<(&str, String)> {
        if self.plan.mode == WriteMode::InsertOnce {
            return None;
        }
        self.plan.version.map(|at| (self.names[at].as_str(), staged(StageColumn::Column(at))))
    }
}

/// A staged column's name in our tables.
fn staged(column: StageColumn) -> String {
    match column {
        StageColumn::Key => "landonce_key".to_owned(),
        StageColumn::Digest => "landonce_digest".to_owned(),
        StageColumn::Column(at) => format!("c{at}"),
        StageColumn::Present => "landonce_present".to_owned(),
        StageColumn::IsDelete => "landonce_is_delete".to_owned(),
        StageColumn::MayRepeat => "landonce_may_repeat".to_owned(),
        StageColumn::Number => "landonce_number".to_owned(),
        StageColumn::Offset => "landonce_offset".to_owned(),
        StageColumn::Len => "landonce_len".to_owned(),
    }
}

/// The presence bits say that the record has column `at`.
fn present(bits: &str, at: usize) -> String {
    format!("{bits} & {} <> 0", 1_i64 << at)
}

/// Two values differ, NULL being a value like others.
fn distinct(a: &str, b: &str, compare: &Compare) -> String {
    match compare {
        Compare::Plain => format!("{a} IS DISTINCT FROM {b}"),
        Compare::Text => format!("({a})::text COLLATE \"C\" IS DISTINCT FROM ({b})::text COLLATE \"C\""),
        Compare::TextArray => {
            format!("({a})::text[] COLLATE \"C\" IS DISTINCT FROM ({b})::text[] COLLATE \"C\"")
        }
        Compare::Json => format!("({a})::jsonb IS DISTINCT FROM ({b})::jsonb"),
        Compare::JsonArray => format!("({a})::jsonb[] IS DISTINCT FROM ({b})::jsonb[]"),
        Compare::Geometry { schema } => {
            let bytes = format!("\"{}\".st_asewkb", schema.replace('"', "\"\""));
            format!("{bytes}({a}) IS DISTINCT FROM {bytes}({b})")
        }
    }
}

/// Pairs of values that are all the same; the flag says that NULL is a value there.
///
/// `IS NOT DISTINCT FROM` can neither be hashed nor merged, so columns that take NULL are spelled out behind those that
/// don't. When all of them take NULL, they are compared as records, where two NULLs are equal and a merge join works.
fn same(pairs: &[(String, String, bool)]) -> String {
    if pairs.iter().all(|(_, _, nullable)| *nullable) {
        let row = |of: Vec<&str>| format!("ROW({})::record", of.join(", "));
        let left = row(pairs.iter().map(|(a, _, _)| a.as_str()).collect());
        let right = row(pairs.iter().map(|(_, b, _)| b.as_str()).collect());
        return format!("{left} = {right}");
    }
    pairs.iter().map(|(a, b, nullable)| same_column(a, b, *nullable)).collect::<Vec<_>>().join(" AND ")
}

fn same_column(a: &str, b: &str, nullable: bool) -> String {
    if nullable { format!("({a} = {b} OR ({a} IS NULL AND {b} IS NULL))") } else { format!("{a} = {b}") }
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(", ")
}
