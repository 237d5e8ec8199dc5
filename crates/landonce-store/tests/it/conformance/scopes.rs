//! What a batch speaks for (H3): its period's rows are the batch's afterwards, and no other row is touched.

use landonce_core::column::Type;
use landonce_core::plan::{Bound, Owned, Scope, Span, TablePlan};
use landonce_core::value::Value;
use landonce_store::seam::{Access, Class, Connection, Rows, Work};

use super::bench::{Bench, Record, by_columns, claim, look_in, plan, put, row, set_up, text};

/// Day `n` of a month that lies behind 1970-01-01.
fn day(n: i32) -> Value<'static> {
    Value::Date(n)
}

fn shops(period: i32, owner: Option<&str>) -> TablePlan {
    let columns = [("id", Type::TEXT), ("day", Type::Date), ("v", Type::TEXT), ("source", Type::TEXT)];
    let span = Span { column: 1, start: Bound::Date(period), end: Bound::Date(period + 1) };
    let owner = owner.map(|value| Owned { column: 3, value: value.to_owned() });
    let scope = Scope { period: Some(span), owner: owner.into_iter().collect() };
    TablePlan { scope: Some(scope), ..plan("sales", &columns) }
}

fn sale(id: &str, on: i32, v: &str, source: &str) -> Record {
    put([text(id), day(on), text(v), text(source)])
}

/// Lands a batch and takes away what it doesn't have: (inserted, updated, unchanged, conflicts, missing, removed).
async fn overwrite(
    bench: &mut impl Bench,
    plan: &TablePlan,
    batch: &str,
    records: &[Record],
) -> (u64, u64, u64, u64, u64, u64) {
    let mut connection = bench.connect().await;
    set_up(&mut connection, plan).await;
    connection.begin(Access::Write).await.unwrap();
    let claim = claim(batch);
    let mut work = connection.work();
    work.claim(&claim).await.unwrap();
    let landed = look_in(&mut work, plan, records).await;
    let (mut inserted, mut updated, mut unchanged) = (0, 0, landed.classified.unchanged);
    let missing = work.missing().await.unwrap();
    loop {
        let todo = work.next_rows(3).await.unwrap();
        if todo.is_empty() {
            break;
        }
        let mut rows = (work.encoder(plan, &plan.row_columns()))();
        for one in todo.iter().filter(|one| one.class != Class::Conflict) {
            rows.push(&row(plan, &plan.row_columns(), records, (one.place.number - 1) as usize, false));
        }
        if rows.is_empty() {
            continue;
        }
        let written = work.write(rows, claim.run_id).await.unwrap();
        assert!(written.refused.is_empty(), "{written:?}");
        inserted += written.inserted;
        updated += written.updated;
        unchanged += written.unchanged;
    }
    let removed = work.remove_missing(claim.run_id).await.unwrap();
    work.close_stage().await.unwrap();
    drop(work);
    connection.commit().await.unwrap();
    (inserted, updated, unchanged, landed.classified.conflicts, missing, removed)
}

const ALL: &str = "SELECT id, day, v, source FROM sales ORDER BY day, id";

pub(crate) async fn a_period_holds_exactly_the_batch(bench: &mut impl Bench) {
    for plan in [shops(5, None), by_columns(shops(5, None), &[0])] {
        let first = [sale("a", 5, "1", "x"), sale("b", 5, "1", "x"), sale("c", 5, "1", "x")];
        assert_eq!(overwrite(bench, &plan, "b1", &first).await, (3, 0, 0, 0, 0, 0));
        let second = [sale("a", 5, "1", "x"), sale("b", 5, "2", "x"), sale("d", 5, "1", "x")];
        assert_eq!(overwrite(bench, &plan, "b2", &second).await, (1, 1, 1, 0, 1, 1));
        let left =
            [["a", "1970-01-06", "1", "x"], ["b", "1970-01-06", "2", "x"], ["d", "1970-01-06", "1", "x"]];
        assert_eq!(bench.rows(ALL).await, left);
        bench.run("DROP TABLE sales").await;
        bench.run(&format!("DELETE FROM {}", inbox(bench))).await;
    }
}

