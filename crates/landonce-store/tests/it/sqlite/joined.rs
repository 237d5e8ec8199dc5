//! The verbs on a caller's own transaction: nothing is committed, nothing is left behind but what the caller commits.

use landonce_core::column::Type;
use landonce_core::plan::{Guard, TablePlan};
use landonce_core::retry::{Advice, Code};
use landonce_store::seam::{Rows, Work};
use landonce_store::sqlite::{self, Joined};

use super::{fresh, rows};
use crate::conformance::{
    Bench, Record, by_columns, claim, int, land_in, look_in, plan, put, row, run_id, set_up, text, things,
};

#[tokio::test]
async fn a_batch_goes_with_the_callers_transaction() {
    let mut folder = fresh().await;
    set_up(&mut folder.connect().await, &things()).await;
    folder.run("CREATE TABLE mine (a)").await;
    let mut connection = folder.open();
    for (is_kept, want) in [(false, "0"), (true, "1")] {
        let transaction = connection.transaction().unwrap();
        transaction.execute("INSERT INTO mine VALUES (1)", []).unwrap();
        let landed =
            land_in(&mut Joined::on(&transaction), &things(), "b1", &[put([int(1), text("a")])]).await;
        assert_eq!(landed.counts().0, 1);
        if is_kept {
            transaction.commit().unwrap();
        } else {
            transaction.rollback().unwrap();
        }
        for table in ["mine", "things", "landonce_inbox"] {
            assert_eq!(folder.rows(&format!("SELECT count(*) FROM {table}")).await, [[want]], "{table}");
        }
        let left = "SELECT name FROM sqlite_temp_schema";
        assert!(rows(&connection, left).is_empty(), "no stage is left on the caller's connection");
    }
}

/// Between telling apart and writing nobody else can write; but the caller can, and its triggers.
#[tokio::test]
async fn what_changed_in_between_is_told_apart_again() {
    let mut folder = fresh().await;
    let columns = [("id", Type::INTEGER), ("v", Type::TEXT), ("version", Type::INTEGER)];
    let plan = TablePlan { version: Some(2), guard: Guard::Columns, ..plan("things", &columns) };
    let plan = by_columns(plan, &[0]);
    set_up(&mut folder.connect().await, &plan).await;
    let connection = folder.open();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let records = [1, 2, 3, 4].map(|id| put([int(id), text("new"), int(5)]));
    let mut work = Joined::on(&connection);
    assert_eq!(look_in(&mut work, &plan, &records).await.classified.new, 4);
    let todo = work.next_rows(9).await.unwrap();
    connection
        .execute_batch("INSERT INTO things VALUES (1, 'new', 5, 'r', 1), (2, 'newer', 6, 'r', 1), (3, 'other', 5, 'r', 1)")
        .unwrap();
    let mut rows = (work.encoder(&plan, &plan.row_columns()))();
    for one in &todo {
        let at = one.place.number as usize - 1;
        rows.push(&row(&plan, &plan.row_columns(), &records, at, false));
    }
    let written = work.write(rows, run_id(1)).await.unwrap();
    let conflicts: Vec<u64> = written.conflicts.iter().map(|place| place.number).collect();
    assert_eq!((written.unchanged, written.stale, conflicts, written.inserted), (1, 1, vec![3], 1));
    work.close_stage().await.unwrap();
    drop(work);
    connection.execute_batch("COMMIT").unwrap();
    let rows = folder.rows("SELECT v, landonce_revision FROM things ORDER BY id").await;
    assert_eq!(rows, [["new", "1"], ["newer", "1"], ["other", "1"], ["new", "1"]]);
}

#[tokio::test]
async fn a_caller_without_a_transaction_is_told() {
    let mut folder = fresh().await;
    set_up(&mut folder.connect().await, &things()).await;
    let connection = folder.open();
    let error = Joined::on(&connection).claim(&claim("b1")).await.unwrap_err();
    assert!(error.to_string().contains("no open transaction"), "{error}");
}

#[tokio::test]
async fn a_database_without_landonces_tables_says_how_to_make_them() {
    let folder = fresh().await;
    let mut connection = folder.open();
    let transaction = connection.transaction().unwrap();
    let error = Joined::on(&transaction).claim(&claim("b1")).await.unwrap_err();
    assert!(error.to_string().contains("landonce setup"), "{error}");
    transaction.rollback().unwrap();
    sqlite::migrate(&connection).unwrap();
    let transaction = connection.transaction().unwrap();
    Joined::on(&transaction).claim(&claim("b1")).await.unwrap();
    assert_eq!(sqlite::shape(&transaction, &things().table).unwrap(), None);
}

#[tokio::test]
async fn a_full_disk_is_a_class_of_its_own_and_leaves_nothing() {
    let mut folder = fresh().await;
    set_up(&mut folder.connect().await, &things()).await;
    let connection = folder.open();
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    connection.pragma_update(None, "max_page_count", pages + 2).unwrap();
    let long = "x".repeat(1000);
    let records: Vec<Record> = (0..100).map(|id| put([int(id), text(&long)])).collect();
    let plan = things();

    connection.execute_batch("BEGIN").unwrap();
    let mut work = Joined::on(&connection);
    work.claim(&claim("b1")).await.unwrap();
    look_in(&mut work, &plan, &records).await;
    let todo = work.next_rows(100).await.unwrap();
    let mut rows = (work.encoder(&plan, &plan.row_columns()))();
    for one in &todo {
        let at = one.place.number as usize - 1;
        let values = row(&plan, &plan.row_columns(), &records, at, false);
        rows.push(&values);
    }
    let error = work.write(rows, claim("b1").run_id).await.unwrap_err();
    assert_eq!((&error.code, error.advice()), (&Code::Sqlite(13), Advice::NoSpace), "{error}");
    assert!(error.to_string().contains("make room"), "{error}");
    drop(work);
    let _ = connection.execute_batch("ROLLBACK"); // SQLite may have done so itself
    assert_eq!(folder.rows("SELECT count(*) FROM things").await, [["0"]]);
    assert_eq!(folder.rows("SELECT count(*) FROM landonce_inbox").await, [["0"]]);

    connection.pragma_update(None, "max_page_count", 100_000).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    assert_eq!(land_in(&mut Joined::on(&connection), &plan, "b1", &records).await.counts().0, 100);
    connection.execute_batch("COMMIT").unwrap();
}
