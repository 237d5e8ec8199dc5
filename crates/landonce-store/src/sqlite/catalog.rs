//! What SQLite says of a table: its columns with the types they were declared with, and the unique indexes that can
//! enforce an identity. And what the statements need to know beyond a plan: [`Facts`].

use std::ffi::CStr;

use landonce_core::column::Type;
use landonce_core::plan::{Guard, Match, ShapeColumn, TableName, TablePlan, TableShape, UniqueIndex};
use rusqlite::{Connection, OptionalExtension};

use super::errors::during;
use crate::error::{Error, Result};

/// How a column treats values, decided by the words in its declared type (sqlite.org/datatype3.html, 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Affinity {
    Integer,
    Text,
    /// No conversion at all.
    Blob,
    Real,
    Numeric,
}

impl Affinity {
    pub(super) fn of(declared: &str) -> Self {
        let declared = declared.to_ascii_uppercase();
        let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
        if has(&["INT"]) {
            Self::Integer
        } else if has(&["CHAR", "CLOB", "TEXT"]) {
            Self::Text
        } else if declared.is_empty() || declared == "ANY" || has(&["BLOB"]) {
            Self::Blob
        } else if has(&["REAL", "FLOA", "DOUB"]) {
            Self::Real
        } else {
            Self::Numeric
        }
    }

    /// Texts that look like numbers become numbers.
    pub(super) const fn is_numeric(self) -> bool {
        matches!(self, Self::Integer | Self::Real | Self::Numeric)
    }

    /// A type that gives a column this affinity.
    pub(super) const fn keyword(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Text => "TEXT",
            Self::Blob => "BLOB",
            Self::Real => "REAL",
            Self::Numeric => "NUMERIC",
        }
    }
}

/// A declared type in our words; `None` when values of ours would not stay exact in it.
fn type_of(declared: &str) -> Option<Type> {
    let word = declared.split('(').next().unwrap_or_default().trim().to_ascii_uppercase();
    match (word.as_str(), Affinity::of(declared)) {
        ("BOOLEAN" | "BOOL", _) => Some(Type::Boolean),
        ("DATE", _) => Some(Type::Date),
        ("TIMESTAMPTZ" | "TIMESTAMP WITH TIME ZONE", _) => Some(Type::Timestamptz),
        ("UUID", _) => Some(Type::Uuid),
        ("JSON" | "JSONB", _) => Some(Type::Json),
        // A time with or without a zone, as the pipeline declares: none of its spellings looks like a number. And a column
        // without a type, or ANY in a strict table, which keeps what it is given.
        ("DATETIME" | "TIMESTAMP" | "TIMESTAMP WITHOUT TIME ZONE" | "" | "ANY", _) | (_, Affinity::Text) => {
            Some(Type::TEXT)
        }
        (_, Affinity::Integer) => Some(Type::INTEGER),
        (_, Affinity::Real) => Some(Type::Float { bits: 64 }),
        (_, Affinity::Blob) => Some(Type::Bytes),
        // NUMERIC, DECIMAL(20,8), MONEY, and any word SQLite doesn't know (STRING): such a column makes a double of a decimal
        // with 17 digits, and 7 of the text 007. There is nothing to write into it exactly.
        (_, Affinity::Numeric) => None,
    }
}

/// A table as SQLite describes it.
#[derive(Debug, Clone)]
pub(super) struct Catalog {
    shape: TableShape,
    kind: Kind,
    indexes: Vec<Index>,
    /// How each of the shape's columns compares by default.
    collations: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Table,
    View,
    Virtual,
}

#[derive(Debug, Clone)]
struct Index {
    name: String,
    is_unique: bool,
    /// It has a WHERE, so it doesn't cover every row.
    is_partial: bool,
    /// (column, collation); a column that is an expression has no name.
    columns: Vec<(Option<String>, String)>,
}

impl Index {
    fn is_on(&self, names: &[&str]) -> bool {
        self.columns.len() == names.len() && self.begins_with(names)
    }

    fn begins_with(&self, names: &[&str]) -> bool {
        let has = |name: &&str| {
            self.columns[..names.len()].iter().any(|(column, _)| column.as_deref() == Some(*name))
        };
        self.columns.len() >= names.len() && names.iter().all(has)
    }

