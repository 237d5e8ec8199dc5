//! `why` tells every delivery of one record, and what can't be known.

use snapbox::str;

use crate::folder::{Folder, said};

const PIPELINE: &str = "
pipeline: prices
identity: [id]
target: {table: price, columns: {id: integer, cents: integer, v: integer}}
write: {version: v}
archive: archive/
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("p.yaml", PIPELINE);
    folder.write("1.ndjson", "{\"id\":7,\"cents\":100,\"v\":1}\n{\"id\":8,\"cents\":5,\"v\":1}\n");
    folder.write("2.ndjson", "{\"id\":7,\"cents\":120,\"v\":3}\n{\"id\":8,\"cents\":5,\"v\":1}\n");
    folder.write("3.ndjson", "{\"id\":8,\"cents\":6,\"v\":2}\n{\"id\":7,\"cents\":110,\"v\":2}\n");
    for (id, file) in [("first", "1.ndjson"), ("second", "2.ndjson"), ("late", "3.ndjson")] {
        assert_eq!(folder.run(&["run", "p.yaml", file, "--batch-id", id]).code, 0);
    }
    folder
}

#[test]
fn every_delivery_is_told_with_what_it_decided() {
    said(
        &folder().run(&["why", "p.yaml", "id=7"]),
        str![[r#"
exit 0
--- stdout
id=7 in price (pipeline prices)
  key         e57e297b-7a88-8e71-8b5a-96300a6bb4ac
  row         is there, revision 2, by run [RUN]
    landonce_key       "e57e297b-7a88-8e71-8b5a-96300a6bb4ac"
    id                 7
    cents              120
    v                  3
    payload            {}
    landonce_digest    "\\x12e705ca13b32314f8c7f792aefbb9a10c8f14baf76c6df6cb77b167a2d68741"
    landonce_run_id    "[RUN]"
    landonce_revision  2
  deliveries, oldest first
    [TIME]  inserted            first (by the inbox)
      from 1.ndjson, record 1, run [RUN]
    [TIME]  updated             second (by the archived bytes)  ← the row is as this left it
      from 2.ndjson, record 1, run [RUN]
    [TIME]  stale               late (by the archived bytes)
      from 3.ndjson, record 2, run [RUN]
  not known
    A delivery that was skipped because its batch had landed before writes nothing, so none is listed.
--- stderr

"#]],
    );
}

#[test]
fn the_same_as_json() {
    let ran = folder().run(&["why", "p.yaml", "id=7", "--output", "json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let told = ran.json();
    let decided: Vec<&str> =
        told["deliveries"].as_array().unwrap().iter().map(|one| one["decided"].as_str().unwrap()).collect();
    assert_eq!(decided, ["inserted", "updated", "stale"]);
    assert_eq!(told["deliveries"][1]["is_standing"], true);
    assert_eq!(told["deliveries"][2]["known_by"], "archive");
    assert_eq!(told["row"]["revision"], 2);
}

#[test]
fn what_is_no_identity_is_refused() {
    let folder = folder();
    said(
        &folder.run(&["why", "p.yaml", "cents=7"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: `cents` is no field of the identity; it has id
  = help: landonce explain L0102

"#]],
    );
    said(
        &folder.run(&["why", "p.yaml", "7"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: `7` names no field
  = help: write FIELD=VALUE, as `id=4711`

"#]],
    );
    said(
        &folder.run(&["why", "p.yaml", "id=9"]),
        str![[r#"
exit 0
--- stdout
id=9 in price (pipeline prices)
  key         245d7dd1-a8e8-81d1-96fd-5ae783567d4c
  row         there is none
  deliveries  none is known
  not known
    A delivery that was skipped because its batch had landed before writes nothing, so none is listed.
--- stderr

"#]],
    );
}
