//! Rows that the server refuses, among many: found, named, left out; and a chunk in which everything is wrong has an end.

use std::collections::BTreeSet;

use landonce_core::plan::{Guard, TablePlan};
use landonce_core::retry::Code;
use landonce_store::seam::{Access, Connection, Refused, Work};
use landonce_testkit::dump::physical;

use super::{fresh, stage, write_all};
use crate::conformance::{Bench, Record, int, plan_on, put, run_id, text};

const TABLE: &str = "\
CREATE DOMAIN short AS varchar(20) CHECK (VALUE <> 'domain');
CREATE TABLE t (id int PRIMARY KEY, name short, n int CONSTRAINT small CHECK (n < 1000000));";

fn records(count: i64, bad: &BTreeSet<i64>) -> Vec<Record> {
    (0..count)
        .map(|id| {
            put([int(id), text(&format!("name {id}")), int(if bad.contains(&id) { 2_000_000 } else { id })])
        })
        .collect()
}

fn numbers(refused: &[Refused]) -> Vec<i64> {
    let mut numbers: Vec<i64> = refused.iter().map(|one| one.place.number as i64 - 1).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn a_few_bad_rows_among_many_are_found_and_the_others_land() {
    for with_rule in [false, true] {
        let mut bench = fresh().await;
        bench.run(TABLE).await;
        if with_rule {
            // A rule closes the straight way into the table.
            bench.run("CREATE RULE r AS ON DELETE TO t WHERE false DO INSTEAD NOTHING").await;
        }
        let mut connection = bench.connect().await;
        let plan = plan_on(&mut connection, "t", &["id"]).await;
        let bad = BTreeSet::from([0, 7_777, 7_778, 19_999]);
        let records = records(20_000, &bad);
        connection.begin(Access::Write).await.unwrap();
        let mut work = connection.work();
        work.open_stage(&plan).await.unwrap();
        assert_eq!(stage(&mut work, &plan, &records).await, []);
        assert_eq!(work.classify().await.unwrap().new, 20_000);
        let written = write_all(&mut work, &plan, &records, run_id(1)).await.unwrap();
        assert_eq!(written.inserted, 20_000 - 4);
        assert_eq!(numbers(&written.refused), Vec::from_iter(bad));
        assert!(written.refused.iter().all(|one| one.name == "small" && one.message.contains("(23514)")));
        work.close_stage().await.unwrap();
        drop(work);
        connection.commit().await.unwrap();
        assert_eq!(bench.rows("SELECT count(*), max(n) FROM t").await, [["19996", "19998"]]);
    }
}

#[tokio::test]
async fn a_staged_value_that_its_type_refuses_is_found_too() {
    let mut bench = fresh().await;
    bench.run(TABLE).await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let mut records = records(5_000, &BTreeSet::new());
    records[1_234].values[1] = text("domain");
    records[1_235].values[1] = text("secret that is longer than twenty characters");
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    work.open_stage(&plan).await.unwrap();
    let refused = stage(&mut work, &plan, &records).await;
    assert_eq!(numbers(&refused), [1_234, 1_235]);
    insta::assert_snapshot!(refused.iter().map(|one| format!("{}: {}", one.name, one.message)).collect::<Vec<_>>().join("\n"), @r#"
    short_check: value for domain short violates check constraint "short_check" (23514)
    name: value too long for type character varying(20) (22001)
    "#);
    assert_eq!(work.classify().await.unwrap().new, 4_998);
    drop(work);
    connection.rollback().await;
}

#[tokio::test]
async fn a_chunk_in_which_everything_is_wrong_ends_with_one_error() {
    let mut bench = fresh().await;
    bench.run(TABLE).await;
    bench.run("INSERT INTO t VALUES (1, 'one', 1)").await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let records = records(10_000, &(0..10_000).collect());
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    work.open_stage(&plan).await.unwrap();
    stage(&mut work, &plan, &records).await;
    work.classify().await.unwrap();
    let error = write_all(&mut work, &plan, &records, run_id(1)).await.unwrap_err();
    assert_eq!(error.code, Code::SqlState("23514".to_owned()));
    assert!(error.to_string().contains("refused more than 1000 of 10000 rows"), "{error}");
    drop(work);
    connection.rollback().await;
    assert_eq!(bench.rows("SELECT name FROM t").await, [["one"]]);
}

/// C50, in bulk: what is equal is neither written nor locked, triggers stay silent, and the log has nothing of it.
#[tokio::test]
async fn an_equal_rerun_of_many_rows_leaves_every_version_and_fires_nothing() {
    let mut bench = fresh().await;
    bench.run(TABLE).await;
    bench
        .run(
            "CREATE TABLE fired (at text);
             CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN INSERT INTO fired VALUES (TG_OP); RETURN NULL; END $$;",
        )
        .await;
    let mut connection = bench.connect().await;
    let plan = TablePlan { guard: Guard::Columns, ..plan_on(&mut connection, "t", &["id"]).await };
    let records = records(20_000, &BTreeSet::new());
    for round in 0..3 {
        connection.begin(Access::Write).await.unwrap();
        let mut work = connection.work();
        work.open_stage(&plan).await.unwrap();
        stage(&mut work, &plan, &records).await;
        let found = work.classify().await.unwrap();
        assert_eq!((found.new, found.unchanged), if round == 0 { (20_000, 0) } else { (0, 20_000) });
        if round == 0 {
            write_all(&mut work, &plan, &records, run_id(1)).await.unwrap();
        } else {
            assert_eq!(work.next_rows(10).await.unwrap(), []);
        }
        work.close_stage().await.unwrap();
        drop(work);
        connection.commit().await.unwrap();
        let client = bench.client().await;
        if round == 0 {
            bench.run("CREATE TRIGGER f AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION fire()").await;
            bench.run("CREATE TABLE before AS SELECT id, xmin::text AS x, ctid::text AS c FROM t").await;
        } else {
            let moved = "SELECT count(*) FROM t JOIN before b USING (id) WHERE (t.xmin::text, t.ctid::text) <> (b.x, b.c)";
            assert_eq!(bench.rows(moved).await, [["0"]]);
            assert!(physical(&client, "fired").await.is_empty());
            assert!(physical(&client, "t").await.iter().all(|row| row.xmax == "0"));
        }
    }
}
