//! Rows land once, in every mode, by every match and guard; what is equal is never touched (X2).

use landonce_core::column::Type;
use landonce_core::plan::{Guard, KeyForm, Match, TablePlan, WriteMode};
use landonce_store::seam::{Class, Connection};

use super::bench::{Bench, Record, by_columns, int, land, plan, plan_on, put, text, things};

const ALL: &str = "SELECT id, v, landonce_revision, landonce_run_id FROM things ORDER BY id";

pub(crate) async fn every_mode_match_and_guard_lands_once(bench: &mut impl Bench) {
    for (at, plan) in every_plan().into_iter().enumerate() {
        let mut connection = bench.connect().await;
        let say = format!("{:?} {:?} {:?}", plan.mode, plan.matching, plan.guard);
        let batch = |n: i32| format!("{at} {n}");
        let old = [put([int(1), text("a")]), put([int(2), text("b")]), put([int(3), text("c")])];
        let new = [put([int(3), text("c")]), put([int(2), text("B")]), put([int(4), text("d")])];

        let landed = land(&mut connection, &plan, &batch(1), &old).await;
        assert_eq!(landed.counts(), (3, 0, 0, 0, 0, 0, 0), "{say}");
        let first = bench.rows(ALL).await;
        let landed = land(&mut connection, &plan, &batch(2), &old).await;
        assert_eq!(landed.counts(), (0, 0, 3, 0, 0, 0, 0), "{say}");
        assert_eq!(bench.rows(ALL).await, first, "{say}");

        let landed = land(&mut connection, &plan, &batch(3), &new).await;
        let is_upsert = plan.mode == WriteMode::Upsert;
        assert_eq!(
            landed.counts(),
            if is_upsert { (1, 1, 1, 0, 0, 0, 0) } else { (1, 0, 2, 0, 0, 0, 0) },
            "{say}"
        );
        let rows = bench.rows("SELECT id, v, landonce_revision FROM things ORDER BY id").await;
        let second = if is_upsert { ["2", "B", "2"] } else { ["2", "b", "1"] };
        assert_eq!(rows, [["1", "a", "1"], second, ["3", "c", "1"], ["4", "d", "1"]], "{say}");
        drop(connection);
        bench.run("DROP TABLE things").await;
    }
}

fn every_plan() -> Vec<TablePlan> {
    let mut plans = Vec::new();
    let key = |form| Match::Key { column: "landonce_key".to_owned(), form };
    for mode in [WriteMode::InsertOnce, WriteMode::Upsert] {
        for guard in [Guard::Digest { column: "landonce_digest".to_owned() }, Guard::Columns] {
            for form in [KeyForm::Uuid, KeyForm::Bytes, KeyForm::Hex] {
                plans.push(TablePlan { mode, matching: key(form), guard: guard.clone(), ..things() });
            }
            plans.push(by_columns(TablePlan { mode, guard, ..things() }, &[0]));
        }
    }
    plans
}

pub(crate) async fn an_equal_rerun_touches_no_row(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let records: Vec<Record> = (0..50).map(|n| put([int(n), text(&format!("v{n}"))])).collect();
    land(&mut connection, &things(), "b1", &records).await;
    let before = bench.rows(ALL).await;
    let landed = land(&mut connection, &things(), "b2", &records).await;
    assert_eq!(landed.counts(), (0, 0, 50, 0, 0, 0, 0));
    assert!(landed.todo.is_empty());
    assert_eq!(bench.rows(ALL).await, before);
}

