//! What the pages tell of what has landed adds up, and no failure hides it.

use landonce::{Batch, Pipeline, ledger};
use uuid::Uuid;

use super::acts::deliver;
use super::given::{Site, between};

const DAYS: &str = "pipeline: days
source: {format: ndjson}
identity: [id]
target: {table: days, columns: {id: text, day: date}}
write: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}";

const STOCK: &str = "pipeline: stock
source: {format: ndjson}
identity: [id]
target: {table: stock, columns: {id: text, version: integer}}
write: {version: version}";

#[tokio::test]
async fn a_complete_period_whose_last_attempt_failed_is_complete_and_says_so() {
    let site = Site::empty("{}", &[DAYS]).await;
    let pipeline = Pipeline::from_yaml(DAYS).unwrap();
    let label = "2026-03-01";
    let day = pipeline.in_period(label).unwrap();
    let batch = Batch::from_bytes("day.ndjson", format!(r#"{{"id":"a","day":"{label}"}}"#));
    day.ingest(&site.store, &batch).await.unwrap();
    let period = pipeline.declared().calendar().unwrap().parse(label).unwrap();
    let failure = ledger::Failure {
        pipeline: "days",
        label,
        start: period.start().as_microsecond(),
        end: period.end().as_microsecond(),
        run_id: Uuid::now_v7(),
        code: "L0302",
        message: "day.ndjson.gz: cut",
    };
    site.store.fail_period(&failure).await.unwrap();

    let list = site.page("/periods").await;
    assert_eq!(between(&list.text, "data-label=\"Complete\">", "<"), "1");
    assert_eq!(between(&list.text, "data-label=\"Failed\">", "<"), "1");
    let page = site.page("/periods/days").await;
    assert_eq!(between(&page.text, "<dt>Complete</dt><dd>", "<"), "1");
    assert!(page.text.contains("2026-03-01: complete, 1 rows, the last attempt failed"), "{}", page.text);
    let row = between(&page.text, "<h2 id=\"attention\">", "</section>");
    assert!(row.contains("complete") && row.contains("last attempt failed"), "{row}");
    assert!(row.contains("L0302") && row.contains("day.ndjson.gz: cut"), "{row}");
}

#[tokio::test]
async fn the_counts_of_a_pipelines_row_add_up() {
    let site = Site::empty("{}", &[STOCK]).await;
    deliver(&site, STOCK, "new", "{\"id\":\"a\",\"version\":2}\n{\"id\":\"b\",\"version\":1}").await;
    let twice = "{\"id\":\"a\",\"version\":1}\n{\"id\":\"b\",\"version\":3}\n{\"id\":\"b\",\"version\":3}";
    deliver(&site, STOCK, "old", twice).await;
    let overview = site.page("/").await;
    let row = between(&overview.text, "<h2 id=\"pipelines\">", "</section>");
    for (label, count) in [("Records", "5"), ("Inserted", "2"), ("Updated", "1")] {
        assert_eq!(between(row, &format!("data-label=\"{label}\">"), "<"), count, "{row}");
    }
    let other = between(row, "data-label=\"Other\">", "</td>");
    assert!(other.contains("1 stale") && other.contains("1 duplicates in the batch"), "{other}");
}
