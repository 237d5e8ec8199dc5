//! Derived tables from the command line: a run derives by itself, a crash in between is made good by the next one, and
//! `derive --check` tells by its exit code whether the tables are equal to their queries.

use snapbox::str;

use crate::folder::{Folder, said};

const PIPELINE: &str = "
pipeline: sales
store: sqlite:test.db
identity: [id]
target: {table: sale, columns: {day: date, country: text, pence: integer}}
derive:
  - table: daily_sales
    key: [day, country]
    period: {field: day, every: day, tz: Europe/London}
    columns: {day: date, country: text, pence: integer}
    sql: |
      SELECT day, country, sum(pence) AS pence FROM sale WHERE day = {period.date} GROUP BY day, country
";

const SALES: &str = "\
{\"id\":1,\"day\":\"2026-03-01\",\"country\":\"UK\",\"pence\":250}
{\"id\":2,\"day\":\"2026-03-01\",\"country\":\"UK\",\"pence\":100}
{\"id\":3,\"day\":\"2026-03-02\",\"country\":\"FR\",\"pence\":70}
";

fn shop() -> Folder {
    let folder = Folder::new();
    folder.write("sales.yaml", PIPELINE);
    folder.write("sales.ndjson", SALES);
    folder
}

fn rows(folder: &Folder) -> Vec<String> {
    let connection = rusqlite::Connection::open(folder.path("test.db")).unwrap();
    let sql = "SELECT day || ' ' || country || ' ' || pence FROM daily_sales ORDER BY 1";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_run_derives_and_says_so() {
    let folder = shop();
    said(
        &folder.run(&["run", "sales.yaml", "sales.ndjson"]),
        str![[r#"
exit 0
--- stdout
processed  sales.ndjson
  counts    read 3 = inserted 3
  target    sale in sqlite:test.db
  batch     03c8b1b0f46a
  run       [RUN]
  took      [TOOK]
  derived   daily_sales: 2 periods: inserted 2
--- stderr

"#]],
    );
    assert_eq!(rows(&folder), ["2026-03-01 UK 350", "2026-03-02 FR 70"]);
    said(
        &folder.run(&["derive", "sales.yaml"]),
        str![[r#"
exit 0
--- stdout
nothing is due
--- stderr

"#]],
    );
    said(
        &folder.run(&["derive", "sales.yaml", "--check"]),
        str![[r#"
exit 0
--- stdout
equal    daily_sales: 2 periods
--- stderr

"#]],
    );
}

#[test]
fn what_was_left_out_is_due() {
    let folder = shop();
    let ran = folder.run(&["run", "sales.yaml", "sales.ndjson", "--no-derive", "--output", "json"]);
    assert!(ran.json().get("derived").is_none(), "{ran}");
    // There is no table yet to be compared.
    assert_eq!(folder.run(&["derive", "sales.yaml", "--check"]).code, 2);
    said(
        &folder.run(&["derive", "sales.yaml", "--output", "json"]),
        str![[r#"
exit 0
--- stdout
{
  "derived": [
    {
      "table": "daily_sales",
      "periods": [
        {
          "period": "2026-03-01",
          "rows": 1,
          "inserted": 1,
          "updated": 0,
          "deleted": 0
        },
        {
          "period": "2026-03-02",
          "rows": 1,
          "inserted": 1,
          "updated": 0,
          "deleted": 0
        }
      ]
    }
  ]
}
--- stderr

"#]],
    );
    folder.write("late.ndjson", "{\"id\":4,\"day\":\"2026-03-01\",\"country\":\"UK\",\"pence\":5}\n");
    folder.run(&["run", "sales.yaml", "late.ndjson", "--no-derive"]);
    let connection = rusqlite::Connection::open(folder.path("test.db")).unwrap();
    connection.execute("DELETE FROM daily_sales WHERE country = 'FR'", []).unwrap();
    said(
        &folder.run(&["derive", "sales.yaml", "--check"]),
        str![[r#"
exit 1
--- stdout
differs  daily_sales: 2 of 2 periods; rows as (day, country, pence)
  2026-03-01  1 row, due: `landonce derive` computes it
    the query ["2026-03-01","UK",355], the table ["2026-03-01","UK",350]
  2026-03-02  1 row
    the query ["2026-03-02","FR",70], the table no row
--- stderr

"#]],
    );
    let checked = folder.run(&["derive", "sales.yaml", "--check", "--output", "json"]);
    assert_eq!(checked.code, 1);
    let json = checked.json();
    assert_eq!(json["status"], "differs");
    let row = &json["tables"][0]["differing"][1]["rows"][0];
    assert_eq!(row["expected"], serde_json::json!(["2026-03-02", "FR", 70]));
    assert!(row["found"].is_null());
    // A skipped duplicate finishes what a run before it has left; rows that somebody took away are nobody's mark.
    let again = folder.run(&["run", "sales.yaml", "sales.ndjson", "--output", "json"]).json();
    assert_eq!(
        (&again["status"], &again["derived"][0]["periods"][0]["updated"]),
        (&"skipped_duplicate".into(), &1.into())
    );
    assert_eq!(folder.run(&["derive", "sales.yaml", "--check"]).code, 1);
    said(
        &folder.run(&["derive", "sales.yaml", "--from", "2026-03-02", "--to", "2026-03-02"]),
        str![[r#"
exit 0
--- stdout
  derived   daily_sales: 1 period: inserted 1
--- stderr

"#]],
    );
    assert_eq!(folder.run(&["derive", "sales.yaml", "--check"]).code, 0);
}

#[test]
fn a_query_that_fails_leaves_the_batch_and_its_marks() {
    let folder = shop();
    folder.write("broken.yaml", PIPELINE.replace("sum(pence)", "summ(pence)"));
    said(
        &folder.run(&["run", "broken.yaml", "sales.ndjson"]),
        str![[r#"
exit 2
--- stdout
processed  sales.ndjson
  counts    read 3 = inserted 3
  target    sale in sqlite:test.db
  batch     03c8b1b0f46a
  run       [RUN]
  took      [TOOK]
--- stderr
error[L0602]: period 2026-03-01: computing daily_sales: no such function: summ (1)
  = cause: no such function: summ in CREATE TABLE temp.landonce_raw AS SELECT q."day" AS c0, q."country" AS c1, q."pence" AS c2 FROM (
SELECT day, country, summ(pence) AS pence FROM sale WHERE day = '2026-03-01' GROUP BY day, country
) AS q at offset 119
  = cause: Error code 1: SQL logic error
  = help: batches have landed all the same, and what isn't computed stays due: `landonce derive PIPELINE.yaml`
  = help: landonce explain L0602

"#]],
    );
    let ran = folder.run(&["run", "broken.yaml", "sales.ndjson", "--output", "json"]);
    assert_eq!((ran.code, &ran.json()["derive_error"]["code"]), (2, &"L0602".into()));
    folder.run(&["derive", "sales.yaml"]);
    assert_eq!(rows(&folder), ["2026-03-01 UK 350", "2026-03-02 FR 70"]);
}

#[test]
fn what_makes_no_sense_is_told() {
    let folder = shop();
    folder.write("plain.yaml", PIPELINE.split("derive:").next().unwrap());
    said(
        &folder.run(&["derive", "plain.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: plain.yaml declares no derived table
  = help: declare one under `derive:` (docs/guides/derived-tables.md)

"#]],
    );
    said(
        &folder.run(&["derive", "sales.yaml", "--from", "2026-03-02", "--to", "2026-03-01"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: --to 2026-03-01 is before --from 2026-03-02
  = help: give the earlier date to --from

"#]],
    );
    assert_eq!(folder.run(&["derive", "sales.yaml", "--from", "2026-03-02"]).code, 2);
    assert_eq!(folder.run(&["derive", "sales.yaml", "--all", "--check"]).code, 2);
    folder.write("clock.yaml", PIPELINE.replace("{period.date}", "CURRENT_DATE"));
    said(
        &folder.run(&["derive", "clock.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: clock.yaml: derive.sql: the query of `daily_sales` asks `CURRENT_DATE`, so that it gives another answer the next time; a period is told by {period.start} and the like
  = help: landonce explain L0102

"#]],
    );
}

#[cfg(feature = "failpoints")]
mod crashes {
    use landonce_testkit::crash;
    use landonce_testkit::postgres;

    use super::{Folder, PIPELINE, SALES, rows};

    const MONTHS: &str = "
  - table: monthly
    from: daily_sales
    of: day
    key: [month]
    period: {field: month, every: month, tz: Europe/London}
    columns: {month: date, pence: integer}
    sql: SELECT {period.date} AS month, sum(pence) AS pence FROM daily_sales WHERE day >= {period.date} AND day < {period.until} HAVING count(*) > 0
";

    /// C35: killed anywhere between base and rollup, the next run, a skipped duplicate, finishes.
    async fn killed_anywhere(store: Option<String>) {
        let folder = Folder::new();
        folder.write("sales.yaml", format!("{PIPELINE}{MONTHS}"));
        folder.write("sales.ndjson", SALES);
        folder.write("more.ndjson", SALES.replace("250", "251").replace("2026-03-02", "2026-04-02"));
        let with_store = |args: &[&str]| {
            let store = store.as_ref().map(|url| ["--store".to_owned(), url.clone()]);
            let all: Vec<String> =
                args.iter().map(|arg| (*arg).to_owned()).chain(store.into_iter().flatten()).collect();
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            folder.command(&all)
        };
        let run = |args: &[&str]| with_store(args).output().unwrap();
        assert!(run(&["run", "sales.yaml", "sales.ndjson"]).status.success());
        for (nth, name) in landonce::failpoint::DERIVE.iter().enumerate() {
            // Back and forth, so that there is always something to change.
            let file = if nth % 2 == 0 { "more.ndjson" } else { "sales.ndjson" };
            let id = nth.to_string();
            let deliver = ["run", "sales.yaml", file, "--batch-id", &id, "--no-progress"];
            let killed = crash::at_failpoint(with_store(&deliver), name).await;
            assert!(killed.is_ok(), "never came to `{name}`: {killed:?}");
            let again = run(&deliver);
            let told = String::from_utf8_lossy(&again.stdout).into_owned();
            let status = if *name == "marked" { "processed" } else { "skipped_duplicate" };
            assert!(again.status.success() && told.contains(status), "{name}: {told}");
            let checked = run(&["derive", "sales.yaml", "--check"]);
            assert!(checked.status.success(), "{name}: {}", String::from_utf8_lossy(&checked.stdout));
        }
        if store.is_none() {
            assert_eq!(rows(&folder), ["2026-03-01 UK 351", "2026-04-02 FR 70"]);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_killed_between_base_and_rollup_is_finished_by_the_next_on_sqlite() {
        killed_anywhere(None).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_killed_between_base_and_rollup_is_finished_by_the_next_on_postgres() {
        killed_anywhere(Some(postgres::database().await.url())).await;
    }
}

#[test]
fn a_backfill_derives_behind_its_periods() {
    let folder = Folder::new();
    folder.write(
        "sales.yaml",
        PIPELINE.replace("identity: [id]", "source: {file: '{period.date}.ndjson'}\nidentity: [id]").replace(
            "derive:",
            "write: {mode: overwrite_period, period: {field: day, every: day, tz: Europe/London}}\nderive:",
        ),
    );
    for day in ["2026-03-01", "2026-03-02"] {
        let of_day: Vec<&str> = SALES.lines().filter(|line| line.contains(day)).collect();
        folder.write(&format!("{day}.ndjson"), of_day.join("\n"));
    }
    let ran = folder.run(&["backfill", "sales.yaml", "--from", "2026-03-01", "--to", "2026-03-02"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("daily_sales: 2 periods: inserted 2"), "{}", ran.stderr);
    assert_eq!(rows(&folder), ["2026-03-01 UK 350", "2026-03-02 FR 70"]);
    assert_eq!(folder.run(&["derive", "sales.yaml", "--check"]).code, 0);
}
