//! With a version (C31): newer wins, older is stale, the same with other content is kept aside.

use landonce_core::column::Type;
use landonce_core::number::Decimal;
use landonce_core::plan::{Guard, TablePlan};
use landonce_core::value::Value;

use super::bench::{Bench, Record, int, land, plan, put, text};

fn versioned(ty: Type) -> TablePlan {
    let columns = [("id", Type::INTEGER), ("v", Type::TEXT), ("version", ty)];
    TablePlan { version: Some(2), ..plan("things", &columns) }
}

fn both_guards(plan: &TablePlan) -> [TablePlan; 2] {
    let by_columns = TablePlan { guard: Guard::Columns, ..plan.clone() };
    [plan.clone(), by_columns]
}

fn record(v: &str, version: i64) -> Record {
    put([int(1), text(v), int(version)])
}

pub(crate) async fn a_newer_version_wins_and_an_older_is_stale(bench: &mut impl Bench) {
    for plan in both_guards(&versioned(Type::INTEGER)) {
        let mut connection = bench.connect().await;
        let batch = |n: i32| format!("{:?} {n}", plan.guard);
        for (n, (record, counts)) in [
            (record("seven", 7), (1, 0, 0, 0, 0, 0, 0)),
            (record("five", 5), (0, 0, 0, 1, 0, 0, 0)),
            (record("seven", 7), (0, 0, 1, 0, 0, 0, 0)),
            (record("nine", 9), (0, 1, 0, 0, 0, 0, 0)),
            (record("seven", 7), (0, 0, 0, 1, 0, 0, 0)),
        ]
        .into_iter()
        .enumerate()
        {
            let landed = land(&mut connection, &plan, &batch(n as i32), &[record]).await;
            assert_eq!(landed.counts(), counts, "{n}");
        }
        assert_eq!(
            bench.rows("SELECT v, version, landonce_revision FROM things").await,
            [["nine", "9", "2"]]
        );
        drop(connection);
        bench.run("DROP TABLE things").await;
    }
}

pub(crate) async fn the_same_version_with_other_content_is_a_conflict(bench: &mut impl Bench) {
    for plan in both_guards(&versioned(Type::INTEGER)) {
        let mut connection = bench.connect().await;
        let batch = |n: i32| format!("{:?} {n}", plan.guard);
        land(&mut connection, &plan, &batch(1), &[record("a", 7)]).await;
        let landed = land(&mut connection, &plan, &batch(2), &[record("b", 7)]).await;
        assert_eq!(landed.counts(), (0, 0, 0, 0, 1, 0, 0));
        assert_eq!(landed.todo.len(), 1, "it is given, to be kept aside");
        // In one batch the first of a version stays, and those that differ from it are named.
        let records = [record("c", 8), record("d", 8), record("c", 8), record("e", 6)];
        let landed = land(&mut connection, &plan, &batch(3), &records).await;
        assert_eq!(landed.counts(), (0, 1, 0, 0, 1, 2, 0));
        assert_eq!(landed.folded.conflicts.iter().map(|place| place.number).collect::<Vec<_>>(), [2]);
        assert_eq!(bench.rows("SELECT v FROM things").await, [["c"]]);
        drop(connection);
        bench.run("DROP TABLE things").await;
    }
}

pub(crate) async fn the_highest_version_in_a_batch_counts(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = versioned(Type::INTEGER);
    // Two of version 5 differ, but neither is kept: no conflict with what is.
    let records = [record("a", 5), record("b", 5), record("c", 9), record("d", 7)];
    assert_eq!(land(&mut connection, &plan, "b1", &records).await.counts(), (1, 0, 0, 0, 0, 3, 0));
    assert_eq!(bench.rows("SELECT v, version FROM things").await, [["c", "9"]]);
}

pub(crate) async fn versions_compare_exactly(bench: &mut impl Bench) {
    let decimal = |text: &'static str| Value::Decimal(Decimal::parse(text).unwrap());
    let second = 1_000_000;
    for (ty, low, high) in [
        (Type::INTEGER, int(9_007_199_254_740_992), int(9_007_199_254_740_993)),
        (Type::INTEGER, int(-5), int(5)),
        (Type::DECIMAL, decimal("9007199254740992.5"), decimal("9007199254740993.25")),
        (Type::DECIMAL, decimal("9"), decimal("10")),
        (Type::DECIMAL, decimal("-2"), decimal("-1.5")),
        (Type::Timestamptz, Value::Timestamptz(-second), Value::Timestamptz(1)),
        (Type::Timestamp, Value::Timestamp(0), Value::Timestamp(1)),
        (Type::Date, Value::Date(-1), Value::Date(19_000)),
    ] {
        for plan in both_guards(&versioned(ty)) {
            let mut connection = bench.connect().await;
            let batch = |n: i32| format!("{plan:?} {low:?} {n}");
            let at = |v: &str, version: &Value<'static>| put([int(1), text(v), version.clone()]);
            let landed = land(&mut connection, &plan, &batch(1), &[at("low", &low)]).await;
            assert_eq!(landed.counts(), (1, 0, 0, 0, 0, 0, 0));
            let landed = land(&mut connection, &plan, &batch(2), &[at("high", &high), at("low", &low)]).await;
            assert_eq!(landed.counts(), (0, 1, 0, 0, 0, 1, 0), "{low:?} {high:?}");
            let landed = land(&mut connection, &plan, &batch(3), &[at("low", &low)]).await;
            assert_eq!(landed.counts(), (0, 0, 0, 1, 0, 0, 0), "{low:?} {high:?}");
            assert_eq!(bench.rows("SELECT v FROM things").await, [["high"]]);
            drop(connection);
            bench.run("DROP TABLE things").await;
        }
    }
}
