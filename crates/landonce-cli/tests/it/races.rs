//! Eight processes at once (G4): one winner, one state, and nobody sees a deadlock.

use std::process::{Child, Stdio};

use landonce_testkit::fixture::Events;
use landonce_testkit::postgres;

use crate::folder::Folder;

const PIPELINE: &str = "
pipeline: races
identity: [flight_id, event_kind, instant_utc]
target: {table: duty_event, columns: {instant_utc: timestamptz}}
";

fn scene() -> Folder {
    let folder = Folder::new();
    folder.write("p.yaml", PIPELINE);
    let mut bytes = Vec::new();
    Events::new(9, 400).write_to(&mut bytes).unwrap();
    folder.write("events.ndjson", bytes);
    folder
}

fn at_once(folder: &Folder, store: &str, inputs: &[String]) -> Vec<serde_json::Value> {
    let start = |input: &String| -> Child {
        let args = ["run", "p.yaml", "--input", input, "--store", store, "--no-progress", "--output", "json"];
        folder.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = inputs.iter().map(start).collect();
    let said = |child: Child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    children.into_iter().map(said).collect()
}

fn one_winner(folder: &Folder, store: &str) {
    let said = at_once(folder, store, &vec!["events.ndjson".to_owned(); 8]);
    let won = said.iter().filter(|one| one["status"] == "processed").count();
    assert_eq!(won, 1, "{said:?}");
    assert!(said.iter().all(|one| one["inserted"] == 400), "{said:?}");
}

fn no_lost_rows(folder: &Folder, store: &str) {
    let text = std::fs::read_to_string(folder.path("events.ndjson")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let inputs: Vec<String> = (0..8)
        .map(|writer| {
            // Each has seven eighths of the events, half of the writers in the opposite order.
            let mut some: Vec<&str> = lines
                .iter()
                .enumerate()
                .filter(|(at, _)| !(at + writer).is_multiple_of(8))
                .map(|(_, line)| *line)
                .collect();
            if writer % 2 == 1 {
                some.reverse();
            }
            let name = format!("part-{writer}.ndjson");
            folder.write(&name, some.join("\n"));
            name
        })
        .collect();
    let said = at_once(folder, store, &inputs);
    let inserted: u64 = said.iter().map(|one| one["inserted"].as_u64().unwrap()).sum();
    let unchanged: u64 = said.iter().map(|one| one["unchanged"].as_u64().unwrap()).sum();
    assert_eq!((inserted, unchanged), (400, 8 * 350 - 400), "{said:?}");
}

#[test]
fn eight_processes_with_one_batch_have_one_winner_on_sqlite() {
    one_winner(&scene(), "sqlite:test.db");
}

#[test]
fn eight_processes_with_overlapping_batches_lose_and_double_nothing_on_sqlite() {
    no_lost_rows(&scene(), "sqlite:test.db");
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_processes_with_one_batch_have_one_winner_on_postgres() {
    let database = postgres::database().await;
    one_winner(&scene(), &database.url());
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_processes_with_overlapping_batches_lose_and_double_nothing_on_postgres() {
    let database = postgres::database().await;
    no_lost_rows(&scene(), &database.url());
}
