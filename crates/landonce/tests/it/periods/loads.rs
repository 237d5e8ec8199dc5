//! Loads one after another: again, back and forth, of another period, of a row that has moved.

use landonce::{Kind, Options, Status};

use super::{batch, counts, days, load, load_with, row, rows, touched};
use crate::given::{Given, on_every_store, patient, pipeline};

on_every_store!(
    a_redelivered_period_changes_nothing,
    a_restated_day_changes_its_rows_only,
    back_and_forth_lands_three_times,
    a_forced_load_touches_no_equal_row,
    a_payload_of_another_period_is_refused_by_its_rows,
    a_row_that_moved_is_told_and_never_lost,
    a_row_that_moved_is_kept_aside_where_bad_records_are,
    a_plan_tells_what_the_run_then_does,
    what_a_period_can_not_have_is_refused,
    a_period_whose_bounds_have_moved_is_loaded_again,
    a_load_that_the_ledger_does_not_know_of_is_told,
);

const A: &str = "2026-03-01";
const B: &str = "2026-03-02";

async fn a_redelivered_period_changes_nothing(given: Given) {
    let lines = [row(1, A, "a"), row(2, A, "b")];
    let first = load(&given, &days(), A, &lines).await.unwrap();
    assert_eq!((counts(&first).as_str(), first.batch_id.as_str()), ("read 2, inserted 2", "2026-03-01#1"));
    let before = given.dump().await;
    for again in 0..3 {
        let receipt = load(&given, &days(), A, &lines).await.unwrap();
        assert_eq!((receipt.status, receipt.run_id), (Status::SkippedDuplicate, first.run_id), "{again}");
        let period = receipt.period.unwrap();
        assert_eq!((period.label.as_str(), period.is_complete, period.loads), (A, true, 1));
        before.assert_same(&given.dump().await);
    }
}

async fn a_restated_day_changes_its_rows_only(given: Given) {
    load(&given, &days(), B, &[row(9, B, "other")]).await.unwrap();
    load(&given, &days(), A, &[row(1, A, "a"), row(2, A, "b"), row(3, A, "c")]).await.unwrap();
    let versions = touched(&given).await;
    let receipt = load(&given, &days(), A, &[row(1, A, "a"), row(3, A, "C"), row(4, A, "d")]).await.unwrap();
    assert_eq!(counts(&receipt), "read 3, inserted 1, updated 1, unchanged 1; removed 1");
    assert_eq!(rows(&given).await, ["1 a", "3 C", "4 d", "9 other"]);
    let now = touched(&given).await;
    let kept = versions.iter().filter(|version| now.contains(version)).count();
    assert_eq!(kept, versions.len().min(2), "the equal row and the other day's");
}

async fn back_and_forth_lands_three_times(given: Given) {
    let (one, two) = ([row(1, A, "a"), row(2, A, "b")], [row(1, A, "A")]);
    for (lines, want, id) in [
        (&one[..], "read 2, inserted 2", "2026-03-01#1"),
        (&two[..], "read 1, updated 1; removed 1", "2026-03-01#2"),
        (&one[..], "read 2, inserted 1, updated 1", "2026-03-01#3"),
    ] {
        let receipt = load(&given, &days(), A, lines).await.unwrap();
        assert_eq!(receipt.status, Status::Processed);
        assert_eq!((counts(&receipt).as_str(), receipt.batch_id.as_str()), (want, id));
    }
    assert_eq!(rows(&given).await, ["1 a", "2 b"]);
    // What the period holds is that of the third load, so the second payload is news again.
    assert_eq!(load(&given, &days(), A, &one).await.unwrap().status, Status::SkippedDuplicate);
    assert_eq!(load(&given, &days(), A, &two).await.unwrap().batch_id, "2026-03-01#4");
}

