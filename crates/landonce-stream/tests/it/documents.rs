//! What the guide shows is what works: its pipelines are read as they stand.

use landonce::Pipeline;
use landonce_core::pipeline::Feed;

const GUIDE: &str = include_str!("../../../../docs/guides/consume.md");
const REFERENCE: &str = include_str!("../../../../docs/reference/pipeline.md");

/// The blocks of YAML of a text.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next())
}

#[test]
fn every_block_of_the_guide_and_of_the_reference_about_kafka_is_read() {
    let all = blocks(GUIDE).chain(blocks(REFERENCE).filter(|block| block.contains("kafka:")));
    let mut kafkas = 0;
    for block in all {
        let whole = if block.starts_with("pipeline:") {
            block.to_owned()
        } else {
            format!("pipeline: p\nidentity: [id]\ntarget: {{table: t}}\n{block}")
        };
        // A cut without a stream is for fetches.
        let pipeline = Pipeline::from_yaml(&whole).unwrap_or_else(|error| panic!("{error}\n{whole}"));
        kafkas += usize::from(matches!(pipeline.declared().source().feed, Feed::Kafka(_)));
    }
    assert!(kafkas >= 3, "{kafkas}");
}
