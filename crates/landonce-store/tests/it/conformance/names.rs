//! Any name a database takes works (C11): quoted, never part of the SQL.

use landonce_core::column::Type;
use landonce_core::plan::{Absent, Guard, TableName, TablePlan};
use landonce_store::seam::Connection as _;

use super::bench::{Bench, by_columns, int, land, plan, put, text};

pub(crate) async fn any_name_works(bench: &mut impl Bench) {
    let names = ["order", "createdAt", "a\"b", "größe", "two words", "id?1", "x'); --"];
    for (at, table) in ["order", "Mixed \"Case\"", "t.able", "täble"].into_iter().enumerate() {
        for variant in 0..2 {
            let columns: Vec<_> = names.iter().map(|name| (*name, Type::TEXT)).collect();
            let table = format!("{table} {variant}");
            let mut plan = plan(&table, &columns);
            if variant == 1 {
                plan = by_columns(TablePlan { guard: Guard::Columns, absent: Absent::Keep, ..plan }, &[0, 2]);
            }
            let mut connection = bench.connect().await;
            let record = |last: &str| put(["a", "b", "c", "d", "e", "f", last].map(text));
            let batch = |n: i32| format!("{at} {variant} {n}");
            assert_eq!(
                land(&mut connection, &plan, &batch(1), &[record("g")]).await.counts().0,
                1,
                "{table}"
            );
            assert_eq!(
                land(&mut connection, &plan, &batch(2), &[record("g")]).await.counts().2,
                1,
                "{table}"
            );
            assert_eq!(
                land(&mut connection, &plan, &batch(3), &[record("h")]).await.counts().1,
                1,
                "{table}"
            );
            let quoted = format!("\"{}\"", table.replace('"', "\"\""));
            let rows = bench.rows(&format!("SELECT \"a\"\"b\", \"x'); --\" FROM {quoted}")).await;
            assert_eq!(rows, [["c", "h"]], "{table}");
        }
    }
}

pub(crate) async fn a_name_that_says_sql_is_a_name(bench: &mut impl Bench) {
    bench.run("CREATE TABLE safe (id integer PRIMARY KEY)").await;
    let mut connection = bench.connect().await;
    let columns = [("id", Type::INTEGER), ("v\" text); DROP TABLE safe; --", Type::TEXT)];
    let plan = plan("t\"; DROP TABLE safe; --", &columns);
    let value = text("'); DROP TABLE safe; --");
    assert_eq!(land(&mut connection, &plan, "b1", &[put([int(1), value])]).await.counts().0, 1);
    assert!(bench.rows("SELECT id FROM safe").await.is_empty());
}

pub(crate) async fn a_table_tells_whether_it_has_rows(bench: &mut impl Bench) {
    bench.run("CREATE TABLE \"a\"\"b\" (id integer)").await;
    let mut connection = bench.connect().await;
    let table = |name: &str| TableName { schema: None, name: name.to_owned() };
    assert!(!connection.has_rows(&table("missing")).await.unwrap());
    assert!(!connection.has_rows(&table("a\"b")).await.unwrap());
    bench.run("INSERT INTO \"a\"\"b\" VALUES (1)").await;
    assert!(connection.has_rows(&table("a\"b")).await.unwrap());
}
