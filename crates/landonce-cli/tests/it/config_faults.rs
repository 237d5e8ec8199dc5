//! Faults of configuration (C25): one message with what, where and what to do, soon, and no secret in it.

use std::time::{Duration, Instant};

use snapbox::str;

use crate::folder::{FLAGS, Folder, said};

fn with_pipeline(yaml: &str) -> Folder {
    let folder = Folder::with_events();
    folder.write("flights.yaml", yaml);
    folder
}

#[test]
fn an_unknown_key_is_told_with_its_place_and_its_neighbour() {
    let folder = with_pipeline("pipeline: p\nidentity: [id]\ntarget:\n  table: t\n  colums: {a: text}\n");
    said(
        &folder.run(&["run", "flights.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0101]: flights.yaml: line 5, column 3: unknown key `colums`; did you mean `columns`?
  = help: landonce explain L0101

"#]],
    );
}

#[test]
fn a_word_where_a_list_is_due_is_told() {
    let folder = with_pipeline("pipeline: p\nidentity: id\ntarget: {table: t}\n");
    said(
        &folder.run(&["run", "flights.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0101]: flights.yaml: line 2, column 11: a list of fields is due here: write `identity: [id]`, or `identity: {sender_id: id}` if the sender guarantees that id
  = help: landonce explain L0101

"#]],
    );
}

#[test]
fn a_pipeline_file_that_is_not_there_is_told() {
    said(
        &Folder::new().run(&["run", "flights.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: no pipeline file at `flights.yaml`
  = help: check the path; `landonce init FILE` writes a first pipeline file from your data

"#]],
    );
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let folder = with_pipeline(
        "pipeline: p\nstore: 'postgres://u:${LANDONCE_NOT_SET}@h/d'\nidentity: [id]\ntarget: {table: t}\n",
    );
    said(
        &folder.run(&["run", "flights.yaml", "events.ndjson"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: store: the environment variable `LANDONCE_NOT_SET` isn't set
  = help: landonce explain L0102

"#]],
    );
}

#[test]
fn a_wrong_port_is_told_within_five_seconds_without_the_password() {
    let folder = Folder::with_events();
    let started = Instant::now();
    let url = "postgres://app:hunter2@127.0.0.1:1/flights";
    let ran = folder.run(&[&["run", "events.ndjson", "--store", url][..], &FLAGS].concat());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error[L0601]"), "{ran}");
    assert!(ran.stderr.contains("127.0.0.1:1"), "{ran}");
    assert!(!ran.to_string().contains("hunter2"), "{ran}");
}

#[test]
fn a_wrong_host_is_told_within_five_seconds() {
    let folder = Folder::with_events();
    let started = Instant::now();
    let url = "postgres://app:hunter2@nowhere.invalid/flights";
    let ran = folder.run(&[&["run", "events.ndjson", "--store", url][..], &FLAGS].concat());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("nowhere.invalid") && !ran.stderr.contains("hunter2"), "{ran}");
}

#[test]
fn a_store_that_is_none_is_told() {
    let folder = Folder::with_events();
    said(
        &folder.with_flags(&["run", "events.ndjson", "--store", "mysql://u:hunter2@h/d"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: store: `mysql:` is no store; known are sqlite:PATH and postgres://USER@HOST/DATABASE
  = help: landonce explain L0102

"#]],
    );
    said(
        &folder.with_flags(&["run", "events.ndjson", "--store", "sqlite:no/such/folder/x.db"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0601]: opening the database no/such/folder/x.db: the folder no/such/folder doesn't exist; make it first
  = help: landonce explain L0601

"#]],
    );
}
