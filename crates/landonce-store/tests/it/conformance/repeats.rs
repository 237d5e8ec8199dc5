//! Identities that repeat inside a batch (C01): one row, and every record counted.

use landonce_core::plan::{Guard, TablePlan, WriteMode};
use landonce_store::seam::{Access, Connection, Rows, Work};

use super::bench::{Bench, by_columns, int, land, put, row, set_up, text, things};

pub(crate) async fn the_last_of_one_identity_counts(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let records = [
        put([int(1), text("a")]),
        put([int(2), text("x")]),
        put([int(1), text("b")]),
        put([int(1), text("c")]),
    ];
    let landed = land(&mut connection, &things(), "b1", &records).await;
    assert_eq!(landed.counts(), (2, 0, 0, 0, 0, 2, 0));
    assert_eq!(bench.rows("SELECT id, v FROM things ORDER BY id").await, [["1", "c"], ["2", "x"]]);
    let landed = land(&mut connection, &things(), "b2", &records).await;
    assert_eq!(landed.counts(), (0, 0, 2, 0, 0, 2, 0));
}

pub(crate) async fn insert_once_keeps_the_first(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = TablePlan { mode: WriteMode::InsertOnce, ..things() };
    let records = [put([int(1), text("a")]), put([int(1), text("b")])];
    assert_eq!(land(&mut connection, &plan, "b1", &records).await.counts(), (1, 0, 0, 0, 0, 1, 0));
    assert_eq!(bench.rows("SELECT id, v FROM things").await, [["1", "a"]]);
    assert_eq!(land(&mut connection, &plan, "b2", &records).await.counts(), (0, 0, 1, 0, 0, 1, 0));
}

pub(crate) async fn false_suspicions_fold_nothing(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = things();
    set_up(&mut connection, &plan).await;
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    work.open_stage(&plan).await.unwrap();
    let records = [put([int(1), text("a")]), put([int(2), text("b")]), put([int(3), text("c")])];
    let mut rows = (work.encoder(&plan, &plan.stage_columns()))();
    for at in 0..records.len() {
        rows.push(&row(&plan, &plan.stage_columns(), &records, at, true));
    }
    work.stage(rows).await.unwrap();
    assert_eq!(work.fold().await.unwrap().duplicates, 0);
    assert_eq!(work.classify().await.unwrap().new, 3);
    drop(work);
    connection.rollback().await;
}

pub(crate) async fn identities_are_columns_or_their_hash(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = by_columns(TablePlan { guard: Guard::Columns, ..things() }, &[0, 1]);
    let records = [
        put([int(1), text("a|b")]),
        put([int(1), text("a")]),
        put([int(1), text("a|b")]),
        put([int(11), text("a")]),
    ];
    assert_eq!(land(&mut connection, &plan, "b1", &records).await.counts(), (3, 0, 0, 0, 0, 1, 0));
    assert_eq!(land(&mut connection, &plan, "b2", &records).await.counts(), (0, 0, 3, 0, 0, 1, 0));
}
