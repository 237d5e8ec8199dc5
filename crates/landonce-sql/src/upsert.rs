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

impl Expr {
    /// The parameter of this number, from 1.
    pub fn param(number: usize) -> Self {
        Self(vec![Piece::Param(number)])
    }

    /// What the row which comes has in this column.
    pub fn incoming(column: impl Into<String>) -> Self {
        Self(vec![Piece::Incoming(column.into())])
    }

    /// What the row which is there has in this column.
    pub fn stored(column: impl Into<String>) -> Self {
        Self(vec![Piece::Stored(column.into())])
    }

    /// SQL that every store takes as it is, and that names no column.
    pub fn sql(sql: impl Into<String>) -> Self {
        Self(vec![Piece::Sql(sql.into())])
    }

    /// The column of the row that is there differs from that of the row which comes; two NULLs don't differ.
    ///
    /// As a condition on *all* columns that change it keeps an equal row from being written on PostgreSQL and SQLite. MariaDB and MySQL
    /// write no equal row anyhow, and refuse a condition on more than one column that changes.
    pub fn differs(column: &str) -> Self {
        let [before, between, behind] = Each::distinct(true).map(Piece::Each);
        Self(vec![
            before,
            Piece::Stored(column.to_owned()),
            between,
            Piece::Incoming(column.to_owned()),
            behind,
        ])
    }

    /// This, and that behind it.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

/// A piece of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// SQL that every store takes as it is. Columns of the table are never in here: on MySQL the order of the assignments depends
    /// on what they read.
    Sql(String),
    /// The value that the row which comes has in a column (`excluded.c`, `VALUES(c)`). Not in [`Rows`].
    Incoming(String),
    /// The value that the row which is there has in a column. Not in [`Rows`].
    Stored(String),
    /// The parameter of this number, from 1. One number may stand in several places.
    Param(usize),
    /// A text, without quotes around it.
    Text(String),
    /// A name that isn't one of the table's columns (a table that is read, a column of it), without quotes around it.
    Name(String),
    /// What the stores spell differently.
    Each(Each),
}

/// A piece of SQL that the stores spell differently, or that some of them don't have in this meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Each {
    /// What it is called where a store doesn't have it.
    pub what: String,
    /// PostgreSQL's spelling; `None`: it has none that means this.
    pub postgres: Option<String>,
    /// SQLite's.
    pub sqlite: Option<String>,
    /// MariaDB's and MySQL's.
    pub mysql: Option<String>,
}

impl Each {
    /// What stands before, between and behind two values that are (not) the same, where two NULLs are. SQLite says so with IS since ever.
    pub(crate) fn distinct(is_distinct: bool) -> [Self; 3] {
        let each = |postgres: &str, sqlite: &str, mysql: &str| Self {
            what: "IS DISTINCT FROM".to_owned(),
            postgres: Some(postgres.to_owned()),
            sqlite: Some(sqlite.to_owned()),
            mysql: Some(mysql.to_owned()),
        };
        if is_distinct {
            [each("", "", "NOT ("), each(" IS DISTINCT FROM ", " IS NOT ", " <=> "), each("", "", ")")]
        } else {
            [each("", "", "("), each(" IS NOT DISTINCT FROM ", " IS ", " <=> "), each("", "", ")")]
        }
    }
}
