//! Bad records: by default they fail the batch and are all listed; with a ceiling they are kept whole, once.

use snapbox::str;

use crate::folder::{EVENTS, Folder, said};

const TYPED: [&str; 2] = ["--column", "instant_utc:timestamptz"];

fn folder() -> Folder {
    let folder = Folder::new();
    let bad = EVENTS.replace("T08:39:00Z", "T24:00:00Z");
    folder.write("events.ndjson", format!("{bad}not json\n"));
    folder
}

#[test]
fn bad_records_fail_the_batch_and_are_all_listed() {
    let folder = folder();
    said(
        &folder.with_flags(&[&["run", "events.ndjson"][..], &TYPED].concat()),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0401]: events.ndjson: 2 records are bad; nothing was written
  record 2: out of range: `instant_utc`: `2013-03-03T24:00:00Z` has hour 24; give 00:00:00 of the day after
  record 4: syntax: expected a value at byte 0, found `n`
  = help: landonce explain L0401

"#]],
    );
    let failed = folder.with_flags(&[&["run", "events.ndjson", "--output", "json"][..], &TYPED].concat());
    assert_eq!(failed.code, 2);
    let failed = failed.json();
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&"failed".into(), &"L0401".into()));
    assert_eq!(failed["error"]["records"][0]["number"], 2);
    assert_eq!(failed["error"]["records"][0]["field"], "instant_utc");
    assert_eq!(failed["error"]["records"].as_array().unwrap().len(), 2);
}

