//! What is meant, whatever it was spelled like.

use landonce_core::plan::TableName;

/// Rows that go into a table, and what becomes of a row that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upsert {
    /// Where they go.
    pub table: TableName,
    /// The columns that the rows give, in the order of their values.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Rows,
    /// The columns of the key by which a row is the same: the primary key, or those of one unique index.
    pub key: Vec<String>,
    /// What becomes of a row that is there.
    pub action: Action,
    /// Columns that are returned of the rows that were written; none: nothing is returned.
    pub returning: Vec<String>,
}

/// Where the rows come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// Rows of values.
    Values(Vec<Vec<Expr>>),
    /// The rows of a query, as it is written.
    Query(Expr),
}

/// What becomes of a row that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It stays as it is.
    Skip,
    /// All that is given and isn't of the key is replaced.
    Replace,
    /// These columns change, where the condition (if any) holds.
    Update {
        /// What changes.
        set: Vec<Assignment>,
        /// When it does.
        only_if: Option<Expr>,
    },
}

/// `column = value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The column.
    pub column: String,
    /// Its new value.
    pub value: Expr,
}

/// An expression, in pieces: what a store spells in its own way, and SQL in between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expr(pub Vec<Piece>);

/// A piece of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// SQL that every store takes as it is.
    Sql(String),
    /// The value that the row which comes has in a column (`excluded.c`, `VALUES(c)`).
    Incoming(String),
    /// The value that the row which is there has in a column.
    Stored(String),
    /// The parameter of this number, from 1.
    Param(usize),
}
