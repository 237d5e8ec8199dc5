//! SQLite has no wire: runs are killed and stopped at changes of the file, and what that finds is the pipeline's own.

use std::path::Path;

use landonce_prove::{Class, Plan, Report, Scenario, Verdict};

const BEGIN: &str = "import sqlite3, sys\n\
    db = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)\n";
const LOADED: &str = "if db.execute('SELECT count(*) FROM orders').fetchone()[0] == 0:\n";
const LOAD: &str =
    "    for n in range(300):\n        db.execute('INSERT INTO orders VALUES (?, ?)', (n, n * 10))\n";
const COMMIT: &str = "db.execute('COMMIT')\n";

async fn prove(script: &[&str], scenario: Scenario) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute_batch("CREATE TABLE orders (number INTEGER, amount INTEGER)").unwrap();
    drop(database);
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("load.py"), script.concat()).unwrap();
    landonce_prove::prove(&plan(&file, &work, scenario), &mut |_| {}).await.unwrap()
}

fn plan(file: &Path, work: &Path, scenario: Scenario) -> Plan {
    let command = ["python3", "load.py", "{db}"].map(str::to_owned);
    Plan::new(format!("sqlite:{}", file.display()), command).folder(work).scenarios([scenario]).trials(6)
}

fn finds(report: &Report, class: Class) -> bool {
    report.scenarios.iter().flat_map(|scenario| &scenario.findings).any(|finding| finding.class == class)
}

#[tokio::test]
async fn a_commit_a_row_leaves_a_part_when_it_is_killed() {
    let report = prove(&[BEGIN, LOADED, LOAD], Scenario::Killed).await;
    assert!(finds(&report, Class::PartialLoad), "{report}");
    assert!(report.to_string().contains(" of 1200 of its file"), "{report}");
}

#[tokio::test]
async fn one_transaction_is_whole_or_nothing_whenever_it_is_killed() {
    let report =
        prove(&[BEGIN, "db.execute('BEGIN IMMEDIATE')\n", LOADED, LOAD, COMMIT], Scenario::Killed).await;
    assert_eq!(report.verdict, Verdict::Safe, "{report}");
    let ids: Vec<&str> = report.scenarios[0].trials.iter().map(|trial| trial.id.as_str()).collect();
    assert_eq!(ids, ["killed:change:1", "killed:change:2", "killed:change:3", "killed:change:4"]);
}

#[tokio::test]
async fn a_look_before_the_transaction_is_caught_by_a_run_that_is_stopped_in_it() {
    let report = prove(
        &[BEGIN, LOADED, "    db.execute('BEGIN')\n", LOAD, "    db.execute('COMMIT')\n"],
        Scenario::Together,
    )
    .await;
    assert!(finds(&report, Class::CheckThenInsert), "{report}");
}

#[tokio::test]
async fn a_look_in_the_transaction_is_safe_from_another_run() {
    let report =
        prove(&[BEGIN, "db.execute('BEGIN IMMEDIATE')\n", LOADED, LOAD, COMMIT], Scenario::Together).await;
    assert_eq!(report.verdict, Verdict::Safe, "{report}");
}
