//! Records that are changes (C14): an absent field keeps what is there, a null that is given is written.

use landonce_core::column::Type;
use landonce_core::plan::{Absent, From, Guard, TablePlan};
use landonce_core::value::Value;

use super::bench::{Bench, Record, int, land, plan, put, text};

fn changes() -> TablePlan {
    let columns = [("id", Type::INTEGER), ("a", Type::TEXT), ("b", Type::TEXT), ("payload", Type::Json)];
    let mut plan = TablePlan { absent: Absent::Keep, guard: Guard::Columns, ..plan("things", &columns) };
    plan.columns[3].from = From::Rest;
    plan
}

const ALL: &str = "SELECT a, b, landonce_revision FROM things";

/// A change of the columns whose bits are set.
fn change(present: i64, a: Value<'static>, b: Value<'static>, rest: &'static str) -> Record {
    Record { present: present | 1, ..put([int(1), a, b, Value::Json(rest.into())]) }
}

pub(crate) async fn absent_fields_keep_what_is_there(bench: &mut impl Bench) {
    let (mut connection, plan) = (bench.connect().await, changes());
    land(&mut connection, &plan, "b1", &[change(0b1111, text("a"), text("b"), "{}")]).await;
    let landed = land(&mut connection, &plan, "b2", &[change(0b1010, text("A"), Value::Null, "{}")]).await;
    assert_eq!(landed.counts(), (0, 1, 0, 0, 0, 0, 0));
    assert_eq!(bench.rows(ALL).await, [["A", "b", "2"]]);
    let landed = land(&mut connection, &plan, "b3", &[change(0b1010, text("A"), Value::Null, "{}")]).await;
    assert_eq!(landed.counts(), (0, 0, 1, 0, 0, 0, 0), "what it brings is there already");
    assert_eq!(bench.rows(ALL).await, [["A", "b", "2"]]);
}

pub(crate) async fn a_null_that_is_given_is_written(bench: &mut impl Bench) {
    let (mut connection, plan) = (bench.connect().await, changes());
    land(&mut connection, &plan, "b1", &[change(0b1111, text("a"), text("b"), "{}")]).await;
    let landed = land(&mut connection, &plan, "b2", &[change(0b1100, Value::Null, Value::Null, "{}")]).await;
    assert_eq!(landed.counts(), (0, 1, 0, 0, 0, 0, 0));
    assert_eq!(bench.rows(ALL).await, [["a", "∅", "2"]]);
    let landed = land(&mut connection, &plan, "b3", &[change(0b1100, Value::Null, Value::Null, "{}")]).await;
    assert_eq!(landed.counts(), (0, 0, 1, 0, 0, 0, 0));
}

pub(crate) async fn the_rest_is_merged(bench: &mut impl Bench) {
    let (mut connection, plan) = (bench.connect().await, changes());
    let rest = |rest| change(0b1000, Value::Null, Value::Null, rest);
    land(&mut connection, &plan, "b1", &[rest(r#"{"x":1,"y":{"deep":1}}"#)]).await;
    let landed = land(&mut connection, &plan, "b2", &[rest(r#"{"y":{"other":2},"z":null}"#)]).await;
    assert_eq!(landed.counts(), (0, 1, 0, 0, 0, 0, 0));
    for (at, same) in [r#"{"x":1}"#, r#"{"z":null,"x":1.0}"#, "{}"].into_iter().enumerate() {
        let landed = land(&mut connection, &plan, &format!("same {at}"), &[rest(same)]).await;
        assert_eq!(landed.counts(), (0, 0, 1, 0, 0, 0, 0), "{same}");
    }
    let payload = bench.rows("SELECT payload FROM things").await[0][0].replace(' ', "");
    assert_eq!(payload, r#"{"x":1,"y":{"other":2},"z":null}"#);
}

pub(crate) async fn a_new_row_of_a_change_has_what_it_brings(bench: &mut impl Bench) {
    let (mut connection, plan) = (bench.connect().await, changes());
    let landed = land(&mut connection, &plan, "b1", &[change(0b1010, text("a"), Value::Null, "{}")]).await;
    assert_eq!(landed.counts(), (1, 0, 0, 0, 0, 0, 0));
    assert_eq!(bench.rows(ALL).await, [["a", "∅", "1"]]);
}
