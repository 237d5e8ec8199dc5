//! Delete records (C30): they keep their order among the puts, and a re-run deletes nothing more.

use landonce_core::column::Type;
use landonce_core::plan::{Guard, TablePlan};

use super::bench::{Bench, delete, int, land, plan, put, text, things};

pub(crate) async fn a_put_a_delete_and_a_put_keep_their_order(bench: &mut impl Bench) {
    for guard in [things().guard, Guard::Columns] {
        let plan = TablePlan { has_deletes: true, guard, ..things() };
        let mut connection = bench.connect().await;
        let batch = |n: i32| format!("{:?} {n}", plan.guard);
        let one = |v: &str| put([int(1), text(v)]);
        let gone = || delete([int(1), text("")]);
        let all = "SELECT id, v FROM things";

        let landed = land(&mut connection, &plan, &batch(1), &[one("v1"), gone(), one("v2")]).await;
        assert_eq!(landed.counts(), (1, 0, 0, 0, 0, 2, 0));
        assert_eq!(bench.rows(all).await, [["1", "v2"]]);
        let landed = land(&mut connection, &plan, &batch(2), &[one("v3"), gone()]).await;
        assert_eq!(landed.counts(), (0, 0, 0, 0, 0, 1, 1));
        assert!(bench.rows(all).await.is_empty());
        let landed = land(&mut connection, &plan, &batch(3), &[one("v3"), gone()]).await;
        assert_eq!(landed.counts(), (0, 0, 1, 0, 0, 1, 0));
        drop(connection);
        bench.run("DROP TABLE things").await;
    }
}

pub(crate) async fn deleting_what_is_not_there_changes_nothing(bench: &mut impl Bench) {
    let plan = TablePlan { has_deletes: true, ..things() };
    let mut connection = bench.connect().await;
    let gone = [delete([int(1), text("")]), delete([int(2), text("")])];
    assert_eq!(land(&mut connection, &plan, "b1", &gone).await.counts(), (0, 0, 2, 0, 0, 0, 0));
    let records = [put([int(2), text("a")]), put([int(3), text("a")])];
    land(&mut connection, &plan, "b2", &records).await;
    let landed = land(&mut connection, &plan, "b3", &gone).await;
    assert_eq!((landed.counts(), landed.classified.deletes), ((0, 0, 1, 0, 0, 0, 1), 1));
    assert_eq!(bench.rows("SELECT id FROM things").await, [["3"]]);
}

fn versioned() -> TablePlan {
    let columns = [("id", Type::INTEGER), ("v", Type::TEXT), ("version", Type::INTEGER)];
    TablePlan { has_deletes: true, version: Some(2), ..plan("things", &columns) }
}

pub(crate) async fn an_older_delete_is_stale(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = versioned();
    land(&mut connection, &plan, "b1", &[put([int(1), text("a"), int(7)])]).await;
    let landed = land(&mut connection, &plan, "b2", &[delete([int(1), text(""), int(5)])]).await;
    assert_eq!(landed.counts(), (0, 0, 0, 1, 0, 0, 0));
    // Also inside a batch: what is older doesn't count, wherever it stands.
    let records = [put([int(2), text("a"), int(7)]), delete([int(2), text(""), int(5)])];
    assert_eq!(land(&mut connection, &plan, "b3", &records).await.counts(), (1, 0, 0, 0, 0, 1, 0));
}

/// A delete often carries the version of the row that it found.
pub(crate) async fn a_delete_of_the_same_version_deletes(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = versioned();
    land(&mut connection, &plan, "b1", &[put([int(1), text("a"), int(7)])]).await;
    let gone = delete([int(1), text(""), int(7)]);
    let landed = land(&mut connection, &plan, "b2", std::slice::from_ref(&gone)).await;
    assert_eq!(landed.counts(), (0, 0, 0, 0, 0, 0, 1));
    let records = [put([int(1), text("a"), int(7)]), gone];
    assert_eq!(land(&mut connection, &plan, "b3", &records).await.counts(), (0, 0, 1, 0, 0, 1, 0));
    assert!(bench.rows("SELECT id FROM things").await.is_empty());
}
