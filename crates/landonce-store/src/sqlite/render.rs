//! A plan as SQL: pure text, made once per stage, shown in the snapshots below. Running it is left to `stage.rs` and
//! `write.rs`.
//!
//! The temporary tables' columns have names of our own (`c0`, `c1` …, `landonce_…`), so that no name of the target's can
//! clash with them. Values are never in the text: they are bound, `?n` being the n-th column of the rows that a
//! statement is run with.

mod derive;
mod events;
mod history;
mod notices;
mod retire;
mod scope;
#[cfg(test)]
mod snapshots;
mod tables;

use landonce_core::column::Type;
use landonce_core::plan::{Absent, From, Guard, Match, StageColumn, TableName, TablePlan, WriteMode};

use super::catalog::{Affinity, Facts};
use super::functions::{DECIMAL_CMP, JSON_EQ, MERGE};
use crate::error::{Error, Result};

pub(super) use derive::drop_derived;
pub(super) use events::{CLAIM, RESTATE};
pub(super) use tables::drop_stage;

/// The stage: what the batch says of each record.
pub(super) const STAGE: &str = "temp.landonce_stage";
/// The staged records that need something done, in key order.
pub(super) const TODO: &str = "temp.landonce_todo";
/// Rows as they were before the batch wrote them, where its changes are told.
pub(super) const OLD: &str = "temp.landonce_old";
/// What has really happened, in key order: a remembered row, or a staged record.
pub(super) const CHANGES: &str = "temp.landonce_changes";
/// The rows of a period of a derived table, as its query gives them.
pub(super) const RAW: &str = "temp.landonce_raw";
/// The same in the table's own types.
pub(super) const DERIVED: &str = "temp.landonce_derived";

/// The classes of records, as the statements spell them.
pub(super) mod class {
    /// Nothing to do.
    pub(in crate::sqlite) const UNCHANGED: i64 = 0;
    /// To be inserted.
    pub(in crate::sqlite) const NEW: i64 = 1;
    /// To be updated.
    pub(in crate::sqlite) const CHANGED: i64 = 2;
    /// To be kept aside.
    pub(in crate::sqlite) const CONFLICT: i64 = 3;
    /// Older than what is there.
    pub(in crate::sqlite) const STALE: i64 = 4;
    /// To be deleted.
    pub(in crate::sqlite) const DELETE: i64 = 5;
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

/// One of the identity's columns.
struct IdentityColumn<'a> {
    /// Its name in the target.
    name: &'a str,
    column: StageColumn,
    affinity: Affinity,
    /// ` COLLATE …`, where it needs to be said.
    collate: String,
}

