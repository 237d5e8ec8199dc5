//! What the reference shows is read as it stands.

use std::path::Path;

use landonce_deliver::Delivery;
use landonce_deliver::environment::Environment;
use landonce_deliver::spec::{self, Spec};

const REFERENCE: &str = include_str!("../../../../docs/reference/deliver-destinations.md");

#[tokio::test]
async fn every_block_of_the_reference_is_a_delivery_file() {
    let blocks: Vec<&str> =
        REFERENCE.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 4);
    let values =
        |name: &str| Some(if name == "BILLING_DATABASE" { "sqlite:b.db" } else { "a value" }.to_owned());
    for block in blocks {
        let read = Delivery::parse(block, "deliver.yaml", Path::new(""), Environment::new(&values));
        if block.contains("kafka:") && !cfg!(feature = "kafka") {
            let told = read.unwrap_err().to_string();
            assert!(told.contains("stream.kafka: this build has no Kafka client"), "{told}");
        } else {
            assert_eq!(read.unwrap().topics().count(), 1, "{block}");
        }
    }
}

const FILE: &str = include_str!("../../../../docs/reference/deliver.md");
const GUIDE: &str = include_str!("../../../../docs/guides/deliver.md");
const SCHEMA: &str = include_str!("../../../../docs/reference/deliver.schema.json");

/// The first YAML of a page.
fn block(page: &str) -> &str {
    page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap()
}

#[test]
fn the_commented_reference_is_a_delivery_file_and_shows_every_key() {
    let spec = Spec::parse(block(FILE)).unwrap();
    // Files that it names aren't there: the rest is resolved.
    let without = block(FILE).lines().filter(|line| {
        let key = line.trim_start();
        !key.starts_with("ca:") && !key.starts_with("client:")
    });
    let without: String = without.flat_map(|line| [line, "\n"]).collect();
    let secret = |name: &str| {
        Some(
            if name.starts_with("WEBHOOK") { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" } else { "x" }
                .to_owned(),
        )
    };
    for text in [&without, block(GUIDE)] {
        Delivery::parse(text, "deliver.yaml", Path::new(""), Environment::new(&secret)).unwrap();
    }
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let keys = |name: &str| {
        let of = if name.is_empty() { &schema } else { &schema["$defs"][name] };
        of["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let all =
        ["", "DestinationSpec", "HttpSpec", "ClientSpec", "RetrySpec", "BreakerSpec"].map(keys).concat();
    for key in all {
        let is_there = FILE.contains(&format!("{key}:")) || FILE.contains(&format!("{key},"));
        assert!(is_there, "the reference doesn't show `{key}`");
    }
    // What it shows as a default is one.
    let shown = &spec.destinations["crew-app"];
    let default = landonce_deliver::policy::Policy::default();
    assert_eq!(shown.concurrency, Some(default.concurrency));
    assert_eq!(shown.retry.attempts, Some(default.retry.attempts));
    let duration = |text: &Option<String>| spec::duration(text.as_deref().unwrap()).unwrap();
    assert_eq!(duration(&shown.retry.first), default.retry.first);
    assert_eq!(duration(&shown.retry.most), default.retry.most);
    assert_eq!(duration(&shown.retry.deadline), default.retry.deadline);
    assert_eq!(duration(&shown.retry.max_retry_after), default.retry.max_retry_after);
    assert_eq!(duration(&shown.breaker.pause), default.breaker.pause);
    assert_eq!(shown.breaker.failures, Some(default.breaker.failures));
}

#[test]
fn the_committed_schema_is_the_codes() {
    assert_eq!(
        SCHEMA,
        Spec::json_schema(),
        "run: cargo run -- schema --deliver > docs/reference/deliver.schema.json"
    );
}