async fn a_forced_load_touches_no_equal_row(given: Given) {
    let lines = [row(1, A, "a"), row(2, A, "b")];
    load(&given, &days(), A, &lines).await.unwrap();
    let (dump, versions) = (given.state().await, touched(&given).await);
    let forced = Options { is_forced: true, ..patient() };
    let receipt = load_with(&given, &days(), A, &lines, &forced).await.unwrap();
    assert_eq!((counts(&receipt).as_str(), receipt.status), ("read 2, unchanged 2", Status::Processed));
    let (inbox, ledger) = (given.system("inbox"), given.system("ledger"));
    let own = [inbox.as_str(), ledger.as_str()];
    dump.without_tables(&own).assert_same(&given.state().await.without_tables(&own));
    assert_eq!(versions, touched(&given).await);
    // Somebody's hand in the rows is undone, and no other row is touched.
    given.execute("DELETE FROM t WHERE v = 'a'").await;
    let receipt = load_with(&given, &days(), A, &lines, &forced).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 1, unchanged 1");
}

async fn a_payload_of_another_period_is_refused_by_its_rows(given: Given) {
    let lines = [row(1, A, "a")];
    load(&given, &days(), A, &lines).await.unwrap();
    let before = given.dump().await;
    let error = load(&given, &days(), B, &lines).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadRecords);
    let told = error.to_string();
    assert!(told.contains("the row is in 2026-03-01, and the run's period is 2026-03-02"), "{told}");
    let ledger = given.system("ledger");
    before.without_tables(&[&ledger]).assert_same(&given.dump().await.without_tables(&[&ledger]));
}

async fn a_row_that_moved_is_told_and_never_lost(given: Given) {
    load(&given, &days(), A, &[row(1, A, "a"), row(2, A, "b")]).await.unwrap();
    // Record 2 is of the next day now, and the first day hasn't been loaded again.
    let moved = [row(2, B, "moved"), row(3, B, "c")];
    let error = load(&given, &days(), B, &moved).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadRecords);
    let found: Vec<_> = error.bad_records().iter().map(|one| (one.number, one.bad.kind.as_str())).collect();
    assert_eq!(found, [(1, "conflict")]);
    assert!(error.to_string().contains("in another period"), "{error}");
    assert_eq!(rows(&given).await, ["1 a", "2 b"], "nothing was written");
    // Once the first day is loaded without it, the next takes it.
    let receipt = load(&given, &days(), A, &[row(1, A, "a")]).await.unwrap();
    assert_eq!(counts(&receipt), "read 1, unchanged 1; removed 1");
    let receipt = load(&given, &days(), B, &moved).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 2");
    assert_eq!(rows(&given).await, ["1 a", "2 moved", "3 c"]);
}

async fn a_row_that_moved_is_kept_aside_where_bad_records_are(given: Given) {
    let keeping = pipeline(&format!("{}\non_bad_record: {{quarantine: {{max: 9}}}}", super::DAYS));
    load(&given, &keeping, A, &[row(2, A, "b")]).await.unwrap();
    load(&given, &keeping, B, &[row(4, B, "d")]).await.unwrap();
    let receipt = load(&given, &keeping, B, &[row(2, B, "moved"), row(3, B, "c")]).await.unwrap();
    // Its row is another day's, so it is none of those that this day seems to lack.
    assert_eq!(counts(&receipt), "read 2, inserted 1, quarantined 1; removed 1");
    assert_eq!(rows(&given).await, ["2 b", "3 c"]);
    let kept = given.store.quarantine(None, 10).await.unwrap();
    assert_eq!((kept.len(), kept[0].kind.as_str()), (1, "conflict"));
}

