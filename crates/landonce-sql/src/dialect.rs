//! The stores, by how they are spoken to.

/// How a store is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL, 14 and newer.
    Postgres,
    /// SQLite, 3.35 and newer.
    Sqlite,
    /// MariaDB, 10.5 and newer.
    MariaDb,
    /// MySQL 8, by its documentation.
    MySql,
}
