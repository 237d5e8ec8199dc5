//! What the documentation shows is what the code takes.

use landonce_core::pipeline::{Message, Pipeline, Shape};
use landonce_core::spec::Spec;

const REFERENCE: &str = include_str!("../../../../docs/reference/pipeline.md");
const SCHEMA: &str = include_str!("../../../../docs/reference/pipeline.schema.json");

#[test]
fn the_commented_reference_pipeline_is_a_pipeline() {
    let start = REFERENCE.find("```yaml\n").unwrap() + "```yaml\n".len();
    let block = &REFERENCE[start..start + REFERENCE[start..].find("```").unwrap()];
    let spec = Spec::parse(block).unwrap();
    Pipeline::new(spec).unwrap();
    // It names every key that the schema has at the top.
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(block.contains(&format!("\n{key}:")), "the reference doesn't show `{key}`");
    }
}

#[test]
fn the_committed_schema_is_the_codes() {
    assert_eq!(SCHEMA, Spec::json_schema(), "run: cargo run -- schema > docs/reference/pipeline.schema.json");
}

const MESSAGES: &str = include_str!("../../../../docs/guides/messages.md");

#[test]
fn the_guides_messages_become_the_records_that_it_shows() {
    let shapes: Vec<(String, Shape)> = MESSAGES
        .split("```yaml\n")
        .skip(1)
        .map(|block| {
            let spec = Spec::parse(block.split("```").next().unwrap()).unwrap();
            let pipeline = Pipeline::new(spec).unwrap();
            (pipeline.name().to_owned(), pipeline.source().shape.clone())
        })
        .collect();
    assert_eq!(shapes.len(), 4);
    let row = "\"before\":null,\"after\":{\"id\":7,\"name\":\"Ada\"}";
    for (name, key, value, want) in [
        (
            "orders",
            Some("7"),
            r#"{"total":12.50}"#.to_owned(),
            r#"{"offset":41,"sent":"2026-01-01T00:00:00.123000Z","topic":"orders","trace":null,"id":7,"total":12.50}"#,
        ),
        (
            "customers",
            None,
            format!(r#"{{"op":"u",{row},"source":{{"lsn":99}}}}"#),
            r#"{"lsn":99,"id":7,"name":"Ada"}"#,
        ),
        (
            "customers",
            None,
            r#"{"op":"d","before":{"id":7},"after":null,"source":{"lsn":120}}"#.to_owned(),
            r#"{"landonce_delete":"true","lsn":120,"id":7}"#,
        ),
        (
            "events",
            None,
            r#"{"specversion":"1.0","id":"e-1","source":"/shop","type":"order.paid","data":{"total":12.50}}"#
                .to_owned(),
            r#"{"ce_id":"e-1","ce_source":"/shop","at":null,"subject":null,"type":"order.paid","total":12.50}"#,
        ),
    ] {
        let shape = &shapes.iter().find(|(has, _)| has == name).unwrap().1;
        let message = Message {
            topic: "orders",
            part: "0",
            offset: 41,
            key: key.map(str::as_bytes),
            value: Some(value.as_bytes()),
            headers: &[],
            timestamp_ms: Some(1_767_225_600_123),
        };
        let mut out = Vec::new();
        shape.shape(&message, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), want);
        if name != "customers" {
            assert!(MESSAGES.contains(want) && MESSAGES.contains(&value), "the guide shows it: {want}");
        }
    }
}
