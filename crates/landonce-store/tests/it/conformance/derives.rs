//! Derived tables (F6, G6): what a batch touches is told, marks go with their transaction, and a period is applied as the
//! difference that it is.

use landonce_core::column::Type;
use landonce_core::pipeline::Part;
use landonce_core::plan::{Bound, Guard, Match, Scope, Span, TableName, TablePlan};
use landonce_core::value::Value;
use landonce_store::due::{Due, Mark};
use landonce_store::seam::{Access, Connection, Derives, Difference, Fault, Look, Rows, Work};

use super::bench::{Bench, by_columns, claim, int, look_in, plan, put, row, run_id, set_up, text};

const QUARTER: i64 = 900_000_000;

/// A base, on which days and instants tell periods.
fn base() -> TablePlan {
    plan("base", &[("id", Type::TEXT), ("day", Type::Date), ("at", Type::Timestamptz), ("n", Type::INTEGER)])
}

/// Sums by day, of the day after 1970-01-05.
fn sums() -> TablePlan {
    let span = Span { column: 0, start: Bound::Date(5), end: Bound::Date(6) };
    let scope = Some(Scope { period: Some(span), owner: Vec::new() });
    by_columns(
        TablePlan {
            scope,
            guard: Guard::Columns,
            run_id: None,
            revision: None,
            ..plan("sums", &[("day", Type::Date), ("shop", Type::TEXT), ("n", Type::INTEGER)])
        },
        &[0, 1],
    )
}

fn base_row(id: &str, day: Option<i32>, at: i64, n: i64) -> super::Record {
    put([text(id), day.map_or(Value::Null, Value::Date), Value::Timestamptz(at), int(n)])
}

async fn write_all(work: &mut impl Work, plan: &TablePlan, records: &[super::Record]) {
    loop {
        let todo = work.next_rows(10).await.unwrap();
        if todo.is_empty() {
            return;
        }
        let mut rows = (work.encoder(plan, &plan.row_columns()))();
        for one in &todo {
            rows.push(&row(plan, &plan.row_columns(), records, (one.place.number - 1) as usize, false));
        }
        work.write(rows, run_id(1)).await.unwrap();
    }
}

pub(crate) async fn the_old_and_the_new_values_of_what_changes_are_told(bench: &mut impl Bench) {
    let plan = base();
    let mut connection = bench.connect().await;
    set_up(&mut connection, &plan).await;
    let first =
        [base_row("a", Some(5), 1, 1), base_row("b", Some(6), QUARTER, 1), base_row("c", None, -1, 1)];
    let second = [
        base_row("a", Some(5), 1, 1),
        base_row("b", Some(8), 2 * QUARTER + 7, 2),
        base_row("c", Some(9), -1, 1),
    ];
    let none: Vec<Bound> = Vec::new();
    for (batch, records, before, after, quarters) in [
        ("b1", &first, none.clone(), vec![Bound::Date(5), Bound::Date(6)], vec![-1, 0, 1]),
        ("b2", &second, vec![Bound::Date(6)], vec![Bound::Date(8), Bound::Date(9)], vec![-1, 2]),
        ("b3", &second, none.clone(), none.clone(), Vec::new()),
    ] {
        connection.begin(Access::Write).await.unwrap();
        let mut work = connection.work();
        work.share_base(&plan.table).await.unwrap();
        work.claim(&claim(batch)).await.unwrap();
        look_in(&mut work, &plan, records).await;
        assert_eq!(sorted(work.touched(1, Look::Before).await.unwrap()), before, "{batch}");
        write_all(&mut work, &plan, records).await;
        assert_eq!(sorted(work.touched(1, Look::After).await.unwrap()), after, "{batch}");
        let quarters: Vec<Bound> = quarters.into_iter().map(|at| Bound::Timestamptz(at * QUARTER)).collect();
        assert_eq!(sorted(work.touched(2, Look::After).await.unwrap()), quarters, "{batch}");
        work.close_stage().await.unwrap();
        drop(work);
        connection.commit().await.unwrap();
    }
    let days = connection.work().values(&plan, 1).await.unwrap();
    assert_eq!(sorted(days), [Bound::Date(5), Bound::Date(8), Bound::Date(9)]);
}

fn sorted(mut values: Vec<Bound>) -> Vec<Bound> {
    values.sort();
    values
}

