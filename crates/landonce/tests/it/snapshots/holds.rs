//! What is incomplete or implausible is held: the target is as it was, the payload is kept once, and the reason is told.

use landonce::Status;
use landonce::held::State;

use super::{
    anything, counts, cut, declared, hold, land, retired, retiring, rows, shown, standing, the_held, whole,
};
use crate::given::{Given, on_every_store, pipeline};

on_every_store!(
    an_empty_list_is_held,
    an_empty_list_is_held_whatever_is_allowed,
    what_is_not_proved_is_held_even_when_it_is_plausible,
    a_wrong_count_is_held,
    a_fifth_is_usual,
    rows_are_compared_with_the_median_of_earlier_loads,
    each_share_is_told,
    nulls_are_counted,
    an_assertion_is_asked_of_what_would_be,
    a_held_payload_that_becomes_plausible_lands,
);

/// The target's rows and the system's tables but the held ones.
async fn but_held(given: &Given) -> landonce_testkit::dump::Dump {
    let (held, piece) = (given.system("held"), given.system("held_piece"));
    given.dump().await.without_tables(&[&held, &piece])
}

/// C32
async fn an_empty_list_is_held(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=12, "a")).await;
    let before = but_held(&given).await;
    let reasons = hold(&given, &pipeline, &whole(&[])).await;
    assert!(reasons.iter().any(|why| why.contains("no records, and 12 rows are there")), "{reasons:?}");
    assert!(reasons.iter().any(|why| why.contains("doesn't have 12 of the 12 rows")), "{reasons:?}");
    before.assert_same(&but_held(&given).await);
    // Redelivered: one held entry, and not one value else.
    let before = given.dump().await;
    hold(&given, &pipeline, &whole(&[])).await;
    before.assert_same(&given.dump().await);
    let held = the_held(&given).await;
    assert_eq!((held.hold.outcome.retired, held.hold.is_complete), (12, true));
    let receipt = super::release(&given, &pipeline, landonce::held::Although::default()).await.unwrap();
    assert_eq!((receipt.status, counts(&receipt)), (Status::Processed, "; retired 12".to_owned()));
    assert_eq!(retired(&given).await, shown(1..=12, "a"));
    // And it comes back.
    let receipt = given.deliver_batch(&anything("retire"), &whole(&rows(1..=12, "a"))).await.unwrap();
    assert_eq!(counts(&receipt), "read 12, updated 12; restored 12");
}

async fn an_empty_list_is_held_whatever_is_allowed(given: Given) {
    for (nth, absent) in ["retire", "delete"].into_iter().enumerate() {
        let pipeline = anything(absent);
        land(&given, &pipeline, &rows(1..=12, "a")).await;
        let reasons = hold(&given, &pipeline, &whole(&[])).await;
        assert_eq!(reasons, ["it has no records, and 12 rows are there"], "{nth}");
        given.execute(&format!("DROP TABLE t; DELETE FROM {}", given.system("ledger"))).await;
        given
            .execute(&format!("DELETE FROM {}; DELETE FROM {}", given.system("inbox"), given.system("held")))
            .await;
    }
}

async fn what_is_not_proved_is_held_even_when_it_is_plausible(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    let before = but_held(&given).await;
    let reasons = hold(&given, &pipeline, &cut(&rows(1..=9, "a"))).await;
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(reasons[0].starts_with("incomplete: ") && reasons[0].contains("#EOF"), "{reasons:?}");
    assert!(!the_held(&given).await.hold.is_complete);
    before.assert_same(&but_held(&given).await);
    // Also on a first load, and where nothing would go.
    let fresh = pipeline.preview(&given.store, &cut(&rows(1..=11, "a")), 0).await.unwrap();
    assert!(fresh.notes.reasons[0].starts_with("incomplete: "));
}

async fn a_wrong_count_is_held(given: Given) {
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, managed: {retired_at: retired_at, retired_by: retired_by}, columns: {id: integer, v: text}}\nsource: {complete: {count: {trailer: '#rows={n}'}}}\n\
         write: {mode: snapshot, absent: retire}",
    );
    let counted = |rows: &[String], n: u32| {
        landonce::Batch::from_bytes("t.ndjson", format!("{}\n#rows={n}\n", rows.join("\n")))
    };
    given.deliver_batch(&pipeline, &counted(&rows(1..=10, "a"), 10)).await.unwrap();
    let reasons = hold(&given, &pipeline, &counted(&rows(1..=9, "a"), 10)).await;
    assert!(reasons.len() == 1 && reasons[0].contains("declares 10 records"), "{reasons:?}");
    assert_eq!(standing(&given).await, shown(1..=10, "a"));
    given.deliver_batch(&pipeline, &counted(&rows(1..=9, "a"), 9)).await.unwrap();
    assert_eq!(retired(&given).await, ["10 a"]);
}

