//! From a statement as somebody wrote it to what it means.
//!
//! Three spellings are taken: `INSERT … ON CONFLICT … DO …` (PostgreSQL, SQLite), `UPSERT INTO …` (CockroachDB and others), and
//! `INSERT … ON DUPLICATE KEY UPDATE …` (MySQL, MariaDB). What is like them and isn't the same (`REPLACE`, `INSERT IGNORE`) is refused
//! with what to write. The stages, a file each: `tokens` cuts the text and numbers the parameters, `statement` takes the syntax tree apart,
//! `expr` and `query` respell values and queries, `keys` finds out by which key a row is the same.

mod expr;
mod keys;
mod query;
mod statement;
mod tokens;

use crate::{Dialect, Refused, Upsert};

pub use keys::Keys;

/// A statement that was understood. What it means for a store is told by [`Spelled::upsert`].
#[derive(Debug, Clone)]
pub struct Spelled {
    read: tokens::Read,
    insert: Box<sqlparser::ast::Insert>,
    target: Target,
}

/// How a statement was spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// `INSERT … ON CONFLICT`.
    OnConflict,
    /// `UPSERT INTO`.
    Upsert,
    /// `INSERT … ON DUPLICATE KEY UPDATE`.
    OnDuplicateKey,
}

/// By what a statement says that a row is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// By these columns, as they are written.
    Columns(Vec<String>),
    /// By the primary key (`UPSERT INTO`).
    PrimaryKey,
    /// By any unique index that finds a row (`ON DUPLICATE KEY UPDATE`, `ON CONFLICT DO NOTHING`): which one is meant isn't said.
    AnyIndex,
    /// By a constraint's name.
    Constraint(String),
}

/// Reads one statement.
///
/// ```
/// use landonce_sql::{Dialect, Keys, parse, render};
///
/// let spelled = parse("UPSERT INTO account (id, balance) VALUES ($1, $2)")?;
/// let key = ["id".to_owned()];
/// let upsert = spelled.upsert(Dialect::Postgres, &Keys::Given(&key))?;
/// assert_eq!(
///     render(&upsert, Dialect::Postgres)?.sql,
///     r#"INSERT INTO "account" ("id", "balance") VALUES ($1, $2) ON CONFLICT ("id") DO UPDATE SET "balance" = excluded."balance""#
/// );
/// # Ok::<(), landonce_sql::Refused>(())
/// ```
pub fn parse(sql: &str) -> Result<Spelled, Refused> {
    let read = tokens::read(sql)?;
    let (insert, with) = statement::parse(&read)?;
    let target = statement::target(&insert, read.spelling)?;
    let spelled = Spelled { read, insert: Box::new(insert), target };
    statement::refuse_what_isnt_meant(&spelled.insert, with, spelled.read.spelling)?;
    // All of it is read at once, so that what can't be said is refused here, whatever the store.
    statement::upsert(&spelled, Dialect::Postgres, Vec::new())?;
    Ok(spelled)
}

impl Spelled {
    /// How it was spelled.
    pub const fn spelling(&self) -> Spelling {
        self.read.spelling
    }

    /// By what it says that a row is the same.
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// The parameters as they were written, in the order of their numbers: `$1`, `:name`, or `?`.
    pub fn params(&self) -> &[String] {
        &self.read.params
    }

    /// The table that it writes to, in this store's case: PostgreSQL takes unquoted names for lower case.
    pub fn table(&self, dialect: Dialect) -> Result<landonce_core::plan::TableName, Refused> {
        statement::table(&self.insert, dialect)
    }

    /// What it means, with the key by which a row is the same.
    pub fn upsert(&self, dialect: Dialect, keys: &Keys<'_>) -> Result<Upsert, Refused> {
        let upsert = statement::upsert(self, dialect, Vec::new())?;
        let written = match &self.target {
            Target::Columns(_) => Some(statement::conflict_columns(&self.insert, dialect)),
            _ => None,
        };
        let key = keys::resolve(&self.target, written, &upsert.columns, keys)?;
        Ok(Upsert { key, ..upsert })
    }
}