    fn collation(&self, name: &str) -> Option<&str> {
        self.columns
            .iter()
            .find(|(column, _)| column.as_deref() == Some(name))
            .map(|(_, collation)| collation.as_str())
    }
}

/// What the catalogue adds to a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// The target is there.
    pub(super) is_there: bool,
    /// The identity's columns, in order.
    pub(super) identity: Vec<Identity>,
    /// An index on the identity and then the digest, which tells records apart without touching a row.
    pub(super) guard_index: Option<String>,
    /// A trigger may raise FAIL, which leaves half a statement's work behind: each row needs a savepoint.
    pub(super) needs_savepoints: bool,
}

/// How the identity's unique index compares one of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) affinity: Affinity,
    /// `None` where it is BINARY, and the column's own too.
    pub(super) collation: Option<String>,
}

impl Facts {
    /// Of a table that landonce makes.
    pub(super) fn made(plan: &TablePlan, is_there: bool) -> Self {
        let identity = match &plan.matching {
            Match::Key { .. } => vec![Identity { affinity: Affinity::Blob, collation: None }],
            Match::Columns(of) => {
                of.iter().map(|_| Identity { affinity: Affinity::Blob, collation: None }).collect()
            }
        };
        Self { is_there, identity, guard_index: None, needs_savepoints: false }
    }
}

/// What the catalogue says of a table; `None` when there is none of that name.
pub(super) fn load(connection: &Connection, table: &TableName) -> Result<Option<Catalog>> {
    let doing = format!("reading the catalogue of {table}");
    let schema = table.schema.as_deref().unwrap_or("main");
    let known = "SELECT EXISTS (SELECT 1 FROM pragma_database_list WHERE name = ?1 COLLATE NOCASE)";
    let is_schema: bool = connection.query_row(known, [schema], |row| row.get(0)).map_err(during(&doing))?;
    if !is_schema {
        return Err(Error::refused(format!("{doing}: SQLite has no schema `{schema}`; leave it out")));
    }
    read(connection, table, schema).map_err(during(&doing))
}

fn read(connection: &Connection, table: &TableName, schema: &str) -> rusqlite::Result<Option<Catalog>> {
    let found = connection
        .query_row(
            "SELECT name, type, wr FROM pragma_table_list WHERE schema = ?1 COLLATE NOCASE AND name = ?2 COLLATE NOCASE",
            [schema, &table.name],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?)),
        )
        .optional()?;
    let Some((name, kind, is_without_rowid)) = found else { return Ok(None) };
    let kind = match kind.as_str() {
        "table" => Kind::Table,
        "view" => Kind::View,
        _ => Kind::Virtual,
    };
    let indexes = indexes(connection, &name, schema)?;
    let mut collations = Vec::new();
    let mut primary = Vec::new();
    let mut columns = Vec::new();
    let mut listed = connection.prepare(
        "SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk, hidden FROM pragma_table_xinfo(?1, ?2) WHERE hidden <> 1",
    )?;
    let mut rows = listed.query([&name, schema])?;
    while let Some(row) = rows.next()? {
        let (column, sql_type): (String, String) = (row.get(0)?, row.get(1)?);
        let (is_not_null, has_default): (bool, bool) = (row.get(2)?, row.get(3)?);
        let (in_primary, hidden): (i64, i64) = (row.get(4)?, row.get(5)?);
        let is_generated = hidden != 0;
        if in_primary > 0 {
            primary.push(columns.len());
        }
        let collation = if kind == Kind::Table {
            collation(connection, schema, &name, &column)?
        } else {
            "BINARY".to_owned()
        };
        let unique = indexes.iter().filter(|index| index.is_unique);
        let is_exact =
            unique.filter_map(|index| index.collation(&column)).all(|collation| collation == "BINARY");
        collations.push(collation);
        columns.push(ShapeColumn {
            ty: type_of(&sql_type),
            name: column,
            sql_type,
            nullable: !is_not_null,
            is_generated,
            has_default: has_default || is_generated,
            is_exact,
        });
    }
    let mut unique = Vec::new();
    // INTEGER PRIMARY KEY is the row's own number: unique without an index, never NULL, and filled when left out. A sender's
    // id may well stand in it, so it can be written.
    let has_index =
        |at: usize| indexes.iter().any(|index| index.is_unique && index.is_on(&[&columns[at].name]));
    if let [at] = primary[..]
        && columns[at].sql_type.eq_ignore_ascii_case("INTEGER")
        && !is_without_rowid
        && !has_index(at)
    {
        let column = &mut columns[at];
        (column.nullable, column.has_default) = (false, true);
        unique.push(UniqueIndex {
            name: "PRIMARY KEY".to_owned(),
            columns: vec![column.name.clone()],
            is_null_safe: true,
            is_primary: true,
        });
    }
    for index in indexes.iter().filter(|index| index.is_unique && !index.is_partial) {
        let Some(names) = index.columns.iter().map(|(name, _)| name.clone()).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let is_null_safe =
            columns.iter().filter(|column| names.contains(&column.name)).all(|column| !column.nullable);
        let is_primary =
            primary.len() == names.len() && primary.iter().all(|at| names.contains(&columns[*at].name));
        unique.push(UniqueIndex { name: index.name.clone(), columns: names, is_null_safe, is_primary });
    }
    let shape = TableShape {
        table: TableName { schema: table.schema.clone(), name },
        columns,
        unique,
        is_view: kind == Kind::View,
        is_loosely_typed: true,
    };
    Ok(Some(Catalog { shape, kind, indexes, collations }))
}

