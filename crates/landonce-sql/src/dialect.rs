//! The stores, by how they are spoken to, and what their row counts say.

use std::fmt;
use std::str::FromStr;

use crate::Refused;

/// How a store is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL, 14 and newer.
    Postgres,
    /// SQLite, 3.35 and newer.
    Sqlite,
    /// MariaDB, 10.5 and newer.
    MariaDb,
    /// MySQL, 8.0.19 and newer, by its documentation.
    MySql,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Postgres, Self::Sqlite, Self::MariaDb, Self::MySql];

    /// The word by which it is asked for: `postgres`, `sqlite`, `mariadb`, `mysql`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }

    /// The store's own name for itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Sqlite => "SQLite",
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        }
    }

    /// MariaDB or MySQL: no conflict target, no numbered parameters, backslashes in strings.
    pub const fn is_mysql_like(self) -> bool {
        matches!(self, Self::MariaDb | Self::MySql)
    }

    /// How many parameters one statement takes.
    pub const fn most_params(self) -> usize {
        match self {
            Self::Sqlite => 32_766,
            Self::Postgres | Self::MariaDb | Self::MySql => 65_535,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = Refused;

    fn from_str(word: &str) -> Result<Self, Refused> {
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == word).ok_or_else(|| {
            Refused::new(format!("there is no store `{word}`"), "write postgres, sqlite, mariadb or mysql")
        })
    }
}

/// What a statement for **one** row has done, as its row count tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrote {
    /// Nothing: the row was there already, and is as it was. The duplicate.
    Nothing,
    /// The row is new. The winner.
    Inserted,
    /// The row was there, and has changed.
    Changed,
    /// One of the last two: this store's count doesn't tell an insert from an update.
    Written,
}

impl Wrote {
    /// This call has written the row.
    pub const fn is_written(self) -> bool {
        !matches!(self, Self::Nothing)
    }
}
