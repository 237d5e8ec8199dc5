//! A plan tells what a run would do, and writes nothing: the file is the same to the byte, or isn't there.

use snapbox::str;

use crate::folder::{EVENTS, Folder, said};

#[test]
fn a_plan_on_a_fresh_machine_makes_no_database() {
    let folder = Folder::with_events();
    said(
        &folder.with_flags(&["plan", "events.ndjson"]),
        str![[r#"
exit 0
--- stdout
would process  events.ndjson
  counts    read 3 = inserted 3
  target    duty_event in sqlite:landonce.db, which a run would make
  identity  flight_id (as written), event_kind (as written), instant_utc (as written)
  batch     d8a65e20715e
  new       record 1  {"flight_id":"B6-739-JFK-2013-03-03","event_kind":"scheduled_departure","instant_utc":"2013-03-03T04…
  new       record 2  {"flight_id":"B6-739-JFK-2013-03-03","event_kind":"scheduled_arrival","instant_utc":"2013-03-03T08:3…
  new       record 3  {"flight_id":"UA-1714-LGA-2013-03-03","event_kind":"scheduled_departure","instant_utc":"2013-03-03T1…
nothing was written
--- stderr

"#]],
    );
    assert_eq!(folder.names(), ["events.ndjson"]);
}

#[test]
fn a_plan_leaves_the_database_identical_to_the_byte_and_the_run_then_does_what_it_said() {
    let folder = Folder::with_events();
    folder.with_flags(&["run", "events.ndjson"]);
    folder.write(
        "next.ndjson",
        EVENTS.replace("\"gate\":\"2\"", "\"gate\":\"5\"").replace("UA-1714", "UA-1715"),
    );
    let before = std::fs::read(folder.path("landonce.db")).unwrap();
    let names = folder.names();
    said(
        &folder.with_flags(&["plan", "next.ndjson"]),
        str![[r#"
exit 0
--- stdout
would process  next.ndjson
  counts    read 3 = inserted 1 + updated 1 + unchanged 1
  target    duty_event in sqlite:landonce.db
  identity  flight_id (as written), event_kind (as written), instant_utc (as written)
  batch     ee243953e697
  changed   record 2  {"flight_id":"B6-739-JFK-2013-03-03","event_kind":"scheduled_arrival","instant_utc":"2013-03-03T08:3…
  new       record 3  {"flight_id":"UA-1715-LGA-2013-03-03","event_kind":"scheduled_departure","instant_utc":"2013-03-03T1…
nothing was written
--- stderr

"#]],
    );
    said(
        &folder.with_flags(&["plan", "events.ndjson"]),
        str![[r#"
exit 0
--- stdout
would skip  events.ndjson
  landed    [TIME], by run [RUN]
  counts    read 3 = unchanged 3 (if it came under another batch id)
  target    duty_event in sqlite:landonce.db
  identity  flight_id (as written), event_kind (as written), instant_utc (as written)
  batch     d8a65e20715e
nothing was written
--- stderr

"#]],
    );
    assert!(before == std::fs::read(folder.path("landonce.db")).unwrap(), "the database changed");
    // Every reader of a database in WAL mode leaves these two; there is nothing in the first.
    let wal = std::fs::metadata(folder.path("landonce.db-wal")).map_or(0, |file| file.len());
    assert_eq!(wal, 0);
    let left: Vec<String> = folder.names().into_iter().filter(|name| !name.contains(".db-")).collect();
    assert_eq!(names, left);

    let planned = folder.with_flags(&["plan", "next.ndjson", "--output", "json"]).json();
    let ran = folder.with_flags(&["run", "next.ndjson", "--output", "json"]).json();
    for count in ["read", "inserted", "updated", "unchanged", "duplicates"] {
        assert_eq!(planned[count], ran[count], "{count}");
    }
}

#[test]
fn a_plan_warns_of_one_instant_under_several_offsets() {
    let folder = Folder::with_events();
    folder.write("events.ndjson", EVENTS.replace("04:55:00Z", "22:55:00-06:00"));
    said(
        &folder.with_flags(&["plan", "events.ndjson"]),
        str![[r#"
exit 0
--- stdout
would process  events.ndjson
  counts    read 3 = inserted 3
  target    duty_event in sqlite:landonce.db, which a run would make
  identity  flight_id (as written), event_kind (as written), instant_utc (as written)
  batch     4600fbbd15e4
  new       record 1  {"flight_id":"B6-739-JFK-2013-03-03","event_kind":"scheduled_departure","instant_utc":"2013-03-03T22…
  new       record 2  {"flight_id":"B6-739-JFK-2013-03-03","event_kind":"scheduled_arrival","instant_utc":"2013-03-03T08:3…
  new       record 3  {"flight_id":"UA-1714-LGA-2013-03-03","event_kind":"scheduled_departure","instant_utc":"2013-03-03T1…
  warning   the identity field `instant_utc` holds instants under several offsets (-06:00 in 1 record, Z in 2 records): as text, one instant under two of them is two events. Declare it, and it is one: `instant_utc: timestamptz` under `target.columns`, or --column instant_utc:timestamptz
nothing was written
--- stderr

"#]],
    );
    let typed = folder.with_flags(&[
        "plan",
        "events.ndjson",
        "--column",
        "instant_utc:timestamptz",
        "--output",
        "json",
    ]);
    assert_eq!(typed.json()["warnings"], serde_json::json!([]));
}

#[test]
fn a_plan_of_a_bad_batch_ends_with_2() {
    let folder = Folder::new();
    folder.write("events.ndjson", "{\"flight_id\":null}\n");
    said(
        &folder.with_flags(&["plan", "events.ndjson"]),
        str![[r#"
exit 2
--- stdout
would fail  events.ndjson
  why       error[L0401]: 1 record is bad; nothing was written
nothing was written
--- stderr
error[L0401]: events.ndjson: 1 record is bad; nothing was written
  record 1: null key: `flight_id`: a field of the identity is null
  = help: landonce explain L0401

"#]],
    );
    assert_eq!(
        folder.with_flags(&["plan", "events.ndjson", "--output", "json"]).json()["status"],
        "would_fail"
    );
}
