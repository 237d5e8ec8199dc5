//! From what is meant to a statement that a store runs. A pure function.
//!
//! PostgreSQL and SQLite say it with `ON CONFLICT (key)`; `render/mysql.rs` says how MariaDB and MySQL, which know no
//! conflict target, are held to the same meaning.

mod mysql;

use crate::check::check;
use crate::quote;
use crate::upsert::{Action, Assignment, Expr, Piece, Rows, Upsert};
use crate::{Dialect, Refused, Wrote};

pub use mysql::OTHER_ROW;

/// A statement, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The statement, without a semicolon.
    pub sql: String,
    /// What is bound at each of the statement's places, by the numbers of the parameters: on PostgreSQL (`$1`) and SQLite
    /// (`?1`) simply 1, 2, 3…; on MariaDB and MySQL, whose `?` have no numbers, a parameter that is used twice is here twice.
    pub params: Vec<usize>,
    dialect: Dialect,
    skips: bool,
    is_conditional: bool,
}

impl Rendered {
    /// The store that it is for.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// How the row count tells what was written, in words.
    pub const fn tells(&self) -> &'static str {
        match (self.dialect.is_mysql_like(), self.skips, self.is_conditional) {
            (false, true, _) => "a row counts 1 when this call wrote it, 0 when it was there already",
            (false, false, false) => "a row counts 1, whether it is new or changed",
            (false, false, true) => {
                "a row counts 1 when it is new or changed, 0 when it was there and the condition is false"
            }
            (true, true, _) => {
                "a row counts 1 when this call wrote it, 0 when it was there already; not on a connection that counts found rows \
                 (CLIENT_FOUND_ROWS), where it counts 1 then too"
            }
            (true, false, _) => {
                "a row counts 1 when it is new, 2 when it has changed, 0 when it was there and stayed as it was; not on a connection \
                 that counts found rows (CLIENT_FOUND_ROWS), where it counts 1 then too"
            }
        }
    }

    /// What the statement has done, by its row count, if it was for one row. See [`wrote`].
    pub const fn wrote(&self, affected: u64) -> Wrote {
        told(self.dialect, self.skips, affected)
    }
}

/// What a statement for **one** row has done, by its row count; the same inside an open transaction.
///
/// | | skip: new | skip: there | update: new | update: there | update: equal, or `only_if` is false |
/// |---|---|---|---|---|---|
/// | PostgreSQL, SQLite | 1 | 0 | 1 | 1 | equal: 1, `only_if`: 0 |
/// | MariaDB, MySQL | 1 | 0 | 1 | 2 | 0 |
///
/// The count of MariaDB and MySQL tells nothing on a connection that asks for *found* instead of *changed* rows
/// (`CLIENT_FOUND_ROWS`, in JDBC `useAffectedRows=false`): there a row that stayed as it was counts as 1, like a new one. Turn it off.
pub const fn wrote(dialect: Dialect, action: &Action, affected: u64) -> Wrote {
    told(dialect, matches!(action, Action::Skip), affected)
}

const fn told(dialect: Dialect, skips: bool, affected: u64) -> Wrote {
    match affected {
        0 => Wrote::Nothing,
        1 if skips || dialect.is_mysql_like() => Wrote::Inserted,
        2.. if dialect.is_mysql_like() => Wrote::Changed,
        _ => Wrote::Written,
    }
}

/// The statement by which a store does what `upsert` means, or why it can't.
///
/// On every store it is one atomic statement; a conflict with another unique index than the key's is an error and changes
/// nothing, neither the row that it was in conflict with nor any other. What such an error is called: 23505 on PostgreSQL,
/// 2067 or 1555 on SQLite, and 1062 or 1690 (with [`OTHER_ROW`] in its message) on MariaDB and MySQL.
pub fn render(upsert: &Upsert, dialect: Dialect) -> Result<Rendered, Refused> {
    check(upsert, dialect)?;
    let replaced = replaced(upsert);
    let (set, only_if) = match &upsert.action {
        Action::Skip => (&[][..], None),
        Action::Replace => (&replaced[..], None),
        Action::Update { set, only_if } => (&set[..], only_if.as_ref()),
    };
    let mut out = Writer::new(upsert, dialect)?;
    if dialect.is_mysql_like() {
        mysql::statement(&mut out, set, only_if)?;
    } else {
        on_conflict(&mut out, set, only_if)?;
    }
    let params = if dialect.is_mysql_like() {
        out.places
    } else {
        (1..=out.places.into_iter().max().unwrap_or(0)).collect()
    };
    Ok(Rendered { sql: out.sql, params, dialect, skips: set.is_empty(), is_conditional: only_if.is_some() })
}

/// `ON CONFLICT (key) DO …`. Both stores look at the key's index first, and only then at the others.
fn on_conflict(out: &mut Writer<'_>, set: &[Assignment], only_if: Option<&Expr>) -> Result<(), Refused> {
    let upsert = out.upsert;
    // A table can declare that its indexes replace or ignore (`UNIQUE ON CONFLICT REPLACE`): OR ABORT takes that back.
    let verb = if out.dialect == Dialect::Sqlite { "INSERT OR ABORT INTO " } else { "INSERT INTO " };
    out.head(verb)?;
    match &upsert.rows {
        Rows::Values(rows) => out.values(rows)?,
        Rows::Query(query) if out.dialect == Dialect::Sqlite => {
            // Without the WHERE, `ON` would be read as that of a join.
            out.push(" SELECT * FROM (");
            out.expr(query)?;
            out.push(") WHERE true");
        }
        Rows::Query(query) => {
            out.push(" ");
            out.expr(query)?;
        }
    }
    out.push(" ON CONFLICT (");
    out.names(&upsert.key)?;
    out.push(if set.is_empty() { ") DO NOTHING" } else { ") DO UPDATE SET " });
    for (at, assignment) in set.iter().enumerate() {
        out.push(if at == 0 { "" } else { ", " });
        out.name(&assignment.column)?;
        out.push(" = ");
        out.expr(&assignment.value)?;
    }
    if let Some(condition) = only_if {
        out.push(" WHERE ");
        out.expr(condition)?;
    }
    out.returning()
}

