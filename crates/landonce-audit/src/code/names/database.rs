//! Names of calls and receivers that are about a database.

use super::last;

/// Whether a call only puts a text together: what takes it is another call.
pub(in crate::code) fn assembles(callee: &str) -> bool {
    matches!(
        last(callee),
        "Sprintf"
            | "Sprint"
            | "format"
            | "formatted"
            | "concat"
            | "join"
            | "Join"
            | "TrimSpace"
            | "trim"
            | "strip"
            | "stripIndent"
            | "append"
            | "WriteString"
            | "push_str"
            | "valueOf"
            | "toString"
            | "to_string"
            | "to_owned"
            | "into"
            | "from"
            | "format_args"
            | "write"
            | "writeln"
            | "Fprintf"
            | "dedent"
            | "Some"
            | "Ok"
            | "CopyIn"
            | "CopyInSchema"
    ) && !callee.starts_with("db")
}

/// Whether calls of this name take a statement.
pub(in crate::code) fn takes_statement(name: &str) -> bool {
    matches!(
        name,
        "query"
            | "execute"
            | "exec"
            | "queryRow"
            | "run"
            | "all"
            | "get"
            | "each"
            | "prepare"
            | "raw"
            | "unsafe"
            | "none"
            | "one"
            | "oneOrNone"
            | "many"
            | "manyOrNone"
            | "any"
            | "batch"
            | "queryStream"
            | "queryArray"
            | "queryObject"
            | "$queryRaw"
            | "$executeRaw"
            | "$queryRawUnsafe"
            | "$executeRawUnsafe"
            | "simpleQuery"
            | "multi"
            | "result"
            | "Exec"
            | "Query"
            | "QueryRow"
            | "ExecContext"
            | "QueryContext"
            | "QueryRowContext"
            | "Prepare"
            | "PrepareContext"
            | "MustExec"
            | "NamedExec"
            | "NamedExecContext"
            | "NamedQuery"
            | "Get"
            | "Select"
            | "GetContext"
            | "SelectContext"
            | "Queue"
            | "Raw"
            | "Queryx"
            | "QueryRowx"
            | "Preparex"
            | "prepareStatement"
            | "prepareCall"
            | "executeUpdate"
            | "executeQuery"
            | "executeLargeUpdate"
            | "addBatch"
            | "update"
            | "batchUpdate"
            | "queryForObject"
            | "queryForList"
            | "queryForMap"
            | "createNativeQuery"
            | "nativeQuery"
            | "sql"
            | "createUpdate"
            | "createQuery"
            | "query_as"
            | "query_scalar"
            | "query_with"
            | "execute_batch"
            | "batch_execute"
            | "simple_query"
            | "query_one"
            | "query_opt"
            | "query_row"
            | "query_map"
            | "prepare_cached"
            | "prepare_typed"
            | "execute_raw"
            | "query_raw"
            | "sql_query"
            | "copy_in"
            | "copy_out"
            | "copy_in_raw"
            | "execute_many"
            | "from_sql_and_values"
            | "from_string"
            | "exec_drop"
            | "exec_first"
            | "query_drop"
            | "query_first"
            | "exec_batch"
            | "query_iter"
            | "exec_iter"
            | "execute_unprepared"
    )
}

/// Whether calls of this name take nothing but statements: one that can't be resolved is worth a word.
pub(in crate::code) fn takes_only_statements(name: &str) -> bool {
    takes_statement(name)
        && !matches!(
            name,
            "run"
                | "all"
                | "get"
                | "each"
                | "batch"
                | "one"
                | "none"
                | "many"
                | "any"
                | "Get"
                | "Select"
                | "update"
                | "result"
                | "multi"
                | "createQuery"
                | "sql"
                | "unsafe"
                | "Raw"
                | "raw"
                | "GetContext"
                | "SelectContext"
                | "Queue"
        )
}

/// Whether calls of this name make a prepared statement of one.
pub(in crate::code) fn prepares(name: &str) -> bool {
    matches!(
        name,
        "prepare"
            | "prepareStatement"
            | "prepareCall"
            | "Prepare"
            | "PrepareContext"
            | "Preparex"
            | "prepare_cached"
            | "prepare_typed"
    )
}

/// Whether calls of this name on a prepared statement run it.
pub(in crate::code) fn runs_prepared(name: &str) -> bool {
    takes_statement(name)
        || matches!(
            name,
            "executeBatch"
                | "executeLargeBatch"
                | "iterate"
                | "insert"
                | "query_and_then"
                | "exists"
                | "raw_execute"
                | "raw_query"
                | "values"
        ) && name != "addBatch"
}

/// Whether a call of this name hands over several rows at once.
pub(in crate::code) fn is_many(name: &str) -> bool {
    matches!(
        name,
        "executeBatch"
            | "executeLargeBatch"
            | "batchUpdate"
            | "Queue"
            | "CopyFrom"
            | "createMany"
            | "bulkCreate"
            | "execute_many"
            | "exec_batch"
            | "copy_in"
            | "copy_in_raw"
            | "batch"
            | "insertMany"
            | "batchInsert"
    )
}

/// Whether a receiver's name says that it is a database's.
pub(in crate::code) fn is_database(receiver: &str) -> bool {
    let name =
        last(receiver.trim_end_matches("()")).trim_start_matches(['_', '#', '&', '*']).to_ascii_lowercase();
    [
        "db",
        "conn",
        "client",
        "pool",
        "tx",
        "trx",
        "cur",
        "session",
        "stmt",
        "statement",
        "pg",
        "sql",
        "database",
        "jdbc",
        "template",
        "entitymanager",
        "queryrunner",
        "knex",
        "prisma",
        "sequelize",
        "manager",
        "datasource",
        "transaction",
    ]
    .iter()
    .any(|known| name.contains(known))
        || matches!(name.as_str(), "em" | "c" | "q" | "t" | "ps" | "st" | "s" | "h")
}

/// Whether a name is that of a connection, not of a statement.
pub(in crate::code) fn is_connection(name: &str) -> bool {
    let name = last(name).to_ascii_lowercase();
    ["conn", "pool", "db", "tx", "trx", "client", "session", "database"]
        .iter()
        .any(|known| name.contains(known))
        && !["sql", "query", "stmt", "statement"].iter().any(|known| name.contains(known))
}

/// Whether a file's text names a database library.
pub(in crate::code) fn mentions_database(text: &str) -> bool {
    [
        "'pg'",
        "\"pg\"",
        "postgres",
        "pg-promise",
        "mysql",
        "sqlite",
        "knex",
        "prisma",
        "typeorm",
        "sequelize",
        "database/sql",
        "jackc/pgx",
        "lib/pq",
        "sqlx",
        "gorm",
        "java.sql",
        "javax.sql",
        "jdbc",
        "persistence",
        "tokio_postgres",
        "rusqlite",
        "diesel",
        "sea_orm",
        "mariadb",
        "drizzle",
    ]
    .iter()
    .any(|library| text.contains(library))
}
