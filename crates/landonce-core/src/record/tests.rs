//! Which records are one event, which are one content, and which can't be taken.

use super::*;
use crate::plan::{KeyForm, resolve};
use crate::spec::Spec;

struct Reading {
    reader: RecordReader,
}

fn reading(yaml: &str) -> Reading {
    lexical(yaml, false)
}

fn lexical(yaml: &str, is_lexical: bool) -> Reading {
    let pipeline = Pipeline::new(Spec::parse(&format!("pipeline: p\n{yaml}")).unwrap()).unwrap();
    let plan = resolve(&pipeline, None).unwrap();
    Reading { reader: RecordReader::new(&pipeline, &plan, is_lexical) }
}

impl Reading {
    fn key(&mut self, text: &str) -> String {
        self.reader.read(text.as_bytes(), Wanted::Identity).unwrap().key.unwrap().to_text(KeyForm::Hex)
    }

    fn digest(&mut self, text: &str) -> String {
        hex::encode(self.reader.read(text.as_bytes(), Wanted::Identity).unwrap().digest.unwrap())
    }

    fn bad(&mut self, text: &str) -> (BadKind, String) {
        let bad = self.reader.read(text.as_bytes(), Wanted::Row).map(|_| ()).expect_err(text);
        (bad.kind, bad.field)
    }
}

