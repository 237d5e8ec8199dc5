//! Equal lines that are rows each (`repeats: keep`): exactly as many as the payload has, whatever else the period holds.

use landonce::{Batch, Pipeline};

use super::{counts, touched};
use crate::given::{Given, on_every_store, patient, pipeline};

on_every_store!(
    as_many_copies_as_the_payload_has,
    the_same_lines_in_another_order_touch_nothing,
    copies_of_many_records_are_counted_exactly,
    a_field_that_changes_per_attempt_makes_no_copy_new,
    a_bad_line_withholds_the_removal,
    equal_lines_of_two_owners_are_each_its_own,
    a_compressed_file_of_windows_lines_is_the_same,
);

const HEAD: &str = "at,item,n\n";
const A: &str = "2010-12-01";

fn sales(more: &str) -> Pipeline {
    pipeline(&format!(
        "identity: {{hash_of: all, repeats: keep}}
target: {{table: t, columns: {{at: timestamp, item: text, n: integer}}}}
write: {{mode: overwrite_period, period: {{field: at, every: day, tz: Europe/London}}}}
{more}"
    ))
}

fn line(item: &str) -> String {
    format!("2010-12-01 08:26:00,{item},1\n")
}

async fn load(given: &Given, pipeline: &Pipeline, csv: &str) -> landonce::Receipt {
    let batch = Batch::from_bytes("day.csv", csv);
    pipeline.in_period(A).unwrap().ingest_with(&given.store, &batch, &patient()).await.unwrap()
}

/// `item copies` of all.
async fn copies(given: &Given) -> Vec<String> {
    given.column("SELECT item || ' ' || count(*) FROM t GROUP BY item ORDER BY item").await
}

fn csv(items: &[&str]) -> String {
    items.iter().fold(HEAD.to_owned(), |csv, item| csv + &line(item))
}

async fn as_many_copies_as_the_payload_has(given: Given) {
    let sales = sales("");
    for (items, want, held) in [
        (&["mug", "mug", "pen", "mug"][..], "read 4, inserted 4", &["mug 3", "pen 1"][..]),
        (&["mug", "pen", "mug"], "read 3, unchanged 3; removed 1", &["mug 2", "pen 1"]),
        (&["mug", "pen", "mug", "pen", "pen"], "read 5, inserted 2, unchanged 3", &["mug 2", "pen 3"]),
        (&["pen"], "read 1, unchanged 1; removed 4", &["pen 1"]),
        (&["mug", "mug", "mug", "mug"], "read 4, inserted 4; removed 1", &["mug 4"]),
    ] {
        assert_eq!(counts(&load(&given, &sales, &csv(items)).await), want, "{items:?}");
        assert_eq!(copies(&given).await, held, "{items:?}");
    }
}

async fn the_same_lines_in_another_order_touch_nothing(given: Given) {
    let sales = sales("");
    load(&given, &sales, &csv(&["mug", "mug", "pen", "mug", "cup"])).await;
    let before = touched(&given).await;
    let receipt = load(&given, &sales, &csv(&["cup", "mug", "pen", "mug", "mug"])).await;
    assert_eq!(counts(&receipt), "read 5, unchanged 5");
    assert_eq!(before, touched(&given).await);
}

/// Enough for several blocks, so that several threads number the copies.
async fn copies_of_many_records_are_counted_exactly(given: Given) {
    let item = |n: usize| format!("item {:05} {}", n % 9_973 % 700, "x".repeat(40));
    let all: Vec<String> = (0..30_000).map(item).collect();
    let text = |some: &[String]| some.iter().fold(HEAD.to_owned(), |csv, item| csv + &line(item));
    let receipt = load(&given, &sales(""), &text(&all)).await;
    assert_eq!(counts(&receipt), "read 30000, inserted 30000");
    let mut fewer = all.clone();
    fewer.reverse();
    fewer.truncate(29_000);
    let mut want = std::collections::BTreeMap::<&str, u32>::new();
    for item in &fewer {
        *want.entry(item).or_default() += 1;
    }
    let receipt = load(&given, &sales(""), &text(&fewer)).await;
    assert_eq!(counts(&receipt), "read 29000, unchanged 29000; removed 1000");
    let want: Vec<String> = want.into_iter().map(|(item, copies)| format!("{item} {copies}")).collect();
    assert_eq!(copies(&given).await, want);
}