impl<'a> Render<'a> {
    /// Fails on names that SQLite can't have, and on those of landonce's own tables.
    pub(super) fn new(plan: &'a TablePlan, facts: &'a Facts) -> Result<Self> {
        if plan.absent == Absent::Keep && plan.columns.len() > 63 {
            return Err(Error::refused(format!(
                "{} has {} mapped columns; `absent: keep` takes at most 63",
                plan.table,
                plan.columns.len()
            )));
        }
        let optional = |name: Option<&String>| name.map(|name| quoted(name)).transpose();
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
            target: target(&plan.table)?,
            names: plan.columns.iter().map(|column| quoted(&column.name)).collect::<Result<_>>()?,
            key: optional(key)?,
            digest: optional(digest)?,
            run_id: optional(plan.run_id.as_ref())?,
            revision: optional(plan.revision.as_ref())?,
            retired_at: optional(plan.tombstone.as_ref().map(|tombstone| &tombstone.at))?,
            retired_by: optional(plan.tombstone.as_ref().and_then(|tombstone| tombstone.by.as_ref()))?,
        })
    }

    /// Adds a staged record.
    pub(super) fn stage(&self) -> String {
        let given = self.plan.stage_columns();
        let values = kept_columns(self.plan).into_iter().map(|column| parameter(&given, column));
        format!("INSERT INTO {STAGE} VALUES ({})", list(values))
    }

    /// The staged records in key order, those of one identity in the order in which they came: the row id, then the columns.
    pub(super) fn scan(&self) -> String {
        let keys = self.identity().map(|key| format!("s.{}{}", staged(key.column), key.collate));
        format!("SELECT s.rowid, s.* FROM {STAGE} s ORDER BY {}, s.landonce_offset", list(keys))
    }

    /// Whether two records are of one identity, when equality is the database's to say: the identity's columns of the
    /// first, then those of the second. `None` where bytes decide.
    pub(super) fn same_identity(&self) -> Option<String> {
        let keys: Vec<_> = self.identity().collect();
        if keys.iter().all(|key| key.collate.is_empty()) {
            return None;
        }
        let behind = keys.len();
        let pair = |(at, key): (usize, &IdentityColumn<'_>)| {
            format!("?{}{} IS ?{}", at + 1, key.collate, at + 1 + behind)
        };
        Some(format!("SELECT {}", keys.iter().enumerate().map(pair).collect::<Vec<_>>().join(" AND ")))
    }

    /// A record's class against the row that is there; no row when there is none.
    pub(super) fn look(&self, columns: &[StageColumn]) -> String {
        let covered = self.facts.guard_index.as_ref();
        let is_covering = self.plan.mode == WriteMode::Upsert
            && self.version().is_none()
            && self.plan.scope.is_none()
            && self.retired_at.is_none();
        let covered = covered.filter(|_| is_covering);
        // Left to itself, SQLite takes the unique index and then fetches every row for its digest.
        let by = covered
            .map(|index| format!(" INDEXED BY \"{}\"", index.replace('"', "\"\"")))
            .unwrap_or_default();
        format!(
            "SELECT {}\nFROM {} AS t{by} WHERE {}",
            self.class_case(columns),
            self.target,
            self.is_it(columns)
        )
    }

    /// Whether the target has any row.
    pub(super) fn has_rows(&self) -> String {
        format!("SELECT EXISTS (SELECT 1 FROM {})", self.target)
    }

    /// Writes a row unless what is there is equal, newer, or (insert-once) there at all. The run id is bound behind the
    /// row's columns.
    ///
    /// OR ABORT overrides an `ON CONFLICT REPLACE` in the table's own declaration, which would delete another row that
    /// stands in the way.
    pub(super) fn write(&self) -> String {
        let columns = self.plan.row_columns();
        let given = |column| parameter(&columns, column);
        let run_id = format!("?{}", columns.len() + 1);
        let mut names = Vec::new();
        let mut values = Vec::new();
        let mut sets = Vec::new();
        let mut add = |name: &str, value: String| {
            names.push(name.to_owned());
            values.push(value);
        };
        if let Some(key) = &self.key {
            add(key, given(StageColumn::Key));
        }
        for (at, name) in self.names.iter().enumerate() {
            add(name, given(StageColumn::Column(at)));
            if !self.is_identity(at) {
                sets.push(format!("{name} = {}", self.updated(at, &columns)));
            }
        }
        if let Some(digest) = &self.digest {
            add(digest, given(StageColumn::Digest));
            sets.push(format!("{digest} = excluded.{digest}"));
        }
        if let Some(name) = &self.run_id {
            add(name, run_id);
            sets.push(format!("{name} = excluded.{name}"));
        }
        if let Some(name) = &self.revision {
            add(name, "1".to_owned());
            sets.push(format!("{name} = coalesce(t.{name}, 0) + 1"));
        }
        // A row that comes again is restored.
        sets.extend(self.retired_at.iter().chain(&self.retired_by).map(|name| format!("{name} = NULL")));
        let on = list(self.identity().map(|key| format!("{}{}", key.name, key.collate)));
        let insert = format!(
            "INSERT OR ABORT INTO {} AS t ({})\nVALUES ({})\nON CONFLICT ({on})",
            self.target,
            list(names),
            list(values)
        );
        if self.plan.mode == WriteMode::InsertOnce || sets.is_empty() {
            return format!("{insert} DO NOTHING");
        }
        let is_older = self.version().map(|version| {
            let given = given(version.column);
            let is_older = version.is_older(&given);
            // Behind a delete of its own version a put counts: the later of the two.
            match &self.retired_at {
                Some(at) => {
                    format!("({is_older} OR (t.{at} IS NOT NULL AND {})) AND ", version.is_same(&given))
                }
                None => format!("{is_older} AND "),
            }
        });
        let inside = self.outside(&columns).map(|outside| format!("NOT ({outside}) AND "));
        format!(
            "{insert} DO UPDATE SET\n  {}\nWHERE {}{}{}",
            sets.join(",\n  "),
            is_older.unwrap_or_default(),
            inside.unwrap_or_default(),
            self.differs(&columns)
        )
    }

    /// Deletes a row by its identity.
    pub(super) fn delete(&self) -> String {
        let columns: Vec<StageColumn> = self.identity().map(|key| key.column).collect();
        format!("DELETE FROM {} AS t WHERE {}", self.target, self.is_it(&columns))
    }

    /// The identities of the records that are to be deleted, in key order; with the version, where the row keeps it.
    pub(super) fn deletes(&self) -> String {
        let keys = self.deleted_by().into_iter().map(|column| format!("s.{}", staged(column)));
        format!(
            "SELECT {} FROM {TODO} d JOIN {STAGE} s ON s.rowid = d.staged WHERE d.class = {} ORDER BY d.id",
            list(keys),
            class::DELETE
        )
    }

    /// The identity of a row with this digest.
    pub(super) fn stored_content(&self) -> String {
        let digest = self.digest.as_deref().unwrap_or_default();
        let keys = self.identity().map(|key| format!("t.{}", key.name));
        format!("SELECT {} FROM {} AS t WHERE t.{digest} = ?1 LIMIT 1", list(keys), self.target)
    }

    /// The identity of a staged record.
    pub(super) fn staged_identity(&self) -> String {
        let keys = self.identity().map(|key| format!("s.{}", staged(key.column)));
        format!("SELECT {} FROM {STAGE} s WHERE s.rowid = ?1", list(keys))
    }

    fn identity(&self) -> impl Iterator<Item = IdentityColumn<'_>> {
        let columns: Vec<(&str, StageColumn)> = match (&self.plan.matching, &self.key) {
            (Match::Columns(of), _) => {
                of.iter().map(|&at| (self.names[at].as_str(), StageColumn::Column(at))).collect()
            }
            (Match::Key { .. }, key) => vec![(key.as_deref().unwrap_or_default(), StageColumn::Key)],
        };
        columns.into_iter().zip(&self.facts.identity).map(|((name, column), fact)| IdentityColumn {
            name,
            column,
            affinity: fact.affinity,
            collate: fact
                .collation
                .as_ref()
                .map(|collation| format!(" COLLATE \"{}\"", collation.replace('"', "\"\"")))
                .unwrap_or_default(),
        })
    }

    fn is_identity(&self, at: usize) -> bool {
        matches!(&self.plan.matching, Match::Columns(of) if of.contains(&at))
    }

    /// The row `t` is the one with the identity that is bound.
    fn is_it(&self, columns: &[StageColumn]) -> String {
        let test = |key: IdentityColumn<'_>| {
            format!("t.{}{} = {}", key.name, key.collate, parameter(columns, key.column))
        };
        self.identity().map(test).collect::<Vec<_>>().join(" AND ")
    }

    fn class_case(&self, columns: &[StageColumn]) -> String {
        let delete =
            columns.contains(&StageColumn::IsDelete).then(|| parameter(columns, StageColumn::IsDelete));
        let mut cases = Vec::new();
        let mut case = |test: &str, class: i64| cases.push(format!("WHEN {test} THEN {class}"));
        if self.plan.mode == WriteMode::InsertOnce {
            let Some(delete) = delete else { return class::UNCHANGED.to_string() };
            case(&delete, class::DELETE);
            return format!("CASE {} ELSE {} END", cases.join(" "), class::UNCHANGED);
        }
        let version = self.version();
        if let Some(version) = &version {
            case(&version.is_newer(&parameter(columns, version.column)), class::STALE);
        }
        if let Some(outside) = self.outside(columns) {
            case(&outside, class::CONFLICT);
        }
        if let Some(delete) = &delete {
            if let Some(retired_at) = &self.retired_at {
                let newer =
                    version.as_ref().map(|version| version.is_older(&parameter(columns, version.column)));
                let newer = newer.map(|newer| format!(" AND NOT {newer}")).unwrap_or_default();
                case(&format!("{delete} AND t.{retired_at} IS NOT NULL{newer}"), class::UNCHANGED);
            }
            case(delete, class::DELETE);
        }
        case(&format!("NOT {}", self.differs(columns)), class::UNCHANGED);
        if let Some(version) = &version {
            let is_same = version.is_same(&parameter(columns, version.column));
            let stands =
                self.retired_at.as_ref().map(|at| format!(" AND t.{at} IS NULL")).unwrap_or_default();
            case(&format!("{is_same}{stands}"), class::CONFLICT);
        }
        format!("CASE {} ELSE {} END", cases.join(" "), class::CHANGED)
    }

    /// The row `t` isn't as what is bound: its content differs, or it is retired.
    fn differs(&self, columns: &[StageColumn]) -> String {
        let content = self.content_differs(columns);
        match &self.retired_at {
            Some(retired_at) => format!("({content} OR t.{retired_at} IS NOT NULL)"),
            None => content,
        }
    }

    fn content_differs(&self, columns: &[StageColumn]) -> String {
        if let Some(digest) = &self.digest {
            return format!("(t.{digest} IS NOT {})", parameter(columns, StageColumn::Digest));
        }
        let tests: Vec<String> = (0..self.names.len())
            .filter(|at| !self.is_identity(*at) && !self.plan.unguarded.contains(at))
            .map(|at| {
                let old = format!("t.{}", self.names[at]);
                let new = parameter(columns, StageColumn::Column(at));
                if self.plan.absent == Absent::Replace {
                    return self.distinct(at, &old, &new);
                }
                if self.plan.columns[at].from == From::Rest {
                    return self.distinct(at, &old, &format!("{MERGE}({old}, {new})"));
                }
                format!("({} AND {})", is_present(columns, at), self.distinct(at, &old, &new))
            })
            .collect();
        if tests.is_empty() { "(false)".to_owned() } else { format!("({})", tests.join(" OR ")) }
    }

    /// Two values of a column differ, NULL being a value like others.
    fn distinct(&self, at: usize, old: &str, new: &str) -> String {
        let column = &self.plan.columns[at];
        match column.ty {
            Type::Json | Type::Array(_) => format!("NOT {JSON_EQ}({old}, {new})"),
            // A column of somebody else's may fold case; its content has changed nevertheless.
            Type::Text { .. } | Type::Scalar | Type::Enum { .. } if column.sql_type.is_some() => {
                format!("{old} COLLATE BINARY IS NOT {new}")
            }
            _ => format!("{old} IS NOT {new}"),
        }
    }

    /// What an update sets a column to.
    fn updated(&self, at: usize, columns: &[StageColumn]) -> String {
        let name = &self.names[at];
        match (self.plan.absent, &self.plan.columns[at].from) {
            (Absent::Replace, _) => format!("excluded.{name}"),
            (Absent::Keep, From::Rest) => format!("{MERGE}(t.{name}, excluded.{name})"),
            (Absent::Keep, From::Field(_)) => {
                format!("CASE WHEN {} THEN excluded.{name} ELSE t.{name} END", is_present(columns, at))
            }
        }
    }

    fn version(&self) -> Option<Version<'_>> {
        if self.plan.mode == WriteMode::InsertOnce {
            return None;
        }
        self.plan.version.map(|at| Version {
            name: &self.names[at],
            column: StageColumn::Column(at),
            is_decimal: matches!(self.plan.columns[at].ty, Type::Decimal { .. }),
        })
    }
}