async fn a_fifth_is_usual(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    for (over, says) in [
        (rows(1..=13, "a"), "13 records, and the median of the last load is 10: more than 20 % away"),
        (rows(1..=7, "a"), "7 records, and the median of the last load is 10: more than 20 % away"),
        (rows(4..=13, "a"), "it doesn't have 3 of the 10 rows that are there: more than 20 %"),
        ([rows(1..=3, "b"), rows(4..=10, "a")].concat(), "it changes 3 of the 10 rows that are there"),
    ] {
        let reasons = hold(&given, &pipeline, &whole(&over)).await;
        assert!(reasons.iter().any(|why| why.contains(says)), "{says}: {reasons:?}");
    }
    assert_eq!(standing(&given).await, shown(1..=10, "a"));
    // A fifth itself is usual.
    let exactly = [rows(1..=2, "b"), rows(3..=8, "a"), rows(11..=14, "a")].concat();
    let receipt = land(&given, &pipeline, &exactly).await;
    assert_eq!(counts(&receipt), "read 12, inserted 4, updated 2, unchanged 6; retired 2");
}

async fn rows_are_compared_with_the_median_of_earlier_loads(given: Given) {
    let pipeline = declared("absent: retire, plausible: {changed: any, retired: any}");
    for ids in [1..=10, 1..=12, 2..=13, 1..=14] {
        land(&given, &pipeline, &rows(ids, "a")).await;
    }
    let reasons = hold(&given, &pipeline, &whole(&rows(1..=15, "a"))).await;
    assert!(reasons[0].contains("15 records, and the median of the last 4 loads is 12"), "{reasons:?}");
    let receipt = given.deliver_batch(&pipeline, &whole(&rows(2..=15, "a"))).await.unwrap();
    assert_eq!(receipt.status, Status::Processed);
}

async fn each_share_is_told(given: Given) {
    for (nth, (plausible, rows_, key)) in [
        ("rows: 0%, changed: any, retired: any", rows(1..=11, "a"), "write.plausible.rows"),
        (
            "rows: any, changed: 5%, retired: any",
            [rows([1], "b"), rows(2..=10, "a")].concat(),
            "write.plausible.changed",
        ),
        ("rows: any, changed: any, retired: 5 %", rows(1..=9, "a"), "write.plausible.retired"),
    ]
    .into_iter()
    .enumerate()
    {
        let pipeline = declared(&format!("absent: retire, plausible: {{{plausible}}}"));
        if nth == 0 {
            land(&given, &pipeline, &rows(1..=10, "a")).await;
        }
        let reasons = hold(&given, &pipeline, &whole(&rows_)).await;
        assert!(reasons.len() == 1 && reasons[0].contains(key), "{reasons:?}");
    }
}

async fn nulls_are_counted(given: Given) {
    let pipeline = declared("absent: retire, plausible: {nulls: {v: 10%}, changed: any}");
    let with = |nulls: u32| {
        let null =
            |id| if id <= nulls { format!(r#"{{"id":{id},"v":null}}"#) } else { rows([id], "a").remove(0) };
        (1..=20).map(null).collect::<Vec<_>>()
    };
    // Also the first load.
    let reasons = hold(&given, &pipeline, &whole(&with(3))).await;
    assert_eq!(
        reasons,
        ["`v` is null or absent in 3 of 20 records: more than 10 % (`write.plausible.nulls`)"]
    );
    land(&given, &pipeline, &with(2)).await;
}

async fn an_assertion_is_asked_of_what_would_be(given: Given) {
    let pipeline = declared(
        "absent: retire, plausible: {rows: any, retired: any, assert: ['SELECT count(*) >= 5 FROM t WHERE retired_at IS NULL']}",
    );
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    let before = but_held(&given).await;
    let reasons = hold(&given, &pipeline, &whole(&rows(7..=10, "a"))).await;
    assert!(reasons.len() == 1 && reasons[0].contains("SELECT count(*) >= 5"), "{reasons:?}");
    before.assert_same(&but_held(&given).await);
    land(&given, &pipeline, &rows(6..=10, "a")).await;
    super::hold(&given, &pipeline, &whole(&rows(8..=10, "a"))).await;
    // Four and three are held; a person's word is enough for the one that is named.
    let held = given.store.held(Some("p"), false).await.unwrap();
    assert_eq!(held.len(), 2);
    let newest = held.iter().find(|held| held.hold.outcome.read == 3).unwrap();
    let receipt = pipeline
        .release(&given.store, newest, landonce::held::Although::default(), &crate::given::patient())
        .await;
    assert_eq!(counts(&receipt.unwrap()), "read 3, unchanged 3; retired 2");
}

async fn a_held_payload_that_becomes_plausible_lands(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    hold(&given, &pipeline, &whole(&rows(1..=13, "a"))).await;
    land(&given, &pipeline, &rows(1..=12, "a")).await;
    land(&given, &pipeline, &rows(2..=12, "a")).await;
    let lenient = declared("absent: retire, plausible: {rows: 30%}");
    land(&given, &lenient, &rows(1..=13, "a")).await;
    let all = given.store.held(Some("p"), true).await.unwrap();
    assert_eq!(all.iter().map(|held| held.state).collect::<Vec<_>>(), [State::Landed]);
    assert_eq!(given.count(&given.system("held_piece")).await, 0);
}
