//! Deletes that retire (C30): a delete record marks its row once, a put restores it, and versions order the two.

use landonce_core::column::Type;
use landonce_core::number::Decimal;
use landonce_core::plan::{Guard, TablePlan, Tombstone};
use landonce_core::value::Value;
use landonce_store::seam::{Access, Connection, Survey, Work};

use super::bench::{Bench, by_columns, claim, delete, int, land, look_in, plan, put, text, things};

const ROWS: &str = "SELECT id, v, CASE WHEN retired_at IS NULL THEN 'stands' ELSE 'retired' END, landonce_revision FROM things ORDER BY id";
const MARKS: &str = "SELECT id, v, retired_at, retired_by, landonce_revision FROM things ORDER BY id";

fn retiring(plan: TablePlan) -> TablePlan {
    let tombstone =
        Tombstone { at: "retired_at".to_owned(), by: Some("retired_by".to_owned()), by_type: None };
    TablePlan { has_deletes: true, tombstone: Some(tombstone), ..plan }
}

pub(crate) async fn a_delete_marks_the_row_once_and_a_put_restores_it(bench: &mut impl Bench) {
    let by_columns = by_columns(TablePlan { guard: Guard::Columns, ..things() }, &[0]);
    for (plan, name) in [(retiring(things()), "key"), (retiring(by_columns), "columns")] {
        let mut connection = bench.connect().await;
        let batch = |n: i32| format!("{name} {n}");
        let gone = [delete([int(1), text("")]), delete([int(9), text("")])];
        land(&mut connection, &plan, &batch(1), &[put([int(1), text("a")]), put([int(2), text("a")])]).await;
        let landed = land(&mut connection, &plan, &batch(2), &gone).await;
        assert_eq!(landed.counts(), (0, 0, 1, 0, 0, 0, 1), "what isn't there can't be marked");
        assert_eq!(bench.rows(ROWS).await, [["1", "a", "retired", "2"], ["2", "a", "stands", "1"]]);
        let marks = bench.rows(MARKS).await;
        assert_eq!(marks[0][3], claim(&batch(2)).run_id.hyphenated().to_string());
        assert!(marks[0][2].starts_with("20"), "{marks:?}");

        let landed = land(&mut connection, &plan, &batch(3), &gone).await;
        assert_eq!(landed.counts(), (0, 0, 2, 0, 0, 0, 0), "a repeat finds it marked");
        assert_eq!(bench.rows(MARKS).await, marks);

        connection.begin(Access::Write).await.unwrap();
        let mut work = connection.work();
        let again = [put([int(1), text("a")]), put([int(2), text("b")])];
        look_in(&mut work, &plan, &again).await;
        assert_eq!(work.survey().await.unwrap(), Survey { standing: 0, returning: 1 });
        work.close_stage().await.unwrap();
        drop(work);
        connection.rollback().await;
        let landed = land(&mut connection, &plan, &batch(4), &again).await;
        assert_eq!(landed.counts(), (0, 2, 0, 0, 0, 0, 0));
        assert_eq!(bench.rows(ROWS).await, [["1", "a", "stands", "3"], ["2", "b", "stands", "2"]]);
        assert_eq!(bench.rows(MARKS).await[0][2..4], ["∅", "∅"]);
        let landed = land(&mut connection, &plan, &batch(5), &again).await;
        assert_eq!(landed.counts(), (0, 0, 2, 0, 0, 0, 0));
        drop(connection);
        bench.run("DROP TABLE things").await;
    }
}

pub(crate) async fn a_newer_delete_keeps_an_older_put_away(bench: &mut impl Bench) {
    let columns = [("id", Type::INTEGER), ("v", Type::TEXT), ("version", Type::DECIMAL)];
    let columns: Vec<(&str, Type)> = columns.into_iter().collect();
    for ty in [Type::INTEGER, Type::DECIMAL] {
        let mut columns = columns.clone();
        columns[2].1 = ty.clone();
        let plan = retiring(TablePlan { version: Some(2), ..plan("things", &columns) });
        let mut connection = bench.connect().await;
        let version = |n: i64| match ty {
            Type::DECIMAL => exact(n),
            _ => int(n),
        };
        let one = |v: &str, n: i64| put([int(1), text(v), version(n)]);
        let gone = |n: i64| delete([int(1), text(""), version(n)]);
        let mut nth = 0;
        let mut marks = Vec::new();
        for (record, counts, want) in [
            (one("a", 5), (1, 0, 0, 0, 0, 0, 0), ["1", "a", "stands", "1"]),
            (gone(4), (0, 0, 0, 1, 0, 0, 0), ["1", "a", "stands", "1"]),
            (gone(7), (0, 0, 0, 0, 0, 0, 1), ["1", "a", "retired", "2"]),
            (one("late", 6), (0, 0, 0, 1, 0, 0, 0), ["1", "a", "retired", "2"]),
            (gone(7), (0, 0, 1, 0, 0, 0, 0), ["1", "a", "retired", "2"]),
            // A newer delete of a row that is marked already: the mark stays, the version counts.
            (gone(10), (0, 0, 0, 0, 0, 0, 0), ["1", "a", "retired", "2"]),
            (one("late", 9), (0, 0, 0, 1, 0, 0, 0), ["1", "a", "retired", "2"]),
            // Of the same version the later one counts, as in one batch.
            (one("b", 10), (0, 1, 0, 0, 0, 0, 0), ["1", "b", "stands", "3"]),
            (one("c", 10), (0, 0, 0, 0, 1, 0, 0), ["1", "b", "stands", "3"]),
            (gone(10), (0, 0, 0, 0, 0, 0, 1), ["1", "b", "retired", "4"]),
            (one("d", 11), (0, 1, 0, 0, 0, 0, 0), ["1", "d", "stands", "5"]),
        ] {
            nth += 1;
            let landed =
                land(&mut connection, &plan, &format!("{ty} {nth}"), std::slice::from_ref(&record)).await;
            assert_eq!(landed.counts(), counts, "{ty} {nth}");
            assert_eq!(bench.rows(ROWS).await, [want], "{ty} {nth}");
            let now = bench.rows(MARKS).await;
            if want[3] == "2" && !marks.is_empty() {
                assert_eq!(now, marks, "the first delete's mark holds");
            }
            marks = if want[3] == "2" { now } else { Vec::new() };
        }
        drop(connection);
        bench.run("DROP TABLE things").await;
    }
}

fn exact(n: i64) -> Value<'static> {
    Value::Decimal(Decimal::parse(&n.to_string()).unwrap()).into_owned()
}

pub(crate) async fn a_table_without_the_second_column_retires(bench: &mut impl Bench) {
    let tombstone = Tombstone { at: "retired_at".to_owned(), by: None, by_type: None };
    let plan = TablePlan { tombstone: Some(tombstone), revision: None, ..retiring(things()) };
    let mut connection = bench.connect().await;
    land(&mut connection, &plan, "b1", &[put([int(1), text("a")])]).await;
    let landed = land(&mut connection, &plan, "b2", &[delete([int(1), text("")])]).await;
    assert_eq!(landed.counts(), (0, 0, 0, 0, 0, 0, 1));
    assert_eq!(bench.rows("SELECT id FROM things WHERE retired_at IS NOT NULL").await, [["1"]]);
}
