//! Any sequence of loads leaves what delete-and-insert leaves (H3), and touches nothing else (X2).

use std::collections::BTreeMap;

use landonce::{Pipeline, Status};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::batch;
use crate::given::{Given, on_every_store, patient};

on_every_store!(any_sequence_of_loads_is_delete_and_insert, an_equal_load_logs_nothing_for_the_table);

const DAYS: [&str; 3] = ["2026-03-28", "2026-03-29", "2026-03-30"];
const SHOPS: [&str; 2] = ["north", "south"];

/// A load: whose, of which day, and its rows' numbers and values. Few of each, so that they meet again.
#[derive(Debug, Clone)]
struct Load {
    shop: usize,
    day: usize,
    rows: Vec<(u8, u8)>,
    is_forced: bool,
}

fn loads() -> impl Strategy<Value = Vec<Load>> {
    let rows = prop_oneof![
        1 => Just(Vec::new()),
        6 => prop::collection::vec((0..6_u8, 0..3_u8), 1..8),
    ];
    let one = (0..SHOPS.len(), 0..DAYS.len(), rows, prop::bool::weighted(0.2));
    prop::collection::vec(
        one.prop_map(|(shop, day, rows, is_forced)| Load { shop, day, rows, is_forced }),
        1..14,
    )
}

fn pipeline(shop: &str) -> Pipeline {
    let yaml = format!(
        "pipeline: {shop}
identity: [shop, day, n]
target: {{table: t, columns: {{shop: text, day: date, n: integer, v: integer}}}}
write: {{mode: overwrite_period, allow_empty: true, period: {{field: day, every: day, tz: Europe/Berlin}}, owner: {{shop: {shop}}}}}"
    );
    Pipeline::from_yaml(&yaml).unwrap()
}

type Model = BTreeMap<(usize, usize), BTreeMap<u8, u8>>;

impl Load {
    fn lines(&self) -> Vec<String> {
        let (shop, day) = (SHOPS[self.shop], DAYS[self.day]);
        let line = |(n, v): &(u8, u8)| format!(r#"{{"shop":"{shop}","day":"{day}","n":{n},"v":{v}}}"#);
        self.rows.iter().map(line).collect()
    }

    /// The last record of a number counts.
    fn content(&self) -> BTreeMap<u8, u8> {
        self.rows.iter().copied().collect()
    }
}

/// Every row as `shop day n v`, with its place and version on PostgreSQL.
async fn held(given: &Given) -> BTreeMap<String, (String, String)> {
    let rows = given
        .column("SELECT shop || ' ' || day || ' ' || n || ' ' || v FROM t ORDER BY shop, day, n, v")
        .await;
    if !given.is_postgres() {
        let written =
            given.column("SELECT landonce_run_id || landonce_revision FROM t ORDER BY shop, day, n, v").await;
        return rows.into_iter().zip(written.into_iter().map(|run| (run, String::new()))).collect();
    }
    let places = given.column("SELECT ctid || ' ' || xmax FROM t ORDER BY shop, day, n, v").await;
    let versions = given.column("SELECT xmin FROM t ORDER BY shop, day, n, v").await;
    rows.into_iter().zip(places.into_iter().zip(versions)).collect()
}

async fn run(given: &Given, loads: &[Load]) {
    let mut model = Model::new();
    let mut digests = BTreeMap::new();
    let mut before = BTreeMap::new();
    for load in loads {
        let at = (load.shop, load.day);
        let of = pipeline(SHOPS[load.shop]).in_period(DAYS[load.day]).unwrap();
        let batch = batch(&load.lines());
        let options = landonce::Options { is_forced: load.is_forced, ..patient() };
        let receipt = of.ingest_with(&given.store, &batch, &options).await.unwrap();
        let is_same = digests.insert(at, batch.digest()) == Some(batch.digest());
        let want = if is_same && !load.is_forced { Status::SkippedDuplicate } else { Status::Processed };
        assert_eq!(receipt.status, want, "{load:?}");
        // The model: delete what is there, insert what came.
        let old = model.insert(at, load.content()).unwrap_or_default();
        let new = &model[&at];
        if receipt.status == Status::Processed {
            let updated = new.iter().filter(|(n, v)| old.get(n).is_some_and(|old| old != *v)).count() as u64;
            let unchanged = new.iter().filter(|(n, v)| old.get(n) == Some(v)).count() as u64;
            let inserted = new.len() as u64 - updated - unchanged;
            let removed = old.keys().filter(|n| !new.contains_key(n)).count() as u64;
            let outcome = receipt.outcome;
            assert_eq!(
                (outcome.inserted, outcome.updated, outcome.unchanged, outcome.removed),
                (inserted, updated, unchanged, removed),
                "{load:?}"
            );
            assert_eq!(outcome.read, outcome.accounted());
        }
        let now = held(given).await;
        let mut want: Vec<String> = Vec::new();
        for ((shop, day), rows) in &model {
            want.extend(rows.iter().map(|(n, v)| format!("{} {} {n} {v}", SHOPS[*shop], DAYS[*day])));
        }
        want.sort();
        assert_eq!(now.keys().cloned().collect::<Vec<_>>(), want, "{load:?}");
        for (row, version) in &before {
            if let Some(still) = now.get(row) {
                assert_eq!(version, still, "`{row}` is equal and was touched by {load:?}");
            }
        }
        before = now;
    }
}

async fn any_sequence_of_loads_is_delete_and_insert(given: Given) {
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        runner.run(&loads(), |loads| {
            handle.block_on(async {
                run(&given, &loads).await;
                given.execute("DROP TABLE t").await;
                for table in ["inbox", "ledger"] {
                    given.execute(&format!("DELETE FROM {}", given.system(table))).await;
                }
            });
            Ok(())
        })
    })
    .unwrap();
}

