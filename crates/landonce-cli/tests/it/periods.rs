//! `status --periods`: what has been loaded of which period, drawn or listed, and nothing made by looking.

use snapbox::str;

use crate::folder::{Folder, said};

const DAYS: &str = "
pipeline: orders
store: sqlite:test.db
source: {file: 'in/{period.date}.ndjson'}
identity: [id]
target: {table: orders, columns: {id: integer, day: date}}
write: {mode: overwrite_period, period: {field: day, every: day, tz: Europe/Berlin}}
";

const RUN: &str = "0190b6f2-0000-7000-8000-000000000001";

fn folder(pipeline: &str) -> Folder {
    let folder = Folder::new();
    folder.write("p.yaml", pipeline);
    folder
}

/// A row of the ledger: its calendar's own start and end, as landonce would write them.
struct Row {
    label: &'static str,
    start: &'static str,
    end: &'static str,
    /// Whether it is complete, if it is loaded.
    loaded: Option<bool>,
    failed: Option<&'static str>,
}

fn row(label: &'static str, start: &'static str, end: &'static str) -> Row {
    Row { label, start, end, loaded: Some(true), failed: None }
}

fn micros(instant: &str) -> i64 {
    instant.parse::<jiff::Timestamp>().unwrap().as_microsecond()
}

fn fill(folder: &Folder, rows: &[Row]) {
    let setup = folder.run(&["setup", "--store", "sqlite:test.db"]);
    assert_eq!(setup.code, 0, "{setup}");
    let database = rusqlite::Connection::open(folder.path("test.db")).unwrap();
    for row in rows {
        let insert =
            "INSERT INTO landonce_ledger (pipeline, label, start_us, end_us) VALUES ('orders', ?1, ?2, ?3)";
        database.execute(insert, (row.label, micros(row.start), micros(row.end))).unwrap();
        if let Some(is_complete) = row.loaded {
            let load = "UPDATE landonce_ledger SET loads = 1, batch_digest = zeroblob(32), is_complete = ?2, batch_id = label || '#1',
                        run_id = ?3, row_count = 12, loaded_at = '2026-04-01T06:00:00.000Z' WHERE label = ?1";
            database.execute(load, (row.label, is_complete, RUN)).unwrap();
        }
        if let Some(message) = row.failed {
            let fail =
                "UPDATE landonce_ledger SET failed_run_id = ?2, failed_code = 'L0301', failed_message = ?3,
                        failed_at = '2026-04-02T06:00:00.000Z' WHERE label = ?1";
            database.execute(fail, (row.label, RUN, message)).unwrap();
        }
    }
}

/// The end of March over the spring shift; some days of it complete, one partial by now over, one failed after a load,
/// one failed before any.
fn march() -> Folder {
    let folder = folder(DAYS);
    fill(
        &folder,
        &[
            row("2026-03-27", "2026-03-26T23:00:00Z", "2026-03-27T23:00:00Z"),
            row("2026-03-28", "2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z"),
            row("2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            Row {
                failed: Some("in/2026-03-31.ndjson: cut short\nand more"),
                ..row("2026-03-31", "2026-03-30T22:00:00Z", "2026-03-31T22:00:00Z")
            },
            Row { loaded: Some(false), ..row("2026-04-01", "2026-03-31T22:00:00Z", "2026-04-01T22:00:00Z") },
            Row {
                loaded: None,
                failed: Some("no such file"),
                ..row("2026-04-02", "2026-04-01T22:00:00Z", "2026-04-02T22:00:00Z")
            },
        ],
    );
    folder
}

