//! How records become rows of one target table: which columns, what identifies a row, what tells that it changed.
//!
//! A [`TablePlan`] is what the pipeline wants, held against what the catalogue has ([`TableShape`]); [`resolve`] makes it,
//! in `plan/resolve.rs`. The stores render SQL from it and from nothing else, so every dialect has the same meaning.
//!
//! Two choices shape every statement:
//!
//! - **match**: a hashed key column, or the natural key's own columns ([`Match`]);
//! - **guard**: a digest column, or the mapped columns one by one ([`Guard`]).

mod resolve;
mod scope;
mod shape;

pub use resolve::{PlanError, derived, resolve};
pub(crate) use scope::days;
pub use scope::{Bound, Owned, Scope, Span, Tombstone};
pub use shape::{ShapeColumn, TableShape, UniqueIndex};

use std::fmt;

use crate::column::Type;

/// A table's name, perhaps in a schema. Never quoted here; the stores quote.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// The schema, or `None` for the connection's default.
    pub schema: Option<String>,
    /// The table.
    pub name: String,
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// How a target row is written when its identity is known already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// The first delivery's row stays.
    InsertOnce,
    /// The newest content wins; equal content is left untouched.
    Upsert,
}

impl WriteMode {
    /// The spelling in pipelines and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InsertOnce => "insert_once",
            Self::Upsert => "upsert",
        }
    }
}

/// What an update does with a column whose field the record doesn't have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// The record is the whole row: an absent field becomes NULL.
    Replace,
    /// The record is a change: an absent field keeps what is there. The guard then always compares columns.
    Keep,
}

/// How a hashed key is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// RFC 9562 version 8 over the first sixteen bytes of the SHA-256.
    Uuid,
    /// All 32 bytes.
    Bytes,
    /// All 32 bytes as 64 lower-case hex digits.
    Hex,
}

/// What identifies a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// A column that landonce fills with the hashed identity.
    Key {
        /// The column.
        column: String,
        /// Its form.
        form: KeyForm,
    },
    /// The natural key's own columns: indexes into [`TablePlan::columns`], in the order of the identity.
    Columns(Vec<usize>),
}

/// What tells that a row's content differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// A column that holds the SHA-256 of the content.
    Digest {
        /// The column.
        column: String,
    },
    /// Every mapped column, NULL-safe.
    Columns,
}

/// Where a column's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// A field of the record, by its name.
    Field(String),
    /// A JSON object of all fields that no other column takes.
    Rest,
}

/// A column that records fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanColumn {
    /// The column's name in the table.
    pub name: String,
    /// Its source.
    pub from: From,
    /// Its type, with the limits a value must fit.
    pub ty: Type,
    /// The catalogue's SQL type, exactly as the store must cast to it; `None` when landonce makes the table.
    pub sql_type: Option<String>,
    /// Whether the column can be NULL.
    pub nullable: bool,
}

/// Everything the stores need to know to write records into one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePlan {
    /// The target.
    pub table: TableName,
    /// The table doesn't exist yet and landonce makes it.
    pub create: bool,
    /// The columns that records fill, in table order.
    pub columns: Vec<PlanColumn>,
    /// What identifies a row.
    pub matching: Match,
    /// What tells that a row changed.
    pub guard: Guard,
    /// The column that names the run which last changed the row.
    pub run_id: Option<String>,
    /// The column that counts a row's real changes, from 1.
    pub revision: Option<String>,
    /// The version: an index into [`TablePlan::columns`]; the column is ordered and never NULL in a record.
    pub version: Option<usize>,
    /// How rows are written.
    pub mode: WriteMode,
    /// What an absent field means.
    pub absent: Absent,
    /// Columns that a comparison leaves out ([`Guard::Columns`]): indexes of volatile fields, which change per attempt.
    pub unguarded: Vec<usize>,
    /// Some records are deletes: the staged flag tells which.
    pub has_deletes: bool,
    /// The rows that the batch speaks for, so that those it doesn't have are to go; `None` when it speaks for its records
    /// only.
    pub scope: Option<Scope>,
    /// Rows that are to go are retired, not deleted: marked in these columns, and restored when they come again. They are those
    /// of the scope that the batch doesn't have; in a plan without one, those that delete records name.
    pub tombstone: Option<Tombstone>,
    /// Where every version of a row is kept; needs [`TablePlan::revision`], which tells versions apart.
    pub history: Option<TableName>,
    /// The identity is the sender's id, so equal content under several ids is looked for (G3); needs [`Guard::Digest`].
    pub sender_id: bool,
}

/// A column of the stage: what a batch tells the database about each record before any row is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageColumn {
    /// The hashed key ([`Match::Key`]).
    Key,
    /// The content digest ([`Guard::Digest`]), 32 bytes.
    Digest,
    /// One of [`TablePlan::columns`].
    Column(usize),
    /// Which of [`TablePlan::columns`] the record has, one bit each, lowest first ([`Absent::Keep`]); integer.
    Present,
    /// Whether the record is a delete; boolean ([`TablePlan::has_deletes`]).
    IsDelete,
    /// Whether the identity may have come before in this batch; boolean. False is certain, true is not.
    MayRepeat,
    /// The record's number for messages (its line or its index); integer.
    Number,
    /// Where the record's text starts; integer. Grows with the order of the records.
    Offset,
    /// How long it is; integer.
    Len,
}

impl TablePlan {
    /// The stage's columns, in order.
    pub fn stage_columns(&self) -> Vec<StageColumn> {
        let mut columns = Vec::new();
        let mut taken = vec![false; self.columns.len()];
        match &self.matching {
            Match::Key { .. } => columns.push(StageColumn::Key),
            Match::Columns(of) => {
                for &at in of {
                    taken[at] = true;
                    columns.push(StageColumn::Column(at));
                }
            }
        }
        match self.guard {
            Guard::Digest { .. } => columns.push(StageColumn::Digest),
            Guard::Columns => {
                for (at, taken) in taken.iter_mut().enumerate() {
                    if !std::mem::replace(taken, true) {
                        columns.push(StageColumn::Column(at));
                    }
                }
            }
        }
        if let Some(version) = self.version
            && !std::mem::replace(&mut taken[version], true)
        {
            columns.push(StageColumn::Column(version));
        }
        for owned in self.scope.iter().flat_map(|scope| &scope.owner) {
            if !std::mem::replace(&mut taken[owned.column], true) {
                columns.push(StageColumn::Column(owned.column));
            }
        }
        if self.absent == Absent::Keep {
            columns.push(StageColumn::Present);
        }
        if self.has_deletes {
            columns.push(StageColumn::IsDelete);
        }
        columns.extend([StageColumn::MayRepeat, StageColumn::Number, StageColumn::Offset, StageColumn::Len]);
        columns
    }

    /// The columns of a row to be written, in order: the key, the digest, the record's columns, the presence bits,
    /// and the record's number, offset and length (to name a row that the database refuses).
    pub fn row_columns(&self) -> Vec<StageColumn> {
        let mut columns = Vec::new();
        if matches!(self.matching, Match::Key { .. }) {
            columns.push(StageColumn::Key);
        }
        if matches!(self.guard, Guard::Digest { .. }) {
            columns.push(StageColumn::Digest);
        }
        columns.extend((0..self.columns.len()).map(StageColumn::Column));
        if self.absent == Absent::Keep {
            columns.push(StageColumn::Present);
        }
        columns.extend([StageColumn::Number, StageColumn::Offset, StageColumn::Len]);
        columns
    }
}
