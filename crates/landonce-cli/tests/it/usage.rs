//! Usage: questions that help, pages for codes, and no panic when nobody reads.

use std::process::Stdio;

use snapbox::str;

use crate::folder::{Folder, said};

#[test]
fn what_is_missing_is_asked_for() {
    let folder = Folder::with_events();
    said(
        &folder.run(&["run", "events.ndjson"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: where should the records go?
  = help: add `--into TABLE --key FIELDS`, or name a pipeline file first (`landonce init FILE` writes one)

"#]],
    );
    said(
        &folder.run(&["run", "events.ndjson", "--into", "duty_event"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: what makes two records the same?
  = help: add `--key FIELDS` (or `--sender-id FIELD`); `landonce init FILE` proposes one from the data

"#]],
    );
    folder.write("p.yaml", "pipeline: p\nidentity: [id]\ntarget: {table: t}\n");
    said(
        &folder.run(&["run", "p.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: the pipeline names no `source.file`; name one, or give a file on the command line
  = help: landonce explain L0102

"#]],
    );
    said(
        &folder.run(&["run", "p.yaml", "events.ndjson", "--key", "id"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: --key and a pipeline file: one of them describes the pipeline
  = help: write it into p.yaml, or leave the file out and use flags only

"#]],
    );
}

#[test]
fn a_flag_that_is_not_known_ends_with_2() {
    assert_eq!(Folder::new().run(&["run", "--tabel", "x"]).code, 2);
    assert_eq!(Folder::new().run(&[]).code, 2);
}

#[test]
fn a_misspelled_key_field_is_told_with_what_the_records_have() {
    let folder = Folder::with_events();
    let args = ["run", "events.ndjson", "--into", "t", "--key", "flightid,event_kind"];
    said(
        &folder.run(&args),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0401]: events.ndjson: 3 records are bad; nothing was written
  record 1: absent key: `flightid`: a field of the identity is absent
  record 2: absent key: `flightid`: a field of the identity is absent
  record 3: absent key: `flightid`: a field of the identity is absent
  = help: did you mean `flight_id` by `flightid`? Record 1 has the fields flight_id, event_kind, instant_utc, gate
  = help: landonce explain L0401

"#]],
    );
}

#[test]
fn codes_have_pages() {
    let folder = Folder::new();
    let page = folder.run(&["explain", "l0401"]);
    assert!(page.stdout.starts_with("## L0401 · bad records fail the batch\n"), "{page}");
    said(
        &folder.run(&["explain", "L9999"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: `L9999` is no code of landonce's, no finding of a proof and no rule of an audit
  = help: the codes are
  L0101  the pipeline file doesn't parse
  L0102  the pipeline makes no sense as a whole
  L0201  the pipeline doesn't fit the table
  L0202  a derived table's query gives rows that it can't have
  L0301  the payload can't be read
  L0302  the payload isn't whole, or isn't of its format
  L0303  the file changed while it was being read
  L0304  an empty payload for a period that has rows
  L0305  the payload isn't shown to be complete
  L0306  the payload is more than is taken
  L0401  bad records fail the batch
  L0402  more bad records than the quarantine takes
  L0501  the batch id has landed before with other content
  L0502  another load of the period has landed meanwhile
  L0503  the batch is being landed by another delivery
  L0504  another worker has the part
  L0601  the store can't be reached
  L0602  the database refused
  L0603  every attempt failed for a passing reason
  L0604  a disk is full
  L0605  nobody knows whether COMMIT happened
  L0701  interrupted
  L0801  the snapshot is held
  L0811  the archive can't be written or read
  L0812  archived bytes are damaged or gone
  L0813  a replay is refused
  L0851  a repair can't be made as asked
  L0901  a promise of landonce's own was broken
  L1001  a webhook isn't shown to be its sender's
  L1002  a webhook is out of time
  L1003  an event has no id
  L1004  a webhook's body is no event
  L1005  a webhook is of a form that isn't taken
  L1006  a webhook is too large
  L1007  too many events wait
  L1008  there is no such hook
  L1009  a webhook's body didn't come whole
  L1021  who asks isn't known
  L1022  the token isn't good for that
  L1023  the request comes from elsewhere
  L1024  the server doesn't answer to this name
  L1025  there is nothing at this path, or not by this method
  L1026  the key of the request can't be used
  L1027  the request makes no sense
  L1028  the body isn't of a kind that is taken
  L1029  the body is too long
  L1030  the body didn't arrive
  L1031  the same batch is being landed right now
  L1032  too much at once
  L1033  the server is stopping
  L1034  the server failed in a way that it shouldn't
  L1035  no such pipeline, or no such batch
  L1101  the stream can't be opened as it is declared
  L1102  the broker refuses, or has never answered
  L1103  the stream isn't the one that was landed
  L1104  messages are gone before they were landed
  L1105  the stored position is none of this stream
  L1121  what is fetched doesn't answer
  L1122  what is fetched refuses
  L1123  what is fetched isn't what was declared
  L1124  the pages don't fit together
  L1125  the program that is read failed

"#]],
    );
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let folder = Folder::with_events();
    for args in [&["schema"][..], &["completions", "bash"], &["explain"], &["--help"], &["status"]] {
        let mut child = folder.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.stderr.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn escape_sequences_in_names_do_not_reach_the_terminal() {
    let folder = Folder::new();
    folder.write("a\u{1b}[2J.ndjson", crate::folder::EVENTS);
    let ran = folder.with_flags(&["run", "a\u{1b}[2J.ndjson"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.to_string().contains('\u{1b}'), "{ran}");
}