fn indexes(connection: &Connection, table: &str, schema: &str) -> rusqlite::Result<Vec<Index>> {
    let mut listed =
        connection.prepare("SELECT name, \"unique\", partial FROM pragma_index_list(?1, ?2) ORDER BY seq")?;
    let mut columns = connection
        .prepare("SELECT name, upper(coll) FROM pragma_index_xinfo(?1, ?2) WHERE key = 1 ORDER BY seqno")?;
    let found = listed.query_map([table, schema], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let found: Vec<(String, bool, bool)> = found.collect::<rusqlite::Result<_>>()?;
    found
        .into_iter()
        .map(|(name, is_unique, is_partial)| {
            let columns = columns
                .query_map([&name, schema], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Index { name, is_unique, is_partial, columns })
        })
        .collect()
}

fn collation(connection: &Connection, schema: &str, table: &str, column: &str) -> rusqlite::Result<String> {
    let (_, collation, ..) = connection.column_metadata(Some(schema), table, column)?;
    Ok(collation
        .as_deref()
        .map_or("BINARY".to_owned(), |name: &CStr| name.to_string_lossy().to_ascii_uppercase()))
}

impl Catalog {
    pub(super) fn into_shape(self) -> TableShape {
        self.shape
    }

    /// Whether an index leads to rows by this column.
    pub(super) fn has_index_on(&self, column: &str) -> bool {
        self.indexes.iter().any(|index| !index.is_partial && index.begins_with(&[column]))
    }

    /// What a plan for this table needs. Fails where SQLite can't do what the plan wants.
    pub(super) fn facts(&self, connection: &Connection, plan: &TablePlan) -> Result<Facts> {
        let table = &self.shape.table;
        if self.kind != Kind::Table {
            let what = if self.kind == Kind::View { "a view" } else { "a virtual table" };
            return Err(Error::refused(format!(
                "{table} is {what}, and SQLite has no conflict-safe write into one; name the table that holds the rows"
            )));
        }
        let names: Vec<&str> = match &plan.matching {
            Match::Key { column, .. } => vec![column],
            Match::Columns(of) => of.iter().map(|&at| plan.columns[at].name.as_str()).collect(),
        };
        let enforcing =
            self.indexes.iter().find(|index| index.is_unique && !index.is_partial && index.is_on(&names));
        if enforcing.is_none() && self.shape.unique_on(&names).is_none() {
            let list = names.join(", ");
            return Err(Error::refused(format!(
                "{table} has no unique index on exactly ({list}) to enforce the identity"
            )));
        }
        let identity = names.iter().map(|name| self.identity(name, enforcing)).collect();
        let guard_index = match &plan.guard {
            Guard::Digest { column } => {
                let covers = |index: &&Index| {
                    let digest = index.columns.get(names.len()).and_then(|(name, _)| name.as_deref());
                    let collates = |name: &&str| {
                        enforcing.and_then(|enforcing| enforcing.collation(name)) == index.collation(name)
                    };
                    !index.is_partial
                        && index.begins_with(&names)
                        && digest == Some(column)
                        && names.iter().all(collates)
                };
                self.indexes.iter().find(covers).map(|index| index.name.clone())
            }
            Guard::Columns => None,
        };
        let needs_savepoints = raises_fail(connection, table.schema.as_deref().unwrap_or("main"))
            .map_err(during("looking for triggers"))?;
        Ok(Facts { is_there: true, identity, guard_index, needs_savepoints })
    }

    fn identity(&self, name: &str, enforcing: Option<&Index>) -> Identity {
        let at = self.shape.columns.iter().position(|column| column.name == name);
        let affinity = at.map_or(Affinity::Blob, |at| Affinity::of(&self.shape.columns[at].sql_type));
        let own = at.map_or("BINARY", |at| self.collations[at].as_str());
        let of_index = enforcing.and_then(|index| index.collation(name)).unwrap_or(own);
        let collation = (own != "BINARY" || of_index != "BINARY").then(|| of_index.to_owned());
        Identity { affinity, collation }
    }
}

/// Whether any trigger of the database, or of this connection, may `RAISE(FAIL, …)`. One too many costs time only.
fn raises_fail(connection: &Connection, schema: &str) -> rusqlite::Result<bool> {
    let schema = schema.replace('"', "\"\"");
    connection.query_row(
        &format!(
            "SELECT EXISTS (
               SELECT 1 FROM (SELECT type, sql FROM \"{schema}\".sqlite_schema UNION ALL SELECT type, sql FROM sqlite_temp_schema)
               WHERE type = 'trigger' AND sql LIKE '%raise%fail%')"
        ),
        [],
        |row| row.get(0),
    )
}

#[cfg(test)]
mod tests {
    use landonce_core::plan::{Absent, From, PlanColumn, WriteMode};

    use super::*;
    use crate::sqlite::create_target_sql;

    fn shape(ddl: &str) -> TableShape {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(ddl).unwrap();
        load(&connection, &TableName { schema: None, name: "T".to_owned() }).unwrap().unwrap().into_shape()
    }

    #[test]
    fn declared_words_decide_what_can_be_written() {
        let shape = shape(
            "CREATE TABLE t(a VARCHAR(20), b INT8, c DOUBLE PRECISION, d BLOB, e, f BOOLEAN, g DATE, h DATETIME, i UUID, j JSON,
               k NUMERIC, l DECIMAL(20,8), m STRING, n TEXT AS (a || 'x'), o TEXT DEFAULT 'x' NOT NULL)",
        );
        let found: Vec<_> = shape
            .columns
            .iter()
            .map(|column| column.ty.as_ref().map_or("none".to_owned(), ToString::to_string))
            .collect();
        assert_eq!(
            found,
            [
                "text", "integer", "float", "bytes", "text", "boolean", "date", "text", "uuid", "json",
                "none", "none", "none", "text", "text"
            ]
        );
        assert_eq!(shape.table.name, "t");
        assert!(shape.is_loosely_typed && !shape.is_view);
        assert!(shape.column("n").unwrap().is_generated);
        assert!(shape.column("o").unwrap().has_default && !shape.column("o").unwrap().nullable);
    }

    #[test]
    fn only_whole_plain_unique_indexes_enforce_an_identity() {
        let shape = shape(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL, b TEXT, c TEXT COLLATE NOCASE NOT NULL, UNIQUE (a, b));
             CREATE UNIQUE INDEX partial ON t(a) WHERE b IS NULL;
             CREATE UNIQUE INDEX computed ON t(lower(a));
             CREATE UNIQUE INDEX folded ON t(c);
             CREATE INDEX plain ON t(a);",
        );
        assert_eq!(shape.unique.len(), 3, "{:?}", shape.unique);
        assert!(shape.unique_on(&["id"]).unwrap().is_null_safe);
        assert!(!shape.unique_on(&["b", "a"]).unwrap().is_null_safe);
        assert!(shape.unique_on(&["c"]).unwrap().is_null_safe);
        assert!(shape.unique_on(&["a"]).is_none());
        assert!(shape.unique.iter().all(|index| index.is_primary == (index.columns == ["id"])));
        assert!(!shape.column("c").unwrap().is_exact && shape.column("a").unwrap().is_exact);
        let id = shape.column("id").unwrap();
        assert!(id.has_default && !id.nullable && !id.is_generated);
    }

    #[test]
    fn primary_keys_without_a_row_number_take_no_null_and_have_an_index() {
        for ddl in [
            "CREATE TABLE t(id INTEGER PRIMARY KEY) WITHOUT ROWID",
            "CREATE TABLE t(id TEXT PRIMARY KEY) STRICT",
            "CREATE TABLE t(id INTEGER NOT NULL, PRIMARY KEY (id DESC))",
        ] {
            let shape = shape(ddl);
            assert_eq!(shape.unique.len(), 1, "{ddl}");
            assert!(shape.unique[0].is_null_safe && shape.unique[0].is_primary, "{ddl}");
        }
        // A rowid table's primary key takes NULLs, many of them: an old fault that SQLite keeps.
        assert!(!shape("CREATE TABLE t(id TEXT PRIMARY KEY)").unique[0].is_null_safe);
    }

    fn facts(ddl: &str, plan: &TablePlan) -> Facts {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(ddl).unwrap();
        load(&connection, &plan.table).unwrap().unwrap().facts(&connection, plan).unwrap()
    }

    fn natural(guard: &str) -> TablePlan {
        let column = |name: &str| PlanColumn {
            name: name.to_owned(),
            from: From::Field(name.to_owned()),
            ty: Type::TEXT,
            sql_type: None,
            nullable: false,
        };
        TablePlan {
            table: TableName { schema: None, name: "t".to_owned() },
            create: true,
            columns: vec![column("a"), column("b")],
            matching: Match::Columns(vec![1, 0]),
            guard: Guard::Digest { column: guard.to_owned() },
            run_id: None,
            revision: None,
            version: None,
            mode: WriteMode::Upsert,
            absent: Absent::Replace,
            unguarded: Vec::new(),
            has_deletes: false,
            scope: None,
            tombstone: None,
            history: None,
            sender_id: false,
        }
    }

    #[test]
    fn the_index_that_tells_records_apart_is_found_where_it_can_be_used() {
        let made = create_target_sql(&natural("d")).unwrap();
        assert_eq!(facts(&made, &natural("d")).guard_index.as_deref(), Some("landonce_guard_t"));
        let table = "CREATE TABLE t(a TEXT NOT NULL, b TEXT NOT NULL, d BLOB, UNIQUE (a, b));";
        for (index, is_found) in [
            ("CREATE INDEX i ON t(a, b, d)", true),
            ("CREATE INDEX i ON t(b, a, d, a)", true),
            ("CREATE INDEX i ON t(a, d, b)", false),
            ("CREATE INDEX i ON t(a, b)", false),
            ("CREATE INDEX i ON t(a, b, d) WHERE d IS NOT NULL", false),
            ("CREATE INDEX i ON t(a COLLATE NOCASE, b, d)", false),
        ] {
            let facts = facts(&format!("{table}{index}"), &natural("d"));
            assert_eq!(facts.guard_index.is_some(), is_found, "{index}");
        }
    }

    #[test]
    fn savepoints_are_for_triggers_that_may_fail_half_way() {
        let table = "CREATE TABLE t(a TEXT NOT NULL, b TEXT NOT NULL, d BLOB, UNIQUE (a, b));";
        for (raise, needs) in [("RAISE ( FAIL, 'x')", true), ("raise(abort, 'x')", false), ("1", false)] {
            let trigger = format!("{table} CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT {raise}; END;");
            assert_eq!(facts(&trigger, &natural("d")).needs_savepoints, needs, "{raise}");
        }
    }

    #[test]
    fn views_are_told_from_tables_and_what_is_not_there_is_none() {
        assert!(shape("CREATE TABLE u(a); CREATE VIEW t AS SELECT a FROM u").is_view);
        let connection = Connection::open_in_memory().unwrap();
        assert!(load(&connection, &TableName { schema: None, name: "t".to_owned() }).unwrap().is_none());
        let error = load(&connection, &TableName { schema: Some("public".to_owned()), name: "t".to_owned() })
            .unwrap_err();
        assert!(error.to_string().contains("no schema `public`"), "{error}");
    }
}