pub(crate) async fn a_mark_goes_with_its_transaction_and_is_taken_once(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    assert!(connection.work().due("p", "d").await.unwrap().is_empty(), "there are no tables yet");
    connection.migrate().await.unwrap();
    let mark = |label, start, run| Mark {
        pipeline: "p",
        derived: "d",
        label,
        start,
        end: start + 1,
        run_id: run_id(run),
    };
    for is_committed in [false, true] {
        connection.begin(Access::Write).await.unwrap();
        let mut work = connection.work();
        work.mark(&[mark("b", 2, 1), mark("a", 1, 1), mark("a", 1, 2), mark("a", 1, 1)]).await.unwrap();
        drop(work);
        if is_committed {
            connection.commit().await.unwrap();
        } else {
            connection.rollback().await;
        }
        let want = if is_committed { 2 } else { 0 };
        assert_eq!(connection.work().due("p", "d").await.unwrap().len(), want);
    }
    let dues = connection.work().due("p", "d").await.unwrap();
    assert_eq!(dues[0], Due { label: "a".to_owned(), start: 1, end: 2 });
    assert!(connection.work().due("p", "other").await.unwrap().is_empty());
    connection.begin(Access::Write).await.unwrap();
    let table = TableName { schema: None, name: "nowhere".to_owned() };
    connection.work().own_base(&table).await.unwrap();
    assert_eq!(connection.work().unmark("p", "d", &dues[0]).await.unwrap(), 2);
    assert_eq!(connection.work().unmark("p", "d", &dues[0]).await.unwrap(), 0);
    connection.commit().await.unwrap();
    assert_eq!(connection.work().due("p", "d").await.unwrap(), dues[1..]);
}

pub(crate) async fn a_period_is_applied_as_the_difference_that_it_is(bench: &mut impl Bench) {
    let plan = sums();
    assert!(matches!(plan.matching, Match::Columns(_)));
    let mut connection = bench.connect().await;
    set_up(&mut connection, &plan).await;
    bench.run("CREATE TABLE source (day date, shop text, n integer)").await;
    let given = "INSERT INTO source VALUES ('1970-01-06', 'same', 1), ('1970-01-06', 'other', 2), ('1970-01-06', 'new', 3), \
                 ('1970-01-07', 'beyond', 9)";
    bench.run(given).await;
    bench
        .run(
            "INSERT INTO sums VALUES ('1970-01-06', 'same', 1), ('1970-01-06', 'other', 1), ('1970-01-06', 'gone', 1), \
             ('1970-01-07', 'beyond', 1)",
        )
        .await;
    let query = [
        Part::Sql("SELECT n, shop, day FROM source WHERE day = "),
        Part::At(Bound::Date(5)),
        Part::Sql(" -- all"),
    ];

    connection.begin(Access::ReadOnly).await.unwrap();
    let compared = connection.work().compare(&plan, &query, "UTC", 1).await.unwrap();
    connection.rollback().await;
    assert_eq!(compared.count, 3);
    let gone = Difference { expected: None, found: Some("[\"1970-01-06\",\"gone\",1]".to_owned()) };
    let found = compared
        .samples
        .into_iter()
        .map(|one| Difference { found: one.found.map(|row| row.replace(' ', "")), ..one });
    assert_eq!(found.collect::<Vec<_>>(), [gone]);

    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    let computed = work.compute(&plan, &query, "UTC").await.unwrap();
    assert_eq!((computed.rows, computed.fault), (3, None));
    let applied = work.apply(&plan, &[0]).await.unwrap();
    assert_eq!((applied.inserted, applied.updated, applied.deleted), (1, 1, 1));
    assert_eq!(applied.touched, [(0, Bound::Date(5))]);
    assert_eq!(work.compute(&plan, &query, "UTC").await.unwrap().rows, 3);
    let again = work.apply(&plan, &[0]).await.unwrap();
    assert_eq!((again.inserted, again.updated, again.deleted, again.touched), (0, 0, 0, Vec::new()));
    drop(work);
    connection.commit().await.unwrap();
    let all = "SELECT shop, n FROM sums ORDER BY day, shop";
    assert_eq!(bench.rows(all).await, [["new", "3"], ["other", "2"], ["same", "1"], ["beyond", "1"]]);
}

pub(crate) async fn rows_that_can_not_be_a_periods_are_told(bench: &mut impl Bench) {
    let plan = sums();
    let mut connection = bench.connect().await;
    set_up(&mut connection, &plan).await;
    bench.run("CREATE TABLE source (day date, shop text, n integer)").await;
    bench.run("INSERT INTO source VALUES ('1970-01-06', 'a', 1), ('1970-01-07', 'b', 1), ('1970-01-06', NULL, 1)").await;
    for (sql, want) in [
        ("SELECT * FROM source WHERE shop IS NULL", Fault::NullKey(String::new())),
        ("SELECT * FROM source WHERE shop IS NOT NULL", Fault::Outside(String::new())),
        (
            "SELECT * FROM source WHERE shop = 'a' UNION ALL SELECT * FROM source WHERE shop = 'a'",
            Fault::Repeated(String::new()),
        ),
    ] {
        connection.begin(Access::Write).await.unwrap();
        let computed = connection.work().compute(&plan, &[Part::Sql(sql)], "UTC").await.unwrap();
        connection.rollback().await;
        let fault = computed.fault.expect(sql);
        assert_eq!(std::mem::discriminant(&fault), std::mem::discriminant(&want), "{sql}: {fault:?}");
    }
}
