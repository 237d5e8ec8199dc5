//! Messages and the records that they become, envelope by envelope; and what is declared and makes no sense.

use proptest::prelude::*;

use super::*;
use crate::pipeline::Pipeline;
use crate::spec::Spec;

fn pipeline(yaml: &str) -> Result<Pipeline, String> {
    let kafka = "kafka: {brokers: [localhost:9092], group: g, topics: [t]}";
    let yaml = yaml.replace("MESSAGE", kafka);
    Pipeline::new(Spec::parse(&yaml).map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// A pipeline with this `source.message`, identity and `write`.
fn declared(message: &str, identity: &str, write: &str) -> Result<Pipeline, String> {
    pipeline(&format!(
        "pipeline: p\nsource:\n  MESSAGE\n  message: {message}\nidentity: {identity}\ntarget: {{table: t}}\nwrite: {write}\n"
    ))
}

fn shape(message: &str) -> Shape {
    declared(message, "[id]", "{}").unwrap().source().shape.clone()
}

fn plain<'a>(key: Option<&'a str>, value: Option<&'a str>) -> Message<'a> {
    Message {
        topic: "orders",
        part: "3",
        offset: 18_446_744_073_709_551_615,
        key: key.map(str::as_bytes),
        value: value.map(str::as_bytes),
        headers: &[],
        timestamp_ms: Some(1_767_225_600_123),
    }
}

/// The record's text; `-` where there is nothing, the fault where it is bad.
fn told(shape: &Shape, message: &Message<'_>) -> String {
    let mut out = b"left over".to_vec();
    match shape.shape(message, &mut out) {
        Ok(Shaped::Record) => String::from_utf8(out).unwrap(),
        Ok(Shaped::Nothing) => "-".to_owned(),
        Err(bad) => bad.to_string(),
    }
}

#[test]
fn a_value_is_the_record_byte_for_byte() {
    let value = " {\"id\": 1.50, \"b\":\"\\u00e9\" , \"n\":9007199254740993}\n";
    assert_eq!(told(&shape("{}"), &plain(None, Some(value))), value.trim());
    assert!(told(&shape("{}"), &plain(None, Some("[1]"))).starts_with("syntax: found an array"));
    assert!(told(&shape("{}"), &plain(None, None)).contains("a tombstone"));
}

#[test]
fn fields_come_from_the_message_its_headers_and_deep_in_the_value() {
    let shape = shape(
        "{fields: {a: topic, b: partition, c: offset, d: timestamp, e: key, f: {header: Trace}, g: {field: x.y}, h: {header: no}, i: \
         {field: x.z}}}",
    );
    let headers: &[(&str, &[u8])] = &[("trace", b"1"), ("TRACE", b"2\"")];
    let message = Message { headers, ..plain(Some("k\u{e9}"), Some(r#"{"id":1,"x":{"y":1.0e2}}"#)) };
    assert_eq!(
        told(&shape, &message),
        r#"{"a":"orders","b":"3","c":18446744073709551615,"d":"2026-01-01T00:00:00.123000Z","e":"ké","f":"2\"","g":1.0e2,"h":null,"i":null,"id":1,"x":{"y":1.0e2}}"#
    );
    assert!(told(&shape, &plain(None, Some(r#"{"id":1,"b":2}"#))).contains("adds one of that name"));
    let headers: &[(&str, &[u8])] = &[("trace", b"\xff")];
    assert!(told(&shape, &Message { headers, ..message }).starts_with("encoding: `header Trace`"));
}

#[test]
fn a_key_gives_the_identity_and_a_tombstone_deletes_by_it() {
    let json = shape("{key: json}");
    assert_eq!(told(&json, &plain(Some("7"), Some(r#"{"a":1}"#))), r#"{"id":7,"a":1}"#);
    assert_eq!(told(&json, &plain(Some(r#"{"id":7,"x":0}"#), Some("{}"))), r#"{"id":7}"#);
    assert_eq!(told(&json, &plain(Some("7.0"), Some(r#"{"id":7}"#))), r#"{"id":7}"#);
    assert_eq!(told(&json, &plain(None, Some(r#"{"id":7}"#))), r#"{"id":7}"#);
    assert_eq!(told(&json, &plain(Some("7"), None)), r#"{"landonce_delete":"true","id":7}"#);
    assert!(told(&json, &plain(None, None)).starts_with("absent key: `id`"));
    assert!(told(&json, &plain(Some("null"), None)).starts_with("absent key: `id`"));
    assert!(told(&json, &plain(Some("x"), None)).starts_with("syntax: `key`"));
    assert!(
        told(&json, &plain(Some("7"), Some(r#"{"id":1,"landonce_delete":"x"}"#))).contains("marks deletes")
    );

    let text = shape("{key: text}");
    assert_eq!(told(&text, &plain(Some("7"), None)), r#"{"landonce_delete":"true","id":"7"}"#);
    // A key that reads as another value would never find the row of the put.
    let other = told(&text, &plain(Some("7"), Some(r#"{"id":7}"#)));
    assert!(other.contains("and the value 7: a delete by this key would miss the row"), "{other}");

    let deep = shape("{key: {as: json, fields: {id: order.no}}}");
    assert_eq!(
        told(&deep, &plain(Some(r#"{"order":{"no":"x"}}"#), None)),
        r#"{"landonce_delete":"true","id":"x"}"#
    );
    assert!(told(&deep, &plain(Some("{}"), Some("{}"))).contains("the key has no `order.no`"));
}

#[test]
fn the_pipelines_own_mark_marks_a_delete_and_added_fields_are_part_of_the_identity() {
    let own = declared(
        "{key: text, fields: {topic: topic, at: offset}}",
        "[topic, id]",
        "{delete_when: {field: op, equals: [gone, d]}, deleted: retire, version: at}",
    );
    let own = own.unwrap();
    let shape = &own.source().shape;
    assert_eq!(
        told(shape, &plain(Some("k"), None)),
        r#"{"op":"gone","at":18446744073709551615,"topic":"orders","id":"k"}"#
    );
    assert_eq!(own.write().delete_when.as_ref().unwrap().0, "op");
}

#[test]
fn tombstones_are_what_is_declared() {
    for (message, want) in [
        ("{key: json, tombstone: ignore}", "-"),
        ("{tombstone: ignore}", "-"),
        ("{key: json, tombstone: bad}", "syntax: the message has no value"),
    ] {
        assert!(told(&shape(message), &plain(Some("7"), None)).starts_with(want), "{message}");
    }
    let once = declared("{key: json}", "[id]", "{mode: insert_once}").unwrap();
    assert!(told(&once.source().shape, &plain(Some("7"), None)).starts_with("syntax"));
    assert!(once.write().delete_when.is_none(), "an event log has no deletes");
}

#[test]
fn debezium_says_what_became_of_a_row() {
    let shape = shape("{envelope: debezium, fields: {lsn: {field: source.lsn}}}");
    let event = |op: &str, before: &str, after: &str| {
        format!(r#"{{"before":{before},"after":{after},"op":"{op}","source":{{"lsn":99}},"ts_ms":1}}"#)
    };
    for op in ["c", "r", "u"] {
        let put = event(op, "null", r#"{"id":7,"v":1.10}"#);
        assert_eq!(told(&shape, &plain(Some(r#"{"id":7}"#), Some(&put))), r#"{"lsn":99,"id":7,"v":1.10}"#);
    }
    let wrapped = format!(r#"{{"schema":{{"x":1}},"payload":{}}}"#, event("c", "null", r#"{"id":7}"#));
    let key = r#"{"schema":{},"payload":{"id":7}}"#;
    assert_eq!(told(&shape, &plain(Some(key), Some(&wrapped))), r#"{"lsn":99,"id":7}"#);

    let gone = r#"{"landonce_delete":"true","lsn":99,"id":7}"#;
    assert_eq!(told(&shape, &plain(None, Some(&event("d", r#"{"id":7,"v":null}"#, "null")))), gone);
    assert_eq!(told(&shape, &plain(Some(key), Some(&event("d", "null", "null")))), gone);
    assert_eq!(told(&shape, &plain(Some(key), None)), r#"{"landonce_delete":"true","lsn":null,"id":7}"#);
    assert_eq!(
        told(&shape, &plain(Some(key), Some(r#"{"schema":null,"payload":null}"#))),
        r#"{"landonce_delete":"true","lsn":null,"id":7}"#
    );
    assert!(
        told(&shape, &plain(None, Some(&event("d", "null", "null")))).contains("`before` and the key")
            || told(&shape, &plain(None, Some(&event("d", "null", "null")))).contains("the key doesn't")
    );
    assert!(told(&shape, &plain(None, Some(&event("t", "null", "null")))).contains("truncated"));
    assert!(told(&shape, &plain(None, Some(&event("m", "null", "null")))).contains("no change of a row"));
    assert!(told(&shape, &plain(None, Some(&event("x", "null", "null")))).contains("isn't known"));
    assert!(told(&shape, &plain(None, Some(&event("c", "null", "null")))).contains("absent"));
    assert_eq!(told(&shape, &plain(None, Some(r#"{"ts_ms":5}"#))), "-", "a heartbeat");
    assert!(told(&shape, &plain(None, Some(r#"{"id":5}"#))).contains("envelope: none"));
}

#[test]
fn a_key_that_changes_is_a_delete_and_a_put() {
    let shape = shape("{envelope: debezium}");
    let delete = r#"{"before":{"id":1,"v":"a"},"after":null,"op":"d"}"#;
    let create = r#"{"before":null,"after":{"id":2,"v":"a"},"op":"c"}"#;
    let headers: &[(&str, &[u8])] = &[("__debezium.newkey", br#"{"id":2}"#)];
    let message = Message { headers, ..plain(Some(r#"{"id":1}"#), Some(delete)) };
    assert_eq!(told(&shape, &message), r#"{"landonce_delete":"true","id":1}"#);
    assert_eq!(told(&shape, &plain(Some(r#"{"id":2}"#), Some(create))), r#"{"id":2,"v":"a"}"#);
}

#[test]
fn what_debezium_does_not_have_is_left_out_or_refused() {
    let event = r#"{"op":"u","before":null,"after":{"id":7 ,"toast":"__debezium_unavailable_value", "b":"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==","l":["__debezium_unavailable_value"],"n":1.0}}"#;
    let keeps = declared("{envelope: debezium}", "[id]", "{absent: keep}").unwrap();
    assert_eq!(told(&keeps.source().shape, &plain(None, Some(event))), r#"{"id":7,"n":1.0}"#);
    let whole = shape("{envelope: debezium}");
    assert!(told(&whole, &plain(None, Some(event))).starts_with("syntax: `toast`: Debezium doesn't have"));
}

#[test]
fn a_cloud_event_is_its_data_and_its_identity() {
    let shape = declared(
        "{envelope: cloudevents, fields: {kind: {attribute: type}, subject: {attribute: subject}, part: {field: p.q}}}",
        "[ce_source, ce_id]",
        "{mode: insert_once}",
    );
    let shape = shape.unwrap().source().shape.clone();
    let want =
        r#"{"ce_id":"1","ce_source":"/s","kind":"t","part":2.50,"subject":null,"n":1e2,"p":{"q":2.50}}"#;
    let data = r#"{"n":1e2,"p":{"q":2.50}}"#;
    let whole = format!(r#"{{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{data}}}"#);
    let structured: &[(&str, &[u8])] = &[("Content-Type", b"application/cloudevents+json; charset=UTF-8")];
    assert_eq!(told(&shape, &Message { headers: structured, ..plain(None, Some(&whole)) }), want);
    assert_eq!(told(&shape, &plain(None, Some(&whole))), want, "without a content type, too");
    let binary: &[(&str, &[u8])] = &[
        ("ce_specversion", b"1.0"),
        ("ce_id", b"1"),
        ("ce_source", b"/s"),
        ("ce_type", b"t"),
        ("content-type", b"application/json"),
    ];
    assert_eq!(told(&shape, &Message { headers: binary, ..plain(None, Some(data)) }), want);
    let encoded = r#"{"specversion":"1.0","id":"1","source":"/s","type":"t","data_base64":"eyJuIjoxZTIsInAiOnsicSI6Mi41MH19"}"#;
    assert_eq!(told(&shape, &plain(None, Some(encoded))), want);
    let bare = r#"{"specversion":"1.0","id":"1","source":"/s","type":"t"}"#;
    assert!(told(&shape, &plain(None, Some(bare))).starts_with(r#"{"ce_id":"1","ce_source":"/s""#));

    let batch: &[(&str, &[u8])] = &[("content-type", b"application/cloudevents-batch+json")];
    let no_type: &[(&str, &[u8])] = &[("ce_specversion", b"1.0"), ("ce_id", b"1"), ("ce_source", b"/s")];
    let avro: &[(&str, &[u8])] = &[("content-type", b"application/cloudevents+avro")];
    for (headers, value, want) in [
        (batch, "[]", "a batch of events"),
        (no_type, "{}", "`type`"),
        (avro, "{}", "isn't read"),
        (&[], r#"{"specversion":"0.3","id":"1"}"#, "1.0 is read"),
        (&[], r#"{"specversion":"1.0","id":"","source":"/s","type":"t"}"#, "`id`"),
        (&[], r#"{"specversion":"1.0","id":1,"source":"/s","type":"t"}"#, "a string is due"),
        (&[], r#"{"specversion":"1.0","id":"1","source":"/s","type":"t","data":"text"}"#, "an object is due"),
        (&[], r#"{"specversion":"1.0","id":"1","source":"/s","type":"t","data_base64":"%"}"#, "base64"),
        (&[], "{}", "no CloudEvent"),
    ] {
        let found = told(&shape, &Message { headers, ..plain(None, Some(value)) });
        assert!(found.contains(want), "{value}: {found}");
    }
}

#[test]
fn names_of_an_events_identity_are_the_users() {
    let shape =
        declared("{envelope: cloudevents, fields: {event: {attribute: id}}}", "[event]", "{}").unwrap();
    let event = r#"{"specversion":"1.0","id":"1","source":"/s","type":"t"}"#;
    assert_eq!(told(&shape.source().shape, &plain(None, Some(event))), r#"{"ce_source":"/s","event":"1"}"#);
}

#[test]
fn what_makes_no_sense_is_told_with_its_key() {
    for (message, identity, write, want) in [
        ("{key: text}", "[a, b]", "{}", "a text is one field"),
        ("{key: json}", "{hash_of: all}", "{}", "say which"),
        ("{key: {as: json}}", "[id]", "{}", "one of `field` and `fields`"),
        ("{key: {as: text, fields: {id: a}}}", "[id]", "{}", "a text has no fields"),
        ("{tombstone: delete}", "[id]", "{}", "needs the whole identity"),
        ("{key: json, tombstone: delete}", "[id]", "{mode: insert_once}", "takes no deletes"),
        ("{key: json, tombstone: delete}", "[id]", "{version: v}", "no `write.version`"),
        ("{key: json, fields: {v: offset}}", "[id]", "{version: v}", "`write.deleted: retire`"),
        ("{envelope: debezium}", "[id]", "{mode: insert_once}", "Debezium's events delete rows"),
        ("{envelope: debezium}", "{hash_of: all}", "{}", "finds no row"),
        ("{envelope: debezium}", "[id]", "{version: v}", "`write.deleted: retire`"),
        ("{fields: {t: {attribute: type}}}", "[id]", "{}", "cloudevents"),
        ("{fields: {id: {field: id}}}", "[id]", "{}", "in the record already"),
        ("{fields: {a: {header: Authorization}}}", "[id]", "{}", "holds a secret"),
        ("{key: json, fields: {id: key}}", "[id, b]", "{}", "unknown"),
        ("{value: avro}", "[id]", "{}", "address of the registry"),
        ("{value: avro, registry: {url: ftp://x}}", "[id]", "{}", "http://"),
        ("{value: avro, registry: {url: 'http://u:p@x'}}", "[id]", "{}", "isn't part of the address"),
        (
            "{value: avro, registry: {url: http://x, user: joe, password: hunter2}}",
            "[id]",
            "{}",
            "isn't written into a file",
        ),
        ("{registry: {url: http://x}}", "[id]", "{}", "goes with `avro`"),
        ("{}", "[id]", "{deleted: retire}", "nothing says which records are deletes"),
        ("{keys: json}", "[id]", "{}", "did you mean"),
        ("{key: yaml}", "[id]", "{}", "yaml"),
    ] {
        let found = declared(message, identity, write);
        if want == "unknown" {
            assert!(found.is_ok(), "{message}: a field of the message may be the identity's: {found:?}");
            continue;
        }
        let found = found.unwrap_err();
        assert!(found.contains(want), "{message}: {found}");
        assert!(!found.contains("hunter2"), "{found}");
    }
}

#[test]
fn codecs_are_asked_for_where_bytes_are_no_text() {
    let shape = shape(
        "{envelope: cloudevents, value: avro, key: {as: protobuf, field: id}, registry: {url: 'http://r/'}}",
    );
    assert_eq!((shape.value_codec(), shape.has_structured_events()), (Codec::Avro, true));
    assert_eq!(shape.key_codec(), Codec::Protobuf);
    assert_eq!(shape.registry().unwrap().url, "http://r");
}

/// JSON as senders write it: any spelling of numbers, any white space.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?",
        "[a-zé\u{1F600} ]{0,8}".prop_map(|text| format!("\"{text}\"")),
        Just(r#""\u00e9\n\"""#.to_owned()),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[ {}]", items.join(" ,"))),
            members(inner),
        ]
    })
}

fn members(inner: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    prop::collection::btree_map("[b-h][a-z]{0,3}", inner, 0..5).prop_map(|members| {
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("\"{name}\" : {value}")).collect();
        format!("{{{} }}", members.join(",\t"))
    })
}

proptest! {
    #[test]
    fn any_object_stays_as_it_is_behind_what_is_added(object in members(json()), offset in any::<u64>()) {
        let message = Message { offset, ..plain(Some("7"), Some(&object)) };
        let none = told(&shape("{}"), &message);
        prop_assert_eq!(&none, &object);
        let added = told(&shape("{key: {as: json, field: zz1}, fields: {zz0: offset}}"), &message);
        let is_empty = !object.contains(':');
        let comma = if is_empty { "" } else { "," };
        prop_assert_eq!(added, format!("{{\"zz0\":{offset},\"zz1\":7{comma}{}", &object[1..]));
        let wrapped = format!("{{\"op\":\"c\",\"after\":{object}}}");
        let debezium = told(&shape("{envelope: debezium}"), &plain(None, Some(&wrapped)));
        prop_assert_eq!(&debezium, &object);
    }

    #[test]
    fn no_bytes_are_a_panic(value in prop::collection::vec(any::<u8>(), 0..40), key in prop::collection::vec(any::<u8>(), 0..8)) {
        for message in ["{key: json}", "{envelope: debezium}", "{envelope: cloudevents}"] {
            let message_shape = shape(message);
            let mut out = Vec::new();
            let given = Message { key: Some(&key), value: Some(&value), ..plain(None, None) };
            let _ = message_shape.shape(&given, &mut out);
        }
    }
}
