//! What has been loaded of a period is entered with its rows, and no failure takes it away.

use landonce_store::ledger::{Entry, Failure, Load};
use landonce_store::seam::{Access, Connection, Work};

use super::bench::{Bench, Dialect, run_id};

fn load(label: &str, start: i64) -> Load<'_> {
    Load {
        pipeline: "p",
        label,
        start,
        end: start + 1,
        digest: [7; 32],
        is_complete: true,
        batch_id: "b1",
        run_id: run_id(1),
        rows: 12,
    }
}

fn failure(label: &str) -> Failure<'_> {
    Failure { pipeline: "p", label, start: 10, end: 11, run_id: run_id(9), code: "L0301", message: "no file" }
}

async fn enter<C: Connection>(connection: &mut C, load: &Load<'_>, expected: u64) -> bool {
    connection.migrate().await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let is_entered = connection.work().enter(load, expected).await.unwrap();
    if is_entered {
        connection.commit().await.unwrap();
    } else {
        connection.rollback().await;
    }
    is_entered
}

async fn labels<C: Connection>(connection: &mut C, from: i64, to: i64) -> Vec<String> {
    let found = connection.periods("p", from, to).await.unwrap();
    found.into_iter().map(|entry| entry.label).collect()
}

async fn look<C: Connection>(connection: &mut C, label: &str) -> Option<Entry> {
    connection.period("p", label).await.unwrap()
}

fn is_time(text: &str) -> bool {
    let at = text.as_bytes();
    at.len() > 20 && at[10] == b'T' && at.ends_with(b"Z")
}

pub(crate) async fn a_load_is_entered_and_read_back(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let first =
        Load { start: -62_135_596_800_000_000, end: 253_402_300_799_999_999, ..load("2026-03-01", 0) };
    assert!(enter(&mut connection, &first, 0).await);
    let entry = look(&mut connection, "2026-03-01").await.unwrap();
    assert_eq!((entry.pipeline.as_str(), entry.label.as_str(), entry.loads), ("p", "2026-03-01", 1));
    assert_eq!((entry.start, entry.end, entry.failed), (first.start, first.end, None));
    let loaded = entry.loaded.unwrap();
    assert_eq!((loaded.digest, loaded.is_complete, loaded.rows), ([7; 32], true, 12));
    assert_eq!((loaded.batch_id.as_str(), loaded.run_id), ("b1", run_id(1)));
    assert!(is_time(&loaded.loaded_at), "{}", loaded.loaded_at);

    let second = Load {
        digest: [8; 32],
        is_complete: false,
        batch_id: "b2",
        run_id: run_id(2),
        rows: 0,
        ..load("2026-03-01", 10)
    };
    assert!(enter(&mut connection, &second, 1).await);
    let entry = bench.connect_to_look().await.period("p", "2026-03-01").await.unwrap().unwrap();
    assert_eq!((entry.start, entry.end, entry.loads), (10, 11, 2));
    let loaded = entry.loaded.unwrap();
    assert_eq!((loaded.digest, loaded.is_complete, loaded.rows), ([8; 32], false, 0));
    assert_eq!((loaded.batch_id.as_str(), loaded.run_id), ("b2", run_id(2)));
}

pub(crate) async fn a_load_that_came_in_between_is_seen(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    assert!(!enter(&mut connection, &load("d", 10), 3).await, "there is none yet");
    assert_eq!(look(&mut connection, "d").await, None);
    assert!(enter(&mut connection, &load("d", 10), 0).await);
    for expected in [0, 2] {
        let other = Load { run_id: run_id(2), ..load("d", 10) };
        assert!(!enter(&mut connection, &other, expected).await);
    }
    let entry = look(&mut connection, "d").await.unwrap();
    assert_eq!((entry.loads, entry.loaded.unwrap().run_id), (1, run_id(1)));
}

