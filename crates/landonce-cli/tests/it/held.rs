//! A snapshot that is incomplete or implausible: `run` says so with exit 1, and `held` lists, shows, lands or drops it.

use snapbox::str;

use crate::folder::{Folder, Ran, said};

const PIPELINE: &str = "
pipeline: parcels
store: sqlite:test.db
source: {complete: {end_marker: '#EOF'}}
identity: [id]
target: {table: parcel, columns: {id: integer, v: text}}
write: {mode: snapshot, absent: retire}
";

fn lines(ids: std::ops::RangeInclusive<u32>, end: &str) -> String {
    let lines: String = ids.map(|id| format!("{{\"id\":{id},\"v\":\"a\"}}\n")).collect();
    lines + end
}

/// Twelve rows have landed; five come, which is implausible, or eleven without an end.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("p.yaml", PIPELINE);
    folder.write("all.ndjson", lines(1..=12, "#EOF\n"));
    folder.write("few.ndjson", lines(1..=5, "#EOF\n"));
    folder.write("cut.ndjson", lines(1..=11, ""));
    let ran = folder.run(&["run", "p.yaml", "all.ndjson"]);
    assert_eq!(ran.code, 0, "{ran}");
    folder
}

fn held(folder: &Folder, args: &[&str]) -> Ran {
    folder.run(&[&["held"], args].concat())
}

