//! What the ledger says (C34, C35): partial until a run that began after the period's end, and failed beside what is loaded.

use landonce::{Kind, Options, Status};

use super::{counts, days, load, load_with, row, rows, touched};
use crate::given::{Given, on_every_store, patient, pipeline};

on_every_store!(
    a_load_before_the_periods_end_is_partial_and_due_again,
    a_load_after_the_end_is_complete_at_once,
    a_base_table_and_its_rollup_have_one_period,
    a_failed_run_is_noted_beside_what_is_loaded,
    a_failed_run_of_a_new_period_is_noted,
    every_pipeline_has_a_ledger_of_its_own,
    a_table_that_is_gone_is_told_however_often_it_is_asked,
    a_record_whose_row_was_elsewhere_lands_with_the_next_run,
);

const A: &str = "2026-03-01";

fn began(at: &str) -> Options {
    Options { started_at: Some(at.parse().unwrap()), ..patient() }
}

async fn entry(given: &Given) -> landonce::ledger::Entry {
    let mut entries = given.store.periods("p", i64::MIN, i64::MAX).await.unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

async fn a_load_before_the_periods_end_is_partial_and_due_again(given: Given) {
    // C34
    let lines = [row(1, A, "a"), row(2, A, "b")];
    let noon = load_with(&given, &days(), A, &lines, &began("2026-03-01T12:00:00Z")).await.unwrap();
    assert!(!noon.period.unwrap().is_complete);
    assert!(!entry(&given).await.loaded.unwrap().is_complete);
    // Before the end the same bytes are the same load.
    let last = load_with(&given, &days(), A, &lines, &began("2026-03-01T23:59:59.999999Z")).await.unwrap();
    assert_eq!((last.status, last.period.unwrap().is_complete), (Status::SkippedDuplicate, false));
    // From its end on they are another load, of which no row is written.
    let (versions, before) = (touched(&given).await, given.dump().await);
    let over = load_with(&given, &days(), A, &lines, &began("2026-03-02T00:00:00Z")).await.unwrap();
    assert_eq!((over.status, counts(&over).as_str()), (Status::Processed, "read 2, unchanged 2"));
    assert_eq!((over.batch_id.as_str(), over.period.unwrap().is_complete), ("2026-03-01#2", true));
    assert_eq!(versions, touched(&given).await);
    let own = [given.system("inbox"), given.system("ledger")];
    let own = own.each_ref().map(String::as_str);
    before.without_tables(&own).assert_same(&given.dump().await.without_tables(&own));
    assert!(entry(&given).await.loaded.unwrap().is_complete);
    // And complete it stays.
    let again = load_with(&given, &days(), A, &lines, &began("2026-03-09T00:00:00Z")).await.unwrap();
    assert_eq!((again.status, again.period.unwrap().is_complete), (Status::SkippedDuplicate, true));
}

async fn a_table_that_is_gone_is_told_however_often_it_is_asked(given: Given) {
    load(&given, &days(), A, &[row(1, A, "a")]).await.unwrap();
    load(&given, &days(), "2026-03-02", &[row(2, "2026-03-02", "b")]).await.unwrap();
    given.execute("DROP TABLE t").await;
    // Loaded anew by itself, one period would stand in a table that the ledger says has two.
    for _ in 0..2 {
        let error = load(&given, &days(), A, &[row(1, A, "a")]).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Target, "{error}");
    }
}

async fn a_record_whose_row_was_elsewhere_lands_with_the_next_run(given: Given) {
    let days = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {id: integer, at: timestamptz, v: text}}\non_bad_record: {quarantine: {max: 60%}}\n\
         write: {mode: overwrite_period, period: {field: at, every: day, tz: UTC}}",
    );
    let (first, second) = ("2026-03-01", "2026-03-02");
    load(&given, &days, first, &[row(1, first, "a"), row(2, first, "b")]).await.unwrap();
    let moved = [row(1, second, "a"), row(3, second, "c")];
    let kept = load(&given, &days, second, &moved).await.unwrap();
    assert_eq!((counts(&kept).as_str(), kept.notes.moved), ("read 2, inserted 1, quarantined 1", 1));
    assert!(!kept.period.unwrap().is_complete, "it waits for its row to leave the first day");
    // The first day comes without it: then the same payload of the second is no duplicate.
    load(&given, &days, first, &[row(2, first, "b")]).await.unwrap();
    let lands = load(&given, &days, second, &moved).await.unwrap();
    assert_eq!(
        (lands.status, counts(&lands).as_str()),
        (Status::Processed, "read 2, inserted 1, unchanged 1")
    );
    assert!(lands.period.unwrap().is_complete);
    assert_eq!(load(&given, &days, second, &moved).await.unwrap().status, Status::SkippedDuplicate);
}

