//! stdin is a batch like any other; its format is seen from the first bytes, or given.

use snapbox::str;

use crate::folder::{EVENTS, FLAGS, Folder, said};

#[test]
fn a_pipe_lands_like_a_file() {
    let folder = Folder::with_events();
    let args = [&["run", "-"][..], &FLAGS].concat();
    said(
        &folder.run_with_stdin(&args, EVENTS.as_bytes()),
        str![[r#"
exit 0
--- stdout
processed  stdin
  counts    read 3 = inserted 3
  target    duty_event in sqlite:landonce.db
  batch     d8a65e20715e
  run       [RUN]
  took      [TOOK]
--- stderr

"#]],
    );
    let file = folder.with_flags(&["run", "events.ndjson", "--output", "json"]).json();
    assert_eq!(file["status"], "skipped_duplicate", "the same bytes are the same batch");
}

#[test]
fn a_format_that_cannot_be_told_is_asked_for() {
    let folder = Folder::new();
    let csv = b"id,amount\n1,2.50\n";
    let args = ["run", "-", "--into", "t", "--key", "id"];
    said(
        &folder.run_with_stdin(&args, csv),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: stdin: can't tell the format from the name or the first bytes; say it with --format or `source.format` (ndjson, json, geojson, csv, parquet)
  = help: landonce explain L0102

"#]],
    );
    let given = [&args[..], &["--format", "csv", "--output", "json"]].concat();
    assert_eq!(folder.run_with_stdin(&given, csv).json()["inserted"], 1);
}