pub(crate) async fn a_failure_keeps_what_is_loaded(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    // Before any load: the failure makes the row, and the first load takes it over.
    connection.fail_period(&failure("d")).await.unwrap();
    let entry = look(&mut connection, "d").await.unwrap();
    assert_eq!((entry.start, entry.end, entry.loads, entry.loaded), (10, 11, 0, None));
    let failed = entry.failed.unwrap();
    assert_eq!(
        (failed.run_id, failed.code.as_str(), failed.message.as_str()),
        (run_id(9), "L0301", "no file")
    );
    assert!(is_time(&failed.failed_at), "{}", failed.failed_at);
    assert!(!enter(&mut connection, &load("d", 10), 1).await, "a failed attempt is no load");
    assert!(enter(&mut connection, &load("d", 10), 0).await);
    let loaded = look(&mut connection, "d").await.unwrap();
    assert_eq!((loaded.loads, &loaded.failed), (1, &None));

    // After it: all of the load stays; of two failures the last is told, and the next load clears it.
    connection.fail_period(&failure("d")).await.unwrap();
    let last = Failure { start: 0, end: 1, run_id: run_id(8), message: "nul \0 inside", ..failure("d") };
    connection.fail_period(&last).await.unwrap();
    let entry = look(&mut connection, "d").await.unwrap();
    assert_eq!((entry.start, entry.end, entry.loads, &entry.loaded), (10, 11, 1, &loaded.loaded));
    let failed = entry.failed.unwrap();
    assert_eq!((failed.run_id, failed.message.as_str()), (run_id(8), "nul \\u0000 inside"));
    assert!(enter(&mut connection, &load("d", 10), 1).await);
    let entry = look(&mut connection, "d").await.unwrap();
    assert_eq!((entry.loads, entry.failed), (2, None));
}

pub(crate) async fn an_entry_goes_with_its_transaction(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    for _ in 0..2 {
        connection.begin(Access::Write).await.unwrap();
        assert!(connection.work().enter(&load("d", 10), 0).await.unwrap());
        connection.rollback().await;
        assert_eq!(look(&mut connection, "d").await, None);
    }
    // A failure is noted by itself, and takes nothing of a transaction with it that was let go of half way.
    connection.begin(Access::Write).await.unwrap();
    assert!(connection.work().enter(&load("d", 10), 0).await.unwrap());
    connection.fail_period(&failure("d")).await.unwrap();
    let entry = look(&mut connection, "d").await.unwrap();
    assert_eq!((entry.loads, entry.failed.is_some()), (0, true));
}

pub(crate) async fn periods_come_by_their_start(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    for (label, start) in [("c", 30), ("a", 40), ("b", 20), ("d", -5)] {
        assert!(enter(&mut connection, &load(label, start), 0).await);
    }
    let other = Load { pipeline: "P", ..load("b", 20) };
    assert!(enter(&mut connection, &other, 0).await, "names are told apart by their bytes");
    assert_eq!(labels(&mut connection, i64::MIN, i64::MAX).await, ["d", "b", "c", "a"]);
    assert_eq!(labels(&mut connection, 20, 40).await, ["b", "c"]);
    assert!(labels(&mut connection, 21, 30).await.is_empty());
}

pub(crate) async fn a_look_into_the_ledger_needs_no_tables(bench: &mut impl Bench) {
    for mut connection in [bench.connect().await, bench.connect_to_look().await] {
        assert_eq!(look(&mut connection, "d").await, None);
        assert!(connection.periods("p", i64::MIN, i64::MAX).await.unwrap().is_empty());
    }
    let mut connection = bench.connect().await;
    let error = connection.fail_period(&failure("d")).await.unwrap_err();
    assert!(error.to_string().contains("`landonce setup` makes them"), "{error}");
}

pub(crate) async fn names_are_compared_by_their_bytes(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    for pipeline in ["é", "e\u{301}", "É", "p ", "p", &"n".repeat(200)] {
        assert!(enter(&mut connection, &Load { pipeline, ..load("d", 10) }, 0).await, "{pipeline}");
    }
    let count = format!("SELECT count(*) FROM {}", table(bench));
    assert_eq!(bench.rows(&count).await, [["6"]]);
    connection.begin(Access::Write).await.unwrap();
    let error = connection.work().enter(&load("a\0b", 10), 0).await.unwrap_err();
    connection.rollback().await;
    assert!(error.to_string().contains("U+0000"), "{error}");
}

fn table<B: Bench>(_: &B) -> &'static str {
    match B::DIALECT {
        Dialect::Sqlite => "landonce_ledger",
        Dialect::Postgres => "landonce.ledger",
    }
}
