//! The written encoding and the code agree (F1): every vector of `docs/reference/identity-vectors.json`, which a second
//! implementation in Python computed from the page alone, comes out of this one; and the page's own Python works.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use landonce_core::bad_record::BadRecord;
use landonce_core::pipeline::Pipeline;
use landonce_core::plan::{KeyForm, resolve};
use landonce_core::record::{RecordReader, Wanted};
use landonce_core::spec::Spec;
use serde_json::{Value, json};

const VECTORS: &str = include_str!("../../../../docs/reference/identity-vectors.json");
const PAGE: &str = include_str!("../../../../docs/reference/identity.md");

/// What the page's Python is held against: every vector it has words for.
const HARNESS: &str = r#"
import sys
seen = 0
for vector in json.load(open(sys.argv[1]))["vectors"]:
    identity = vector["identity"]
    fields = identity if isinstance(identity, list) else identity.get("fields")
    plain = isinstance(identity, list) or set(identity) <= {"fields"} or set(identity) == {"sender_id"}
    if "bad" in vector or not plain or "columns" in vector or any("." in path for path in vector.get("volatile", [])):
        continue
    left_out = vector.get("volatile", [])
    if not fields:
        fields = [identity["sender_id"]]
        left_out = left_out + fields
    if "write" in vector:
        left_out = left_out + [vector["write"]["delete_when"]["field"]]
    record = load(vector["record"])
    assert key(record, fields) == vector["key_uuid"], vector["name"]
    assert digest(record, left_out) == vector["digest"], vector["name"]
    seen += 1
typed = ("t", "2013-03-03T04:55:00.000000Z")
flight = {"flight_id": "B6-739", "event_kind": "departure", "instant_utc": typed, "gate": "7"}
want = next(v for v in json.load(open(sys.argv[1]))["vectors"] if v["name"] == "a flight, its instant typed")
assert key(flight, ["flight_id", "event_kind", "instant_utc"]) == want["key_uuid"]
assert digest(flight) == want["digest"]
print(seen)
"#;

fn vectors() -> Vec<Value> {
    let whole: Value = serde_json::from_str(VECTORS).unwrap();
    assert_eq!(whole["version"], 1);
    whole["vectors"].as_array().unwrap().clone()
}

fn pipeline(vector: &Value) -> Pipeline {
    let or_empty = |key: &str, empty: Value| vector.get(key).cloned().unwrap_or(empty);
    // JSON is YAML: the declaration goes the way that a user's goes.
    let declared = json!({
        "pipeline": "vectors",
        "identity": vector["identity"],
        "volatile": or_empty("volatile", json!([])),
        "target": {"table": "t", "columns": or_empty("columns", json!({}))},
        "write": or_empty("write", json!({})),
    });
    Pipeline::new(Spec::parse(&declared.to_string()).unwrap()).unwrap()
}

fn python(script: &str, arguments: &[PathBuf]) -> String {
    let mut child = Command::new("python3")
        .arg("-")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3 must be there: the page promises that its Python runs");
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn reference(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(file)
}

fn check(vector: &Value) -> Result<(), BadRecord> {
    let name = &vector["name"];
    let text = |key: &str| vector[key].as_str().unwrap_or_else(|| panic!("{name}: no `{key}`")).to_owned();
    let pipeline = pipeline(vector);
    let plan = resolve(&pipeline, None).unwrap();
    let is_csv = vector.get("csv").is_some_and(|csv| csv == true);
    let mut reader = RecordReader::new(&pipeline, &plan, is_csv).keeping_identity();
    let record = text("record");
    let row = reader.read(record.as_bytes(), Wanted::Row)?;
    let (key, digest) = (row.key.unwrap(), row.digest.unwrap());
    assert_eq!(hex::encode(reader.last_identity()), text("key_canonical"), "{name}");
    assert_eq!(hex::encode(reader.last_encoded()), text("content_canonical"), "{name}");
    assert_eq!(key.to_text(KeyForm::Hex), text("key_sha256"), "{name}");
    assert_eq!(key.to_text(KeyForm::Uuid), text("key_uuid"), "{name}");
    assert_eq!(hex::encode(digest), text("digest"), "{name}");
    Ok(())
}

#[test]
fn every_vector_comes_out_of_the_code() {
    let all = vectors();
    assert!(all.len() >= 40, "{}", all.len());
    for vector in &all {
        let name = &vector["name"];
        match (check(vector), vector.get("bad")) {
            (Ok(()), None) => {}
            (Err(bad), Some(want)) => {
                assert_eq!(bad.kind.as_str(), want["kind"], "{name}: {bad}");
                if let Some(field) = want.get("field") {
                    assert_eq!(&bad.field, field, "{name}");
                }
            }
            (Err(bad), None) => panic!("{name}: {bad}"),
            (Ok(()), Some(want)) => panic!("{name}: taken, but {want} is due"),
        }
    }
}

#[test]
fn the_vectors_are_what_their_script_writes() {
    let script = std::fs::read_to_string(reference("identity-vectors.py")).unwrap();
    let whole = python(&script, &[]);
    assert!(whole == VECTORS, "identity-vectors.json isn't what identity-vectors.py writes");
}

#[test]
fn the_python_on_the_page_computes_the_vectors() {
    let (_, behind) = PAGE.split_once("```python\n").expect("a Python block");
    let (block, _) = behind.split_once("```").unwrap();
    let seen = python(&format!("{block}{HARNESS}"), &[reference("identity-vectors.json")]);
    assert!(seen.trim().parse::<usize>().unwrap() >= 40, "only {seen} vectors are covered");
}
