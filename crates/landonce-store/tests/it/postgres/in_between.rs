//! Somebody who comes in between, and changes that are told: what can't be known is never guessed, and no row is locked that
//! isn't written.

use landonce_core::column::Type;
use landonce_core::plan::TablePlan;
use landonce_core::retry::Advice;
use landonce_core::spec::ChangeKind;
use landonce_store::seam::{Access, Connection, Look, Notices};

use super::{Fresh, fresh, write_all};
use crate::conformance::{Bench, Record, by_columns, int, land, look_in, plan, put, run_id, text};

fn versioned() -> TablePlan {
    let columns = [("id", Type::INTEGER), ("v", Type::TEXT), ("n", Type::INTEGER)];
    by_columns(TablePlan { version: Some(2), ..plan("things", &columns) }, &[0])
}

fn record(id: i64, v: &str, n: i64) -> Record {
    put([int(id), text(v), int(n)])
}

/// Lands `records` up to its changes, while `between` commits what the other writer does behind the look.
async fn told(
    bench: &mut Fresh,
    records: &[Record],
    between: Option<(&TablePlan, &[Record])>,
    sql: &str,
) -> Result<Vec<(ChangeKind, i64)>, landonce_store::Error> {
    let plan = versioned();
    let (mut one, mut two) = (bench.connect().await, bench.connect().await);
    one.begin(Access::Write).await.unwrap();
    let mut work = one.work();
    look_in(&mut work, &plan, records).await;
    if let Some((plan, records)) = between {
        land(&mut two, plan, "between", records).await;
    }
    if !sql.is_empty() {
        bench.run(sql).await;
    }
    work.remember(Look::Before).await.unwrap();
    write_all(&mut work, &plan, records, run_id(1)).await?;
    let changes = work.changes(run_id(1), 100).await;
    drop(work);
    one.rollback().await;
    Ok(changes?.into_iter().map(|change| (change.kind, change.revision)).collect())
}

#[tokio::test]
async fn a_row_that_came_in_between_and_was_overwritten_is_to_be_looked_at_again() {
    let (plan, mut bench) = (versioned(), fresh().await);
    land(&mut bench.connect().await, &plan, "first", &[record(1, "a", 1)]).await;
    let other: &[Record] = &[record(5, "older", 1)];
    let error = told(&mut bench, &[record(5, "newer", 2)], Some((&plan, other)), "").await.unwrap_err();
    assert_eq!(error.advice(), Advice::Again, "{error}");
    assert!(error.to_string().contains("another writer has put a row"), "{error}");
    // By then it is there, and what it was is known.
    let again = told(&mut bench, &[record(5, "newer", 2)], None, "").await.unwrap();
    assert_eq!(again, [(ChangeKind::Updated, 2)]);
}

#[tokio::test]
async fn a_row_that_came_in_between_and_stands_is_the_others_to_tell() {
    let (plan, mut bench) = (versioned(), fresh().await);
    land(&mut bench.connect().await, &plan, "first", &[record(1, "a", 1)]).await;
    let other: &[Record] = &[record(5, "newer", 3), record(1, "newer", 3)];
    let mine = [record(5, "older", 2), record(1, "older", 2), record(6, "x", 1)];
    assert_eq!(told(&mut bench, &mine, Some((&plan, other)), "").await.unwrap(), [(ChangeKind::Inserted, 1)]);
}

#[tokio::test]
async fn what_changed_in_between_is_told_as_it_was_when_it_was_written() {
    let (plan, mut bench) = (versioned(), fresh().await);
    land(&mut bench.connect().await, &plan, "first", &[record(1, "a", 1), record(2, "a", 1)]).await;
    let other: &[Record] = &[record(1, "b", 2)];
    let gone = "DELETE FROM things WHERE id = 2";
    let mine = [record(1, "c", 3), record(2, "c", 3)];
    // One row has another revision by then; the other is gone, so that it is a new one.
    let have = told(&mut bench, &mine, Some((&plan, other)), gone).await.unwrap();
    assert_eq!(have, [(ChangeKind::Updated, 3), (ChangeKind::Inserted, 1)]);
}

#[tokio::test]
async fn rows_to_be_written_are_locked_and_no_others() {
    let (plan, mut bench) = (versioned(), fresh().await);
    let mut one = bench.connect().await;
    land(&mut one, &plan, "first", &[record(1, "a", 1), record(2, "a", 1), record(3, "a", 5)]).await;
    one.begin(Access::Write).await.unwrap();
    let mut work = one.work();
    // Equal, changed, stale.
    look_in(&mut work, &plan, &[record(1, "a", 1), record(2, "b", 2), record(3, "b", 2)]).await;
    assert_eq!(work.remember(Look::Before).await.unwrap(), 1);
    let free = "SELECT id FROM things ORDER BY id FOR UPDATE SKIP LOCKED";
    assert_eq!(bench.rows(free).await, [["1"], ["3"]]);
    drop(work);
    one.rollback().await;
}
