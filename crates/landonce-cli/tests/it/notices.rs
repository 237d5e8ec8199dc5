//! `notify:` at the command line: what a run says of its messages, and which commands tell.

use crate::folder::{Folder, Ran};

const PIPELINE: &str = "\
pipeline: gates
store: sqlite:landonce.db
identity: [flight]
target: {table: gate, rest: ignore, columns: {flight: text, gate: text}}
archive: archive
notify:
  - {topic: gates, payload: '{entity.flight}: {old.gate} → {new.gate}'}
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("p.yaml", PIPELINE);
    folder.write("1.ndjson", "{\"flight\":\"LH1\",\"gate\":\"A1\"}\n{\"flight\":\"LH2\",\"gate\":\"A2\"}\n");
    folder.write("2.ndjson", "{\"flight\":\"LH1\",\"gate\":\"B7\"}\n");
    folder
}

fn fine(ran: Ran) -> Ran {
    assert_eq!(ran.code, 0, "{ran}");
    ran
}

fn payloads(folder: &Folder) -> Vec<String> {
    let connection = rusqlite::Connection::open(folder.path("landonce.db")).unwrap();
    let mut statement = connection.prepare("SELECT payload FROM landonce_outbox ORDER BY seq").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_run_says_how_many_messages_it_enqueued() {
    let folder = folder();
    let ran = fine(folder.run(&["run", "p.yaml", "--input", "1.ndjson"]));
    assert!(ran.stdout.contains("  told      2 messages put into the outbox\n"), "{ran}");
    let ran = fine(folder.run(&["run", "p.yaml", "--input", "2.ndjson", "--output", "json"]));
    assert_eq!(ran.json()["enqueued"], 1);
    let mut all = payloads(&folder);
    all[..2].sort_unstable();
    assert_eq!(all, [r#""LH1:  → A1""#, r#""LH2:  → A2""#, r#""LH1: A1 → B7""#]);
    let ran = fine(folder.run(&["run", "p.yaml", "--input", "2.ndjson"]));
    assert!(!ran.stdout.contains("told"), "{ran}");
}

#[test]
fn a_plan_and_a_silent_run_tell_nobody() {
    let folder = folder();
    let ran = fine(folder.run(&["run", "p.yaml", "--input", "1.ndjson", "--no-notify"]));
    assert!(!ran.stdout.contains("told"), "{ran}");
    fine(folder.run(&["plan", "p.yaml", "--input", "2.ndjson"]));
    assert!(payloads(&folder).is_empty());
}

#[test]
fn a_replay_tells_only_when_it_is_asked_to() {
    let folder = folder();
    for file in ["1.ndjson", "2.ndjson"] {
        fine(folder.run(&["run", "p.yaml", "--input", file, "--no-notify"]));
    }
    let empty = || {
        let connection = rusqlite::Connection::open(folder.path("landonce.db")).unwrap();
        connection.execute_batch("DELETE FROM gate").unwrap();
    };
    empty();
    fine(folder.run(&["replay", "p.yaml", "--all", "--again"]));
    assert!(payloads(&folder).is_empty());
    empty();
    let ran = fine(folder.run(&["replay", "p.yaml", "--all", "--again", "--notify", "--output", "json"]));
    assert_eq!(payloads(&folder).len(), 3, "{ran}");
    // Once more: each of these changes has been told.
    empty();
    fine(folder.run(&["replay", "p.yaml", "--all", "--again", "--notify"]));
    assert_eq!(payloads(&folder).len(), 3);
    assert_eq!(folder.run(&["replay", "p.yaml", "--all", "--into", "other", "--notify"]).code, 2);
    fine(folder.run(&["replay", "p.yaml", "--all", "--into", "other"]));
    assert_eq!(payloads(&folder).len(), 3);
}

#[test]
fn a_backfill_says_whether_anybody_is_told() {
    let days = "\
pipeline: days
store: sqlite:landonce.db
source: {file: 'in/{period.label}.ndjson'}
identity: [id]
target: {table: sale, columns: {id: integer, day: date}}
write: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}
";
    let folder = Folder::new();
    folder.write("silent.yaml", days);
    folder.write("p.yaml", format!("{days}notify: [{{topic: sales}}]\n"));
    folder.write("in/2026-03-01.ndjson", "{\"id\":1,\"day\":\"2026-03-01\"}\n");
    folder.write("in/2026-03-02.ndjson", "{\"id\":2,\"day\":\"2026-03-02\"}\n");
    let window = |from: &str, more: &[&str]| {
        folder.run(&[&["backfill", "p.yaml", "--from", from, "--to", from, "--no-progress"], more].concat())
    };
    let refused = window("2026-03-01", &[]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("is anybody to be told what a backfill changes?"), "{refused}");
    assert!(refused.stderr.contains("--no-notify"), "{refused}");
    assert_eq!(window("2026-03-01", &["--notify", "--no-notify"]).code, 2);
    fine(window("2026-03-01", &["--no-notify"]));
    assert!(payloads(&folder).is_empty());
    fine(window("2026-03-02", &["--notify"]));
    assert_eq!(payloads(&folder).len(), 1);
    // Equal content is none, also when it is forced.
    fine(window("2026-03-02", &["--notify", "--force"]));
    assert_eq!(payloads(&folder).len(), 1);
    // A pipeline that tells nobody needs no flag.
    fine(folder.run(&[
        "backfill",
        "silent.yaml",
        "--from",
        "2026-03-01",
        "--to",
        "2026-03-02",
        "--no-progress",
    ]));
}
