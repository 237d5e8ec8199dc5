//! A query's run that is killed in a later piece (F4, C38): whole pieces stand, and the next run leaves what an undisturbed one leaves.

use landonce_testkit::crash;
use landonce_testkit::dump::{self, Dump};

use crate::folder::Folder;

const PIPELINE: &str = "
pipeline: readings
source:
  query:
    url: sqlite:source.db
    sql: SELECT id, at, value FROM reading WHERE at >= {since} ORDER BY at
    since: {column: at, start: '2020', ordered: true}
  batch: {records: 50}
identity: [id]
target: {table: reading, columns: {id: integer, at: timestamptz, value: decimal}}
store: sqlite:test.db
";

fn scene() -> Folder {
    let folder = Folder::new();
    folder.write("p.yaml", PIPELINE);
    let source = rusqlite::Connection::open(folder.path("source.db")).unwrap();
    source
        .execute_batch(
            "CREATE TABLE reading (id int, at text, value text);
             WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 199)
             INSERT INTO reading SELECT n, printf('2026-03-01T12:00:%02dZ', n / 30), n || '.10' FROM n",
        )
        .unwrap();
    folder
}

/// What has landed: which pieces and runs it came by may differ.
fn landed(folder: &Folder) -> Dump {
    dump::sqlite(folder.path("test.db"))
        .without_tables(&["landonce_inbox", "landonce_migration"])
        .without(&[("reading", "landonce_run_id")])
        .without(
            &["epoch", "owner", "run_id", "taken_at", "moved_at", "mark"]
                .map(|column| ("landonce_position", column)),
        )
}

#[tokio::test]
async fn a_run_that_is_killed_in_its_second_piece_is_finished_by_the_next_one() {
    let undisturbed = scene();
    assert_eq!(undisturbed.run(&["run", "p.yaml"]).code, 0);
    let want = landed(&undisturbed);
    assert_eq!(want.rows("reading"), Some(200));
    for (name, pieces) in [("claimed", 1), ("written", 1), ("settled", 1), ("committed", 2)] {
        let folder = scene();
        let killed = crash::at_failpoint(folder.command(&["run", "p.yaml"]), &format!("{name}:2")).await;
        assert!(killed.is_ok(), "never came to `{name}`: {killed:?}");
        assert_eq!(landed(&folder).rows("reading"), Some(pieces * 50), "{name}");
        let ran = folder.run(&["run", "p.yaml"]);
        assert_eq!(ran.code, 0, "{ran}");
        want.assert_same(&landed(&folder));
        assert_eq!(folder.run(&["run", "p.yaml"]).code, 0);
        want.assert_same(&landed(&folder));
    }
}