/// What [`Action::Replace`] sets: all that is given and isn't of the key.
fn replaced(upsert: &Upsert) -> Vec<Assignment> {
    upsert
        .columns
        .iter()
        .filter(|column| !upsert.key.contains(column))
        .map(|column| Assignment { column: column.clone(), value: Expr::incoming(column) })
        .collect()
}

/// A statement in the making.
struct Writer<'a> {
    upsert: &'a Upsert,
    dialect: Dialect,
    sql: String,
    /// The numbers of the parameters, as they stand in the statement.
    places: Vec<usize>,
    /// The table, as it stands before a column's name.
    table: String,
}

impl<'a> Writer<'a> {
    fn new(upsert: &'a Upsert, dialect: Dialect) -> Result<Self, Refused> {
        // Of a column `s.t.c` every store understands `t.c`, too.
        let table = quote::name(&upsert.table.name, dialect)?;
        if upsert.table.name.eq_ignore_ascii_case("excluded") && !dialect.is_mysql_like() {
            return Err(Refused::new(
                "the table is called `excluded`, which is the name of the row that comes",
                "give the table another name",
            ));
        }
        Ok(Self { upsert, dialect, sql: String::new(), places: Vec::new(), table })
    }

    fn push(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    fn name(&mut self, name: &str) -> Result<(), Refused> {
        let quoted = quote::name(name, self.dialect)?;
        self.push(&quoted);
        Ok(())
    }

    fn names(&mut self, names: &[String]) -> Result<(), Refused> {
        for (at, name) in names.iter().enumerate() {
            self.push(if at == 0 { "" } else { ", " });
            self.name(name)?;
        }
        Ok(())
    }

    /// `INSERT INTO table (columns)`.
    fn head(&mut self, verb: &str) -> Result<(), Refused> {
        let table = quote::table(&self.upsert.table, self.dialect)?;
        self.push(verb);
        self.push(&table);
        self.push(" (");
        self.names(&self.upsert.columns)?;
        self.push(")");
        Ok(())
    }

    fn values(&mut self, rows: &[Vec<Expr>]) -> Result<(), Refused> {
        self.push(" VALUES ");
        for (at, row) in rows.iter().enumerate() {
            self.push(if at == 0 { "(" } else { ", (" });
            for (at, value) in row.iter().enumerate() {
                self.push(if at == 0 { "" } else { ", " });
                self.expr(value)?;
            }
            self.push(")");
        }
        Ok(())
    }

    fn returning(&mut self) -> Result<(), Refused> {
        if !self.upsert.returning.is_empty() {
            self.push(" RETURNING ");
            self.names(&self.upsert.returning)?;
        }
        Ok(())
    }

    fn stored(&mut self, column: &str) -> Result<(), Refused> {
        let quoted = quote::name(column, self.dialect)?;
        self.sql.push_str(&self.table);
        self.push(".");
        self.push(&quoted);
        Ok(())
    }

    fn incoming(&mut self, column: &str) -> Result<(), Refused> {
        let quoted = quote::name(column, self.dialect)?;
        match self.dialect {
            Dialect::Postgres | Dialect::Sqlite => self.push(&format!("excluded.{quoted}")),
            Dialect::MariaDb => self.push(&format!("VALUES({quoted})")),
            Dialect::MySql => self.push(&format!("{}.{quoted}", mysql::alias(&self.upsert.table))),
        }
        Ok(())
    }

    fn expr(&mut self, expr: &Expr) -> Result<(), Refused> {
        for piece in &expr.0 {
            match piece {
                Piece::Sql(sql) => self.push(sql),
                Piece::Stored(column) => self.stored(column)?,
                Piece::Incoming(column) => self.incoming(column)?,
                Piece::Param(number) => {
                    self.places.push(*number);
                    match self.dialect {
                        Dialect::Postgres => self.push(&format!("${number}")),
                        Dialect::Sqlite => self.push(&format!("?{number}")),
                        Dialect::MariaDb | Dialect::MySql => self.push("?"),
                    }
                }
                Piece::Text(text) => {
                    let quoted = quote::text(text, self.dialect)?;
                    self.push(&quoted);
                }
                Piece::Name(name) => self.name(name)?,
                Piece::Each(each) => {
                    let spelled = match self.dialect {
                        Dialect::Postgres => &each.postgres,
                        Dialect::Sqlite => &each.sqlite,
                        Dialect::MariaDb | Dialect::MySql => &each.mysql,
                    };
                    let Some(spelled) = spelled else {
                        return Err(Refused::new(
                            format!(
                                "{} has no {} that means the same as where it was written",
                                self.dialect.name(),
                                each.what
                            ),
                            "compute the value in the program, and give it as a parameter",
                        ));
                    };
                    self.push(spelled);
                }
            }
        }
        Ok(())
    }
}
