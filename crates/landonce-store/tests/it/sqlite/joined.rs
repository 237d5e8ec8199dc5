//! The verbs on a caller's own transaction: nothing is committed, nothing is left behind but what the caller commits.

use landonce_core::retry::{Advice, Code};
use landonce_store::seam::Work;
use landonce_store::sqlite::{self, Joined};

use super::{fresh, rows};
use crate::conformance::{Bench, Record, claim, int, land_in, look_in, put, set_up, text, things};

#[tokio::test]
async fn a_batch_goes_with_the_callers_transaction() {
    let mut folder = fresh().await;
    set_up(&mut folder.connect().await, &things()).await;
    folder.run("CREATE TABLE mine (a)").await;
    let mut connection = folder.open();
    for (is_kept, want) in [(false, "0"), (true, "1")] {
        let transaction = connection.transaction().unwrap();
        transaction.execute("INSERT INTO mine VALUES (1)", []).unwrap();
        let landed = land_in(&mut Joined::on(&transaction), &things(), "b1", &[put([int(1), text("a")])]).await;
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
        let values = crate::conformance::row(&plan, &plan.row_columns(), &records, at, false);
        landonce_store::seam::Rows::push(&mut rows, &values);
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
