//! What pipeline files may say, and what they are told when they say something else.

use super::*;
use crate::column::Type;

const DESIGNED: &str = r#"
pipeline: flight-schedule
source: {file: "schedule/*.ndjson.gz"}
identity: [flight_id, event_kind, instant_utc]
target:
  table: duty_event
  columns: {instant_utc: timestamptz, updated_at: timestamptz}
write: {mode: upsert, version: updated_at}
on_bad_record: fail
"#;

#[test]
fn the_designed_pipeline_parses() {
    let spec = Spec::parse(DESIGNED).unwrap();
    assert_eq!(
        spec.identity,
        IdentitySpec::List(["flight_id", "event_kind", "instant_utc"].map(String::from).to_vec())
    );
    assert_eq!(spec.target.columns.0[0].1.ty, Type::Timestamptz);
    assert_eq!(spec.on_bad_record, OnBadSpec::Fail);
}

#[test]
fn longer_forms_parse() {
    let spec = Spec::parse(
        "pipeline: p
identity: {hash_of: all, except: [sent_at, attempt]}
target: {table: t, columns: {shape: {type: 'geometry(MultiPolygon,4326)', field: geometry, round: 6}}}
on_bad_record: {quarantine: {max: 1%}}
source: {format: csv, csv: {delimiter: ';', nulls: [NA]}}
",
    )
    .unwrap();
    assert_eq!(spec.on_bad_record, OnBadSpec::Quarantine(QuarantineSpec { max: "1%".into() }));
    assert_eq!(spec.target.columns.0[0].1.round, Some(6));
    assert_eq!(spec.source.csv.nulls, ["NA"]);
}

#[test]
fn an_owner_is_the_text_that_is_written() {
    let owner = |value: &str| {
        let yaml =
            format!("pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nwrite: {{owner: {{of: {value}}}}}\n");
        Spec::parse(&yaml).unwrap().write.owner.0.remove(0).1
    };
    for text in ["NO", "y", "off", "007", "7", "true", "false", "'true'", "a b"] {
        assert_eq!(owner(text), text.trim_matches('\''));
    }
}

fn told(yaml: &str) -> String {
    Spec::parse(yaml).unwrap_err().to_string()
}

#[test]
fn an_unknown_key_names_its_place_and_its_neighbour() {
    assert_eq!(
        told("pipeline: p\nidentiy: [id]\ntarget: {table: t}\n"),
        "line 2, column 1: unknown key `identiy`; did you mean `identity`?"
    );
    assert!(
        told("pipeline: p\nidentity: [id]\ntarget:\n  table: t\n  colums: {}\n")
            .starts_with("line 5, column 3: unknown key `colums`; did you mean `columns`?")
    );
    assert!(
        told("pipeline: p\nidentity: [id]\ntarget: {table: t}\nwrite: {mode: upsret}\n")
            .contains("did you mean `upsert`?")
    );
}

#[test]
fn a_word_where_a_list_is_due_is_told_what_to_write() {
    let told = told("pipeline: p\nidentity: id\ntarget: {table: t}\n");
    assert!(told.contains("write `identity: [id]`"), "{told}");
    assert!(told.starts_with("line 2"), "{told}");
}

#[test]
fn an_unknown_type_names_its_place() {
    let told = told("pipeline: p\nidentity: [id]\ntarget:\n  table: t\n  columns:\n    at: timestampz\n");
    assert!(told.contains("unknown type `timestampz`"), "{told}");
    assert!(told.starts_with("line 6"), "{told}");
}

#[test]
fn a_missing_key_and_a_repeated_key_are_told() {
    assert!(told("pipeline: p\nidentity: [id]\n").contains("`target` is missing"));
    assert!(
        told("pipeline: p\npipeline: q\nidentity: [id]\ntarget: {table: t}\n")
            .to_lowercase()
            .contains("duplicate")
    );
    assert!(!told("").is_empty());
    assert!(!told("- a\n- b\n").is_empty());
    assert!(!told("pipeline: [unclosed").is_empty());
}

#[test]
fn a_payload_that_says_nothing_is_refused() {
    // It would be the whole change, which nobody has written.
    for payload in ["payload: null", "payload:", "payload: ~"] {
        let yaml = format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nnotify:\n  - topic: x\n    {payload}\n"
        );
        let told = told(&yaml);
        assert!(told.contains("`payload` says nothing; leave it out to send the whole change"), "{told}");
    }
}
