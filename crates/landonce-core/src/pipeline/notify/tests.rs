//! Notifications as they are written, and what they mean.

use crate::pipeline::{Order, Piece, Pipeline, Reference, Template};
use crate::spec::{ChangeKind, Spec, ValueSpec};

fn declared(notify: &str) -> Result<Pipeline, String> {
    let yaml = format!("pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nnotify:\n  - {notify}\n");
    let spec = Spec::parse(&yaml).map_err(|error| error.to_string())?;
    Pipeline::new(spec).map_err(|error| error.to_string())
}

fn payload(text: &str) -> Result<Template<Reference>, String> {
    let text = text.replace('\'', "''");
    Ok(declared(&format!("{{topic: t, payload: '{text}'}}"))?.notify.remove(0).payload.unwrap())
}

#[test]
fn what_is_left_out_tells_every_change_in_the_entitys_order() {
    let pipeline = declared("topic: flights.v1").unwrap();
    let [notify] = pipeline.notifications() else { panic!() };
    assert_eq!((notify.topic.as_str(), notify.on.as_slice()), ("flights.v1", ChangeKind::ALL.as_slice()));
    assert!(notify.columns.is_empty() && notify.conditions.is_empty() && notify.payload.is_none());
    assert_eq!(notify.order, Order::Entity);
}

#[test]
fn what_is_written_is_meant() {
    let pipeline = declared(
        "{topic: t, on: [inserted, updated], columns: [gate], where: {status: [cancelled, null], leg: 7, on_time: true}, order_by: [crew_id]}",
    )
    .unwrap();
    let [notify] = pipeline.notifications() else { panic!() };
    assert_eq!(notify.on, [ChangeKind::Inserted, ChangeKind::Updated]);
    assert_eq!(notify.columns, ["gate"]);
    let text = |text: &str| ValueSpec::Text(text.to_owned());
    assert_eq!(
        notify.conditions,
        [
            ("status".to_owned(), vec![text("cancelled"), ValueSpec::Null]),
            ("leg".to_owned(), vec![text("7")]),
            ("on_time".to_owned(), vec![text("true")]),
        ]
    );
    assert_eq!(notify.order, Order::Columns(vec!["crew_id".to_owned()]));
    let pipeline = declared("{topic: t, order_by: all}").unwrap();
    assert_eq!(pipeline.notifications()[0].order, Order::Topic);
}

#[test]
fn what_makes_no_sense_is_said_with_its_key() {
    for (notify, want) in [
        ("topic: ''", "notify.topic: ``: 1 to 200"),
        ("topic: Flights", "notify.topic: `Flights`: 1 to 200"),
        ("topic: a b", "notify.topic"),
        ("{topic: t, on: []}", "notify.on: nothing is told"),
        ("{topic: t, on: [changed]}", "changed"),
        ("{topic: t, columns: []}", "notify.columns: at least one column is due"),
        ("{topic: t, columns: [a, a]}", "notify.columns: `a` stands twice"),
        ("{topic: t, on: [inserted], columns: [a]}", "notify.columns: goes with `updated`"),
        ("{topic: t, where: {a: []}}", "notify.where: `a` has no value to have"),
        ("{topic: t, where: {a: {b: c}}}", "a text, a number, true, false or null is due"),
        ("{topic: t, order_by: crew}", "a list of columns (`[crew]`) or `all` is due"),
        ("{topic: t, order_by: []}", "notify.order_by: at least one column is due"),
        ("{topic: t, playload: x}", "playload"),
    ] {
        let error = declared(notify).unwrap_err();
        assert!(error.contains(want), "{notify}: {error}");
    }
}

#[test]
fn one_reference_alone_is_a_value_and_others_are_text() {
    let gate = || Reference::New(Some("gate".to_owned()));
    assert_eq!(payload("{new.gate}").unwrap(), Template::Value(gate()));
    assert_eq!(payload("{ new.gate }").unwrap(), Template::Value(gate()));
    let plain = |text: &str| Piece::Plain(text.to_owned());
    assert_eq!(payload("to {new.gate}").unwrap(), Template::Text(vec![plain("to "), Piece::Of(gate())]));
    assert_eq!(payload("{{new.gate}}").unwrap(), Template::Text(vec![plain("{new.gate}")]));
    assert_eq!(payload("a }} b {{ c").unwrap(), Template::Text(vec![plain("a } b { c")]));
    assert_eq!(
        payload("{{{kind}}}").unwrap(),
        Template::Text(vec![plain("{"), Piece::Of(Reference::Kind), plain("}")])
    );
    assert_eq!(payload("").unwrap(), Template::Text(vec![]));
}

#[test]
fn values_of_all_kinds_are_templates_in_their_order() {
    let pipeline =
        declared("{topic: t, payload: {b: 1, a: [null, true, 2.5, '{kind}'], c: {x: y}}}").unwrap();
    let literal = |json: &str| Template::Literal(json.to_owned());
    assert_eq!(
        pipeline.notifications()[0].payload,
        Some(Template::Map(vec![
            ("b".to_owned(), literal("1")),
            (
                "a".to_owned(),
                Template::List(vec![
                    literal("null"),
                    literal("true"),
                    literal("2.5"),
                    Template::Value(Reference::Kind)
                ])
            ),
            (
                "c".to_owned(),
                Template::Map(vec![("x".to_owned(), Template::Text(vec![Piece::Plain("y".to_owned())]))])
            ),
        ]))
    );
}

#[test]
fn a_wrong_reference_is_told_with_the_nearest() {
    for (text, want) in [
        ("{nwe.gate}", "`{nwe.gate}` is no reference; did you mean `new`?"),
        ("{whatever}", "known here: new.COLUMN"),
        ("{new.}", "a column's name is due behind the dot"),
        ("{kind.x}", "`kind` has no columns"),
        ("{new.gate", "`{` isn't closed"),
        ("new.gate}", "`}` closes nothing"),
        ("{}", "known here"),
    ] {
        let error = payload(text).unwrap_err();
        assert!(error.contains("notify.payload: topic `t`") && error.contains(want), "{text}: {error}");
    }
}
