//! The JSON objects are a promise: the same fields in the same order, whatever happens.

use snapbox::str;

use crate::folder::{Folder, said};

#[test]
fn one_batch_is_one_object() {
    let folder = Folder::with_events();
    said(
        &folder.with_flags(&["run", "events.ndjson", "--output", "json"]),
        str![[r#"
exit 0
--- stdout
{
  "status": "processed",
  "batch_id": "d8a65e20715e7fadea2d3cbbe226a00f7b1bf5a3a52cd6466f44ac3358664219",
  "run_id": "[RUN]",
  "pipeline": "duty_event",
  "source": "events.ndjson",
  "target": "duty_event",
  "store": "sqlite:landonce.db",
  "read": 3,
  "inserted": 3,
  "updated": 0,
  "unchanged": 0,
  "stale": 0,
  "conflicts": 0,
  "duplicates": 0,
  "quarantined": 0,
  "deleted": 0,
  "removed": 0,
  "retired": 0,
  "restored": 0,
  "attempts": 1,
  "commit": "clean",
  "elapsed_ms": [MS],
  "kept": [],
  "kept_new": 0,
  "withheld": 0,
  "enqueued": 0,
  "reasons": [],
  "same_content": {
    "count": 0,
    "samples": []
  },
  "error": null
}
--- stderr

"#]],
    );
}

#[test]
fn a_failed_batch_is_the_same_object() {
    let folder = Folder::with_events();
    folder.write("events.ndjson", "{\"flight_id\":\"a\",\"flight_id\":\"b\"}\n");
    said(
        &folder.with_flags(&["run", "events.ndjson", "--output", "json"]),
        str![[r#"
exit 2
--- stdout
{
  "status": "failed",
  "batch_id": "23b2645c8767ad74c6ccb8df45caa55f81e293923381f6fdb9bcee9e29ff3b71",
  "run_id": "[RUN]",
  "pipeline": "duty_event",
  "source": "events.ndjson",
  "target": "duty_event",
  "store": "sqlite:landonce.db",
  "read": 0,
  "inserted": 0,
  "updated": 0,
  "unchanged": 0,
  "stale": 0,
  "conflicts": 0,
  "duplicates": 0,
  "quarantined": 0,
  "deleted": 0,
  "removed": 0,
  "retired": 0,
  "restored": 0,
  "attempts": 0,
  "commit": null,
  "elapsed_ms": [MS],
  "kept": [],
  "kept_new": 0,
  "withheld": 0,
  "enqueued": 0,
  "reasons": [],
  "same_content": {
    "count": 0,
    "samples": []
  },
  "error": {
    "code": "L0401",
    "kind": "bad_records",
    "message": "events.ndjson: 1 record is bad; nothing was written\n  record 1: duplicate name: the name `flight_id` stands twice in one object",
    "help": [
      "landonce explain L0401"
    ],
    "records": [
      {
        "number": 1,
        "kind": "duplicate name",
        "field": "",
        "detail": "the name `flight_id` stands twice in one object"
      }
    ]
  }
}
--- stderr
error[L0401]: events.ndjson: 1 record is bad; nothing was written
  record 1: duplicate name: the name `flight_id` stands twice in one object
  = help: landonce explain L0401

"#]],
    );
}

#[test]
fn a_failure_before_any_batch_is_an_object_too() {
    let folder = Folder::with_events();
    said(
        &folder.run(&["run", "events.ndjson", "--output", "json"]),
        str![[r#"
exit 2
--- stdout
{
  "status": "failed",
  "error": {
    "code": null,
    "kind": "usage",
    "message": "where should the records go?",
    "help": [
      "add `--into TABLE --key FIELDS`, or name a pipeline file first (`landonce init FILE` writes one)"
    ],
    "records": []
  }
}
--- stderr
error: where should the records go?
  = help: add `--into TABLE --key FIELDS`, or name a pipeline file first (`landonce init FILE` writes one)

"#]],
    );
}

#[test]
fn every_command_has_one() {
    let folder = Folder::with_events();
    folder.with_flags(&["run", "events.ndjson"]);
    for args in [
        &["status"][..],
        &["quarantine", "list"],
        &["setup"],
        &["setup", "--print"],
        &["explain"],
        &["explain", "L0401"],
        &["schema"],
        &["sql", "UPSERT INTO t (id) VALUES (1)", "--for", "sqlite", "--key", "id"],
        &["init", "events.ndjson", "--out", "-"],
        &["key", "explain", "events.ndjson", "--into", "t", "--key", "flight_id"],
        &["plan", "events.ndjson", "--into", "t", "--key", "flight_id,event_kind"],
        &["quarantine", "retry", "--into", "t", "--key", "flight_id"],
    ] {
        let ran = folder.run(&[args, &["--output", "json"]].concat());
        assert_eq!(ran.code, 0, "{args:?}: {ran}");
        ran.json();
    }
}
