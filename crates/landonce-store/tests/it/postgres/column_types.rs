//! Values of every type that PostgreSQL has and landonce writes: exact, cast by the catalogue, equal when they come again.

use std::borrow::Cow;

use landonce_core::column::Type;
use landonce_core::number::Decimal;
use landonce_core::plan::{Guard, TablePlan};
use landonce_core::value::Value;
use landonce_store::seam::{Access, Connection, Rows, Work};
use landonce_testkit::dump::physical;

use super::fresh;
use crate::conformance::{Bench, Record, int, land, plan, plan_on, put, row, text};

fn decimal(text: &'static str) -> Value<'static> {
    Value::Decimal(Decimal::parse(text).unwrap())
}

fn json(text: &'static str) -> Value<'static> {
    Value::Json(Cow::Borrowed(text))
}

/// A point of EWKB: little-endian, with its SRID.
fn point(x: f64, y: f64, srid: u32) -> Value<'static> {
    let mut ewkb = vec![1];
    ewkb.extend(0x2000_0001_u32.to_le_bytes());
    ewkb.extend(srid.to_le_bytes());
    ewkb.extend(x.to_le_bytes());
    ewkb.extend(y.to_le_bytes());
    Value::Geometry(Cow::Owned(ewkb))
}

/// C11: uuid key, enum, arrays, json, a domain, citext, names that need quoting; cast by the catalogue's type, and a re-run
/// touches no row.
#[tokio::test]
async fn a_users_types_are_written_as_they_are_and_a_rerun_touches_nothing() {
    let mut bench = fresh().await;
    bench
        .run(
            "CREATE EXTENSION citext;
             CREATE TYPE mood AS ENUM ('ok', 'so so');
             CREATE DOMAIN amount AS numeric(30,10) NOT NULL CHECK (VALUE > 0);
             CREATE DOMAIN doc AS jsonb;
             CREATE TABLE things (
               id uuid PRIMARY KEY, mood mood, moods mood[], tags text[], emails citext[], doc doc, plain json, plains json[],
               email citext, amount amount, \"order\" smallint, \"createdAt\" timestamptz, day date, days date[],
               code char(4), name name, big numeric, ratio real, numbers numeric[]
             )",
        )
        .await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "things", &["id"]).await;
    let record = |document: &'static str, tags: &[&str]| {
        put([
            Value::Uuid([7; 16]),
            text("so so"),
            Value::Array(vec![text("ok"), Value::Null]),
            Value::Array(tags.iter().map(|tag| text(tag)).collect()),
            Value::Array(vec![text("A@b")]),
            json(document),
            json(document),
            Value::Array(vec![json(document)]),
            text("A@b"),
            decimal("12345678901234567890.0123456789"),
            int(-3),
            Value::Timestamptz(1_700_000_000_123_456),
            Value::Date(-719_162),
            Value::Array(vec![Value::Date(0)]),
            text("ab"),
            text("größe"),
            decimal("-1e-40"),
            Value::Float(0.1),
            Value::Array(vec![decimal("1.50"), decimal("1e20")]),
        ])
    };
    let landed =
        land(&mut connection, &plan, "b1", &[record(r#"{"b":1,"a":[1,2.50]}"#, &["x", "y,\"z"])]).await;
    assert_eq!(landed.counts(), (1, 0, 0, 0, 0, 0, 0), "{landed:?}");
    let stored = bench.rows("SELECT * FROM things").await;
    insta::assert_snapshot!(stored[0].join("\n"), @r#"
    07070707-0707-0707-0707-070707070707
    so so
    {ok,NULL}
    {x,"y,\"z"}
    {A@b}
    {"a": [1, 2.50], "b": 1}
    {"b":1,"a":[1,2.50]}
    {"{\"b\":1,\"a\":[1,2.50]}"}
    A@b
    12345678901234567890.0123456789
    -3
    2023-11-14 22:13:20.123456+00
    0001-01-01
    {1970-01-01}
    ab  
    größe
    -0.0000000000000000000000000000000000000001
    0.1
    {1.5,100000000000000000000}
    "#);
    let client = bench.client().await;
    let before = physical(&client, "things").await;
    // The order of JSON's names and its white space are no change, nor is 2.5 for 2.50.
    let landed =
        land(&mut connection, &plan, "b2", &[record(r#"{ "a": [1, 2.5], "b": 1 }"#, &["x", "y,\"z"])]).await;
    assert_eq!(landed.counts(), (0, 0, 1, 0, 0, 0, 0));
    assert_eq!(physical(&client, "things").await, before);
    let landed =
        land(&mut connection, &plan, "b3", &[record(r#"{"b":1,"a":[1,2.5]}"#, &["y,\"z", "x"])]).await;
    assert_eq!(landed.counts(), (0, 1, 0, 0, 0, 0, 0), "the order of an array is content");
}

#[tokio::test]
async fn text_that_differs_in_case_only_is_a_change_where_the_column_folds_case() {
    let mut bench = fresh().await;
    bench.run("CREATE EXTENSION citext; CREATE TABLE t (id int PRIMARY KEY, email citext, code char(3), all_of citext[])").await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let one =
        |email: &str, code: &str| [put([int(1), text(email), text(code), Value::Array(vec![text(email)])])];
    land(&mut connection, &plan, "b1", &one("a@b", "x")).await;
    assert_eq!(land(&mut connection, &plan, "b2", &one("a@b", "x")).await.counts().2, 1);
    assert_eq!(land(&mut connection, &plan, "b3", &one("A@b", "x")).await.counts().1, 1);
    assert_eq!(bench.rows("SELECT email, all_of FROM t").await, [["A@b", "{A@b}"]]);
}

/// What is equal is the database's to say: `A` and `a` are one identity there, in a batch and against the target.
#[tokio::test]
async fn identities_that_the_database_calls_equal_are_one() {
    let mut bench = fresh().await;
    bench.run("CREATE EXTENSION citext; CREATE TABLE t (name citext PRIMARY KEY, v text)").await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["name"]).await;
    let one = |name: &str, v: &str| put([text(name), text(v)]);
    let landed =
        land(&mut connection, &plan, "b1", &[one("Ann", "1"), one("Bob", "2"), one("ANN", "3")]).await;
    assert_eq!(landed.counts(), (2, 0, 0, 0, 0, 1, 0));
    let landed = land(&mut connection, &plan, "b2", &[one("ann", "3"), one("bob", "4")]).await;
    assert_eq!(landed.counts(), (0, 1, 1, 0, 0, 0, 0));
    assert_eq!(bench.rows("SELECT name, v FROM t ORDER BY 1").await, [["ANN", "3"], ["Bob", "4"]]);
}

/// C02 with `null_key: as_value`: exactly one row per identity, NULL being a value.
#[tokio::test]
async fn a_null_in_an_identity_is_one_row_where_the_index_says_so() {
    let mut bench = fresh().await;
    let version: u32 = bench.rows("SHOW server_version_num").await[0][0].parse().unwrap();
    if version < 150_000 {
        // Before version 15 no index can say so, and no plan has such an identity.
        assert!(
            bench
                .client()
                .await
                .batch_execute("CREATE TABLE t (a int, UNIQUE NULLS NOT DISTINCT (a))")
                .await
                .is_err()
        );
        return;
    }
    for (at, (columns, of)) in
        [("a text NOT NULL, b text", vec![0, 1]), ("a text, b text", vec![0, 1])].into_iter().enumerate()
    {
        bench.run(&format!("CREATE TABLE t ({columns}, v text, UNIQUE NULLS NOT DISTINCT (a, b))")).await;
        let mut connection = bench.connect().await;
        let mut plan = plan_on(&mut connection, "t", &["a", "b"]).await;
        assert!(plan.columns[1].nullable);
        plan.matching = landonce_core::plan::Match::Columns(of);
        let none = || Value::Null;
        let mut records: Vec<Record> =
            (0..40).map(|n| put([text(&format!("k{n}")), none(), text("1")])).collect();
        records.push(put([text("x"), text("1"), text("1")]));
        if at == 1 {
            records.push(put([none(), none(), text("1")]));
        }
        let count = records.len() as u64;
        let batch = |n: i32| format!("{at} {n}");
        assert_eq!(land(&mut connection, &plan, &batch(1), &records).await.counts().0, count);
        assert_eq!(land(&mut connection, &plan, &batch(2), &records).await.counts().2, count);
        for record in &mut records {
            record.values[2] = text("2");
        }
        assert_eq!(land(&mut connection, &plan, &batch(3), &records).await.counts().1, count);
        assert_eq!(bench.rows("SELECT count(*), min(v) FROM t").await, [[count.to_string(), "2".to_owned()]]);
        drop(connection);
        bench.run("DROP TABLE t").await;
    }
}

#[tokio::test]
async fn a_column_that_would_round_refuses_instead() {
    let mut bench = fresh().await;
    bench.run("CREATE TABLE t (id int PRIMARY KEY, at timestamptz(3), all_of timestamp(0)[])").await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let one = |id: i64, micros: i64| {
        put([
            int(id),
            Value::Timestamptz(micros),
            Value::Array(vec![Value::Timestamp(micros / 1_000_000 * 1_000_000)]),
        ])
    };
    connection.migrate().await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    work.open_stage(&plan).await.unwrap();
    let records = [one(1, 1_500_000), one(2, 1_500_001), one(3, 1_501_000)];
    let columns = plan.stage_columns();
    let mut rows = (work.encoder(&plan, &columns))();
    for at in 0..records.len() {
        rows.push(&row(&plan, &columns, &records, at, false));
    }
    let refused = work.stage(rows).await.unwrap();
    assert_eq!(refused.iter().map(|one| one.place.number).collect::<Vec<_>>(), [2]);
    assert!(refused[0].name.contains("at keeps every digit"), "{refused:?}");
    assert_eq!(work.classify().await.unwrap().new, 2);
    drop(work);
    connection.rollback().await;
    let landed = land(&mut connection, &plan, "b1", &[one(1, 1_500_000), one(3, 1_501_000)]).await;
    assert_eq!(landed.counts().0, 2);
    assert_eq!(land(&mut connection, &plan, "b2", &[one(1, 1_500_000)]).await.counts().2, 1);
}

#[tokio::test]
async fn a_geometry_is_compared_by_its_bytes_and_kept_with_its_srid() {
    let mut bench = fresh().await;
    let ty = Type::Geometry { kind: Some("Point".to_owned()), srid: 4326 };
    let plan = TablePlan { guard: Guard::Columns, ..plan("places", &[("id", Type::INTEGER), ("at", ty)]) };
    let has_postgis =
        bench.rows("SELECT 1 FROM pg_available_extensions WHERE name = 'postgis'").await.len() == 1;
    let mut connection = bench.connect().await;
    // Without the extension the type isn't there, and the message says what to do about it.
    let error = connection.create_target(&plan).await.unwrap_err();
    assert!(error.to_string().contains("CREATE EXTENSION postgis"), "{error}");
    if !has_postgis {
        return;
    }
    bench.run("CREATE SCHEMA gis; CREATE EXTENSION postgis SCHEMA gis; ").await;
    bench.run(&format!("ALTER DATABASE \"{}\" SET search_path = public, gis", bench.name())).await;
    let mut connection = bench.connect().await;
    let at = |x: f64| [put([int(1), point(x, 2.0, 4326)])];
    assert_eq!(land(&mut connection, &plan, "b1", &at(1.0)).await.counts().0, 1);
    assert_eq!(land(&mut connection, &plan, "b2", &at(1.0)).await.counts().2, 1);
    assert_eq!(land(&mut connection, &plan, "b3", &at(1.5)).await.counts().1, 1);
    let client = bench.client().await;
    let stored = super::rows(&client, "SELECT st_asewkt(at) FROM places").await;
    assert_eq!(stored, [["SRID=4326;POINT(1.5 2)"]]);
    let shape = connection.shape(&plan.table).await.unwrap().unwrap();
    assert_eq!(shape.column("at").unwrap().ty.as_ref().unwrap().to_string(), "geometry(Point,4326)");
    // A table that is there, whose type's schema isn't on the path of whoever writes.
    bench.run(&format!("ALTER DATABASE \"{}\" RESET search_path", bench.name())).await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "places", &["landonce_key"]).await;
    assert!(plan.columns.iter().any(|column| column.sql_type.as_deref() == Some("gis.geometry(Point,4326)")));
    connection.begin(Access::ReadOnly).await.unwrap();
    let mut work = connection.work();
    work.open_stage(&plan).await.unwrap();
    assert_eq!(work.classify().await.unwrap().new, 0);
    drop(work);
    connection.rollback().await;
}

/// A delete or a change has no value for every column: a domain that takes no NULL must not refuse it in the stage.
#[tokio::test]
async fn a_domain_without_null_refuses_rows_not_staged_records() {
    let mut bench = fresh().await;
    bench
        .run(
            "CREATE DOMAIN name AS varchar(10) NOT NULL CHECK (VALUE <> 'bad');
             CREATE TABLE t (id int PRIMARY KEY, name public.name, n int)",
        )
        .await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let plan = TablePlan { absent: landonce_core::plan::Absent::Keep, has_deletes: true, ..plan };
    let change = |present: i64, id: i64, name: Value<'static>, n: i64| Record {
        present,
        ..put([int(id), name, int(n)])
    };
    let landed =
        land(&mut connection, &plan, "b1", &[change(0b111, 1, text("a"), 1), change(0b111, 2, text("b"), 1)])
            .await;
    assert_eq!(landed.counts().0, 2);
    let gone = Record { is_delete: true, ..change(0b001, 2, Value::Null, 0) };
    let landed = land(&mut connection, &plan, "b2", &[change(0b101, 1, Value::Null, 2), gone]).await;
    assert_eq!(landed.counts(), (0, 1, 0, 0, 0, 0, 1), "{landed:?}");
    assert_eq!(bench.rows("SELECT * FROM t").await, [["1", "a", "2"]]);
    let bad =
        [change(0b111, 3, text("bad"), 1), change(0b101, 4, Value::Null, 1), change(0b111, 5, text("c"), 1)];
    let landed = land(&mut connection, &plan, "b3", &bad).await;
    assert_eq!(landed.written.refused.iter().map(|one| one.place.number).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(landed.counts().0, 1);
}

/// C17: what would make two rows of one identity is refused by the database, whatever the plan overlooked.
#[tokio::test]
async fn without_a_unique_index_nothing_is_written() {
    let mut bench = fresh().await;
    bench.run("CREATE TABLE t (id int PRIMARY KEY, v text)").await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    bench.run("ALTER TABLE t DROP CONSTRAINT t_pkey; INSERT INTO t VALUES (9, 'x')").await;
    connection.migrate().await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    let records = [put([int(1), text("a")]), put([int(9), text("b")])];
    crate::conformance::look_in(&mut work, &plan, &records).await;
    let mut rows = (work.encoder(&plan, &plan.row_columns()))();
    for at in 0..2 {
        rows.push(&row(&plan, &plan.row_columns(), &records, at, false));
    }
    let error = work.write(rows, crate::conformance::run_id(1)).await.unwrap_err();
    assert!(error.to_string().contains("no unique index on the identity's columns"), "{error}");
    drop(work);
    connection.rollback().await;
    assert_eq!(bench.rows("SELECT v FROM t").await, [["x"]]);
}