/// The version's column, compared with a bound version. A row without a version, or with one that is no version, is older
/// than any.
struct Version<'a> {
    name: &'a str,
    column: StageColumn,
    /// Text of any length, which doesn't sort as a number.
    is_decimal: bool,
}

impl Version<'_> {
    fn is_newer(&self, given: &str) -> String {
        self.test(">", given)
    }

    fn is_same(&self, given: &str) -> String {
        self.test("=", given)
    }

    fn is_older(&self, given: &str) -> String {
        let name = self.name;
        if self.is_decimal {
            return format!("coalesce({DECIMAL_CMP}(t.{name}, {given}), -1) < 0");
        }
        format!("(t.{name} IS NULL OR t.{name} < {given})")
    }

    fn test(&self, operator: &str, given: &str) -> String {
        let name = self.name;
        if self.is_decimal {
            return format!("{DECIMAL_CMP}(t.{name}, {given}) {operator} 0");
        }
        format!("t.{name} {operator} {given}")
    }
}

/// The next records that need a row sent or keeping aside: behind an id, at most so many.
pub(super) fn next() -> String {
    format!(
        "SELECT d.id, d.class, d.number, d.\"offset\", d.len FROM {TODO} d WHERE d.id > ?1 AND d.class <= {} ORDER BY d.id LIMIT ?2",
        class::CONFLICT
    )
}

