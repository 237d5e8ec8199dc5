//! A snapshot of SQLite holds every value exactly as it is stored.

use std::path::PathBuf;

use landonce_prove::snapshot::{Snapshot, sqlite};
use rusqlite::Connection;
use tempfile::TempDir;

/// A database, and its snapshots in folders of their own.
pub(crate) struct Scratch {
    folder: TempDir,
    count: std::cell::Cell<u32>,
}

impl Scratch {
    pub(crate) fn new(sql: &str) -> Self {
        let scratch = Self { folder: tempfile::tempdir().unwrap(), count: std::cell::Cell::new(0) };
        scratch.run(sql);
        scratch
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("data.db")
    }

    pub(crate) fn run(&self, sql: &str) {
        Connection::open(self.file()).unwrap().execute_batch(sql).unwrap();
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.count.set(self.count.get() + 1);
        let folder = self.folder.path().join(self.count.get().to_string());
        std::fs::create_dir(&folder).unwrap();
        sqlite::read(&self.file(), &folder).unwrap()
    }
}

/// The rows' lines, without versions.
fn lines(snapshot: &Snapshot, table: &str) -> Vec<String> {
    let text = std::fs::read(&snapshot.tables[table].file).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().map(|line| line.split_once('\t').unwrap().1.to_owned()).collect()
}

#[test]
fn values_of_different_types_differ() {
    let db = Scratch::new(
        "CREATE TABLE v (x); INSERT INTO v VALUES
         (NULL), (1), (1.0), ('1'), (x'31'), (''), (x''), ('\\N'), ('NULL'), (-0.0), (0.1), (1e300), (9e999),
         ('a' || char(9) || 'b' || char(10) || 'c' || char(13) || '\\'), (9223372036854775807), (1e15), ('x''31''')",
    );
    let found = lines(&db.snapshot(), "v");
    assert_eq!(found.len(), 17);
    assert_eq!(found.iter().collect::<std::collections::BTreeSet<_>>().len(), 17, "{found:?}");
    assert_eq!(found[..8], ["\\N", "1", "1.0", "'1'", "x'31'", "''", "x''", "'\\\\N'"]);
    assert_eq!(found[13], "'a\\tb\\nc\\r\\\\'");
}

#[test]
fn text_that_is_not_utf8_is_kept() {
    let db =
        Scratch::new("CREATE TABLE v (x); INSERT INTO v VALUES (CAST(x'ff' AS TEXT)), (CAST(x'fe' AS TEXT))");
    let snapshot = db.snapshot();
    let bytes = std::fs::read(&snapshot.tables["v"].file).unwrap();
    assert!(bytes.windows(3).any(|part| part == b"'\xff'"));
    assert!(bytes.windows(3).any(|part| part == b"'\xfe'"));
}

#[test]
fn keys_ids_and_references_are_told() {
    let db = Scratch::new(
        r#"CREATE TABLE "order" (id INTEGER PRIMARY KEY, number TEXT NOT NULL UNIQUE, note TEXT);
           CREATE UNIQUE INDEX some ON "order" (note) WHERE note IS NOT NULL;
           CREATE UNIQUE INDEX lower ON "order" (lower(note));
           CREATE TABLE line (order_id INTEGER REFERENCES "order", no INT, PRIMARY KEY (order_id, no)) WITHOUT ROWID;
           CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, x UNIQUE);
           INSERT INTO counted (x) VALUES ('a'), ('b');
           CREATE TABLE by_unique (a TEXT NOT NULL, b TEXT, UNIQUE (a));
           CREATE VIEW seen AS SELECT 1;"#,
    );
    let snapshot = db.snapshot();
    let order = &snapshot.tables["order"];
    assert_eq!(order.key, ["id"]);
    assert_eq!(order.unique, [vec!["id".to_owned()], vec!["number".to_owned()]]);
    assert!(order.columns[0].is_generated && !order.columns[1].is_generated);
    let line = &snapshot.tables["line"];
    assert_eq!(line.key, ["order_id", "no"]);
    assert_eq!(line.columns[0].references, Some(("order".to_owned(), "id".to_owned())));
    assert_eq!(snapshot.tables["by_unique"].key, ["a"]);
    assert_eq!(snapshot.sequences["counted"], "2");
    assert_eq!(snapshot.tables["counted"].columns[0].default.as_deref(), Some("AUTOINCREMENT"));
    assert!(!snapshot.tables.contains_key("sqlite_sequence"));
    assert!(snapshot.objects.contains(&"view seen".to_owned()), "{:?}", snapshot.objects);
}

#[test]
fn a_text_index_is_read_as_one_table() {
    let db =
        Scratch::new("CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words VALUES ('so it is')");
    let snapshot = db.snapshot();
    assert_eq!(snapshot.tables.keys().collect::<Vec<_>>(), ["words"]);
    assert_eq!(snapshot.tables["words"].rows, 1);
}

#[test]
fn a_generated_column_is_content() {
    let db = Scratch::new(
        "CREATE TABLE g (a INT, b INT AS (a * 2), c INT AS (a + 1) STORED); INSERT INTO g VALUES (3)",
    );
    assert_eq!(lines(&db.snapshot(), "g"), ["3\t6\t4"]);
}

#[test]
fn what_another_connection_has_not_committed_is_not_seen() {
    let db = Scratch::new("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    let writer = Connection::open(db.file()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(lines(&db.snapshot(), "t"), ["1"]);
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(lines(&db.snapshot(), "t"), ["1", "2"]);
}
