//! What the documentation shows is what the code takes.

use landonce_core::pipeline::Pipeline;
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
