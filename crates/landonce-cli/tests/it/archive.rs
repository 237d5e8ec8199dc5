//! J9: source bytes are kept, shown, checked, applied again and forgotten by policy.

use snapbox::str;

use crate::folder::{EVENTS, Folder, said};

const PIPELINE: &str = "\
pipeline: flights
store: sqlite:landonce.db
source: {file: 'in/*.ndjson'}
identity: [flight_id, event_kind, instant_utc]
target: {table: duty_event}
archive: archive
";

/// A folder in which two batches have landed: the events, and a corrected gate.
fn landed() -> Folder {
    let folder = Folder::new();
    folder.write("flights.yaml", PIPELINE);
    folder.write("in/1.ndjson", EVENTS);
    folder.write("in/2.ndjson", EVENTS.replace("\"gate\":\"2\"", "\"gate\":\"5\""));
    assert_eq!(folder.run(&["run", "flights.yaml"]).code, 0);
    folder
}

fn files(folder: &Folder, below: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.path(below)];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// The table's rows, without what tells of the run.
fn rows(folder: &Folder, table: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(folder.path("landonce.db")).unwrap();
    let sql = format!("SELECT payload || landonce_revision FROM {table} ORDER BY landonce_key");
    let mut statement = connection.prepare(&sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn what_is_kept_is_listed_and_comes_back_byte_by_byte() {
    let folder = landed();
    assert_eq!((files(&folder, "archive/blobs").len(), files(&folder, "archive/batches").len()), (2, 2));
    let before = files(&folder, "archive");
    assert_eq!(folder.run(&["run", "flights.yaml"]).code, 0);
    assert_eq!(files(&folder, "archive"), before, "a redelivery keeps nothing again");
    said(
        &folder.run(&["archive", "list", "flights.yaml"]),
        str![[r#"
exit 0
--- stdout
received at (UTC)    batch         source       bytes  SHA-256
[TIME]  bc96073ba3fa  in/2.ndjson  363    bc96073ba3fa
[TIME]  d8a65e20715e  in/1.ndjson  363    d8a65e20715e
--- stderr

"#]],
    );
    let id = "d8a65e20715e7fadea2d3cbbe226a00f7b1bf5a3a52cd6466f44ac3358664219";
    let got = folder.run(&["archive", "get", "flights.yaml", id]);
    assert_eq!((got.code, got.stdout.as_str()), (0, EVENTS));
    said(
        &folder.run(&["archive", "get", "flights.yaml", "2013-03-03"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: the archive at `archive` has no such batch of flights
  = help: `landonce archive list` shows what it has

"#]],
    );
    said(
        &folder.run(&["archive", "verify", "flights.yaml"]),
        str![[r#"
exit 0
--- stdout
2 batches in archive checked, all as they were delivered
--- stderr

"#]],
    );
}

#[test]
fn a_replay_skips_what_has_landed_and_fills_another_table_to_compare() {
    let folder = landed();
    said(
        &folder.run(&["replay", "flights.yaml", "--all"]),
        str![[r#"
exit 0
--- stdout
skipped_duplicate  in/1.ndjson  read 3 = inserted 3
skipped_duplicate  in/2.ndjson  read 3 = updated 1 + unchanged 2
2 batches: 2 skipped_duplicate
  target    duty_event in sqlite:landonce.db
  took      [TOOK]
--- stderr

"#]],
    );
    said(
        &folder.run(&["replay", "flights.yaml", "--all", "--into", "rebuilt", "--dry-run"]),
        str![[r#"
exit 0
--- stdout
received at (UTC)    batch         source       bytes  what a replay does
[TIME]  d8a65e20715e  in/1.ndjson  363    apply it
[TIME]  bc96073ba3fa  in/2.ndjson  363    apply it
into rebuilt in sqlite:landonce.db; nothing was done
--- stderr

"#]],
    );
    said(
        &folder.run(&["replay", "flights.yaml", "--all", "--into", "rebuilt"]),
        str![[r#"
exit 0
--- stdout
processed          in/1.ndjson  read 3 = inserted 3
processed          in/2.ndjson  read 3 = updated 1 + unchanged 2
2 batches: 2 processed
  counts    read 6 = inserted 3 + updated 1 + unchanged 2
  target    rebuilt in sqlite:landonce.db
  took      [TOOK]
--- stderr

"#]],
    );
    assert_eq!(rows(&folder, "rebuilt"), rows(&folder, "duty_event"));
    said(
        &folder.run(&["replay", "flights.yaml", "--all", "--into", "rebuilt"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0813]: `rebuilt` has rows already, so it would not hold what the archive makes alone; name a table that doesn't exist, or empty this one
  = help: landonce explain L0813

"#]],
    );
    let json = folder.run(&["replay", "flights.yaml", "--all", "--output", "json"]).json();
    assert_eq!((&json["status"], &json["batches"][1]["updated"]), (&"skipped_duplicate".into(), &1.into()));
    assert_eq!(json["left_out"], serde_json::json!([]));
}

#[test]
fn lost_rows_come_back_by_applying_all_again_in_order() {
    let folder = landed();
    let before = rows(&folder, "duty_event");
    let connection = rusqlite::Connection::open(folder.path("landonce.db")).unwrap();
    connection.execute("DELETE FROM duty_event WHERE rowid > 1", []).unwrap();
    drop(connection);
    let first = "d8a65e20715e7fadea2d3cbbe226a00f7b1bf5a3a52cd6466f44ac3358664219";
    let refused = folder.run(&["replay", "flights.yaml", "--batch", first, "--again"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("error[L0813]") && refused.stderr.contains("write.version"), "{refused}");
    assert_eq!(rows(&folder, "duty_event").len(), 1, "nothing was written");

    let again = folder.run(&["replay", "flights.yaml", "--all", "--again", "--output", "json"]).json();
    assert_eq!(again["status"], "processed");
    assert_eq!((&again["batches"][0]["inserted"], &again["batches"][1]["updated"]), (&2.into(), &1.into()));
    let lines = |rows: Vec<String>| {
        rows.into_iter().map(|row| row.trim_end_matches(char::is_numeric).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines(rows(&folder, "duty_event")), lines(before));
}

#[test]
fn a_lost_database_is_made_anew_from_the_archive() {
    let folder = landed();
    let before = rows(&folder, "duty_event");
    let archived = files(&folder, "archive");
    std::fs::remove_file(folder.path("landonce.db")).unwrap();
    let restored = folder.run(&["replay", "flights.yaml", "--all"]);
    assert!(restored.code == 0 && restored.stdout.contains("2 batches: 2 processed"), "{restored}");
    assert_eq!(rows(&folder, "duty_event"), before);
    assert_eq!(files(&folder, "archive"), archived, "a replay only reads the archive");
    let again = folder.run(&["run", "flights.yaml", "--output", "json"]).json();
    assert_eq!(again["status"], "skipped_duplicate", "the sender's own deliveries are known again");
}

#[test]
fn a_batch_that_failed_lands_by_a_replay_when_the_pipeline_is_mended() {
    let folder = landed();
    folder.write("in/3.ndjson", "{\"flight_id\":\"B6-1\",\"event_kind\":null,\"instant_utc\":\"x\"}\n");
    assert_eq!(folder.run(&["run", "flights.yaml"]).code, 2);
    std::fs::remove_file(folder.path("in/3.ndjson")).unwrap();
    let failed = folder.run(&["replay", "flights.yaml", "--all"]);
    assert!(failed.code == 2 && failed.stdout.contains("2 skipped_duplicate, 1 failed"), "{failed}");
    let left = folder.run(&["replay", "flights.yaml", "--all", "--into", "rebuilt"]);
    assert!(left.code == 0 && left.stdout.contains("1 that never landed"), "{left}");
    folder.write("flights.yaml", format!("{PIPELINE}on_bad_record: {{quarantine: {{max: 5}}}}\n"));
    let landed = folder.run(&["replay", "flights.yaml", "--all"]);
    assert!(landed.code == 0 && landed.stdout.contains("1 processed, 2 skipped_duplicate"), "{landed}");
}

#[test]
fn damaged_and_missing_bytes_are_found_and_not_applied() {
    let folder = landed();
    let blob = &files(&folder, "archive/blobs")[1];
    let whole = std::fs::read(blob).unwrap();
    std::fs::write(blob, &whole[..whole.len() / 2]).unwrap();
    let verified = folder.run(&["archive", "verify", "flights.yaml"]);
    assert_eq!(verified.code, 1);
    assert!(verified.stdout.contains("2 batches in archive checked, 1 damaged"), "{verified}");
    let json = folder.run(&["archive", "verify", "flights.yaml", "--output", "json"]).json();
    assert_eq!((&json["status"], &json["checked"]), (&"damaged".into(), &2.into()));
    let replayed = folder.run(&["replay", "flights.yaml", "--all", "--into", "rebuilt"]);
    assert_eq!(replayed.code, 2);
    assert!(
        replayed.stderr.contains("error[L0812]") && replayed.stderr.contains("are damaged"),
        "{replayed}"
    );
    std::fs::remove_file(blob).unwrap();
    let gone = folder.run(&["archive", "verify", "flights.yaml"]);
    assert!(gone.code == 1 && gone.stdout.contains("are gone"), "{gone}");

    std::fs::rename(folder.path("archive"), folder.path("elsewhere")).unwrap();
    said(
        &folder.run(&["replay", "flights.yaml", "--all"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0811]: there is no archive at `archive`: nothing has been kept there yet, or the folder has moved or isn't mounted
  = help: landonce explain L0811

"#]],
    );
}

#[test]
fn pruning_refuses_what_the_sender_may_still_deliver() {
    let folder = landed();
    said(
        &folder.run(&["archive", "prune", "flights.yaml"]),
        str![[r#"
exit 0
--- stdout
archive
  to forget  0 batches
  kept       2 batches: the sender may still deliver them again (`retry_window`)
nothing was done; --apply does it
--- stderr

"#]],
    );
    folder
        .write("flights.yaml", PIPELINE.replace("archive: archive", "archive: {to: archive, keep_for: 7d}"));
    said(
        &folder.run(&["archive", "prune", "flights.yaml", "--apply"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: flights.yaml: archive.keep_for: `7d` is shorter than `retry_window` (30d): bytes would be forgotten that the sender may still deliver again; keep them longer, or shorten `retry_window` to what the sender promises
  = help: landonce explain L0102

"#]],
    );
    let policy = "archive: {to: archive, keep_for: 60m, retry_window: 60m}";
    folder.write("flights.yaml", PIPELINE.replace("archive: archive", policy));
    // The manifests are made older; the inbox still says when they landed, which is now.
    for manifest in files(&folder, "archive/batches") {
        let text = std::fs::read_to_string(&manifest).unwrap();
        std::fs::write(&manifest, text.replace("\"received_at\": \"20", "\"received_at\": \"19")).unwrap();
    }
    let young = folder.run(&["archive", "prune", "flights.yaml", "--apply", "--output", "json"]).json();
    assert_eq!((&young["kept"]["retry_window"], &young["forgotten"]), (&2.into(), &serde_json::json!([])));
    let connection = rusqlite::Connection::open(folder.path("landonce.db")).unwrap();
    connection.execute("UPDATE landonce_inbox SET settled_at = '2020-01-01T00:00:00.000Z'", []).unwrap();
    drop(connection);
    said(
        &folder.run(&["archive", "prune", "flights.yaml"]),
        str![[r#"
exit 0
--- stdout
archive
  to forget  2 batches
nothing was done; --apply does it
--- stderr

"#]],
    );
    assert_eq!(files(&folder, "archive/batches").len(), 2);
    said(
        &folder.run(&["archive", "prune", "flights.yaml", "--apply"]),
        str![[r#"
exit 0
--- stdout
archive
  forgotten  2 batches
  bytes      2 objects marked; a prune a day from now deletes them
--- stderr

"#]],
    );
    assert_eq!((files(&folder, "archive/batches").len(), files(&folder, "archive/blobs").len()), (0, 2));
    let skipped = folder.run(&["run", "flights.yaml", "--output", "json"]).json();
    assert_eq!(skipped["status"], "skipped_duplicate", "what is forgotten is still known to have landed");
}

#[test]
fn wrong_arguments_are_asked_about() {
    let folder = landed();
    said(
        &folder.run(&["replay", "flights.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: which batches?
  = help: add `--batch ID`, `--from DATE`, `--to DATE` or `--all`; `landonce archive list` shows what there is

"#]],
    );
    said(
        &folder.run(&["replay", "flights.yaml", "--from", "2100-01-01"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0813]: the archive at `archive` has no batch of the pipeline `flights` that was received in that time; `landonce archive list` shows what it has
  = help: landonce explain L0813

"#]],
    );
    folder.write("flights.yaml", PIPELINE.replace("archive: archive\n", ""));
    said(
        &folder.run(&["archive", "list", "flights.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: the pipeline `flights` declares no archive; `archive: archive/` in its file keeps the bytes of every batch from then on
  = help: landonce explain L0102

"#]],
    );
    for args in
        [&["--all", "--from", "2026-01-01"][..], &["--from", "then"], &["--all", "--into", "x", "--again"]]
    {
        assert_eq!(folder.run(&[&["replay", "flights.yaml"], args].concat()).code, 2, "{args:?}");
    }
}

#[cfg(not(feature = "s3"))]
#[test]
fn a_build_without_s3_lands_nothing_it_cannot_keep() {
    let folder = Folder::new();
    folder.write("in/1.ndjson", EVENTS);
    folder.write("flights.yaml", PIPELINE.replace("archive: archive", "archive: s3://bucket/flights"));
    let ran = folder.run(&["run", "flights.yaml"]);
    assert!(ran.code == 2 && ran.stderr.contains("--features s3"), "{ran}");
    assert!(rows(&folder, "duty_event").is_empty());
}

/// The same at an S3-compatible server, by a program that has its credentials from the environment.
#[cfg(feature = "s3")]
#[test]
fn an_archive_at_s3_is_kept_and_applied() {
    let server = landonce_testkit::s3::Server::start();
    let folder = Folder::new();
    folder.write("in/1.ndjson", EVENTS);
    folder.write("in/2.ndjson", EVENTS.replace("\"gate\":\"2\"", "\"gate\":\"5\""));
    let at_s3 = format!("archive: s3://{}/flights", landonce_testkit::s3::BUCKET);
    folder.write("flights.yaml", PIPELINE.replace("archive: archive", &at_s3));
    let run = |args: &[&str]| {
        let mut command = folder.command(args);
        command.envs(server.environment());
        crate::folder::Ran::of(command)
    };
    let ran = run(&["run", "flights.yaml"]);
    assert_eq!(ran.code, 0, "{ran}");
    let verified = run(&["archive", "verify", "flights.yaml"]);
    assert!(verified.stdout.contains("2 batches in s3://"), "{verified}");
    assert_eq!(run(&["replay", "flights.yaml", "--all", "--into", "rebuilt"]).code, 0);
    assert_eq!(rows(&folder, "rebuilt"), rows(&folder, "duty_event"));
    // Somebody else's credentials: nothing lands, and no secret is told.
    folder.write("in/3.ndjson", EVENTS.replace("\"gate\":\"7\"", "\"gate\":\"9\""));
    folder
        .write("flights.yaml", PIPELINE.replace("archive: archive", "archive: s3://no-such-bucket/flights"));
    let refused = run(&["run", "flights.yaml", "-vvv"]);
    assert!(refused.code == 2 && refused.stderr.contains("error[L0811]"), "{refused}");
    assert!(!format!("{refused}").contains("sekret"), "{refused}");
    assert_eq!(rows(&folder, "rebuilt"), rows(&folder, "duty_event"));
}
