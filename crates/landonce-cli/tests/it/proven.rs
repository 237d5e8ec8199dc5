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

const SALES: &str = "pipeline: sales
source: {file: 'sales/{period.date}.csv'}
identity: {hash_of: all, repeats: keep}
target: {table: sale, columns: {sold_at: timestamptz, sku: text, quantity: integer}}
write: {mode: overwrite_period, period: {field: sold_at, every: day, tz: Europe/Berlin}}
";

const CREW: &str = "pipeline: crew
source: {complete: json_closed}
identity: [id]
target: {table: crew, columns: {id: integer, name: text, base: text}}
write: {mode: snapshot, absent: retire, history: true}
";

/// Proves a command that needs more than flags: what is in the folder is the pipeline and its files.
fn prove_in(folder: &Folder, store: &str, more: &[&str], command: &[&str]) -> serde_json::Value {
    let program = env!("CARGO_BIN_EXE_landonce");
    let args = [&["prove", "--output", "json", "--db", store], more, &["--", program], command].concat();
    let ran = folder.run(&args);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let mut report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    for scenario in report["scenarios"].as_array_mut().unwrap() {
        // Each period of a backfill is a run of its own, tried once: to the judge that is one write tried three times.
        let findings = scenario["findings"].as_array_mut().unwrap();
        findings.retain(|finding| {
            let is_remark = finding["weight"] == "remark" && finding["class"] == "futile-retry";
            !(is_remark && finding["message"].as_str().unwrap().contains("was tried 3 times"))
        });
    }
    nothing_was_found(&report);
    report
}

fn three_days() -> Folder {
    let folder = Folder::new();
    folder.write("sales.yaml", SALES);
    for day in 1..=3 {
        let mut lines = "sold_at,sku,quantity\n".to_owned();
        for line in 0..40 {
            // Every line comes twice, and is two sales.
            lines.push_str(&format!("2026-03-0{day}T{:02}:00:00Z,SKU-{},{day}\n", 1 + line % 20, line % 20));
        }
        folder.write(&format!("sales/2026-03-0{day}.csv"), lines);
    }
    folder
}

const BACKFILL: &[&str] = &[
    "backfill",
    "sales.yaml",
    "--from",
    "2026-03-01",
    "--to",
    "2026-03-03",
    "--no-progress",
    "--store",
    "{db}",
];

#[tokio::test]
async fn a_backfill_passes_on_postgres() {
    let database = postgres::database().await;
    let folder = three_days();
    let more = ["--scenario", "twice,ack-lost,killed,together,refused,late", "--trials", "4"];
    let report = prove_in(&folder, &database.url(), &more, BACKFILL);
    assert!(verdicts(&report).iter().all(|(_, verdict)| *verdict == "safe"), "{report:#}");
}

#[test]
fn a_backfill_passes_on_sqlite() {
    let folder = three_days();
    let report =
        prove_in(&folder, "sqlite:landonce.db", &["--scenario", "twice,killed,together,late"], BACKFILL);
    assert!(verdicts(&report).iter().all(|(_, verdict)| *verdict == "safe"), "{report:#}");
}

fn crew() -> Folder {
    let folder = Folder::new();
    folder.write("crew.yaml", CREW);
    let members: Vec<String> = (0..200)
        .map(|id| format!("{{\"id\":{id},\"name\":\"member {id}\",\"base\":\"{}\"}}", ["BER", "MUC"][id % 2]))
        .collect();
    folder.write("crew.json", format!("[{}]", members.join(",\n")));
    folder
}

const SNAPSHOT: &[&str] = &["run", "crew.yaml", "--input", "{input}", "--no-progress", "--store", "{db}"];

#[tokio::test]
async fn a_snapshot_passes_on_postgres() {
    let database = postgres::database().await;
    let folder = crew();
    let scenarios = "twice,ack-lost,killed,together,refused,truncated,late";
    let more = ["--input", "crew.json", "--scenario", scenarios, "--trials", "4"];
    let report = prove_in(&folder, &database.url(), &more, SNAPSHOT);
    assert!(verdicts(&report).iter().all(|(_, verdict)| *verdict == "safe"), "{report:#}");
}

#[test]
fn a_snapshot_passes_on_sqlite() {
    let folder = crew();
    let more = ["--input", "crew.json", "--scenario", "twice,killed,together,truncated,late"];
    let report = prove_in(&folder, "sqlite:landonce.db", &more, SNAPSHOT);
    assert!(verdicts(&report).iter().all(|(_, verdict)| *verdict == "safe"), "{report:#}");
}

const TOLD: &str = "pipeline: told
identity: [id]
target: {table: thing, columns: {id: integer, n: integer}}
notify: [{topic: things, on: [inserted, updated]}]
";

/// A run whose changes are told behind it, as a task of an orchestrator would.
fn told() -> Folder {
    let folder = Folder::new();
    folder.write("told.yaml", TOLD);
    let rows: String = (0..30).map(|id| format!("{{\"id\":{id},\"n\":1}}\n")).collect();
    folder.write("things.ndjson", rows);
    folder.write(
        "deliver.yaml",
        "destinations: {hook: {topics: [things], http: {url: '${HOOK}', allow_private: true, timeout: 300ms}, lease: 1s}}\n",
    );
    folder
}

/// Proves that run with its delivery.
fn prove_told(store: &str, more: &[&str]) -> serde_json::Value {
    let folder = told();
    let program = env!("CARGO_BIN_EXE_landonce");
    let script = "\"$1\" run told.yaml --input \"$2\" --no-progress --store \"$3\" && HOOK=\"$4\" \"$1\" deliver deliver.yaml --once --store \"$3\"";
    let args = [
        &["prove", "--output", "json", "--db", store, "--input", "things.ndjson"],
        more,
        &["--", "sh", "-c", script, "sh", program, "{input}", "{db}", "{hook}"],
    ]
    .concat();
    let ran = folder.run(&args);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    nothing_was_found(&report);
    report
}

#[tokio::test]
async fn what_is_told_is_told_once_on_postgres() {
    let database = postgres::database().await;
    // What was killed between the receiver's answer and its recording is leased once more, and sent with the same id.
    let leases = ["--ignore", "landonce.outbox.fence"];
    let scenarios = ["--scenario", "twice,ack-lost,killed,together,refused,notified", "--trials", "4"];
    let more = [scenarios, [leases[0], leases[1], "--seed", "1"]].concat();
    let report = prove_told(&database.url(), &more);
    assert!(verdicts(&report).iter().all(|(_, verdict)| *verdict == "safe"), "{report:#}");
}

#[test]
fn what_is_told_is_told_once_on_sqlite() {
    let report = prove_told("sqlite:landonce.db", &["--scenario", "twice,notified"]);
    assert!(verdicts(&report).iter().all(|(_, verdict)| *verdict == "safe"), "{report:#}");
}
