//! A person's word on a held payload: it lands as it is compared with what is there now, and only with open eyes.

use landonce::held::{Although, State};
use landonce::{Kind, Pipeline, Status};

use super::{counts, cut, hold, land, release, retired, retiring, rows, shown, standing, the_held, whole};
use crate::given::{Given, on_every_store, patient};

on_every_store!(
    a_mass_change_is_held_and_released,
    after_a_release_the_next_like_it_is_usual,
    what_is_incomplete_is_released_with_a_word,
    what_is_older_than_what_stands_is_released_with_a_word,
    what_is_rejected_is_held_again_and_says_so,
    only_what_is_held_of_this_pipeline_is_released,
    a_release_keeps_the_senders_id,
    a_release_that_comes_too_late_is_told,
    two_releases_at_once_land_once,
);

const PLAINLY: Although = Although { incomplete: false, newer: false };

async fn a_release_that_comes_too_late_is_told(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    hold(&given, &pipeline, &whole(&rows(1..=4, "b"))).await;
    // Two people look at it at once.
    let held = the_held(&given).await;
    assert!(given.store.reject(&held, uuid::Uuid::now_v7()).await.unwrap());
    let before = given.dump().await;
    let error = pipeline.release(&given.store, &held, PLAINLY, &patient()).await.unwrap_err();
    assert!(error.to_string().contains("released or rejected"), "{error}");
    before.assert_same(&given.dump().await);
}

async fn two_releases_at_once_land_once(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    hold(&given, &pipeline, &whole(&rows(1..=4, "b"))).await;
    let held = the_held(&given).await;
    let (options, store) = (patient(), &given.store);
    let (a, b) = tokio::join!(
        pipeline.release(store, &held, PLAINLY, &options),
        pipeline.release(store, &held, PLAINLY, &options),
    );
    let landed = [&a, &b].into_iter().filter(|one| one.is_ok()).count();
    assert_eq!(landed, 1, "{a:?}\n{b:?}");
    assert_eq!(standing(&given).await, shown(1..=4, "b"));
}

async fn a_mass_change_is_held_and_released(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    let changed = [rows(1..=4, "b"), rows(5..=10, "a")].concat();
    let reasons = hold(&given, &pipeline, &whole(&changed)).await;
    assert!(reasons[0].contains("it changes 4 of the 10"), "{reasons:?}");
    let held = the_held(&given).await;
    let before = given.dump().await;
    let shown_ = pipeline.preview_held(&given.store, &held, 5).await.unwrap();
    assert_eq!((shown_.outcome.updated, shown_.notes.reasons), (4, reasons));
    before.assert_same(&given.dump().await);
    let receipt = release(&given, &pipeline, PLAINLY).await.unwrap();
    assert_eq!(
        (receipt.status, counts(&receipt)),
        (Status::Processed, "read 10, updated 4, unchanged 6".to_owned())
    );
    assert_eq!(standing(&given).await, [shown(1..=4, "b"), shown(5..=10, "a")].concat());
    let all = given.store.held(None, true).await.unwrap();
    assert_eq!((all.len(), all[0].state, all[0].decided_by), (1, State::Released, Some(receipt.run_id)));
    assert_eq!(given.count(&given.system("held_piece")).await, 0);
    // Delivered again, it is what stands.
    let again = given.deliver_batch(&pipeline, &whole(&changed)).await.unwrap();
    assert_eq!(again.status, Status::SkippedDuplicate);
    let error = pipeline.release(&given.store, &all[0], PLAINLY, &patient()).await.unwrap_err();
    assert!(error.to_string().contains("is released already"), "{error}");
}

async fn after_a_release_the_next_like_it_is_usual(given: Given) {
    let pipeline = retiring();
    for nth in 0..3 {
        land(&given, &pipeline, &rows(1 + nth..=10 + nth, "a")).await;
    }
    hold(&given, &pipeline, &whole(&rows(1..=30, "a"))).await;
    release(&given, &pipeline, PLAINLY).await.unwrap();
    land(&given, &pipeline, &rows(1..=31, "a")).await;
    // What was usual before isn't any more.
    hold(&given, &pipeline, &whole(&rows(1..=10, "a"))).await;
}