/// Remembers a record that needs something done.
pub(super) fn remember() -> String {
    format!(
        "INSERT INTO {TODO} (class, number, \"offset\", len, staged, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    )
}

/// The new records by digest, those of one digest in the order in which they came.
pub(super) fn new_content() -> String {
    format!(
        "SELECT d.digest, d.number, d.\"offset\", d.len, d.staged FROM {TODO} d WHERE d.class = {} ORDER BY d.digest, d.\"offset\"",
        class::NEW
    )
}

/// The stage's columns, in order. Whether an identity may repeat is only counted, on its way in.
pub(super) fn kept_columns(plan: &TablePlan) -> Vec<StageColumn> {
    plan.stage_columns().into_iter().filter(|column| *column != StageColumn::MayRepeat).collect()
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

/// The parameter that holds a column of the rows a statement is run with.
fn parameter(columns: &[StageColumn], column: StageColumn) -> String {
    columns.iter().position(|has| *has == column).map_or("NULL".to_owned(), |at| format!("?{}", at + 1))
}

/// The presence bits say that the record has column `at`.
fn is_present(columns: &[StageColumn], at: usize) -> String {
    format!("({} & {}) <> 0", parameter(columns, StageColumn::Present), 1_i64 << at)
}

/// A table's name, quoted and never looked up among the temporary tables.
pub(super) fn target(table: &TableName) -> Result<String> {
    // The names of landonce's own tables, here and in later versions. SQLite's names don't mind case.
    if table.name.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("landonce_")) {
        return Err(Error::refused(format!(
            "a target can't be called `{}`: landonce_… are landonce's own tables",
            table.name
        )));
    }
    Ok(format!("{}.{}", quoted(table.schema.as_deref().unwrap_or("main"))?, quoted(&table.name)?))
}

/// A name in double quotes, whatever it holds.
pub(super) fn quoted(name: &str) -> Result<String> {
    if name.is_empty() || name.contains('\0') {
        let what = if name.is_empty() { "is empty" } else { "holds U+0000" };
        return Err(Error::refused(format!("the name `{}` {what}", name.escape_debug())));
    }
    Ok(format!("\"{}\"", name.replace('"', "\"\"")))
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(", ")
}