async fn a_field_that_changes_per_attempt_makes_no_copy_new(given: Given) {
    let sales = pipeline(
        "identity: {hash_of: all, except: [exported], repeats: keep}
target: {table: t, columns: {at: timestamp, item: text, exported: text}}
write: {mode: overwrite_period, period: {field: at, every: day, tz: UTC}}",
    );
    let csv = |exports: &[&str]| {
        exports.iter().fold("at,item,exported\n".to_owned(), |csv, export| {
            csv + &format!("2010-12-01 08:26:00,mug,{export}\n")
        })
    };
    let receipt = load(&given, &sales, &csv(&["1", "2"])).await;
    assert_eq!(counts(&receipt), "read 2, inserted 2");
    let receipt = load(&given, &sales, &csv(&["3", "4"])).await;
    assert_eq!(counts(&receipt), "read 2, unchanged 2", "a new value alone is no change");
    let receipt = load(&given, &sales, &csv(&["5", "6", "7"])).await;
    assert_eq!(counts(&receipt), "read 3, inserted 1, unchanged 2");
}

async fn a_bad_line_withholds_the_removal(given: Given) {
    let sales = sales("on_bad_record: {quarantine: {max: 9}}");
    load(&given, &sales, &csv(&["mug", "mug", "pen"])).await;
    // The ragged row may be the second mug, or the pen.
    let receipt = load(&given, &sales, &(csv(&["mug"]) + "2010-12-01 08:26:00,mug\n")).await;
    assert_eq!(counts(&receipt), "read 2, unchanged 1, quarantined 1");
    assert_eq!(receipt.notes.withheld, 2);
    assert_eq!(copies(&given).await, ["mug 2", "pen 1"]);
    let receipt = load(&given, &sales, &csv(&["mug"])).await;
    assert_eq!(counts(&receipt), "read 1, unchanged 1; removed 2");
}

async fn equal_lines_of_two_owners_are_each_its_own(given: Given) {
    let of = |shop: &str| {
        let yaml = format!(
            "pipeline: {shop}
identity: {{hash_of: all, repeats: keep}}
target: {{table: t, columns: {{shop: text, at: timestamp, item: text, n: integer}}}}
write: {{mode: overwrite_period, period: {{field: at, every: day, tz: UTC}}, owner: {{shop: {shop}}}}}"
        );
        Pipeline::from_yaml(&yaml).unwrap()
    };
    // The files don't say whose they are: the pipelines do.
    assert_eq!(counts(&load(&given, &of("north"), &csv(&["mug", "mug"])).await), "read 2, inserted 2");
    assert_eq!(counts(&load(&given, &of("south"), &csv(&["mug", "pen"])).await), "read 2, inserted 2");
    assert_eq!(counts(&load(&given, &of("north"), &csv(&["mug"])).await), "read 1, unchanged 1; removed 1");
    assert_eq!(copies(&given).await, ["mug 2", "pen 1"]);
}

async fn a_compressed_file_of_windows_lines_is_the_same(given: Given) {
    // C20, C24
    use std::io::Write as _;
    load(&given, &sales(""), &csv(&["mug", "mug", "pen"])).await;
    let text = format!("\u{feff}{}", csv(&["mug", "mug", "pen"]).replace('\n', "\r\n"));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let batch = Batch::from_bytes("day.csv.gz", encoder.finish().unwrap());
    let bound = sales("").in_period(A).unwrap();
    let receipt = bound.ingest_with(&given.store, &batch, &patient()).await.unwrap();
    assert_eq!(counts(&receipt), "read 3, unchanged 3");
}

#[test]
fn copies_of_less_than_the_whole_content_are_refused() {
    // Two lines with one invoice and one item aren't equal: which is the second would be chance.
    let yaml = "pipeline: p
identity: {hash_of: [invoice, item], repeats: keep}
target: {table: t, columns: {at: timestamp}}
write: {mode: overwrite_period, period: {field: at, every: day, tz: UTC}}";
    let told = Pipeline::from_yaml(yaml).unwrap_err().to_string();
    assert!(told.contains("identity.repeats") && told.contains("hash_of: all"), "{told}");
}