#[test]
fn the_quarantine_keeps_them_whole_and_once() {
    let folder = folder();
    let run =
        |file: &str| folder.with_flags(&[&["run", file, "--on-bad", "quarantine:50%"][..], &TYPED].concat());
    said(
        &run("events.ndjson"),
        str![[r#"
exit 0
--- stdout
processed  events.ndjson
  counts    read 4 = inserted 2 + quarantined 2
  target    duty_event in sqlite:landonce.db
  batch     2c6ef3840d1b
  run       [RUN]
  took      [TOOK]
  kept      2 records in the quarantine; see `landonce quarantine list`
              record 2: out of range: `instant_utc`: `2013-03-03T24:00:00Z` has hour 24; give 00:00:00 of the day after
              record 4: syntax: expected a value at byte 0, found `n`
--- stderr

"#]],
    );
    // The same bad records in another batch are no new entries.
    std::fs::copy(folder.path("events.ndjson"), folder.path("again.ndjson")).unwrap();
    folder.write(
        "again.ndjson",
        [std::fs::read(folder.path("again.ndjson")).unwrap(), b"\n".to_vec()].concat(),
    );
    said(
        &run("again.ndjson"),
        str![[r#"
exit 0
--- stdout
processed  again.ndjson
  counts    read 4 = unchanged 2 + quarantined 2
  target    duty_event in sqlite:landonce.db
  batch     944a5f267792
  run       [RUN]
  took      [TOOK]
  kept      2 records in the quarantine, already there; see `landonce quarantine list`
              record 2: out of range: `instant_utc`: `2013-03-03T24:00:00Z` has hour 24; give 00:00:00 of the day after
              record 4: syntax: expected a value at byte 0, found `n`
--- stderr

"#]],
    );
    said(
        &folder.run(&["quarantine", "list"]),
        str![[r#"
exit 0
--- stdout
id            kept at (UTC)        pipeline    from                     why
6eb7be4d2c92  [TIME]  duty_event  events.ndjson, record 4  syntax: expected a value at byte 0, found `n`
86c6d201c00b  [TIME]  duty_event  events.ndjson, record 2  out of range: `instant_utc`: `2013-03-03T24:00:00Z` has hour 24; give 00:00:00 of the day after
landonce quarantine show ID shows one; landonce quarantine retry PIPELINE.yaml delivers them again
--- stderr

"#]],
    );
    let entries = folder.run(&["quarantine", "list", "--output", "json"]).json();
    let id = entries["entries"].as_array().unwrap().iter().find(|entry| entry["number"] == 2).unwrap()["id"]
        .clone();
    let id = id.as_str().unwrap();
    said(
        &folder.run(&["quarantine", "show", &id[..8]]),
        str![[r#"
exit 0
--- stdout
86c6d201c00bdfce021eed889b25508df82063899cce84873babbf2512c097f6
  kept at   [TIME]
  pipeline  duty_event
  from      events.ndjson, record 2
  batch     2c6ef3840d1b1fb491f08037dfe22b23eac601be5db03c028b1753ada4aa61e1
  run       [RUN]
  why       out of range: `instant_utc`: `2013-03-03T24:00:00Z` has hour 24; give 00:00:00 of the day after
  landed    not yet
  record    {"flight_id":"B6-739-JFK-2013-03-03","event_kind":"scheduled_arrival","instant_utc":"2013-03-03T24:00:00Z","gate":"2"}
--- stderr

"#]],
    );
    let raw = folder.run(&["quarantine", "show", id, "--raw"]);
    assert_eq!(raw.stdout, EVENTS.replace("T08:39:00Z", "T24:00:00Z").lines().nth(1).unwrap());
    said(
        &folder.run(&["quarantine", "show", "ffff"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: no quarantine entry's id begins with `ffff`; `landonce quarantine list` shows them
  = help: landonce explain L0102

"#]],
    );
}

#[test]
fn a_retry_after_the_fix_lands_what_is_good_now() {
    let folder = folder();
    folder.with_flags(&[&["run", "events.ndjson", "--on-bad", "quarantine:50%"][..], &TYPED].concat());
    // The fix: the field is text after all.
    said(
        &folder.with_flags(&["quarantine", "retry"]),
        str![[r#"
exit 0
--- stdout
processed  quarantine
  counts    read 1 = inserted 1
  target    duty_event in sqlite:landonce.db
  batch     quarantine/[RUN]
  run       [RUN]
  took      [TOOK]
1 of 1 kept records have landed now
--- stderr

"#]],
    );
}

#[test]
fn too_many_bad_records_fail_the_batch_in_spite_of_the_quarantine() {
    let folder = folder();
    said(
        &folder.with_flags(&[&["run", "events.ndjson", "--on-bad", "quarantine:1"][..], &TYPED].concat()),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0402]: events.ndjson: 2 of 4 records are bad, more than `on_bad_record.quarantine.max` allows; nothing was written
  record 2: out of range: `instant_utc`: `2013-03-03T24:00:00Z` has hour 24; give 00:00:00 of the day after
  record 4: syntax: expected a value at byte 0, found `n`
  = help: landonce explain L0402

"#]],
    );
    assert_eq!(
        folder.run(&["quarantine", "list", "--output", "json"]).json()["entries"],
        serde_json::json!([])
    );
}

#[test]
fn a_kept_record_is_corrected_once() {
    let folder = Folder::new();
    folder.write(
        "p.yaml",
        "{pipeline: p, identity: [id], target: {table: t, columns: {n: integer}}, on_bad_record: {quarantine: {max: 100%}}}",
    );
    folder.write("in.ndjson", "{\"id\":1,\"n\":\"many\"}\n");
    assert_eq!(folder.run(&["run", "p.yaml", "in.ndjson"]).code, 0);
    let listed = folder.run(&["quarantine", "list", "--output", "json"]).json();
    let id = listed["entries"][0]["id"].as_str().unwrap().to_owned();
    folder.write("still-bad.json", "{\"id\":1,\"n\":\"more\"}");
    let bad = folder.run(&["quarantine", "edit", "p.yaml", &id[..10], "still-bad.json"]);
    assert_eq!(bad.code, 2, "{bad}");
    assert!(bad.stderr.contains("error[L0401]"), "{bad}");
    let landed = folder.run_with_stdin(
        &["quarantine", "edit", "p.yaml", &id[..10], "--output", "json"],
        b"{\"id\":1,\"n\":7}\n",
    );
    assert_eq!(landed.code, 0, "{landed}");
    assert_eq!(landed.json()["status"], "all_landed");
    assert_eq!(landed.json()["batch"]["inserted"], 1);
    folder.write("other.json", "{\"id\":1,\"n\":8}");
    let late = folder.run(&["quarantine", "edit", "p.yaml", &id[..10], "other.json"]);
    assert_eq!(late.code, 2, "{late}");
    assert!(late.stderr.contains("resolved already"), "{late}");
}
