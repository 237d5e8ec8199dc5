//! Targets that are somebody else's: partitions, views, generated columns, foreign keys, triggers, row-level security.

use landonce_core::plan::{Guard, TablePlan};
use landonce_core::value::Value;
use landonce_store::seam::Connection;

use super::fresh;
use crate::conformance::{Bench, Record, int, land, plan_on, put, text};

/// The plan less the columns that the database fills.
fn without(mut plan: TablePlan, names: &[&str]) -> TablePlan {
    plan.columns.retain(|column| !names.contains(&column.name.as_str()));
    plan
}

#[tokio::test]
async fn a_partitioned_table_counts_what_was_new() {
    let mut bench = fresh().await;
    bench
        .run(
            "CREATE TABLE t (id int, day date, v text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
             CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
             CREATE TABLE t2 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');",
        )
        .await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["id", "day"]).await;
    let day = |n: i32| Value::Date(20_454 + n); // 2026-01-01
    let record = |id: i64, at: i32, v: &str| put([int(id), day(at), text(v)]);
    let landed = land(&mut connection, &plan, "b1", &[record(1, 0, "a"), record(1, 40, "b")]).await;
    assert_eq!(landed.counts().0, 2);
    let records = [record(1, 0, "A"), record(1, 40, "b"), record(2, 3, "c"), record(9, 400, "nowhere")];
    let landed = land(&mut connection, &plan, "b2", &records).await;
    assert_eq!(landed.counts(), (1, 1, 1, 0, 0, 0, 0));
    assert_eq!(landed.written.refused.len(), 1, "no partition takes it: {:?}", landed.written.refused);
    let rows = bench.rows("SELECT tableoid::regclass, id, v FROM t ORDER BY 2, 1").await;
    assert_eq!(rows, [["t1", "1", "A"], ["t2", "1", "b"], ["t1", "2", "c"]]);
}

#[tokio::test]
async fn a_view_is_written_through_by_the_index_of_its_table() {
    let mut bench = fresh().await;
    bench
        .run(
            "CREATE TABLE base (id int PRIMARY KEY, v text, secret text DEFAULT 's');
             CREATE VIEW t AS SELECT id, v FROM base WHERE id < 100 WITH CHECK OPTION;
             CREATE TABLE twin (id int PRIMARY KEY, v text);",
        )
        .await;
    let mut connection = bench.connect().await;
    // A view has no index of its own: the plan is made by a table of the same columns.
    let mut plan = plan_on(&mut connection, "twin", &["id"]).await;
    plan.table.name = "t".to_owned();
    let record = |id: i64, v: &str| put([int(id), text(v)]);
    assert_eq!(land(&mut connection, &plan, "b1", &[record(1, "a"), record(2, "b")]).await.counts().0, 2);
    let landed = land(
        &mut connection,
        &plan,
        "b2",
        &[record(1, "A"), record(2, "b"), record(3, "c"), record(100, "x")],
    )
    .await;
    assert_eq!(landed.counts(), (1, 1, 1, 0, 0, 0, 0));
    assert_eq!(landed.written.refused.len(), 1, "the view's check: {landed:?}");
    assert!(landed.written.refused[0].message.contains("44000"), "{landed:?}");
    assert_eq!(
        bench.rows("SELECT id, v, secret FROM base ORDER BY 1").await,
        [["1", "A", "s"], ["2", "b", "s"], ["3", "c", "s"]]
    );
}

#[tokio::test]
async fn columns_that_the_database_fills_are_left_alone() {
    let mut bench = fresh().await;
    bench
        .run(
            "CREATE TABLE t (n bigint GENERATED ALWAYS AS IDENTITY, id int PRIMARY KEY, v text,
                             length int GENERATED ALWAYS AS (length(v)) STORED, made_at timestamptz NOT NULL DEFAULT now())",
        )
        .await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let mut plan = without(plan, &["n", "length", "made_at"]);
    plan.matching = landonce_core::plan::Match::Columns(vec![0]);
    let record = |id: i64, v: &str| put([int(id), text(v)]);
    land(&mut connection, &plan, "b1", &[record(1, "a"), record(2, "b")]).await;
    let before = bench.rows("SELECT n, made_at FROM t ORDER BY id").await;
    assert_eq!(land(&mut connection, &plan, "b2", &[record(1, "abc"), record(2, "b")]).await.counts().1, 1);
    assert_eq!(bench.rows("SELECT n, made_at FROM t ORDER BY id").await, before);
    assert_eq!(
        bench.rows("SELECT id, v, length FROM t ORDER BY id").await,
        [["1", "abc", "3"], ["2", "b", "1"]]
    );
}

