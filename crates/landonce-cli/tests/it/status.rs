//! `status` tells what has landed, and makes nothing where nothing has.

use snapbox::str;

use crate::folder::{Folder, said};

#[test]
fn nothing_has_landed_and_nothing_is_made() {
    let folder = Folder::new();
    said(
        &folder.run(&["status"]),
        str![[r#"
exit 0
--- stdout
nothing has landed in sqlite:landonce.db yet
--- stderr

"#]],
    );
    said(
        &folder.run(&["quarantine", "list"]),
        str![[r#"
exit 0
--- stdout
the quarantine of sqlite:landonce.db is empty
--- stderr

"#]],
    );
    said(
        &folder.run(&["status", "--output", "json"]),
        str![[r#"
exit 0
--- stdout
{
  "store": "sqlite:landonce.db",
  "batches": [],
  "quarantine": {}
}
--- stderr

"#]],
    );
    assert!(folder.names().is_empty());
}

#[test]
fn what_has_landed_is_told() {
    let folder = Folder::with_events();
    folder.with_flags(&["run", "events.ndjson"]);
    folder.write("nulls.ndjson", "{\"flight_id\":null}\n");
    folder.with_flags(&["run", "nulls.ndjson", "--batch-id", "nightly", "--on-bad", "quarantine:100%"]);
    said(
        &folder.run(&["status"]),
        str![[r#"
exit 0
--- stdout
landed at (UTC)      pipeline    batch         source         run                                   counts
[TIME]  duty_event  nightly       nulls.ndjson   [RUN]  read 1 = quarantined 1
[TIME]  duty_event  d8a65e20715e  events.ndjson  [RUN]  read 3 = inserted 3
1 bad record of duty_event is in the quarantine: landonce quarantine list
--- stderr

"#]],
    );
}

#[test]
fn the_environment_names_the_store() {
    let folder = Folder::with_events();
    let mut command = folder.command(&["status"]);
    command.env("LANDONCE_STORE", "sqlite:other.db");
    said(
        &crate::folder::Ran::of(command),
        str![[r#"
exit 0
--- stdout
nothing has landed in sqlite:other.db yet
--- stderr

"#]],
    );
}