async fn a_load_after_the_end_is_complete_at_once(given: Given) {
    let receipt = load(&given, &days(), A, &[row(1, A, "a")]).await.unwrap();
    assert!(receipt.period.unwrap().is_complete);
    let entry = entry(&given).await;
    assert_eq!((entry.label.as_str(), entry.loads, entry.loaded.unwrap().rows), (A, 1, 1));
    assert_eq!((entry.end - entry.start) / 3_600_000_000, 24);
}

/// C35: two pipelines of one period, with midnight in between. The period is given to both; the clock chooses nothing.
async fn a_base_table_and_its_rollup_have_one_period(given: Given) {
    let rollup = landonce::Pipeline::from_yaml(
        "pipeline: rollup
identity: [day]
target: {table: per_day, columns: {day: date, n: integer}}
write: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}",
    )
    .unwrap();
    let base =
        load_with(&given, &days(), A, &[row(1, A, "a")], &began("2026-03-01T23:59:00Z")).await.unwrap();
    let sums = [r#"{"day":"2026-03-01","n":1}"#];
    let rolled = load_with(&given, &rollup, A, &sums, &began("2026-03-02T00:01:00Z")).await.unwrap();
    assert_eq!(base.period.unwrap().label, rolled.period.unwrap().label);
    // Tried again the next day, it is the same period still, and a rollup of the wrong day has no way in.
    let next_day = began("2026-03-02T09:00:00Z");
    let again = load_with(&given, &rollup, A, &sums, &next_day).await.unwrap();
    assert_eq!(again.status, Status::SkippedDuplicate);
    let wrong =
        load_with(&given, &rollup, A, &[r#"{"day":"2026-03-02","n":1}"#], &next_day).await.unwrap_err();
    assert_eq!(wrong.kind(), Kind::BadRecords);
    assert_eq!(given.column("SELECT n FROM per_day").await, ["1"]);
}

async fn a_failed_run_is_noted_beside_what_is_loaded(given: Given) {
    let run_id = load(&given, &days(), A, &[row(1, A, "a")]).await.unwrap().run_id;
    let error = load(&given, &days(), A, &[row(1, "2026-03-02", "a")]).await.unwrap_err();
    let noted = entry(&given).await;
    let (loaded, failed) = (noted.loaded.unwrap(), noted.failed.unwrap());
    assert_eq!((loaded.run_id, noted.loads), (run_id, 1), "what is loaded is still there");
    assert_eq!(failed.code, error.code().as_str());
    assert!(!failed.message.is_empty() && !failed.message.contains('\n'), "{failed:?}");
    assert_eq!(rows(&given).await, ["1 a"]);
    // The next load that lands clears it.
    load(&given, &days(), A, &[row(1, A, "b")]).await.unwrap();
    let noted = entry(&given).await;
    assert_eq!((noted.failed, noted.loads), (None, 2));
}

async fn a_failed_run_of_a_new_period_is_noted(given: Given) {
    let error = load(&given, &days(), A, &[r#"{"id":1,"at":"a\u0000b"}"#]).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadRecords);
    let noted = entry(&given).await;
    assert_eq!((noted.loads, noted.loaded.is_none(), noted.failed.is_some()), (0, true, true));
    let receipt = load(&given, &days(), A, &[row(1, A, "a")]).await.unwrap();
    assert_eq!(receipt.batch_id, "2026-03-01#1");
}

async fn every_pipeline_has_a_ledger_of_its_own(given: Given) {
    let other = landonce::Pipeline::from_yaml(&format!(
        "pipeline: q\n{}",
        super::DAYS.replace("table: t", "table: u")
    ))
    .unwrap();
    load(&given, &days(), A, &[row(1, A, "a")]).await.unwrap();
    let receipt = load(&given, &other, A, &[row(1, A, "a")]).await.unwrap();
    assert_eq!((receipt.status, receipt.batch_id.as_str()), (Status::Processed, "2026-03-01#1"));
    // A name that is a part of another's, and one that looks like a pattern.
    let odd = pipeline(super::DAYS);
    assert_eq!(odd.name(), "p");
    assert!(given.store.periods("%", i64::MIN, i64::MAX).await.unwrap().is_empty());
}