#[test]
fn parts_of_a_key_never_run_together() {
    // C03
    let mut reading = reading("identity: [a, b]\ntarget: {table: t}");
    let keys = [
        reading.key(r#"{"a":"doc-7","b":"12"}"#),
        reading.key(r#"{"a":"doc-71","b":"2"}"#),
        reading.key(r#"{"a":"a|b","b":"c"}"#),
        reading.key(r#"{"a":"a","b":"b|c"}"#),
        reading.key(r#"{"a":"","b":"a"}"#),
        reading.key(r#"{"a":"a","b":""}"#),
    ];
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
}

#[test]
fn null_the_word_null_empty_and_absent_are_four_things() {
    // C04
    let mut refusing = reading("identity: [a]\ntarget: {table: t}");
    assert_eq!(refusing.bad(r#"{"a":null}"#), (BadKind::NullKey, "a".into()));
    assert_eq!(refusing.bad("{}"), (BadKind::AbsentKey, "a".into()));
    let mut taking = reading("identity: {fields: [a], null_key: as_value}\ntarget: {table: t}");
    let keys = [r#"{"a":null}"#, r#"{"a":"null"}"#, r#"{"a":""}"#, "{}"].map(|text| taking.key(text));
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), 4);
}

#[test]
fn undeclared_kinds_stay_apart_and_one_number_is_one_number() {
    let mut reading = reading("identity: [a]\ntarget: {table: t}");
    let (one, text, truth) =
        (reading.key(r#"{"a":1}"#), reading.key(r#"{"a":"1"}"#), reading.key(r#"{"a":true}"#));
    assert!(one != text && text != truth && one != truth);
    assert_eq!(one, reading.key(r#"{"a":1.0}"#));
    assert_eq!(one, reading.key(r#"{"a":1e0}"#));
    assert_eq!(reading.key(r#"{"a":-0}"#), reading.key(r#"{"a":0}"#));
}

#[test]
fn one_instant_is_one_identity_when_typed_and_several_when_text() {
    // C13
    let spellings = [
        "2024-06-01T00:00:00-06:00",
        "2024-06-01T06:00:00Z",
        "2024-06-01T06:00:00+00:00",
        "2024-06-01t06:00:00z",
    ];
    let texts = spellings.map(|at| format!(r#"{{"at":"{at}"}}"#));
    let mut typed = reading("identity: [at]\ntarget: {table: t, columns: {at: timestamptz}}");
    let keys: std::collections::BTreeSet<_> = texts.iter().map(|text| typed.key(text)).collect();
    assert_eq!(keys.len(), 1);
    let mut untyped = reading("identity: [at]\ntarget: {table: t}");
    let keys: std::collections::BTreeSet<_> = texts.iter().map(|text| untyped.key(text)).collect();
    assert_eq!(keys.len(), 4);
}

#[test]
fn integers_are_exact_or_bad_never_rounded() {
    // C05
    let mut untyped = reading("identity: [id]\ntarget: {table: t}");
    assert_ne!(untyped.key(r#"{"id":9196877626998784}"#), untyped.key(r#"{"id":9196877626998785}"#));
    assert_ne!(untyped.key(r#"{"id":18446744073709551615}"#), untyped.key(r#"{"id":18446744073709551616}"#));
    let mut typed = reading("identity: [id]\ntarget: {table: t, columns: {id: integer}}");
    assert_eq!(typed.bad(r#"{"id":18446744073709551615}"#), (BadKind::OutOfRange, "id".into()));
    assert_eq!(typed.bad(r#"{"id":1.5}"#), (BadKind::OutOfRange, "id".into()));
    assert_eq!(typed.key(r#"{"id":7}"#), typed.key(r#"{"id":"7"}"#));
    let mut money = reading("identity: [id]\ntarget: {table: t, columns: {m: 'decimal(20,8)'}}");
    assert_eq!(money.bad(r#"{"id":1,"m":0.123456789}"#), (BadKind::OutOfRange, "m".into()));
    assert_eq!(
        money.digest(r#"{"id":1,"m":123456789012.12345678}"#),
        money.digest(r#"{"id":1,"m":"123456789012.12345678"}"#)
    );
}

#[test]
fn joined_keys_equal_the_plain_hash_and_refuse_ambiguity() {
    let mut reading = reading("identity: {fields: [a, b, c], joined: '|', as: hex}\ntarget: {table: t}");
    assert_eq!(reading.key(r#"{"a":"a","b":"b","c":"c"}"#), Key::of_joined(b"a|b|c").to_text(KeyForm::Hex));
    assert_eq!(
        reading.key(r#"{"a":"x","b":12,"c":1.50}"#),
        Key::of_joined(b"x|12|1.50").to_text(KeyForm::Hex)
    );
    assert_eq!(reading.bad(r#"{"a":"a|b","b":"c","c":"d"}"#), (BadKind::AmbiguousKey, "a".into()));
}

#[test]
fn what_changes_per_attempt_changes_neither_key_nor_digest() {
    // G1
    let mut reading = reading("identity: {hash_of: all, except: [sent_at, trace.id]}\ntarget: {table: t}");
    let first = r#"{"v":1,"sent_at":"a","trace":{"id":1,"app":"x"}}"#;
    let again = r#"{"trace":{"app":"x","id":2},"sent_at":"b","v":1.0}"#;
    assert_eq!(reading.key(first), reading.key(again));
    assert_eq!(reading.digest(first), reading.digest(again));
    assert_ne!(reading.key(first), reading.key(r#"{"v":2,"sent_at":"a","trace":{"id":1,"app":"x"}}"#));
}

#[test]
fn the_senders_id_is_no_part_of_the_content() {
    // G3
    let mut reading = reading("identity: {sender_id: id}\ntarget: {table: t}");
    assert_ne!(reading.key(r#"{"id":"a","v":1}"#), reading.key(r#"{"id":"b","v":1}"#));
    assert_eq!(reading.digest(r#"{"id":"a","v":1}"#), reading.digest(r#"{"id":"b","v":1}"#));
}

#[test]
fn the_rest_is_the_record_less_its_columns_as_written() {
    let mut reading = reading(
        "identity: [id]\ntarget: {table: t, columns: {n: integer}}\nwrite: {delete_when: {field: op, equals: [d]}}",
    );
    let row =
        reading.reader.read(br#"{"id":"x","n":5,"op":"c","b":1.50,"a":{"z":[1, 2]}}"#, Wanted::Row).unwrap();
    assert_eq!(
        row.values,
        [Value::Text("x".into()), Value::Integer(5), Value::Json(r#"{"a":{"z":[1, 2]},"b":1.50}"#.into())]
    );
    assert!(!row.is_delete);
    assert!(reading.reader.read(br#"{"id":"x","op":"d"}"#, Wanted::Row).unwrap().is_delete);
}

#[test]
fn normalising_is_opt_in_and_reaches_the_column() {
    let mut plain = reading("identity: [id]\ntarget: {table: t}");
    assert_ne!(plain.key(r#"{"id":"A "}"#), plain.key(r#"{"id":"a"}"#));
    let mut normal =
        reading("identity: {fields: [id], normalize: [trim, nfc, lowercase]}\ntarget: {table: t}");
    assert_eq!(normal.key(r#"{"id":" \u0041\u0301 "}"#), normal.key(r#"{"id":"á"}"#));
    assert_eq!(
        normal.reader.read(br#"{"id":"A "}"#, Wanted::Identity).unwrap().values[0],
        Value::Text("a".into())
    );
}

#[test]
fn a_version_is_due_and_required_columns_are_filled() {
    let mut reading =
        reading("identity: [id]\ntarget: {table: t, columns: {v: integer}}\nwrite: {version: v}");
    assert_eq!(reading.bad(r#"{"id":1}"#), (BadKind::NoVersion, "v".into()));
    assert_eq!(reading.bad(r#"{"id":1,"v":null}"#), (BadKind::NoVersion, "v".into()));
}

#[test]
fn texts_of_a_lexical_source_are_read_as_their_types() {
    let mut csv = lexical(
        "identity: [id]\ntarget: {table: t, columns: {id: integer, at: date, ok: boolean, tags: 'text[]', j: json}}",
        true,
    );
    let row = csv
        .reader
        .read(br#"{"id":"7","at":"","ok":"t","tags":"[\"a\",\"b\"]","j":"{\"x\": 1}"}"#, Wanted::Row)
        .unwrap();
    assert_eq!(
        row.values[..5],
        [
            Value::Integer(7),
            Value::Null,
            Value::Boolean(true),
            Value::Array(vec![Value::Text("a".into()), Value::Text("b".into())]),
            Value::Json(r#"{"x": 1}"#.into()),
        ]
    );
    assert_eq!(csv.bad(r#"{"id":"x"}"#).0, BadKind::WrongType);
    assert_eq!(csv.bad(r#"{"id":""}"#).0, BadKind::NullKey);
    assert_eq!(csv.bad(r#"{"id":"1","j":"{"}"#), (BadKind::Syntax, "j".into()));
}

#[test]
fn rounding_makes_export_noise_no_change() {
    let mut reading =
        reading("identity: [id]\ntarget: {table: t, columns: {g: {type: 'geometry(Point,4326)', round: 6}}}");
    let one = reading.digest(r#"{"id":1,"g":{"type":"Point","coordinates":[-71.1234561,42.3000004]}}"#);
    let two = reading.digest(r#"{"id":1,"g":{"coordinates":[-71.12345609,42.3],"type":"Point"}}"#);
    assert_eq!(one, two);
}

#[test]
fn values_that_do_not_fit_are_bad_with_their_path() {
    let mut reading = reading(
        "identity: [id]\ntarget: {table: t, columns: {s: 'varchar(3)', f: float, u: uuid, b: bytes, a: 'integer[]', d: date, k: boolean}}",
    );
    for (text, kind, field) in [
        (r#"{"id":1,"s":"abcd"}"#, BadKind::TooLong, "s"),
        (r#"{"id":1,"s":5}"#, BadKind::WrongType, "s"),
        (r#"{"id":1,"f":9007199254740993}"#, BadKind::OutOfRange, "f"),
        (r#"{"id":1,"f":1e999}"#, BadKind::OutOfRange, "f"),
        (r#"{"id":1,"u":"x"}"#, BadKind::WrongType, "u"),
        (r#"{"id":1,"b":"*"}"#, BadKind::WrongType, "b"),
        (r#"{"id":1,"a":[1,"x"]}"#, BadKind::WrongType, "a[1]"),
        (r#"{"id":1,"d":"0000-00-00"}"#, BadKind::OutOfRange, "d"),
        (r#"{"id":1,"k":"true"}"#, BadKind::WrongType, "k"),
        (r#"{"id":[1]}"#, BadKind::WrongType, "id"),
        ("[1]", BadKind::Syntax, ""),
    ] {
        assert_eq!(reading.bad(text), (kind, field.to_owned()), "{text}");
    }
}