#[test]
fn days_are_drawn_by_months() {
    said(
        &march().run(&["status", "--periods", "p.yaml", "--to", "2026-04-05"]),
        str![[r#"
exit 0
--- stdout
orders  days of Europe/Berlin, 2026-03-27 to 2026-04-05, in sqlite:test.db

         1   5    10   15   20   25   30
2026-03                            ###.!  3 complete, 1 failed, 1 missing
2026-04  ~!...                            1 partial, 1 failed, 3 missing
         # complete   ~ partial, over by now   ! failed   . missing

period      state                 rows  loaded at (UTC)      run
2026-03-31  failed                12    [TIME]  [RUN]  L0301: in/2026-03-31.ndjson: cut short
2026-04-01  partial, over by now  12    [TIME]  [RUN]
2026-04-02  failed                                           [RUN]  L0301: no such file

10 periods: 3 complete, 1 partial, 2 failed, 4 missing
7 are due: landonce backfill p.yaml --from 2026-03-27 --to 2026-04-05 --missing
--- stderr

"#]],
    );
}

#[test]
fn a_partial_period_that_is_not_over_is_not_due() {
    let folder = folder(DAYS);
    fill(
        &folder,
        &[
            row("2999-12-30", "2999-12-29T23:00:00Z", "2999-12-30T23:00:00Z"),
            Row { loaded: Some(false), ..row("2999-12-31", "2999-12-30T23:00:00Z", "2999-12-31T23:00:00Z") },
        ],
    );
    said(
        &folder.run(&["status", "p.yaml", "--periods"]),
        str![[r#"
exit 0
--- stdout
orders  days of Europe/Berlin, 2999-12-30 to 2999-12-31, in sqlite:test.db

         1   5    10   15   20   25   30
2999-12                               #+  1 complete, 1 partial
         # complete   + partial

period      state    rows  loaded at (UTC)      run
2999-12-31  partial  12    [TIME]  [RUN]

2 periods: 1 complete, 1 partial
--- stderr

"#]],
    );
}

#[test]
fn days_are_listed_on_demand() {
    said(
        &march().run(&[
            "status",
            "--periods",
            "p.yaml",
            "--list",
            "--from",
            "2026-03-29",
            "--to",
            "2026-04-02",
        ]),
        str![[r#"
exit 0
--- stdout
orders  days of Europe/Berlin, 2026-03-29 to 2026-04-02, in sqlite:test.db

period      state                 rows  loaded at (UTC)      run
2026-03-29  complete              12    [TIME]  [RUN]
2026-03-30  missing
2026-03-31  failed                12    [TIME]  [RUN]  L0301: in/2026-03-31.ndjson: cut short
2026-04-01  partial, over by now  12    [TIME]  [RUN]
2026-04-02  failed                                           [RUN]  L0301: no such file

5 periods: 1 complete, 1 partial, 2 failed, 1 missing
4 are due: landonce backfill p.yaml --from 2026-03-29 --to 2026-04-02 --missing
--- stderr

"#]],
    );
}

#[test]
fn programs_get_every_period() {
    said(
        &march().run(&[
            "status",
            "p.yaml",
            "--periods",
            "--from",
            "2026-03-29",
            "--to",
            "2026-03-31",
            "--output",
            "json",
        ]),
        str![[r#"
exit 0
--- stdout
{
  "store": "sqlite:test.db",
  "pipeline": "orders",
  "every": "day",
  "tz": "Europe/Berlin",
  "from": "2026-03-29",
  "to": "2026-03-31",
  "counts": {
    "complete": 1,
    "partial": 0,
    "failed": 1,
    "missing": 1,
    "due": 2
  },
  "strays": 0,
  "periods": [
    {
      "label": "2026-03-29",
      "start": "[TIME]Z",
      "end": "[TIME]Z",
      "state": "complete",
      "is_over": true,
      "is_due": false,
      "loads": 1,
      "loaded": {
        "is_complete": true,
        "rows": 12,
        "batch_id": "2026-03-29#1",
        "digest": "0000000000000000000000000000000000000000000000000000000000000000",
        "run_id": "[RUN]",
        "loaded_at": "[TIME]"
      },
      "failed": null
    },
    {
      "label": "2026-03-30",
      "start": "[TIME]Z",
      "end": "[TIME]Z",
      "state": "missing",
      "is_over": true,
      "is_due": true,
      "loads": 0,
      "loaded": null,
      "failed": null
    },
    {
      "label": "2026-03-31",
      "start": "[TIME]Z",
      "end": "[TIME]Z",
      "state": "failed",
      "is_over": true,
      "is_due": true,
      "loads": 1,
      "loaded": {
        "is_complete": true,
        "rows": 12,
        "batch_id": "2026-03-31#1",
        "digest": "0000000000000000000000000000000000000000000000000000000000000000",
        "run_id": "[RUN]",
        "loaded_at": "[TIME]"
      },
      "failed": {
        "run_id": "[RUN]",
        "code": "L0301",
        "message": "in/2026-03-31.ndjson: cut short\nand more",
        "failed_at": "[TIME]"
      }
    }
  ]
}
--- stderr

"#]],
    );
}

#[test]
fn hours_weeks_and_months_are_lists() {
    let hours = folder(&DAYS.replace("every: day", "every: hour").replace("day: date", "day: timestamptz"));
    fill(
        &hours,
        &[
            row("2026-10-25T02+02:00", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"),
            row("2026-10-25T02+01:00", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"),
        ],
    );
    said(
        &hours.run(&["status", "--periods", "p.yaml", "--to", "2026-10-25T03+01:00"]),
        str![[r#"
exit 0
--- stdout
orders  hours of Europe/Berlin, 2026-10-25T02+02:00 to 2026-10-25T03+01:00, in sqlite:test.db

period               state     rows  loaded at (UTC)      run
2026-10-25T02+02:00  complete  12    [TIME]  [RUN]
2026-10-25T02+01:00  complete  12    [TIME]  [RUN]
2026-10-25T03+01:00  missing

3 periods: 2 complete, 1 missing
1 is due: landonce backfill p.yaml --from 2026-10-25T02+02:00 --to 2026-10-25T03+01:00 --missing
--- stderr

"#]],
    );
    // 25 hours in the day on which the clocks go back.
    let day =
        ["status", "--periods", "p.yaml", "--from", "2026-10-25", "--to", "2026-10-25", "--output", "json"];
    let told = hours.run(&day).json();
    assert_eq!(told["periods"].as_array().unwrap().len(), 25);
    assert_eq!((&told["counts"]["complete"], &told["counts"]["missing"]), (&2.into(), &23.into()));

    let weeks = folder(&DAYS.replace("every: day", "every: week"));
    fill(&weeks, &[row("2026-W13", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z")]);
    said(
        &weeks.run(&["status", "--periods", "p.yaml", "--from", "2026-03-20", "--to", "2026-03"]),
        str![[r#"
exit 0
--- stdout
orders  weeks of Europe/Berlin, 2026-W12 to 2026-W14, in sqlite:test.db

period    state     rows  loaded at (UTC)      run
2026-W12  missing
2026-W13  complete  12    [TIME]  [RUN]
2026-W14  missing

3 periods: 1 complete, 2 missing
2 are due: landonce backfill p.yaml --from 2026-W12 --to 2026-W14 --missing
--- stderr

"#]],
    );
}

#[test]
fn what_was_loaded_by_other_periods_before_is_told() {
    let weeks = folder(&DAYS.replace("every: day", "every: week"));
    fill(&weeks, &[row("2026-03-27", "2026-03-26T23:00:00Z", "2026-03-27T23:00:00Z")]);
    said(
        &weeks.run(&["status", "--periods", "p.yaml"]),
        str![[r#"
exit 0
--- stdout
orders  weeks of Europe/Berlin, 2026-W13 to 2026-W13, in sqlite:test.db

period    state    rows  loaded at (UTC)  run
2026-W13  missing

1 period: 1 missing
1 is due: landonce backfill p.yaml --from 2026-W13 --to 2026-W13 --missing
1 more in the ledger by other periods than weeks of Europe/Berlin: what the pipeline was loaded by before
--- stderr

"#]],
    );
}

#[test]
fn nothing_loaded_is_told_and_nothing_is_made() {
    let folder = folder(DAYS);
    said(
        &folder.run(&["status", "--periods", "p.yaml"]),
        str![[r#"
exit 0
--- stdout
no period of orders has been loaded in sqlite:test.db yet; --from and --to show a window all the same
--- stderr

"#]],
    );
    let window = ["status", "--periods", "p.yaml", "--from", "2026-03-01", "--to", "2026-03"];
    assert_eq!(folder.run(&[&window[..], &["--output", "json"]].concat()).json()["counts"]["missing"], 31);
    assert_eq!(folder.names(), ["p.yaml"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = folder(DAYS);
    folder.write("plain.yaml", "pipeline: p\nidentity: [id]\ntarget: {table: t}\n");
    for (args, says) in [
        (vec!["status", "--periods"], "--periods of which pipeline?"),
        (vec!["status", "--periods", "plain.yaml"], "`p` isn't loaded by periods"),
        (vec!["status", "--from", "2026-03-01"], "--periods"),
        (vec!["status", "--periods", "p.yaml", "--from", "soon"], "--from `soon`"),
        (
            vec!["status", "--periods", "p.yaml", "--from", "2026-03-02", "--to", "2026-03-01"],
            "2026-03-01 is before 2026-03-02",
        ),
    ] {
        let ran = folder.run(&args);
        assert!(ran.code == 2 && ran.stderr.contains(says), "{args:?}: {ran}");
    }
}
