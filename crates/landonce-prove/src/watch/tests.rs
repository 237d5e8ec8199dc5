//! What is seen of a file that a run writes: journals and write-ahead logs, made by SQLite itself.

use landonce_testkit::wait;
use rusqlite::Connection;

use super::Change::{Committed, JournalMade, JournalRemoved, JournalWritten, Written};
use super::*;

fn database(folder: &Path, mode: &str) -> Connection {
    let connection = Connection::open(folder.join("a.db")).unwrap();
    let now: String =
        connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| row.get(0)).unwrap();
    assert_eq!(now, mode);
    connection.execute_batch("CREATE TABLE t (n, text)").unwrap();
    connection
}

/// What is seen of three transactions, the last of many pages, and the file's closing.
async fn changes(mode: &str) -> Vec<Change> {
    let folder = tempfile::tempdir().unwrap();
    let connection = database(folder.path(), mode);
    let watch = Watch::start(&folder.path().join("a.db")).unwrap();
    for length in [1, 1, 200_000] {
        connection.execute("INSERT INTO t VALUES (1, hex(zeroblob(?1)))", [length]).unwrap();
    }
    drop(connection);
    // Known to be the last.
    std::fs::write(folder.path().join("a.db-journal"), "end").unwrap();
    let end = [JournalMade, JournalWritten];
    wait::until(10, "the watch to tell the end", async || {
        watch.changes().strip_suffix(end.as_slice()).map(<[Change]>::to_vec)
    })
    .await
}

#[tokio::test]
async fn a_transaction_with_a_journal_is_four_changes_however_long_it_is() {
    let one = [JournalMade, JournalWritten, Written, JournalRemoved];
    assert_eq!(changes("delete").await, [one, one, one].concat());
}

#[tokio::test]
async fn a_commit_in_a_wal_is_one_change() {
    assert_eq!(changes("wal").await, [Committed, Committed, Committed, Written]);
}

#[tokio::test]
async fn what_is_to_be_done_at_a_change_is_done_at_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let connection = database(folder.path(), "delete");
    let watch = Watch::start(&folder.path().join("a.db")).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    watch.at(5, move || tell.send(()).unwrap());
    connection.execute("INSERT INTO t VALUES (1, '')", []).unwrap();
    assert!(!watch.has_fired());
    connection.execute("INSERT INTO t VALUES (2, '')", []).unwrap();
    wait::within(10, "the fifth change", watch.fired()).await;
    assert_eq!(told.iter().count(), 1);
}
