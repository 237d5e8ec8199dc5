//! landonce under its own proof (J2, J8, X1): a run of it passes every scenario, on both stores.

use landonce_testkit::fixture::Events;
use landonce_testkit::postgres;

use crate::folder::{FLAGS, Folder};

fn prove(store: &str, more: &[&str]) -> serde_json::Value {
    let folder = Folder::new();
    let mut events = Vec::new();
    Events::new(5, 300).write_to(&mut events).unwrap();
    folder.write("events.ndjson", events);
    let program = env!("CARGO_BIN_EXE_landonce");
    let run = ["--", program, "run", "{input}", "--no-progress", "--store", "{db}"];
    let args =
        [&["prove", "--output", "json", "--db", store, "--input", "events.ndjson"], more, &run, &FLAGS]
            .concat();
    let ran = folder.run(&args);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn verdicts(report: &serde_json::Value) -> Vec<(&str, &str)> {
    let scenarios = report["scenarios"].as_array().unwrap();
    scenarios
        .iter()
        .map(|scenario| (scenario["scenario"].as_str().unwrap(), scenario["verdict"].as_str().unwrap()))
        .collect()
}

fn nothing_was_found(report: &serde_json::Value) {
    for scenario in report["scenarios"].as_array().unwrap() {
        let findings = scenario["findings"].as_array().unwrap();
        assert!(findings.is_empty(), "{findings:#?}");
    }
}

#[tokio::test]
async fn every_scenario_passes_on_postgres() {
    let database = postgres::database().await;
    let report = prove(&database.url(), &["--trials", "6"]);
    assert_eq!(
        verdicts(&report),
        [
            ("twice", "safe"),
            ("ack-lost", "safe"),
            ("killed", "safe"),
            ("together", "safe"),
            ("refused", "safe"),
            ("truncated", "safe"),
            ("late", "safe"),
            // It makes no calls.
            ("notified", "unjudged"),
        ]
    );
    nothing_was_found(&report);
}

#[test]
fn every_scenario_that_needs_no_wire_passes_on_sqlite() {
    let report = prove("sqlite:landonce.db", &["--scenario", "twice,killed,together,truncated,late"]);
    assert!(verdicts(&report).iter().all(|(_, verdict)| *verdict == "safe"), "{report:#}");
    nothing_was_found(&report);
}
