//! What an explanation says, held against the documented bytes.

use super::*;

fn pipeline(yaml: &str) -> Pipeline {
    Pipeline::from_yaml(&format!("pipeline: p\ntarget: {{table: t{yaml}")).unwrap()
}

fn told(pipeline: &Pipeline, text: &str, records: &[u64]) -> Explanation {
    explain(pipeline, &Batch::from_bytes("events.ndjson", text), records).unwrap()
}

const TYPED: &str = ", columns: {at: timestamptz}}\nidentity: [id, at]\nvolatile: [sent_at, trace.id]";

#[test]
fn a_record_is_shown_down_to_its_bytes() {
    let text =
        r#"{"id":"AA","at":"2024-06-01T00:00:00-06:00","gate":7,"sent_at":"x","trace":{"id":1,"app":"a"}}"#;
    let told = told(&pipeline(TYPED), text, &[]);
    let record = &told.records[0];
    assert_eq!(record.number, 1);
    assert_eq!(record.identity[0].canonical, r#"s 2 "AA""#);
    assert_eq!(record.identity[1].canonical, "t 27 2024-06-01T06:00:00.000000Z");
    assert_eq!(record.identity[1].ty.as_deref(), Some("timestamptz"));
    let key = record.key.as_ref().unwrap();
    assert_eq!(key.canonical, r#"s 2 "AA" t 27 2024-06-01T06:00:00.000000Z"#);
    assert_eq!(key.stored_as, Some("uuid"));
    assert_eq!(record.left_out, ["sent_at", "trace.id"]);
    let content = record.content.as_ref().unwrap();
    assert_eq!(
        content.canonical,
        r#"o 99 {s 2 "at" t 27 2024-06-01T06:00:00.000000Z s 4 "gate" n 3 7e0 s 2 "id" s 2 "AA" s 5 "trace" o 14 {s 3 "app" s 1 "a"}}"#
    );
    let payload = record.columns.iter().find(|stored| stored.column == "payload").unwrap();
    assert!(payload.value.as_ref().unwrap().contains("\"sent_at\":\"x\""));
    let at = record.columns.iter().find(|stored| stored.column == "at").unwrap();
    assert_eq!((at.ty.as_str(), at.value.as_deref()), ("timestamptz", Some("2024-06-01T06:00:00.000000Z")));
}

#[test]
fn the_key_is_the_one_that_the_reference_has() {
    // The vector "a flight, its instant typed" of docs/reference/identity-vectors.json.
    let pipeline =
        pipeline(", columns: {instant_utc: timestamptz}}\nidentity: [flight_id, event_kind, instant_utc]");
    let text =
        r#"{"flight_id":"B6-739","event_kind":"departure","instant_utc":"2013-03-03T04:55:00Z","gate":"7"}"#;
    let told = told(&pipeline, text, &[1]);
    let vectors: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/reference/identity-vectors.json")).unwrap();
    let vectors = vectors["vectors"].as_array().unwrap();
    let vector = vectors.iter().find(|vector| vector["name"] == "a flight, its instant typed").unwrap();
    let key = told.records[0].key.as_ref().unwrap();
    assert_eq!(key.uuid.as_deref(), vector["key_uuid"].as_str());
    assert_eq!(Some(key.canonical_hex.as_str()), vector["key_canonical"].as_str());
    assert_eq!(Some(told.records[0].content.as_ref().unwrap().sha256.as_str()), vector["digest"].as_str());
}

#[test]
fn one_instant_under_two_offsets_is_one_event_and_the_reason_says_why() {
    let text = "{\"id\":1,\"at\":\"2024-06-01T00:00:00-06:00\",\"v\":1}\n{\"id\":1,\"at\":\"2024-06-01T06:00:00Z\",\"v\":2}\n";
    let told = told(&pipeline(TYPED), text, &[1, 2]);
    let comparison = told.comparison.unwrap();
    assert!(comparison.is_same_event && !comparison.is_same_content);
    assert_eq!(comparison.identity[0].verdict, Verdict::Equal);
    assert_eq!(comparison.identity[1].verdict, Verdict::EqualOnceRead);
    assert_eq!(comparison.identity[1].note.as_deref(), Some("equal as timestamptz"));
    let names: Vec<_> = comparison.differing.iter().map(|field| field.field.as_str()).collect();
    assert_eq!(names, ["v"]);
}

#[test]
fn two_spellings_of_one_instant_are_two_events_as_texts_and_the_type_is_named() {
    // C13
    let text = "{\"at\":\"2024-06-01T00:00:00-06:00\"}\n{\"at\":\"2024-06-01T06:00:00Z\"}\n";
    let told = told(&pipeline("}\nidentity: [at]"), text, &[1, 2]);
    let comparison = told.comparison.unwrap();
    assert!(!comparison.is_same_event);
    assert_eq!(comparison.identity[0].verdict, Verdict::DiffersInSpelling);
    assert!(comparison.identity[0].note.as_ref().unwrap().contains("declare it as `timestamptz`"));
    assert!(comparison.reason.contains("only by spelling"), "{}", comparison.reason);
}

#[test]
fn equal_only_after_normalising_is_said() {
    let pipeline = pipeline("}\nidentity: {fields: [id], normalize: [trim, lowercase]}");
    let comparison = told(&pipeline, "{\"id\":\"AA\"}\n{\"id\":\" aa\"}\n", &[1, 2]).comparison.unwrap();
    assert!(comparison.is_same_event && comparison.is_same_content);
    assert_eq!(comparison.identity[0].note.as_deref(), Some("equal only after normalising"));
}

#[test]
fn fields_that_change_per_attempt_make_no_difference() {
    let text = "{\"id\":1,\"at\":\"2024-06-01T06:00:00Z\",\"sent_at\":\"a\"}\n{\"id\":1,\"at\":\"2024-06-01T06:00:00Z\",\"sent_at\":\"b\"}\n";
    let comparison = told(&pipeline(TYPED), text, &[1, 2]).comparison.unwrap();
    assert!(comparison.is_same_event && comparison.is_same_content);
    assert_eq!(comparison.differing, []);
}

#[test]
fn a_bad_record_is_shown_with_its_reason_and_compared_with_nothing() {
    let told = told(&pipeline("}\nidentity: [id]"), "{\"id\":null}\nnonsense\n", &[1, 2]);
    assert!(told.records[0].bad.as_ref().unwrap().contains("null key: `id`"));
    assert!(told.records[1].bad.as_ref().unwrap().contains("syntax"));
    assert_eq!(told.comparison, None);
    assert!(told.to_string().contains("nothing to compare"));
}

#[test]
fn a_number_that_no_record_has_is_an_error_that_names_the_last() {
    let batch = Batch::from_bytes("a.csv", "id\n1\n2\n");
    let pipeline = pipeline("}\nidentity: [id]");
    let error = explain(&pipeline, &batch, &[1]).unwrap_err().to_string();
    assert!(error.contains("no record has the number 1") && error.contains("the last is 3"), "{error}");
    assert_eq!(explain(&pipeline, &batch, &[3, 2]).unwrap().records[0].number, 3);
    let empty = explain(&pipeline, &Batch::from_bytes("a.ndjson", ""), &[]).unwrap_err().to_string();
    assert!(empty.contains("no record to explain"), "{empty}");
}

#[test]
fn a_joined_key_is_shown_as_its_text() {
    let pipeline = pipeline("}\nidentity: {fields: [a, b, c], joined: '|', as: hex}");
    let told = told(&pipeline, r#"{"a":"a","b":"b","c":"c"}"#, &[]);
    let key = told.records[0].key.as_ref().unwrap();
    assert_eq!((key.label, key.canonical.as_str(), key.stored_as), ("", "\"a|b|c\"", Some("hex")));
    // printf 'a|b|c' | sha256sum
    assert_eq!(key.sha256, "a52dd81bfd5e4e66d96b9f598382f6cbf8c5c3897654e6ae9055e03620fcf38e");
    assert_eq!(told.records[0].identity[1].canonical, "\"b\"");
}

#[test]
fn an_identity_of_content_and_one_of_columns_are_shown_too() {
    let content = pipeline("}\nidentity: {hash_of: all, except: [sent_at]}");
    let two = told(&content, "{\"v\":1,\"sent_at\":1}\n{\"v\":2,\"sent_at\":1}\n", &[1, 2]);
    assert_eq!(two.records[0].identity, []);
    let comparison = two.comparison.unwrap();
    assert!(
        comparison.reason.starts_with("two events: the identity is the content"),
        "{}",
        comparison.reason
    );
    assert_eq!(comparison.differing.len(), 1);

    let columns = pipeline("}\nidentity: {fields: [id], as: columns}\nwrite: {absent: keep}");
    let one = told(&columns, "{\"id\":\"7\"}", &[]);
    let record = &one.records[0];
    assert_eq!(record.key.as_ref().unwrap().stored_as, None);
    assert_eq!(record.content.as_ref().unwrap().stored_as, None);
    assert!(record.columns.iter().all(|stored| stored.column != "landonce_key"));
}

#[test]
fn json_names_are_stable_and_the_text_is_aligned() {
    let told = told(&pipeline(TYPED), "{\"id\":\"AA\",\"at\":\"2024-06-01T06:00:00Z\"}", &[]);
    let json = serde_json::to_value(&told).unwrap();
    let record = &json["records"][0];
    let names: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["bad", "columns", "content", "identity", "is_delete", "key", "left_out", "number"]);
    assert_eq!(record["identity"][1]["type"], "timestamptz");
    assert_eq!(json["comparison"], serde_json::Value::Null);
    let text = told.to_string();
    assert!(
        text.starts_with(
            "events.ndjson, record 1 (pipeline p)\n  identity    id  s 2 \"AA\"                          no type declared, written \"AA\"\n"
        ),
        "{text}"
    );
}
