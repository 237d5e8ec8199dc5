//! A repair marks, writes down and deletes, and nothing before it is committed.

use std::time::Duration;

use landonce_core::plan::TableName;
use landonce_store::repair::{By, Constraint, Doubled, Keep, Known, Marked, Repair};
use landonce_store::seam::{Access, Connection};

use super::bench::Bench;

const WAIT: Duration = Duration::from_secs(10);
const ALL: &str = "SELECT id, a, b FROM t ORDER BY id";

fn name(name: &str) -> TableName {
    TableName { schema: None, name: name.to_owned() }
}

/// Five rows: three of one identity with a NULL in it, and two others.
async fn made(bench: &mut impl Bench) {
    bench.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INTEGER)").await;
    bench
        .run("INSERT INTO t VALUES (1, NULL, 7), (2, NULL, 7), (3, 'x', 7), (4, NULL, 7), (5, 'it''s', NULL)")
        .await;
}

fn key() -> Vec<String> {
    vec!["a".to_owned(), "b".to_owned()]
}

/// Begins, and marks the copies; the last of them stays.
async fn mark<C: Repair>(connection: &mut C, access: Access) -> Known {
    let known = connection.known(&name("t")).await.unwrap().unwrap();
    connection.begin_repair(&known, access, WAIT).await.unwrap();
    let doubled = Doubled { by: By::Columns(key()), keep: Some(Keep::Latest("id".to_owned())) };
    connection.mark(&known, &doubled).await.unwrap();
    known
}

pub(crate) async fn copies_are_marked_and_two_nulls_are_equal(bench: &mut impl Bench) {
    made(bench).await;
    let mut connection = bench.connect_to_look().await;
    let known = mark(&mut connection, Access::ReadOnly).await;
    assert_eq!(connection.rows(&known, &key()).await.unwrap(), (5, 4));
    let marked = connection.marked(&known, &["id".to_owned()]).await.unwrap();
    assert_eq!(marked, Marked { groups: 1, rows: 2, differing: 2 });
    let groups = connection.groups(&known, 5).await.unwrap();
    let [group] = groups.as_slice() else { panic!("{groups:?}") };
    assert_eq!(group.kept, [Some("4".to_owned()), None, Some("7".to_owned())]);
    assert_eq!(group.gone.len(), 2);
    connection.rollback().await;
}

pub(crate) async fn a_look_can_not_delete(bench: &mut impl Bench) {
    made(bench).await;
    let before = bench.rows(ALL).await;
    let mut connection = bench.connect_to_look().await;
    let known = mark(&mut connection, Access::ReadOnly).await;
    assert!(connection.remove(&known).await.is_err());
    connection.rollback().await;
    drop(connection);
    assert_eq!(bench.rows(ALL).await, before);
}

pub(crate) async fn deleted_rows_come_back_by_the_script(bench: &mut impl Bench) {
    made(bench).await;
    let before = bench.rows(ALL).await;
    let mut connection = bench.connect().await;
    let known = mark(&mut connection, Access::Write).await;
    let mut script = Vec::new();
    let mut sink = |bytes: &[u8]| {
        script.extend_from_slice(bytes);
        Ok(())
    };
    connection.script_rows(&known, &key(), None, &mut sink).await.unwrap();
    assert_eq!(connection.remove(&known).await.unwrap(), 2);
    let end = connection.script_end();
    connection.commit().await.unwrap();
    drop(connection);
    assert_eq!(bench.rows("SELECT id FROM t ORDER BY id").await, [["3"], ["4"], ["5"]]);
    script.extend_from_slice(end.as_bytes());
    bench.run(&String::from_utf8(script).unwrap()).await;
    assert_eq!(bench.rows(ALL).await, before);
}

pub(crate) async fn a_constraint_takes_two_nulls_for_one(bench: &mut impl Bench) {
    made(bench).await;
    let mut connection = bench.connect().await;
    let known = mark(&mut connection, Access::Write).await;
    let constraint = Constraint { name: "t_once".to_owned(), columns: key(), guards_nulls: true };
    // Not while the copies are there.
    assert!(connection.constrain(&known, &constraint).await.is_err());
    connection.rollback().await;
    let known = mark(&mut connection, Access::Write).await;
    connection.remove(&known).await.unwrap();
    connection.constrain(&known, &constraint).await.unwrap();
    connection.commit().await.unwrap();
    let known = connection.known(&name("t")).await.unwrap().unwrap();
    let unique = known.unique.iter().find(|unique| unique.name == "t_once").unwrap();
    assert_eq!((&unique.columns, unique.is_null_safe), (&key(), true));
}

pub(crate) async fn what_was_not_committed_leaves_no_mark(bench: &mut impl Bench) {
    made(bench).await;
    let before = bench.rows(ALL).await;
    let mut connection = bench.connect().await;
    for _ in 0..2 {
        let known = mark(&mut connection, Access::Write).await;
        assert_eq!(connection.marked(&known, &[]).await.unwrap().rows, 2);
        assert_eq!(connection.remove(&known).await.unwrap(), 2);
        connection.rollback().await;
    }
    drop(connection);
    assert_eq!(bench.rows(ALL).await, before);
}

pub(crate) async fn a_table_that_is_not_there_is_none(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    assert_eq!(connection.known(&name("nowhere")).await.unwrap(), None);
}
