//! Several writers at once: twins, opposite orders, somebody who comes in between.

use std::time::Duration;

use landonce_core::column::Type;
use landonce_core::plan::{Absent, From, Guard, Match, TablePlan, WriteMode};
use landonce_core::retry::{Advice, Code};
use landonce_core::value::Value;
use landonce_store::inbox::Claimed;
use landonce_store::ledger::Load;
use landonce_store::seam::{Access, Connection, Work};
use landonce_testkit::wait;

use super::{fresh, stage, write_all};
use crate::conformance::{Bench, Record, claim, int, land, plan, plan_on, put, run_id, set_up, text, things};

/// Waits until a statement of another session waits for a lock.
async fn until_somebody_waits(client: &tokio_postgres::Client) {
    wait::until(10, "a session that waits for a lock", async || {
        let sql =
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        (!super::rows(client, sql).await.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_twin_waits_for_the_first_delivery_and_finds_its_outcome() {
    for does_commit in [true, false] {
        let mut bench = fresh().await;
        let (mut one, mut two) = (bench.connect().await, bench.connect().await);
        set_up(&mut one, &things()).await;
        one.begin(Access::Write).await.unwrap();
        assert_eq!(one.work().claim(&claim("b1")).await.unwrap(), Claimed::New);
        let twin = tokio::spawn(async move {
            two.begin(Access::Write).await.unwrap();
            let claimed = two.work().claim(&claim("b1")).await.unwrap();
            two.rollback().await;
            claimed
        });
        until_somebody_waits(&bench.client().await).await;
        if does_commit {
            one.work().settle(&claim("b1"), &landonce_core::outcome::Outcome::default()).await.unwrap();
            one.commit().await.unwrap();
        } else {
            one.rollback().await;
        }
        let claimed = wait::within(10, "the twin", twin).await.unwrap();
        assert_eq!(matches!(claimed, Claimed::Found(_)), does_commit, "{claimed:?}");
    }
}

/// Two runs of one period: the second waits for the first, and then learns that a load has come in between.
#[tokio::test]
async fn a_twin_of_a_period_waits_and_then_goes_again() {
    for (expected, does_commit) in [(0, true), (0, false), (1, true), (1, false)] {
        let mut bench = fresh().await;
        let (mut one, mut two) = (bench.connect().await, bench.connect().await);
        one.migrate().await.unwrap();
        for before in 0..expected {
            one.begin(Access::Write).await.unwrap();
            assert!(one.work().enter(&load(1), before).await.unwrap());
            one.commit().await.unwrap();
        }
        one.begin(Access::Write).await.unwrap();
        assert!(one.work().enter(&load(2), expected).await.unwrap());
        let twin = tokio::spawn(async move {
            two.begin(Access::Write).await.unwrap();
            let is_entered = two.work().enter(&load(3), expected).await.unwrap();
            two.commit().await.unwrap();
            is_entered
        });
        until_somebody_waits(&bench.client().await).await;
        if does_commit {
            one.commit().await.unwrap();
        } else {
            one.rollback().await;
        }
        let is_entered = wait::within(10, "the twin", twin).await.unwrap();
        assert_eq!(is_entered, !does_commit);
        let entry = one.period("p", "2026-03-01").await.unwrap().unwrap();
        let winner = if does_commit { run_id(2) } else { run_id(3) };
        assert_eq!((entry.loads, entry.loaded.unwrap().run_id), (expected + 1, winner));
    }
}

fn load(run: u128) -> Load<'static> {
    Load {
        pipeline: "p",
        label: "2026-03-01",
        start: 0,
        end: 86_400_000_000,
        digest: [0; 32],
        is_complete: true,
        batch_id: "b1",
        run_id: run_id(run),
        rows: 1,
    }
}

/// C40, on the store alone: opposite orders of one set of keys, and no deadlock, since rows are written in key order.
#[tokio::test]
async fn opposite_orders_of_the_same_keys_never_deadlock() {
    let mut bench = fresh().await;
    let plan = TablePlan { guard: Guard::Columns, ..things() };
    set_up(&mut bench.connect().await, &plan).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8_i64 {
        let database = bench.database();
        let plan = plan.clone();
        writers.spawn(async move {
            let mut connection = database.connect().await.unwrap();
            for round in 0..12_i64 {
                let mut records: Vec<Record> =
                    (0..60).map(|id| put([int(id * 7 % 61), text(&format!("{writer} {round}"))])).collect();
                if writer % 2 == 0 {
                    records.reverse();
                }
                connection.begin(Access::Write).await.unwrap();
                let mut work = connection.work();
                work.open_stage(&plan).await.unwrap();
                stage(&mut work, &plan, &records).await;
                work.classify().await.unwrap();
                let written = write_all(&mut work, &plan, &records, run_id(1)).await.unwrap();
                assert!(written.refused.is_empty() && written.conflicts.is_empty());
                work.close_stage().await.unwrap();
                drop(work);
                connection.commit().await.unwrap();
            }
        });
    }
    wait::within(120, "the writers", async {
        while let Some(done) = writers.join_next().await {
            done.unwrap();
        }
    })
    .await;
    assert_eq!(bench.rows("SELECT count(*), count(DISTINCT v) FROM things").await, [["60", "1"]]);
}

/// What was told apart is told apart again when somebody has come in between, and every record is counted.
async fn in_between(
    bench: &mut impl Bench,
    plan: &TablePlan,
    records: &[Record],
    between: &str,
) -> landonce_store::seam::Written {
    let mut connection = bench.connect().await;
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    work.open_stage(plan).await.unwrap();
    stage(&mut work, plan, records).await;
    work.classify().await.unwrap();
    bench.run(between).await;
    let written = write_all(&mut work, plan, records, run_id(2)).await.unwrap();
    work.close_stage().await.unwrap();
    drop(work);
    connection.commit().await.unwrap();
    written
}

#[tokio::test]
async fn rows_that_somebody_put_in_between_are_told_apart_again() {
    let mut bench = fresh().await;
    bench
        .run("CREATE TABLE t (id int PRIMARY KEY, v text, version int); INSERT INTO t VALUES (6, 'old', 1)")
        .await;
    let mut connection = bench.connect().await;
    let plan = TablePlan { version: Some(2), ..plan_on(&mut connection, "t", &["id"]).await };
    let record = |id: i64| put([int(id), text("v"), int(5)]);
    let records: Vec<Record> = (1..=6).map(record).collect();
    let between = "INSERT INTO t VALUES (1, 'v', 5), (2, 'w', 5), (3, 'w', 9), (4, 'w', 3); UPDATE t SET v = 'x', version = 7 WHERE id = 6";
    let written = in_between(&mut bench, &plan, &records, between).await;
    assert_eq!(
        (written.inserted, written.updated, written.unchanged, written.stale),
        (1, 1, 1, 2),
        "{written:?}"
    );
    assert_eq!(written.conflicts.iter().map(|place| place.number).collect::<Vec<_>>(), [2]);
    let rows = bench.rows("SELECT id, v, version FROM t ORDER BY id").await;
    assert_eq!(
        rows,
        [
            ["1", "v", "5"],
            ["2", "w", "5"],
            ["3", "w", "9"],
            ["4", "v", "5"],
            ["5", "v", "5"],
            ["6", "x", "7"]
        ]
    );
}

/// The straight way meets a row that wasn't there, and the other way takes over.
#[tokio::test]
async fn a_straight_copy_gives_way_to_a_row_that_came_in_between() {
    let mut bench = fresh().await;
    let plan = TablePlan { guard: Guard::Columns, ..things() };
    let insert_once = TablePlan { mode: WriteMode::InsertOnce, ..plan.clone() };
    for (plan, counts, v) in [(plan, (9, 1, 0), "mine"), (insert_once, (9, 0, 1), "theirs")] {
        let mut connection = bench.connect().await;
        set_up(&mut connection, &plan).await;
        let records: Vec<Record> = (0..10).map(|id| put([int(id), text("mine")])).collect();
        // The other one's row has the key that ours will have.
        land(&mut connection, &plan, "theirs", &[put([int(7), text("theirs")])]).await;
        bench.run("CREATE TABLE hidden AS SELECT * FROM things; TRUNCATE things").await;
        let between = "INSERT INTO things SELECT * FROM hidden";
        let written = in_between(&mut bench, &plan, &records, between).await;
        assert_eq!((written.inserted, written.updated, written.unchanged), counts, "{written:?}");
        assert_eq!(bench.rows("SELECT v FROM things WHERE id = 7").await, [[v]]);
        assert_eq!(bench.rows("SELECT count(*) FROM things").await, [["10"]]);
        drop(connection);
        bench.run("DROP TABLE things, hidden, landonce.inbox, landonce.quarantine, landonce.migration").await;
    }
}

/// A change is merged with the row as it is when it is locked, not as it was when the statement began.
#[tokio::test]
async fn a_change_loses_no_update_that_came_in_between() {
    let mut bench = fresh().await;
    bench
        .run(
            "CREATE TABLE t (id int PRIMARY KEY, a text NOT NULL, b text NOT NULL, rest jsonb NOT NULL);
             INSERT INTO t VALUES (1, 'a', 'b', '{\"x\": 1}')",
        )
        .await;
    let mut connection = bench.connect().await;
    let mut plan = plan_on(&mut connection, "t", &["id"]).await;
    plan.absent = Absent::Keep;
    plan.columns[3].from = From::Rest;
    let change = |present: i64, rest: &'static str| Record {
        present,
        ..put([int(1), text("A"), Value::Null, Value::Json(rest.into())])
    };
    let records = [change(0b1011, r#"{"y":2}"#)];
    // The other one holds the row while our statement has begun already.
    let blocker = bench.client().await;
    blocker.batch_execute("BEGIN; UPDATE t SET b = 'B', rest = rest || '{\"z\": 3}'").await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let writer = tokio::spawn(async move {
        let mut work = connection.work();
        work.open_stage(&plan).await.unwrap();
        stage(&mut work, &plan, &records).await;
        assert_eq!(work.classify().await.unwrap().changed, 1);
        let written = write_all(&mut work, &plan, &records, run_id(1)).await.unwrap();
        drop(work);
        connection.commit().await.unwrap();
        written
    });
    until_somebody_waits(&bench.client().await).await;
    blocker.batch_execute("COMMIT").await.unwrap();
    let written = wait::within(10, "the writer", writer).await.unwrap();
    assert_eq!((written.inserted, written.updated), (0, 1));
    let rows = bench.rows("SELECT a, b, rest FROM t").await;
    assert_eq!(rows, [["A", "B", "{\"x\": 1, \"y\": 2, \"z\": 3}"]]);
}

#[tokio::test]
async fn waiting_for_a_lock_has_the_limit_that_was_set() {
    let bench = fresh().await;
    let mut connection = bench.database().lock_timeout(Duration::from_millis(50)).connect().await.unwrap();
    land(&mut connection, &things(), "b1", &[put([int(1), text("a")])]).await;
    let blocker = bench.client().await;
    blocker.batch_execute("BEGIN; LOCK TABLE things IN ACCESS EXCLUSIVE MODE").await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let error = connection.work().open_stage(&things()).await.unwrap_err();
    assert_eq!(
        (&error.code, error.advice()),
        (&Code::SqlState("55P03".to_owned()), Advice::Again),
        "{error}"
    );
    connection.rollback().await;
    blocker.batch_execute("COMMIT").await.unwrap();
    // Set for the transaction alone.
    let mut connection = bench.database().statement_timeout(Duration::from_secs(7)).connect().await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    connection.rollback().await;
    assert_eq!(land(&mut connection, &things(), "b2", &[put([int(1), text("a")])]).await.counts().2, 1);
}

/// G4 with a version of every ordered type: the newest stands, whoever comes first.
#[tokio::test]
async fn of_many_writers_of_one_key_the_newest_version_stands() {
    let mut bench = fresh().await;
    let columns = [("id", Type::INTEGER), ("v", Type::TEXT), ("version", Type::INTEGER)];
    let plan = TablePlan { version: Some(2), ..plan("things", &columns) };
    assert!(matches!(plan.matching, Match::Key { .. }));
    set_up(&mut bench.connect().await, &plan).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..6_i64 {
        let (database, plan) = (bench.database(), plan.clone());
        writers.spawn(async move {
            let mut connection = database.connect().await.unwrap();
            let mut counted = 0;
            for round in 0..10_i64 {
                let version = round * 6 + writer;
                let records = [put([int(1), text(&format!("v{version}")), int(version)])];
                let landed = land(&mut connection, &plan, &format!("{version}"), &records).await;
                counted += landed.counts().0 + landed.counts().1 + landed.counts().3;
            }
            counted
        });
    }
    let mut counted = 0;
    wait::within(120, "the writers", async {
        while let Some(done) = writers.join_next().await {
            counted += done.unwrap();
        }
    })
    .await;
    assert_eq!(counted, 60, "each was inserted, updated or stale");
    assert_eq!(bench.rows("SELECT v, version FROM things").await, [["v59", "59"]]);
}
