//! The main job: a first delivery lands, the same again is skipped, a corrected row is one update.

use snapbox::str;

use crate::folder::{EVENTS, Folder, said};

#[test]
fn a_first_run_lands_and_a_second_is_skipped() {
    let folder = Folder::with_events();
    said(
        &folder.with_flags(&["run", "events.ndjson"]),
        str![[r#"
exit 0
--- stdout
processed  events.ndjson
  counts    read 3 = inserted 3
  target    duty_event in sqlite:landonce.db
  batch     d8a65e20715e
  run       [RUN]
  took      [TOOK]
--- stderr

"#]],
    );
    said(
        &folder.with_flags(&["run", "events.ndjson"]),
        str![[r#"
exit 0
--- stdout
skipped_duplicate  events.ndjson
  counts    read 3 = inserted 3, when it landed; nothing was written now
  target    duty_event in sqlite:landonce.db
  batch     d8a65e20715e
  run       [RUN] (the one that landed it)
  took      [TOOK]
--- stderr

"#]],
    );
}

#[test]
fn a_corrected_row_is_one_update_and_the_rest_is_untouched() {
    let folder = Folder::with_events();
    folder.with_flags(&["run", "events.ndjson"]);
    folder.write("corrected.ndjson", EVENTS.replace("\"gate\":\"2\"", "\"gate\":\"5\""));
    said(
        &folder.with_flags(&["run", "corrected.ndjson"]),
        str![[r#"
exit 0
--- stdout
processed  corrected.ndjson
  counts    read 3 = updated 1 + unchanged 2
  target    duty_event in sqlite:landonce.db
  batch     bc96073ba3fa
  run       [RUN]
  took      [TOOK]
--- stderr

"#]],
    );
}

#[test]
fn a_pipeline_file_does_what_the_flags_do() {
    let folder = Folder::with_events();
    folder.write(
        "flights.yaml",
        "pipeline: duty_event\nstore: sqlite:landonce.db\nsource: {file: '*.ndjson'}\n\
         identity: [flight_id, event_kind, instant_utc]\ntarget: {table: duty_event}\n",
    );
    assert_eq!(folder.run(&["run", "flights.yaml", "--output", "json"]).json()["inserted"], 3);
    let flags = folder.with_flags(&["run", "events.ndjson", "--output", "json"]).json();
    assert_eq!(flags["status"], "skipped_duplicate", "the same pipeline, so the same inbox");
    let named = folder.run(&["run", "flights.yaml", "--input", "events.ndjson", "--output", "json"]).json();
    assert_eq!(named["status"], "skipped_duplicate");
}

#[test]
fn one_batch_id_with_other_content_is_refused_with_both_digests() {
    let folder = Folder::with_events();
    folder.with_flags(&["run", "events.ndjson", "--batch-id", "2013-03-03"]);
    folder.write("more.ndjson", format!("{EVENTS}{EVENTS}"));
    said(
        &folder.with_flags(&["run", "more.ndjson", "--batch-id", "2013-03-03"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0501]: batch `2013-03-03` of pipeline `duty_event` has landed before with other content: then SHA-256 d8a65e20715e7fadea2d3cbbe226a00f7b1bf5a3a52cd6466f44ac3358664219, now 086c74a1258579c22d9a427041eb2655413aec2f303a71104102ad8f08c85f9e; nothing was written. If this is a new batch, give it a new id; if it corrects the old one, give it an id of its own as well
  = help: landonce explain L0501

"#]],
    );
}

#[test]
fn one_content_under_a_new_batch_id_is_unchanged_throughout() {
    let folder = Folder::with_events();
    folder.with_flags(&["run", "events.ndjson"]);
    let again =
        folder.with_flags(&["run", "events.ndjson", "--batch-id", "again", "--output", "json"]).json();
    assert_eq!((&again["status"], &again["unchanged"]), (&"processed".into(), &3.into()));
}

#[test]
fn an_unstable_senders_id_is_reported_with_what_to_do() {
    let folder = Folder::new();
    folder.write("hooks.ndjson", "{\"id\":\"a1\",\"amount\":5}\n{\"id\":\"a2\",\"amount\":5}\n");
    said(
        &folder.run(&["run", "hooks.ndjson", "--into", "hook", "--sender-id", "id"]),
        str![[r#"
exit 0
--- stdout
processed  hooks.ndjson
  counts    read 2 = inserted 2
  target    hook in sqlite:landonce.db
  batch     b3116c8c7cff
  run       [RUN]
  took      [TOOK]
  note      1 new row has the content of another row under another sender's id (record 2 has that of row 5127ab95-6d8b-8e1e-ac5e-701dfda8c2f7).
            So the id isn't the same on every retry: take the identity from the fields instead;
            `landonce init FIRST SECOND` compares two deliveries and proposes one.
--- stderr

"#]],
    );
}
