//! Changes made by hand, and what is told of them.

use super::{Change, Notice, Occasion, Teller};
use crate::pipeline::Pipeline;
use crate::plan::resolve;
use crate::spec::{ChangeKind, Spec};

const COLUMNS: &str =
    "flight: text, leg: integer, gate: text, status: text, price: decimal, seen: timestamptz, more: json";

fn pipeline(more: &str, notify: &str) -> Pipeline {
    let yaml = format!(
        "pipeline: p\nidentity: [flight, leg]\ntarget: {{table: t, rest: ignore, columns: {{{COLUMNS}}}}}\n{more}\nnotify: [{notify}]\n"
    );
    Pipeline::new(Spec::parse(&yaml).unwrap()).unwrap()
}

fn teller_of(more: &str, notify: &str) -> Teller {
    let pipeline = pipeline(more, notify);
    Teller::new(&pipeline, &resolve(&pipeline, None).unwrap()).unwrap()
}

fn teller(notify: &str) -> Teller {
    teller_of("", notify)
}

fn row(gate: &str, status: &str, price: &str) -> String {
    format!(r#"["LH1",7,{gate},{status},{price},"2026-03-01T04:00:00.000000Z",{{"b": 1.0, "a": [1, 2]}}]"#)
}

fn change(kind: ChangeKind, revision: i64, old: Option<String>, new: Option<String>) -> Change {
    Change { kind, key: "k1".to_owned(), revision, old, new }
}

fn updated() -> Change {
    let (old, new) = (row(r#""A1""#, r#""planned""#, "1.50"), row(r#""B\"2""#, r#""planned""#, "1.5"));
    change(ChangeKind::Updated, 2, Some(old), Some(new))
}

const BATCH: Occasion<'static> = Occasion { batch: b"batch", round: 1 };

fn told(teller: &Teller, change: &Change) -> Vec<Notice> {
    teller.tell(change, BATCH).unwrap()
}

fn payload(template: &str, change: &Change) -> String {
    told(&teller(&format!("{{topic: t, payload: {template}}}")), change).remove(0).payload
}

#[test]
fn without_a_template_everything_is_told() {
    let [notice] = &told(&teller("{topic: gates}"), &updated())[..] else { panic!() };
    let row = |gate: &str| {
        format!(
            r#"{{"flight":"LH1","leg":7,"gate":"{gate}","status":"planned","price":1.5,"seen":"2026-03-01T04:00:00.000000Z","more":{{"a":[1,2],"b":1}}}}"#
        )
    };
    assert_eq!(
        notice.payload,
        format!(
            r#"{{"type":"gates.updated","topic":"gates","kind":"updated","pipeline":"p","entity":{{"flight":"LH1","leg":7}},"revision":2,"changed":["gate"],"old":{},"new":{}}}"#,
            row("A1"),
            row(r#"B\"2"#)
        )
    );
    assert_eq!(notice.entity, r#"{"flight":"LH1","leg":7}"#);
    assert_eq!(notice.lane, crate::message::lane("gates", &notice.entity));
    assert_eq!(notice.ordering, None);
    let json: serde_json::Value = serde_json::from_str(&notice.payload).unwrap();
    assert_eq!(json["new"]["gate"], "B\"2");
}

#[test]
fn a_template_takes_values_and_texts() {
    let change = updated();
    for (template, want) in [
        ("'Gate of {entity.flight}: {old.gate} → {new.gate}'", r#""Gate of LH1: A1 → B\"2""#),
        ("'{new.price}'", "1.5"),
        ("'{new.price} EUR'", r#""1.5 EUR""#),
        ("'{new.more}'", r#"{"a":[1,2],"b":1}"#),
        ("'<{new.more}>'", r#""<{\"a\":[1,2],\"b\":1}>""#),
        ("'{changed}'", r#"["gate"]"#),
        ("'changed: {changed}'", r#""changed: gate""#),
        (
            "{a: ['{kind}', '{revision}', '{topic}', '{pipeline}'], b: 1}",
            r#"{"a":["updated",2,"t","p"],"b":1}"#,
        ),
        ("'{kind}/{revision}/{topic}/{pipeline}'", r#""updated/2/t/p""#),
        ("'{entity}'", r#"{"flight":"LH1","leg":7}"#),
        ("'{entity.leg}'", "7"),
        ("'{{kind}}'", r#""{kind}""#),
    ] {
        assert_eq!(payload(template, &change), want, "{template}");
    }
}

#[test]
fn what_is_not_there_is_null_and_in_texts_nothing() {
    let inserted = change(ChangeKind::Inserted, 1, None, Some(row("null", r#""x""#, "1")));
    assert_eq!(payload("['{old}', '{old.gate}', '{new.gate}']", &inserted), "[null,null,null]");
    assert_eq!(payload("'<{old}{old.gate}{new.gate}>'", &inserted), r#""<>""#);
    assert_eq!(payload("'{changed}'", &inserted), "[]");
    let deleted = change(ChangeKind::Deleted, 1, Some(row("null", r#""x""#, "1")), None);
    assert_eq!(payload("['{new}', '{old.status}', '{entity.flight}']", &deleted), r#"[null,"x","LH1"]"#);
}

#[test]
fn numbers_keep_every_digit() {
    let exact = "12345678901234567890.12345678901234567890123";
    let inserted = change(ChangeKind::Inserted, 1, None, Some(row("null", "null", exact)));
    assert_eq!(payload("'{new.price}'", &inserted), exact);
    let far = change(ChangeKind::Inserted, 1, None, Some(row("null", "null", "1e300")));
    assert_eq!(payload("'{new.price}'", &far), "1e300");
}

#[test]
fn only_what_is_asked_for_is_told() {
    let updated = updated();
    let inserted = change(ChangeKind::Inserted, 1, None, Some(row("null", r#""delayed""#, "7")));
    let retired = change(
        ChangeKind::Retired,
        3,
        Some(row("null", r#""delayed""#, "7.0")),
        Some(row("null", r#""gone""#, "7.0")),
    );
    for (notify, want) in [
        ("{topic: t}", [true, true, true]),
        ("{topic: t, on: [inserted]}", [false, true, false]),
        ("{topic: t, on: [updated, retired]}", [true, false, true]),
        ("{topic: t, columns: [gate, status]}", [true, true, true]),
        // 1.50 and 1.5 are one number.
        ("{topic: t, columns: [status, price]}", [false, true, true]),
        // A row that leaves is looked at as it was.
        ("{topic: t, where: {status: [delayed, cancelled]}}", [false, true, true]),
        ("{topic: t, where: {status: gone}}", [false, false, false]),
        ("{topic: t, where: {price: 7}}", [false, true, true]),
        ("{topic: t, where: {price: 7, status: planned}}", [false, false, false]),
        ("{topic: t, where: {gate: null}}", [false, true, true]),
        ("{topic: t, where: {leg: [6, 7]}}", [true, true, true]),
    ] {
        let teller = teller(notify);
        let have = [&updated, &inserted, &retired].map(|change| !told(&teller, change).is_empty());
        assert_eq!(have, want, "{notify}");
    }
}

#[test]
fn what_is_ordered_by_columns_has_their_lane() {
    let lane = |order: &str| {
        let notice = told(&teller(&format!("{{topic: t, order_by: {order}}}")), &updated()).remove(0);
        assert_eq!(notice.lane, crate::message::lane("t", notice.ordering.as_deref().unwrap()));
        notice.ordering.unwrap()
    };
    assert_eq!(lane("[status]"), r#"{"status":"planned"}"#);
    assert_eq!(lane("[status, leg]"), r#"{"status":"planned","leg":7}"#);
    assert_eq!(lane("all"), "*");
}

#[test]
fn a_b_a_b_are_changes_of_their_own_and_a_repeated_one_is_none() {
    let (a, b) = (row("null", r#""a""#, "1"), row("null", r#""b""#, "1"));
    let update = |revision, old: &String, new: &String| {
        change(ChangeKind::Updated, revision, Some(old.clone()), Some(new.clone()))
    };
    let all = [
        change(ChangeKind::Inserted, 1, None, Some(a.clone())),
        update(2, &a, &b),
        update(3, &b, &a),
        update(4, &a, &b),
    ];
    let teller = teller("{topic: t}");
    let ids: Vec<_> = all.iter().map(|change| told(&teller, change)[0].id).collect();
    assert!((0..4).all(|at| !ids[at + 1..].contains(&ids[at])), "{ids:?}");
    // Another batch and round, the same change: the same message, also when what doesn't count is spelled otherwise.
    let other = Occasion { batch: b"another", round: 2 };
    let respelled =
        update(2, &a.replace("1.0", "1"), &b.replace(r#""b": 1.0, "a": [1, 2]"#, r#""a":[1,2],"b":1"#));
    assert_eq!(teller.tell(&respelled, other).unwrap()[0].id, ids[1]);
    assert_ne!(teller.tell(&update(2, &a, &a), other).unwrap()[0].id, ids[1]);
}

#[test]
fn where_rows_may_go_and_come_again_the_batch_counts() {
    let inserted = change(ChangeKind::Inserted, 1, None, Some(row("null", "null", "1")));
    for (write, counts) in [
        ("", false),
        ("write: {mode: insert_once}", false),
        ("write: {delete_when: {field: op, equals: [D]}}", true),
        ("source: {complete: json_closed}\nwrite: {mode: snapshot, absent: delete}", true),
        ("source: {complete: json_closed}\nwrite: {mode: snapshot, absent: retire}", false),
        ("write: {mode: overwrite_period, period: {field: seen, every: day, tz: UTC}}", true),
    ] {
        let mut pipeline = pipeline(write, "{topic: t}");
        if write.contains("overwrite_period") {
            pipeline = pipeline.in_period("2026-03-01").unwrap();
        }
        let teller = Teller::new(&pipeline, &resolve(&pipeline, None).unwrap()).unwrap();
        let id = |batch, round| teller.tell(&inserted, Occasion { batch, round }).unwrap()[0].id;
        assert_eq!(id(b"a", 1) != id(b"b", 1), counts, "{write}");
        assert_eq!(id(b"a", 1) != id(b"a", 2), counts, "{write}");
        assert_eq!(id(b"a", 1), id(b"a", 1), "{write}");
    }
}

#[test]
fn what_changes_per_attempt_makes_no_other_message() {
    let teller = teller_of("volatile: [seen, more.a]", "{topic: t, payload: '{changed}'}");
    let inserted = |row: String| change(ChangeKind::Inserted, 1, None, Some(row));
    let now = row("null", "null", "1");
    let then = now.replace("2026-03-01", "2026-03-02").replace("[1, 2]", "[3]");
    let id = |row: &String| told(&teller, &inserted(row.clone()))[0].id;
    assert_eq!(id(&now), id(&then));
    let update = change(ChangeKind::Updated, 2, Some(row("null", "null", "2")), Some(then));
    assert_eq!(told(&teller, &update)[0].payload, r#"["price","more"]"#);
}

#[test]
fn an_identity_without_columns_is_known_by_its_key() {
    let yaml = "pipeline: p\nidentity: {hash_of: all}\ntarget: {table: t, columns: {v: text}}\nnotify: [{topic: t, payload: '{entity.landonce_key}'}]\n";
    let pipeline = Pipeline::new(Spec::parse(yaml).unwrap()).unwrap();
    let teller = Teller::new(&pipeline, &resolve(&pipeline, None).unwrap()).unwrap();
    let inserted = change(ChangeKind::Inserted, 1, None, Some(r#"["x",{}]"#.to_owned()));
    let notice = told(&teller, &inserted).remove(0);
    assert_eq!((notice.entity.as_str(), notice.payload.as_str()), (r#"{"landonce_key":"k1"}"#, r#""k1""#));
}

#[test]
fn a_column_that_is_not_there_is_told_with_the_nearest() {
    for (notify, want) in [
        (
            "{topic: t, payload: '{new.gaet}'}",
            "`notify.payload` (topic `t`): has no column `gaet`; did you mean `gate`?",
        ),
        ("{topic: t, payload: '{entity.gate}'}", "the entity has no column `gate`; it has flight, leg"),
        (
            "{topic: t, columns: [statuss]}",
            "`notify.columns` (topic `t`): has no column `statuss`; did you mean `status`?",
        ),
        (
            "{topic: t, where: {nothing_like_it: x}}",
            "`notify.where` (topic `t`): has no column `nothing_like_it`",
        ),
        ("{topic: t, order_by: [crew]}", "`notify.order_by` (topic `t`): has no column `crew`"),
    ] {
        let error = resolve(&pipeline("", notify), None).unwrap_err().to_string();
        assert!(error.contains(want), "{notify}: {error}");
    }
}

#[test]
fn a_row_that_does_not_fit_the_plan_is_an_error() {
    for row in ["[1]", "{", r#"{"a":1}"#] {
        let inserted = change(ChangeKind::Inserted, 1, None, Some(row.to_owned()));
        assert!(teller("{topic: t}").tell(&inserted, BATCH).is_err(), "{row}");
    }
    assert!(teller("{topic: t}").tell(&change(ChangeKind::Updated, 1, None, None), BATCH).is_err());
}
