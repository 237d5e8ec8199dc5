//! What the reference shows is read as it stands, and the committed schema is the code's.

use std::path::Path;

use landonce_deliver::environment::Environment;
use landonce_server::Config;
use landonce_server::config::{Limits, Spec};

const REFERENCE: &str = include_str!("../../../../docs/reference/serve.md");
const GUIDE: &str = include_str!("../../../../docs/guides/serve.md");
const SCHEMA: &str = include_str!("../../../../docs/reference/serve.schema.json");

fn blocks(page: &str) -> Vec<&str> {
    page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

fn parse(yaml: &str) -> Config {
    let values = |name: &str| (name == "DATABASE_URL").then(|| "sqlite:shop.db".to_owned());
    Config::parse_in(yaml, Path::new(""), Environment::new(&values)).unwrap()
}

#[test]
fn every_block_is_a_server_file_and_the_reference_shows_every_key_and_its_default() {
    for block in blocks(GUIDE) {
        parse(block);
    }
    let shown = parse(blocks(REFERENCE)[0]);
    let default = Config::default();
    assert_eq!(shown.store(), Some("sqlite:shop.db"));
    assert_eq!(shown.limits(), &Limits::default());
    assert_eq!((shown.drain(), shown.derive_every()), (default.drain(), default.derive_every()));
    assert_eq!(shown.batch_id().query, default.batch_id().query);
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let definitions = schema["$defs"].as_object().unwrap().values();
    for properties in definitions.chain([&schema]).filter_map(|of| of["properties"].as_object()) {
        for key in properties.keys() {
            assert!(blocks(REFERENCE)[0].contains(&format!("{key}:")), "the reference doesn't show `{key}`");
        }
    }
}

#[test]
fn the_committed_schema_is_the_codes() {
    assert_eq!(
        SCHEMA,
        Spec::json_schema(),
        "run: cargo run -- schema --serve > docs/reference/serve.schema.json"
    );
}

#[test]
fn the_reference_tells_of_every_code_of_the_servers() {
    for code in landonce::Code::ALL.iter().filter(|code| ("L1021".."L1060").contains(&code.as_str())) {
        assert!(REFERENCE.contains(code.as_str()), "{code}");
    }
}