#[test]
fn a_run_that_is_held_is_a_finding() {
    let folder = folder();
    said(
        &folder.run(&["plan", "p.yaml", "few.ndjson"]),
        str![[r#"
exit 1
--- stdout
would hold  few.ndjson
  counts    read 5 = unchanged 5; retired 7
  target    parcel in sqlite:test.db
  identity  id (integer)
  batch     a005717ec643
  why       5 records, and the median of the last load is 12: more than 20 % away (`write.plausible.rows`)
  why       it doesn't have 7 of the 12 rows that are there: more than 20 % (`write.plausible.retired`)
nothing was written
--- stderr

"#]],
    );
    said(
        &folder.run(&["run", "p.yaml", "few.ndjson"]),
        str![[r#"
exit 1
--- stdout
held  few.ndjson
  counts    read 5 = unchanged 5; retired 7, if it had landed; the target is as it was
  target    parcel in sqlite:test.db
  batch     a005717ec643
  run       [RUN]
  took      [TOOK]
  why       5 records, and the median of the last load is 12: more than 20 % away (`write.plausible.rows`)
  why       it doesn't have 7 of the 12 rows that are there: more than 20 % (`write.plausible.retired`)
  next      its payload is kept: `landonce held show PIPELINE.yaml a005717ec643`, then `held release` or `held reject`
--- stderr

"#]],
    );
    said(
        &folder.run(&["run", "p.yaml", "few.ndjson", "--output", "json"]),
        str![[r#"
exit 1
--- stdout
{
  "status": "held",
  "batch_id": "a005717ec643217581f4ce0b38f13b8b292f36ded0331552f5b4303d227d94e8",
  "run_id": "[RUN]",
  "pipeline": "parcels",
  "source": "few.ndjson",
  "target": "parcel",
  "store": "sqlite:test.db",
  "read": 5,
  "inserted": 0,
  "updated": 0,
  "unchanged": 5,
  "stale": 0,
  "conflicts": 0,
  "duplicates": 0,
  "quarantined": 0,
  "deleted": 0,
  "removed": 0,
  "retired": 7,
  "restored": 0,
  "attempts": 1,
  "commit": null,
  "elapsed_ms": [MS],
  "kept": [],
  "kept_new": 0,
  "withheld": 0,
  "enqueued": 0,
  "reasons": [
    "5 records, and the median of the last load is 12: more than 20 % away (`write.plausible.rows`)",
    "it doesn't have 7 of the 12 rows that are there: more than 20 % (`write.plausible.retired`)"
  ],
  "same_content": {
    "count": 0,
    "samples": []
  },
  "error": null
}
--- stderr

"#]],
    );
}

#[test]
fn a_held_run_is_listed() {
    let folder = folder();
    said(
        &held(&folder, &["list", "p.yaml"]),
        str![[r#"
exit 0
--- stdout
no run is held in sqlite:test.db
--- stderr

"#]],
    );
    folder.run(&["run", "p.yaml", "few.ndjson"]);
    said(
        &held(&folder, &["list", "p.yaml"]),
        str![[r#"
exit 1
--- stdout
id            held at (UTC)        state  pipeline  from        would be                         why
a005717ec643  [TIME]  held   parcels   few.ndjson  read 5 = unchanged 5; retired 7  5 records, and the median of the last load is 12: more than 20 % away (`write.plausible.rows`)
landonce held show PIPELINE.yaml ID shows one; release lands it, reject drops it
--- stderr

"#]],
    );
    said(
        &held(&folder, &["list", "--store", "sqlite:test.db", "--output", "json"]),
        str![[r#"
exit 1
--- stdout
{
  "store": "sqlite:test.db",
  "held": [
    {
      "id": "a005717ec643217581f4ce0b38f13b8b292f36ded0331552f5b4303d227d94e8",
      "state": "held",
      "pipeline": "parcels",
      "source": "few.ndjson",
      "run_id": "[RUN]",
      "held_at": "[TIME]",
      "is_complete": true,
      "reasons": [
        "5 records, and the median of the last load is 12: more than 20 % away (`write.plausible.rows`)",
        "it doesn't have 7 of the 12 rows that are there: more than 20 % (`write.plausible.retired`)"
      ],
      "read": 5,
      "inserted": 0,
      "updated": 0,
      "unchanged": 5,
      "stale": 0,
      "conflicts": 0,
      "duplicates": 0,
      "quarantined": 0,
      "deleted": 0,
      "removed": 0,
      "retired": 7,
      "restored": 0,
      "decided_by": null
    }
  ]
}
--- stderr

"#]],
    );
}

#[test]
fn a_held_run_is_shown_and_released() {
    let folder = folder();
    folder.run(&["run", "p.yaml", "few.ndjson"]);
    said(
        &held(&folder, &["show", "p.yaml"]),
        str![[r#"
exit 0
--- stdout
held  a005717ec643  few.ndjson
  held at   [TIME], by run [RUN]
  why       5 records, and the median of the last load is 12: more than 20 % away (`write.plausible.rows`)
  why       it doesn't have 7 of the 12 rows that are there: more than 20 % (`write.plausible.retired`)

Delivered now; a release lands it all the same:
would hold  few.ndjson
  counts    read 5 = unchanged 5; retired 7
  target    parcel in sqlite:test.db
  identity  id (integer)
  batch     a005717ec643
  why       5 records, and the median of the last load is 12: more than 20 % away (`write.plausible.rows`)
  why       it doesn't have 7 of the 12 rows that are there: more than 20 % (`write.plausible.retired`)
--- stderr

"#]],
    );
    said(
        &held(&folder, &["release", "p.yaml"]),
        str![[r#"
exit 0
--- stdout
processed  few.ndjson
  counts    read 5 = unchanged 5; retired 7
  target    parcel in sqlite:test.db
  batch     snapshot#2
  run       [RUN]
  took      [TOOK]
--- stderr

"#]],
    );
    said(
        &held(&folder, &["release", "p.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: no run of parcels is held
  = help: `landonce held list --all` shows what was, too

"#]],
    );
    said(
        &held(&folder, &["list", "p.yaml", "--all"]),
        str![[r#"
exit 0
--- stdout
id            held at (UTC)        state     pipeline  from        would be                         why
a005717ec643  [TIME]  released  parcels   few.ndjson  read 5 = unchanged 5; retired 7  5 records, and the median of the last load is 12: more than 20 % away (`write.plausible.rows`)
landonce held show PIPELINE.yaml ID shows one; release lands it, reject drops it
--- stderr

"#]],
    );
}

#[test]
fn a_held_run_is_rejected() {
    let folder = folder();
    folder.run(&["run", "p.yaml", "few.ndjson"]);
    said(
        &held(&folder, &["reject", "p.yaml"]),
        str![[r#"
exit 0
--- stdout
rejected a005717ec643: its payload is dropped, and the same one is held again whenever it comes
--- stderr

"#]],
    );
    let ran = folder.run(&["run", "p.yaml", "few.ndjson"]);
    assert_eq!(ran.code, 1);
    assert!(ran.to_string().contains("a person has rejected this payload"), "{ran}");
    said(
        &held(&folder, &["reject", "p.yaml", "0"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: no run of parcels is held under `0`
  = help: `landonce held list --all` shows what was, too

"#]],
    );
}

#[test]
fn what_is_incomplete_or_older_needs_a_word() {
    let folder = folder();
    folder.run(&["run", "p.yaml", "cut.ndjson"]);
    said(
        &held(&folder, &["release", "p.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: the payload of 46971b583bd2 isn't shown to be complete, so that rows it doesn't have would go: fetch it again, or say that you know (`--although-incomplete`)
incomplete: the end marker `#EOF` is missing: the file ends before it
  = help: landonce explain L0102

"#]],
    );
    folder.write("more.ndjson", lines(1..=13, "#EOF\n"));
    assert_eq!(folder.run(&["run", "p.yaml", "more.ndjson"]).code, 0);
    said(
        &held(&folder, &["release", "p.yaml", "--although-incomplete"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: another snapshot has landed since 46971b583bd2 was held (more.ndjson, at [TIME]): releasing it would set the source back; reject it (`landonce held reject`), or say that you know (`--although-newer`)
  = help: landonce explain L0102

"#]],
    );
    let ran = held(
        &folder,
        &["release", "p.yaml", "--although-incomplete", "--although-newer", "--output", "json"],
    );
    assert_eq!((ran.code, &ran.json()["retired"]), (0, &2.into()), "{ran}");
}

/// Twelve parcels as a city exports them. `---` is a street, one feature has no id.
fn parcels(year: u16, ids: &[&str], geometry: &str) -> String {
    let features: Vec<String> = (1_u32..)
        .zip(ids)
        .map(|(row, id)| {
            let id = if *id == "null" { "null".to_owned() } else { format!("\"{id}\"") };
            format!(
                r#"{{"type":"Feature","id":{row},"properties":{{"source_id":"cambridge-ma","parcel_id":{id},"feature_id":{row},"fiscal_year":{year},"upd_year":{year},"loc_id":null,"zoning_code":"C-1","overlay_codes":[]}},"geometry":{{"type":"MultiPolygon","coordinates":[[{geometry}]]}}}}"#
            )
        })
        .collect();
    format!(r#"{{"type":"FeatureCollection","features":[{}]}}"#, features.join(","))
}

fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The example is what it says: the same fence from another corner is no change, and what is gone is retired.
#[test]
fn the_example_of_a_citys_parcels_runs() {
    let folder = Folder::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/parcels.yaml");
    let yaml = std::fs::read_to_string(example).unwrap();
    // So few parcels that one of them is more than the example's twentieth.
    folder.write("parcels.yaml", yaml.replace("retired: 5%", "retired: 15%").replace("max: 1%", "max: 5"));
    let first = ["1-1", "1-2", "1-3", "1-4", "1-5", "1-6", "1-7", "1-8", "1-9", "---", "---", "null"];
    let second = ["1-9", "1-1", "1-2", "1-3", "1-4", "1-5", "1-6", "1-7", "1-10", "null", "---", "---"];
    let ring = "[[-71.10001,42.36],[-71.1,42.37],[-71.09,42.37],[-71.10001,42.36]]";
    let elsewhere = "[[-71.09,42.37],[-71.100012,42.360001],[-71.1,42.37],[-71.09,42.37]]";
    folder.write("2013.geojson.gz", gzip(&parcels(2013, &first, ring)));
    folder.write("2014.geojson.gz", gzip(&parcels(2014, &second, elsewhere)));
    let run = |file: &str| {
        folder.run(&["run", "parcels.yaml", file, "--store", "sqlite:test.db", "--output", "json"])
    };
    let ran = run("2013.geojson.gz");
    assert_eq!(
        (ran.code, &ran.json()["inserted"], &ran.json()["quarantined"]),
        (0, &9.into(), &3.into()),
        "{ran}"
    );
    let ran = run("2014.geojson.gz");
    let said = ran.json();
    let counts = ["inserted", "updated", "unchanged", "quarantined", "retired"]
        .map(|count| said[count].as_u64().unwrap());
    assert_eq!((ran.code, counts), (0, [1, 0, 8, 3, 1]), "{ran}");
    assert_eq!(run("2014.geojson.gz").json()["status"], "skipped_duplicate");
    // Cut cleanly before it was packed: closed, and implausible.
    folder.write("cut.geojson.gz", gzip(&parcels(2014, &second[..5], elsewhere)));
    let ran = run("cut.geojson.gz");
    assert_eq!((ran.code, &ran.json()["status"]), (1, &"held".into()), "{ran}");
}