pub(crate) async fn only_what_changed_is_written(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let mut records: Vec<Record> = (0..20).map(|n| put([int(n), text("v")])).collect();
    land(&mut connection, &things(), "b1", &records).await;
    records[7] = put([int(7), text("other")]);
    let landed = land(&mut connection, &things(), "b2", &records).await;
    assert_eq!(landed.counts(), (0, 1, 19, 0, 0, 0, 0));
    assert_eq!(
        landed.todo.iter().map(|todo| (todo.class, todo.place.number)).collect::<Vec<_>>(),
        [(Class::Changed, 8)]
    );
    let changed = "SELECT id FROM things WHERE landonce_revision <> 1";
    assert_eq!(bench.rows(changed).await, [["7"]]);
    // A → B → A is two changes.
    records[7] = put([int(7), text("v")]);
    assert_eq!(land(&mut connection, &things(), "b3", &records).await.counts().1, 1);
    assert_eq!(bench.rows("SELECT v, landonce_revision FROM things WHERE id = 7").await, [["v", "3"]]);
}

pub(crate) async fn what_changes_per_attempt_is_no_change(bench: &mut impl Bench) {
    for (at, guard) in
        [Guard::Digest { column: "landonce_digest".to_owned() }, Guard::Columns].into_iter().enumerate()
    {
        let columns = [("id", Type::INTEGER), ("v", Type::TEXT), ("attempt", Type::INTEGER)];
        let plan = TablePlan { unguarded: vec![2], guard, ..plan("things", &columns) };
        let mut connection = bench.connect().await;
        let batch = |n: i32| format!("{at} {n}");
        land(&mut connection, &plan, &batch(1), &[put([int(1), text("a"), int(1)])]).await;
        let landed = land(&mut connection, &plan, &batch(2), &[put([int(1), text("a"), int(2)])]).await;
        assert_eq!(landed.counts(), (0, 0, 1, 0, 0, 0, 0));
        let landed = land(&mut connection, &plan, &batch(3), &[put([int(1), text("b"), int(3)])]).await;
        assert_eq!(landed.counts(), (0, 1, 0, 0, 0, 0, 0));
        assert_eq!(bench.rows("SELECT v, attempt FROM things").await, [["b", "3"]]);
        drop(connection);
        bench.run("DROP TABLE things").await;
    }
}

pub(crate) async fn a_table_of_keys_alone_takes_part(bench: &mut impl Bench) {
    bench.run("CREATE TABLE things (a integer NOT NULL, b varchar(9) NOT NULL, PRIMARY KEY (a, b))").await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "things", &["a", "b"]).await;
    let records = [put([int(1), text("a")]), put([int(1), text("b")]), put([int(1), text("a")])];
    assert_eq!(land(&mut connection, &plan, "b1", &records).await.counts(), (2, 0, 0, 0, 0, 1, 0));
    assert_eq!(land(&mut connection, &plan, "b2", &records).await.counts(), (0, 0, 2, 0, 0, 1, 0));
}

pub(crate) async fn rows_come_in_key_order_and_in_pages(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = by_columns(things(), &[0]);
    let ids = [5, 3, 9, 1, 7, 2, 8];
    let records = ids.map(|id| put([int(id), text("v")]));
    let landed = land(&mut connection, &plan, "b1", &records).await;
    let came: Vec<i64> = landed.todo.iter().map(|todo| ids[todo.place.number as usize - 1]).collect();
    assert_eq!(came, [1, 2, 3, 5, 7, 8, 9]);
    assert!(
        landed
            .todo
            .iter()
            .all(|todo| todo.place.len == 99 && todo.place.offset == (todo.place.number - 1) * 100)
    );
}

pub(crate) async fn a_long_batch_adds_up(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let records =
        |from: i64| -> Vec<Record> { (from..from + 3000).map(|n| put([int(n), text("v")])).collect() };
    assert_eq!(land(&mut connection, &things(), "b1", &records(0)).await.counts(), (3000, 0, 0, 0, 0, 0, 0));
    assert_eq!(
        land(&mut connection, &things(), "b2", &records(1000)).await.counts(),
        (1000, 0, 2000, 0, 0, 0, 0)
    );
    assert_eq!(bench.rows("SELECT count(*) FROM things").await, [["4000"]]);
    connection.rollback().await; // where no transaction is, nothing happens
}