#[tokio::test]
async fn a_trigger_sees_what_changes_and_may_refuse_or_skip() {
    let mut bench = fresh().await;
    bench
        .run(
            "CREATE TABLE t (id int PRIMARY KEY, v text);
             CREATE TABLE seen (what text, id int);
             CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               IF NEW.v = 'refuse' THEN RAISE EXCEPTION 'not this one'; END IF;
               IF NEW.v = 'skip' THEN RETURN NULL; END IF;
               RETURN NEW; END $$;
             CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN INSERT INTO seen VALUES (TG_OP, NEW.id); RETURN NULL; END $$;
             CREATE TRIGGER a BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION look();
             CREATE TRIGGER b AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();",
        )
        .await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let record = |id: i64, v: &str| put([int(id), text(v)]);
    let records = [record(1, "a"), record(2, "refuse"), record(3, "skip"), record(4, "d")];
    let landed = land(&mut connection, &plan, "b1", &records).await;
    assert_eq!(landed.written.inserted, 2);
    let mut refused: Vec<_> =
        landed.written.refused.iter().map(|one| (one.place.number, one.message.clone())).collect();
    refused.sort();
    insta::assert_debug_snapshot!(refused, @r#"
    [
        (
            2,
            "not this one (P0001)",
        ),
        (
            3,
            "the database took the row without an error, but it isn't there: a trigger or rule skips it",
        ),
    ]
    "#);
    let landed = land(&mut connection, &plan, "b2", &[record(1, "a"), record(4, "D")]).await;
    assert_eq!(landed.counts(), (0, 1, 1, 0, 0, 0, 0));
    assert_eq!(
        bench.rows("SELECT what, id FROM seen").await,
        [["INSERT", "1"], ["INSERT", "4"], ["UPDATE", "4"]]
    );
}

#[tokio::test]
async fn row_level_security_holds_for_what_is_written() {
    let mut bench = fresh().await;
    let role = format!("tenant_{}", &bench.name()[2..10]);
    bench
        .run(&format!(
            "CREATE ROLE {role} LOGIN;
             CREATE TABLE t (id int PRIMARY KEY, tenant text);
             ALTER TABLE t ENABLE ROW LEVEL SECURITY;
             CREATE POLICY p ON t USING (tenant = 'mine') WITH CHECK (tenant = 'mine');
             GRANT SELECT, INSERT, UPDATE ON t TO {role};
             {}",
            landonce_store::postgres::setup_sql()
        ))
        .await;
    bench.run(&format!("GRANT USAGE ON SCHEMA landonce TO {role}; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA landonce TO {role}")).await;
    let url = bench.url().replacen("postgres@", &format!("{role}@"), 1);
    let mut connection = landonce_store::postgres::Database::from_url(&url).unwrap().connect().await.unwrap();
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let record = |id: i64, tenant: &str| put([int(id), text(tenant)]);
    let records = [record(1, "mine"), record(2, "mine")];
    assert_eq!(land(&mut connection, &plan, "b1", &records).await.counts().0, 2);
    assert_eq!(land(&mut connection, &plan, "b2", &records).await.counts().2, 2);
    drop(connection);
    assert_eq!(bench.rows("SELECT count(*) FROM t").await, [["2"]]);
    bench.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

/// The row that a change proposes must pass the table's checks although it ends as an update.
#[tokio::test]
async fn a_change_need_not_bring_what_the_table_demands() {
    let mut bench = fresh().await;
    bench
        .run(
            "CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL, n int NOT NULL CHECK (n > 0), doc json);
             INSERT INTO t VALUES (1, 'one', 1, '{\"a\":1}'), (2, 'two', 2, NULL)",
        )
        .await;
    let mut connection = bench.connect().await;
    let mut plan = plan_on(&mut connection, "t", &["id"]).await;
    plan.absent = landonce_core::plan::Absent::Keep;
    plan.columns[3].from = landonce_core::plan::From::Rest;
    let change = |id: i64, present: i64, name: Value<'static>, n: Value<'static>, doc: &'static str| Record {
        present,
        ..put([int(id), name, n, Value::Json(doc.into())])
    };
    let records = [
        change(1, 0b1011, text("ONE"), Value::Null, r#"{"b":2}"#),
        change(2, 0b1101, Value::Null, int(22), "{}"),
        change(3, 0b1011, text("three"), Value::Null, "{}"),
    ];
    let landed = land(&mut connection, &plan, "b1", &records).await;
    assert_eq!(landed.counts(), (0, 2, 0, 0, 0, 0, 0), "{landed:?}");
    assert_eq!(landed.written.refused[0].name, "n", "a new row has to bring it");
    let rows = bench.rows("SELECT id, name, n, doc::jsonb FROM t ORDER BY 1").await;
    assert_eq!(rows, [["1", "ONE", "1", "{\"a\": 1, \"b\": 2}"], ["2", "two", "22", "{}"]]);
    let landed = land(&mut connection, &plan, "b2", &records[..2]).await;
    assert_eq!(landed.counts(), (0, 0, 2, 0, 0, 0, 0));
}

#[tokio::test]
async fn a_table_that_is_gone_or_changed_since_the_plan_is_told() {
    let mut bench = fresh().await;
    bench.run("CREATE TABLE t (id int PRIMARY KEY, v text)").await;
    let mut connection = bench.connect().await;
    let plan = TablePlan { guard: Guard::Columns, ..plan_on(&mut connection, "t", &["id"]).await };
    for (change, says) in [
        ("ALTER TABLE t RENAME v TO w", "no column `v` any more"),
        ("ALTER TABLE t DROP w; ALTER TABLE t ADD v interval", "doesn't write columns of type interval"),
        ("DROP TABLE t", "table public.t is not there"),
    ] {
        bench.run(change).await;
        connection.begin(landonce_store::seam::Access::Write).await.unwrap();
        let error = landonce_store::seam::Work::open_stage(&mut connection.work(), &plan).await.unwrap_err();
        connection.rollback().await;
        assert!(error.to_string().contains(says), "{error}");
    }
}