fn inbox<B: Bench>(_: &B) -> &'static str {
    B::DIALECT.inbox()
}

pub(crate) async fn an_equal_period_is_not_touched(bench: &mut impl Bench) {
    let plan = shops(5, None);
    let records = [sale("a", 5, "1", "x"), sale("b", 5, "1", "x")];
    overwrite(bench, &plan, "b1", &records).await;
    let marks = "SELECT id, landonce_run_id, landonce_revision FROM sales ORDER BY id";
    let before = bench.rows(marks).await;
    assert_eq!(overwrite(bench, &plan, "b2", &records).await, (0, 0, 2, 0, 0, 0));
    assert_eq!(bench.rows(marks).await, before);
}

pub(crate) async fn other_periods_and_owners_are_out_of_reach(bench: &mut impl Bench) {
    overwrite(bench, &shops(4, Some("x")), "b1", &[sale("a", 4, "1", "x"), sale("b", 4, "1", "x")]).await;
    overwrite(bench, &shops(5, Some("y")), "b2", &[sale("c", 5, "1", "y")]).await;
    let before = bench.rows(ALL).await;
    // `a` is another day's, `c` another owner's: neither is written nor taken for missing.
    let records = [sale("a", 5, "2", "x"), sale("c", 5, "2", "x"), sale("d", 5, "1", "x")];
    let plan = shops(5, Some("x"));
    assert_eq!(overwrite(bench, &plan, "b3", &records).await, (1, 0, 0, 2, 0, 0));
    let mut left = before.clone();
    left.push(["d", "1970-01-06", "1", "x"].map(str::to_owned).to_vec());
    assert_eq!(bench.rows(ALL).await, left);
    assert_eq!(overwrite(bench, &plan, "b4", &[]).await, (0, 0, 0, 0, 1, 1));
    assert_eq!(bench.rows(ALL).await, before);
}

pub(crate) async fn an_empty_batch_empties_its_period(bench: &mut impl Bench) {
    overwrite(bench, &shops(4, None), "b1", &[sale("a", 4, "1", "x")]).await;
    overwrite(bench, &shops(5, None), "b2", &[sale("b", 5, "1", "x"), sale("c", 5, "1", "x")]).await;
    assert_eq!(overwrite(bench, &shops(5, None), "b3", &[]).await, (0, 0, 0, 0, 2, 2));
    assert_eq!(bench.rows(ALL).await, [["a", "1970-01-05", "1", "x"]]);
}

/// What the look before didn't see is left alone by the write itself.
pub(crate) async fn a_row_that_came_in_between_is_out_of_reach_too(bench: &mut impl Bench) {
    let plan = shops(5, None);
    let records = [sale("a", 5, "2", "x")];
    let mut connection = bench.connect().await;
    set_up(&mut connection, &plan).await;
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    look_in(&mut work, &plan, &records).await;
    let todo = work.next_rows(3).await.unwrap();
    assert_eq!(todo.iter().map(|one| one.class).collect::<Vec<_>>(), [Class::New]);
    let columns = plan.row_columns();
    let mut rows = (work.encoder(&plan, &columns))();
    rows.push(&row(&plan, &columns, &[sale("a", 4, "1", "x")], 0, false));
    // Another day's row of the same key, as another run would write it.
    assert_eq!(work.write(rows, claim("other").run_id).await.unwrap().inserted, 1);
    let mut rows = (work.encoder(&plan, &columns))();
    rows.push(&row(&plan, &columns, &records, 0, false));
    let written = work.write(rows, claim("b").run_id).await.unwrap();
    assert_eq!((written.inserted, written.updated, written.conflicts.len()), (0, 0, 1), "{written:?}");
    work.close_stage().await.unwrap();
    drop(work);
    connection.commit().await.unwrap();
    assert_eq!(bench.rows(ALL).await, [["a", "1970-01-05", "1", "x"]]);
}
