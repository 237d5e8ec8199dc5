//! Clones of a SQLite file: with what is only in its WAL, apart from each other, the source not touched.

use std::fs;
use std::path::Path;

use landonce_prove::database::{Kind, Source};
use landonce_testkit::dump;
use rusqlite::Connection;

fn open(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

fn shop(path: &Path, mode: &str) -> Connection {
    let connection = open(path);
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = {mode}; CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, what);
             INSERT INTO orders (what) VALUES ('tea'), (1.5), (x'00ff'), (NULL)"
        ))
        .unwrap();
    connection
}

fn count(path: &Path) -> i64 {
    open(path).query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn clones_are_as_the_file_is_and_apart_from_each_other() {
    for mode in ["DELETE", "WAL"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shop.db");
        // Kept open: in WAL mode nothing of it is in the file itself yet.
        let user = shop(&file, mode);
        let before = fs::read(&file).unwrap();
        let source = Source::open(&format!("sqlite:{}", file.display()), None).await.unwrap();
        assert_eq!(source.kind(), Kind::Sqlite);

        let (one, other) = (source.fresh().await.unwrap(), source.fresh().await.unwrap());
        let (in_one, in_other) = (one.path().unwrap(), other.path().unwrap());
        assert_eq!(in_one.file_name(), Some("shop.db".as_ref()));
        assert_eq!(one.url(), format!("sqlite:///{}", in_one.display()));
        assert_eq!(dump::sqlite(in_one), dump::sqlite(&file), "{mode}");
        let kept: String = open(in_one).pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(kept, mode.to_lowercase());

        open(in_one).execute_batch("DELETE FROM orders").unwrap();
        one.settle().await.unwrap();
        assert_eq!((count(in_one), count(in_other), count(&file)), (0, 4, 4));
        assert_eq!(fs::read(&file).unwrap(), before);

        let (in_one, in_other) = (in_one.to_owned(), in_other.to_owned());
        one.discard().await.unwrap();
        assert!(!in_one.exists() && in_other.exists());
        source.close().await.unwrap();
        assert!(!in_other.exists());
        drop(user);
    }
}

#[tokio::test]
async fn what_setup_writes_is_in_every_clone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    drop(shop(&file, "WAL"));
    let source = Source::open(file.to_str().unwrap(), None).await.unwrap();
    let base = source.base_url().strip_prefix("sqlite:///").unwrap().to_owned();
    open(Path::new(&base)).execute_batch("INSERT INTO orders (what) VALUES ('setup')").unwrap();
    assert_eq!(count(source.fresh().await.unwrap().path().unwrap()), 5);
    assert_eq!(count(&file), 4);
}

#[tokio::test]
async fn a_file_that_is_not_there_is_for_the_pipeline_to_make() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new.db");
    let source = Source::open(&format!("sqlite:{}", file.display()), None).await.unwrap();
    let clone = source.fresh().await.unwrap();
    let path = clone.path().unwrap();
    clone.settle().await.unwrap();
    assert!(!path.exists() && path.parent().unwrap().is_dir());
    drop(shop(path, "DELETE"));
    assert_eq!(count(path), 4);
    assert!(!file.exists() && !source.fresh().await.unwrap().path().unwrap().exists());
}

#[tokio::test]
async fn a_file_that_is_no_database_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("note.db");
    fs::write(&file, "this is a text, and a long one at that: more than a header's worth of it".repeat(20))
        .unwrap();
    let error = Source::open(file.to_str().unwrap(), None).await.unwrap_err().to_string();
    assert!(error.contains("note.db") && error.contains("not a database"), "{error}");
    assert!(Source::open(file.to_str().unwrap(), Some("postgres://h/x")).await.is_err());
}
