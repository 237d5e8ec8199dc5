//! `init` writes a pipeline file that a run takes as it is, and overwrites nothing unasked.

use snapbox::str;

use crate::folder::{EVENTS, Folder, said};

#[test]
fn the_proposed_file_runs_as_it_is() {
    let folder = Folder::with_events();
    folder.write("second.ndjson", EVENTS.replace("\"gate\":\"7\"", "\"gate\":\"8\""));
    let proposed = folder.run(&["init", "events.ndjson"]);
    assert_eq!(proposed.code, 0, "{proposed}");
    assert!(proposed.stdout.starts_with("wrote pipeline.yaml"), "{proposed}");
    let ran = folder.run(&["run", "pipeline.yaml", "--input", "events.ndjson", "--output", "json"]);
    assert_eq!(ran.json()["inserted"], 3, "{ran}");
}

#[test]
fn a_file_that_is_there_is_not_overwritten_unasked() {
    let folder = Folder::with_events();
    folder.write("pipeline.yaml", "mine");
    said(
        &folder.run(&["init", "events.ndjson"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: pipeline.yaml exists already
  = help: name another file with --out, look at the proposal with --out -, or overwrite it with --force

"#]],
    );
    assert_eq!(std::fs::read_to_string(folder.path("pipeline.yaml")).unwrap(), "mine");
    assert_eq!(folder.run(&["init", "events.ndjson", "--force"]).code, 0);
    assert_ne!(std::fs::read_to_string(folder.path("pipeline.yaml")).unwrap(), "mine");
}
