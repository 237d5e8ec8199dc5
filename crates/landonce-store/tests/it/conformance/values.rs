//! Values are exact in the database (C05, C09), and equal to themselves when they come again.

use std::borrow::Cow;

use landonce_core::column::Type;
use landonce_core::number::Decimal;
use landonce_core::plan::{Guard, TablePlan};
use landonce_core::value::Value;

use super::bench::{Bench, int, land, plan, put, text};

pub(crate) async fn values_are_exact_and_equal_to_themselves(bench: &mut impl Bench) {
    let decimal = |text: &'static str| Value::Decimal(Decimal::parse(text).unwrap());
    let cases: Vec<(Type, Vec<Value<'static>>)> = vec![
        (Type::INTEGER, vec![int(i64::MIN), int(i64::MAX), int(9_196_877_626_998_785)]),
        (
            Type::DECIMAL,
            vec![
                decimal("1234567890123456789012345"),
                decimal("-0.000000000000000000001"),
                decimal("0"),
                decimal("100"),
            ],
        ),
        (Type::Float { bits: 64 }, vec![Value::Float(0.1), Value::Float(-1e300), Value::Float(3.0)]),
        (Type::Boolean, vec![Value::Boolean(true), Value::Boolean(false)]),
        (Type::Date, vec![Value::Date(0), Value::Date(-719_162), Value::Date(2_932_896)]),
        (Type::Timestamptz, vec![Value::Timestamptz(1), Value::Timestamptz(-62_135_596_800_000_000)]),
        (Type::Timestamp, vec![Value::Timestamp(1), Value::Timestamp(253_402_300_799_999_999)]),
        (Type::Uuid, vec![Value::Uuid([0xab; 16])]),
        (Type::Bytes, vec![Value::Bytes(Cow::Borrowed(b"")), Value::Bytes(Cow::Borrowed(b"\0\xff"))]),
        (
            Type::TEXT,
            vec![text(""), text("007"), text("1e5"), text(" x "), text("é\u{10ffff}"), text("null")],
        ),
        (Type::Scalar, vec![text("1"), text("true")]),
        (
            Type::Json,
            vec![Value::Json(Cow::Borrowed("null")), Value::Json(Cow::Borrowed("{\"a\":[1,\"x\"]}"))],
        ),
        (
            Type::Array(Box::new(Type::TEXT)),
            vec![Value::Array(vec![]), Value::Array(vec![text("a,b\""), Value::Null, text("")])],
        ),
        (Type::Array(Box::new(Type::INTEGER)), vec![Value::Array(vec![int(1), int(i64::MAX)])]),
    ];
    for (ty, values) in cases {
        for guard in [plan("", &[]).guard, Guard::Columns] {
            let plan = TablePlan { guard, ..plan("things", &[("id", Type::INTEGER), ("v", ty.clone())]) };
            let records: Vec<_> =
                values.iter().zip(1..).map(|(value, id)| put([int(id), value.clone()])).collect();
            let mut connection = bench.connect().await;
            let batch = |n: i32| format!("{plan:?} {n}");
            let landed = land(&mut connection, &plan, &batch(1), &records).await;
            assert_eq!(landed.counts().0, records.len() as u64, "{ty}");
            let landed = land(&mut connection, &plan, &batch(2), &records).await;
            assert_eq!(landed.counts().2, records.len() as u64, "{ty}");
            if ty == Type::DECIMAL || ty == Type::INTEGER || ty == Type::TEXT {
                let stored = bench.rows("SELECT v FROM things ORDER BY id").await;
                let want: Vec<Vec<String>> = values.iter().map(|value| vec![shown(value)]).collect();
                assert_eq!(stored, want);
            }
            drop(connection);
            bench.run("DROP TABLE things").await;
        }
    }
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Integer(value) => value.to_string(),
        Value::Decimal(value) => value.to_plain(),
        Value::Text(value) => value.to_string(),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn json_is_compared_by_value(bench: &mut impl Bench) {
    let plan =
        TablePlan { guard: Guard::Columns, ..plan("things", &[("id", Type::INTEGER), ("v", Type::Json)]) };
    let mut connection = bench.connect().await;
    let record = |json: &'static str| [put([int(1), Value::Json(Cow::Borrowed(json))])];
    land(&mut connection, &plan, "b1", &record(r#"{"a":1,"b":[1,{"c":null}]}"#)).await;
    let same = record(r#"{ "b" : [1.0, {"c": null}], "a" : 1 }"#);
    assert_eq!(land(&mut connection, &plan, "b2", &same).await.counts(), (0, 0, 1, 0, 0, 0, 0));
    land(&mut connection, &plan, "b3", &record(r#"{"a":9007199254740993}"#)).await;
    let other = record(r#"{"a":9007199254740992}"#);
    assert_eq!(land(&mut connection, &plan, "b4", &other).await.counts(), (0, 1, 0, 0, 0, 0, 0));
}

pub(crate) async fn null_is_a_value_like_others(bench: &mut impl Bench) {
    let columns = [("id", Type::INTEGER), ("v", Type::TEXT), ("j", Type::Json)];
    let plan = TablePlan { guard: Guard::Columns, ..plan("things", &columns) };
    let mut connection = bench.connect().await;
    let empty = [put([int(1), Value::Null, Value::Null])];
    land(&mut connection, &plan, "b1", &empty).await;
    assert_eq!(land(&mut connection, &plan, "b2", &empty).await.counts(), (0, 0, 1, 0, 0, 0, 0));
    let full = [put([int(1), text(""), Value::Json(Cow::Borrowed("null"))])];
    assert_eq!(land(&mut connection, &plan, "b3", &full).await.counts(), (0, 1, 0, 0, 0, 0, 0));
    assert_eq!(land(&mut connection, &plan, "b4", &empty).await.counts(), (0, 1, 0, 0, 0, 0, 0));
    assert_eq!(bench.rows("SELECT v, j FROM things").await, [["∅", "∅"]]);
}
