//! The report as data, and the page that describes it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::sample;

fn names(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                into.insert(name.clone());
                names(value, into);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, into)),
        _ => {}
    }
}

#[test]
fn every_field_is_described() {
    let mut found = BTreeSet::new();
    names(&serde_json::from_str(&sample::violations().to_json()).unwrap(), &mut found);
    assert!(found.len() > 40, "{found:?}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/prove-report.md");
    let page = std::fs::read_to_string(path).unwrap();
    for name in found {
        assert!(page.contains(&format!("`{name}`")), "docs/reference/prove-report.md lacks {name}");
    }
}

#[test]
fn names_of_classes_scenarios_and_verdicts_are_those_of_the_docs() {
    let report: Value = serde_json::from_str(&sample::violations().to_json()).unwrap();
    assert_eq!(report["version"], 1);
    assert_eq!(report["verdict"], "violations");
    assert_eq!(report["scenarios"][0]["scenario"], "twice");
    assert_eq!(report["scenarios"][0]["findings"][0]["class"], "appended");
    assert_eq!(report["scenarios"][0]["findings"][1]["weight"], "remark");
    assert_eq!(report["scenarios"][0]["findings"][0]["tables"][0]["samples"][0]["change"], "doubled");
}

#[test]
fn a_run_tells_its_end_and_seconds() {
    let report: Value = serde_json::from_str(&sample::violations().to_json()).unwrap();
    let killed = &report["scenarios"][1]["trials"][0]["runs"][0];
    assert_eq!(killed["role"], "faulted");
    assert_eq!(killed["signal"], 9);
    assert_eq!(killed["code"], Value::Null);
    assert_eq!(killed["took"], 0.09);
}

#[test]
fn the_exit_code_is_the_verdict() {
    let codes = [sample::safe(), sample::violations(), sample::unjudged()].map(|report| report.exit_code());
    assert_eq!(codes, [0, 1, 2]);
}

#[test]
fn the_workflow_of_the_guide_is_the_one_to_be_copied() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let guide = std::fs::read_to_string(format!("{docs}/guides/prove-in-ci.md")).unwrap();
    let workflow = std::fs::read_to_string(format!("{docs}/examples/prove.github-actions.yml")).unwrap();
    assert!(guide.contains(&format!("```yaml\n{workflow}```\n")));
}