async fn a_plan_tells_what_the_run_then_does(given: Given) {
    // C22, C33
    let keeping = pipeline(&format!("{}\non_bad_record: {{quarantine: {{max: 9}}}}", super::DAYS));
    load(&given, &keeping, A, &[row(1, A, "a"), row(2, A, "b")]).await.unwrap();
    load(&given, &keeping, B, &[row(4, B, "d"), row(5, B, "e"), row(6, B, "f")]).await.unwrap();
    for lines in [
        vec![row(4, B, "d"), row(5, B, "E"), row(7, B, "g")],
        // A row of the day before, and one without an identity: neither can be that of the row which is missing.
        vec![row(2, B, "moved"), row(4, B, "d"), r#"{"id":null}"#.to_owned()],
        // A bad record with an identity can.
        vec![row(5, B, "E"), r#"{"id":6,"at":"never"}"#.to_owned()],
    ] {
        let before = given.dump().await;
        let of = keeping.in_period(B).unwrap();
        let preview = of.preview(&given.store, &batch(&lines), 5).await.unwrap();
        before.assert_same(&given.dump().await);
        let receipt = load(&given, &keeping, B, &lines).await.unwrap();
        assert_eq!(preview.outcome, receipt.outcome, "{lines:?}");
        assert_eq!(preview.notes.withheld, receipt.notes.withheld, "{lines:?}");
        let again = of.preview(&given.store, &batch(&lines), 5).await.unwrap();
        // Records that wait for their rows to leave another period make the load partial: the same payload is loaded again.
        assert_eq!(again.landed_before.is_some(), receipt.notes.moved == 0, "{lines:?}");
        assert_eq!(preview.notes.moved, receipt.notes.moved, "{lines:?}");
    }
}

async fn what_a_period_can_not_have_is_refused(given: Given) {
    let of = days().in_period(A).unwrap();
    let told = of.ingest(&given.store, &batch(&[row(1, A, "a")]).with_id("mine")).await.unwrap_err();
    assert!(told.to_string().contains("leave the batch id out"), "{told}");
    let told = days().ingest(&given.store, &batch(&[row(1, A, "a")])).await.unwrap_err();
    assert!(told.to_string().contains("`--period 2026-03-01`"), "{told}");
    assert!(told.to_string().contains("never reads the clock"), "{told}");
    // Kept records are not delivered one by one: one of them isn't the period.
    let keeping = pipeline(&format!("{}\non_bad_record: {{quarantine: {{max: 9}}}}", super::DAYS));
    load(&given, &keeping, A, &[row(1, A, "a"), r#"{"id":6,"at":"never"}"#.to_owned()]).await.unwrap();
    for retried in [keeping.clone(), keeping.in_period(A).unwrap()] {
        let told = retried.retry_quarantine(&given.store, &patient()).await.unwrap_err().to_string();
        assert!(told.contains("deliver the payload again"), "{told}");
    }
    let bound = days().in_period(A).unwrap().in_period(B).unwrap_err().to_string();
    assert!(bound.contains("the pipeline of 2026-03-01 already"), "{bound}");
    let plain = pipeline("identity: [id]\ntarget: {table: t}").in_period(A).unwrap_err().to_string();
    assert!(plain.contains("isn't loaded by periods"), "{plain}");
}

async fn a_period_whose_bounds_have_moved_is_loaded_again(given: Given) {
    // The declared zone has changed: the same label is other hours now.
    let lines = [r#"{"id":1,"at":"2026-03-01T12:00:00Z","v":"a"}"#];
    load(&given, &days(), A, &lines).await.unwrap();
    given.execute("INSERT INTO t SELECT * FROM t WHERE false").await;
    let berlin = pipeline(&super::DAYS.replace("UTC", "Europe/Berlin"));
    let receipt = load(&given, &berlin, A, &lines).await.unwrap();
    assert_eq!((receipt.status, counts(&receipt).as_str()), (Status::Processed, "read 1, unchanged 1"));
    assert_eq!(load(&given, &berlin, A, &lines).await.unwrap().status, Status::SkippedDuplicate);
}

async fn a_load_that_the_ledger_does_not_know_of_is_told(given: Given) {
    load(&given, &days(), A, &[row(1, A, "a")]).await.unwrap();
    given.execute(&format!("DELETE FROM {}", given.system("ledger"))).await;
    let error = load(&given, &days(), A, &[row(1, A, "b")]).await.unwrap_err().to_string();
    assert!(error.contains("2026-03-01#1") && error.contains("ledger"), "{error}");
    assert_eq!(rows(&given).await, ["1 a"]);
}