async fn what_is_incomplete_is_released_with_a_word(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    hold(&given, &pipeline, &cut(&rows(1..=9, "a"))).await;
    let before = given.dump().await;
    let error = release(&given, &pipeline, PLAINLY).await.unwrap_err();
    assert!(error.to_string().contains("--although-incomplete"), "{error}");
    let error = release(&given, &pipeline, Although { newer: true, ..PLAINLY }).await.unwrap_err();
    assert!(error.to_string().contains("--although-incomplete"), "{error}");
    before.assert_same(&given.dump().await);
    let receipt = release(&given, &pipeline, Although { incomplete: true, ..PLAINLY }).await.unwrap();
    assert_eq!(counts(&receipt), "read 9, unchanged 9; retired 1");
    assert_eq!(retired(&given).await, ["10 a"]);
}

async fn what_is_older_than_what_stands_is_released_with_a_word(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    hold(&given, &pipeline, &whole(&rows(1..=7, "a"))).await;
    let newer = land(&given, &pipeline, &rows(1..=11, "a")).await;
    let before = given.dump().await;
    let error = release(&given, &pipeline, PLAINLY).await.unwrap_err();
    assert!(error.to_string().contains("another snapshot has landed since"), "{error}");
    before.assert_same(&given.dump().await);
    assert_eq!(newer.outcome.inserted, 1);
    let receipt = release(&given, &pipeline, Although { newer: true, ..PLAINLY }).await.unwrap();
    assert_eq!(counts(&receipt), "read 7, unchanged 7; retired 4", "compared with what is there now");
}

async fn what_is_rejected_is_held_again_and_says_so(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    hold(&given, &pipeline, &whole(&rows(1..=7, "a"))).await;
    let held = the_held(&given).await;
    assert!(given.store.reject(&held, uuid::Uuid::now_v7()).await.unwrap());
    assert!(!given.store.reject(&held, uuid::Uuid::now_v7()).await.unwrap());
    assert_eq!(given.count(&given.system("held_piece")).await, 0);
    let reasons = hold(&given, &pipeline, &whole(&rows(1..=7, "a"))).await;
    assert!(reasons.iter().any(|why| why == "a person has rejected this payload"), "{reasons:?}");
    // It would be plausible by now: a person's word holds.
    land(&given, &pipeline, &rows(1..=8, "a")).await;
    let reasons = hold(&given, &pipeline, &whole(&rows(1..=7, "a"))).await;
    assert_eq!(reasons, ["a person has rejected this payload"]);
    assert!(given.store.held(Some("p"), false).await.unwrap().is_empty());
    let rejected = given.store.held(Some("p"), true).await.unwrap().remove(0);
    let error = pipeline.release(&given.store, &rejected, PLAINLY, &patient()).await.unwrap_err();
    assert!(error.to_string().contains("is rejected already"), "{error}");
}

async fn only_what_is_held_of_this_pipeline_is_released(given: Given) {
    let pipeline = retiring();
    land(&given, &pipeline, &rows(1..=10, "a")).await;
    hold(&given, &pipeline, &whole(&rows(1..=7, "a"))).await;
    let held = the_held(&given).await;
    let other = Pipeline::from_yaml("pipeline: q\nidentity: [id]\ntarget: {table: t}").unwrap();
    for error in [
        other.release(&given.store, &held, PLAINLY, &patient()).await.unwrap_err(),
        crate::given::pipeline("identity: [id]\ntarget: {table: t}")
            .release(&given.store, &held, PLAINLY, &patient())
            .await
            .unwrap_err(),
    ] {
        assert_eq!(error.kind(), Kind::Pipeline, "{error}");
    }
    // A declaration that has become stricter since holds it again.
    let stricter = crate::given::pipeline(
        "identity: [id]\ntarget: {table: t, managed: {retired_at: retired_at, retired_by: retired_by}, columns: {id: integer, v: text}}\nsource: {complete: {end_marker: '#END'}}\n\
         write: {mode: snapshot, absent: retire}",
    );
    let receipt = stricter.release(&given.store, &held, PLAINLY, &patient()).await;
    assert!(receipt.is_err() || receipt.is_ok_and(|receipt| receipt.status == Status::Held));
    assert_eq!(standing(&given).await, shown(1..=10, "a"));
}

async fn a_release_keeps_the_senders_id(given: Given) {
    let pipeline = retiring();
    given.deliver_batch(&pipeline, &whole(&rows(1..=10, "a")).with_id("monday")).await.unwrap();
    let tuesday = whole(&rows(1..=5, "a")).with_id("tuesday");
    hold(&given, &pipeline, &tuesday).await;
    let receipt = release(&given, &pipeline, PLAINLY).await.unwrap();
    assert_eq!((receipt.status, receipt.batch_id.as_str()), (Status::Processed, "tuesday"));
    let again = given.deliver_batch(&pipeline, &tuesday).await.unwrap();
    assert_eq!(again.status, Status::SkippedDuplicate);
}
