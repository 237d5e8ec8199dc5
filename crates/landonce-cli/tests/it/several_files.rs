//! Several files: each is a batch of its own, in name order, and a broken one doesn't undo nor stop the others.

use snapbox::str;

use crate::folder::{EVENTS, Folder, said};

fn folder() -> Folder {
    let folder = Folder::new();
    let lines: Vec<&str> = EVENTS.lines().collect();
    folder.write("days/2013-03-01.ndjson", lines[0]);
    folder.write("days/2013-03-02.ndjson", "{\"flight_id\": \"B6-1\",");
    folder.write("days/2013-03-03.ndjson", format!("{}\n{}\n", lines[1], lines[2]));
    folder
}

#[test]
fn a_broken_file_does_not_stop_the_others() {
    let folder = folder();
    said(
        &folder.with_flags(&["run", "days/*.ndjson"]),
        str![[r#"
exit 2
--- stdout
processed          days/2013-03-01.ndjson  read 1 = inserted 1
failed             days/2013-03-02.ndjson  error[L0401]: 1 record is bad; nothing was written
processed          days/2013-03-03.ndjson  read 2 = inserted 2
3 batches: 2 processed, 1 failed
  counts    read 3 = inserted 3
  target    duty_event in sqlite:landonce.db
  took      [TOOK]
--- stderr
error[L0401]: days/2013-03-02.ndjson: 1 record is bad; nothing was written
  record 1: syntax: ends where a name in double quotes is due
  = help: landonce explain L0401

"#]],
    );
    said(
        &folder.with_flags(&["run", "days/*.ndjson", "--output", "json"]),
        str![[r#"
exit 2
--- stdout
{
  "status": "failed",
  "batches": [
    {
      "status": "skipped_duplicate",
      "batch_id": "95e35e42d4bed5822e019491e492dd118166dfc9d05bed50e5ad9d194731f38b",
      "run_id": "[RUN]",
      "pipeline": "duty_event",
      "source": "days/2013-03-01.ndjson",
      "target": "duty_event",
      "store": "sqlite:landonce.db",
      "read": 1,
      "inserted": 1,
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
    },
    {
      "status": "failed",
      "batch_id": "523cb368f8d9a2b9193802a4c514e05be3896faf8fd94d6ef022e018559735e5",
      "run_id": "[RUN]",
      "pipeline": "duty_event",
      "source": "days/2013-03-02.ndjson",
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
        "message": "days/2013-03-02.ndjson: 1 record is bad; nothing was written\n  record 1: syntax: ends where a name in double quotes is due",
        "help": [
          "landonce explain L0401"
        ],
        "records": [
          {
            "number": 1,
            "kind": "syntax",
            "field": "",
            "detail": "ends where a name in double quotes is due"
          }
        ]
      }
    },
    {
      "status": "skipped_duplicate",
      "batch_id": "07d147c8678a82537fcdc3f10df057e911bbc656ceb414d1ebcd739fff666288",
      "run_id": "[RUN]",
      "pipeline": "duty_event",
      "source": "days/2013-03-03.ndjson",
      "target": "duty_event",
      "store": "sqlite:landonce.db",
      "read": 2,
      "inserted": 2,
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
  ]
}
--- stderr
error[L0401]: days/2013-03-02.ndjson: 1 record is bad; nothing was written
  record 1: syntax: ends where a name in double quotes is due
  = help: landonce explain L0401

"#]],
    );
}

#[test]
fn it_does_if_asked_to() {
    let folder = folder();
    said(
        &folder.with_flags(&["run", "days/*.ndjson", "--stop-on-failure"]),
        str![[r#"
exit 2
--- stdout
processed          days/2013-03-01.ndjson  read 1 = inserted 1
failed             days/2013-03-02.ndjson  error[L0401]: 1 record is bad; nothing was written
3 batches: 1 processed, 1 failed, 1 not begun
  counts    read 1 = inserted 1
  target    duty_event in sqlite:landonce.db
  took      [TOOK]
--- stderr
error[L0401]: days/2013-03-02.ndjson: 1 record is bad; nothing was written
  record 1: syntax: ends where a name in double quotes is due
  = help: landonce explain L0401

"#]],
    );
}

#[test]
fn one_batch_id_for_several_files_is_refused() {
    let folder = folder();
    said(
        &folder.with_flags(&["run", "days/*.ndjson", "--batch-id", "x"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: --batch-id `x` for 3 files: each file is a batch of its own
  = help: deliver the files one by one, or leave --batch-id out: then the SHA-256 of each file is its id

"#]],
    );
    assert_eq!(folder.names(), ["days"], "nothing was begun");
}

#[test]
fn all_batches_of_a_command_have_one_run_id() {
    let folder = folder();
    let report = folder.with_flags(&["run", "days/*.ndjson", "--output", "json"]).json();
    let batches = report["batches"].as_array().unwrap();
    assert!(batches.iter().all(|batch| batch["run_id"] == batches[0]["run_id"]));
}

#[test]
fn a_pattern_without_a_file_and_a_missing_file_are_told() {
    let folder = folder();
    said(
        &folder.with_flags(&["run", "days/*.csv"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: no file matches `days/*.csv`
  = help: a pattern is like `schedule/*.ndjson.gz`; quote it, so that it reaches landonce as it is

"#]],
    );
    said(
        &folder.with_flags(&["run", "days/nowhere.ndjson"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0301]: no file at `days/nowhere.ndjson`: check the path
  = help: landonce explain L0301

"#]],
    );
    said(
        &folder.with_flags(&["run", "days"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0301]: `days` is a folder: name a file in it, or a pattern such as `days/*`
  = help: landonce explain L0301

"#]],
    );
}