/// X2: not one record of the log is about the table or its indexes.
async fn an_equal_load_logs_nothing_for_the_table(given: Given) {
    if !given.is_postgres() {
        return; // what the file of an SQLite database has is compared above
    }
    let lines: Vec<String> =
        (0..500).map(|n| format!(r#"{{"shop":"north","day":"2026-03-28","n":{n},"v":1}}"#)).collect();
    let of = pipeline("north").in_period(DAYS[0]).unwrap();
    of.ingest(&given.store, &batch(&lines)).await.unwrap();
    for statement in ["CREATE EXTENSION pg_walinspect", "VACUUM t", "CHECKPOINT"] {
        given.execute(statement).await;
    }
    // A checkpoint has written the log out, up to where it is asked.
    let now = "SELECT pg_current_wal_flush_lsn()";
    let files = given
        .column("SELECT (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' || pg_relation_filenode(c.oid) FROM pg_class c WHERE c.oid = 't'::regclass OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 't'::regclass)")
        .await;
    assert!(files.len() >= 3, "the table, its key and the period's index: {files:?}");
    let mut logged = Vec::new();
    for lines in [&lines[..], &lines[..499]] {
        let from = given.column(now).await.remove(0);
        let forced = landonce::Options { is_forced: true, ..patient() };
        of.ingest_with(&given.store, &batch(lines), &forced).await.unwrap();
        given.execute("CHECKPOINT").await;
        let to = given.column(now).await.remove(0);
        let refs = given
            .column(&format!(
                "SELECT block_ref FROM pg_get_wal_records_info('{from}', '{to}') WHERE block_ref IS NOT NULL"
            ))
            .await;
        let about = |reference: &&String| files.iter().any(|file| reference.contains(&format!("/{file} ")));
        logged.push(refs.iter().filter(about).count());
    }
    assert_eq!(logged[0], 0, "nothing for equal rows");
    assert!(logged[1] > 0, "a row that is removed is logged, so the look at the log sees it");
}
