//! The sender's id (G1, G3): trusted where it is stable, and reported where it isn't.

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(equal_content_under_another_id_is_reported_not_silently_stored_twice, a_stable_id_is_no_news,);

async fn equal_content_under_another_id_is_reported_not_silently_stored_twice(given: Given) {
    let pipeline = pipeline("identity: {sender_id: id}\ntarget: {table: t}");
    given.deliver(&pipeline, &[r#"{"id":"a","v":1}"#, r#"{"id":"b","v":2}"#]).await.unwrap();
    let resent = given
        .deliver(&pipeline, &[r#"{"id":"x","v":1}"#, r#"{"id":"y","v":2}"#, r#"{"id":"z","v":3}"#])
        .await
        .unwrap();
    assert_eq!(counts(&resent), "read 3, inserted 3");
    assert_eq!(resent.notes.same_content, 2);
    assert_eq!(resent.notes.same_content_samples.len(), 2);
    let within = given.deliver(&pipeline, &[r#"{"id":"p","v":9}"#, r#"{"id":"q","v":9}"#]).await.unwrap();
    assert!(within.notes.same_content > 0);
}

async fn a_stable_id_is_no_news(given: Given) {
    let pipeline = pipeline("identity: {sender_id: id}\nvolatile: [sent_at]\ntarget: {table: t}");
    given.deliver(&pipeline, &[r#"{"id":"a","v":1,"sent_at":"09:00"}"#]).await.unwrap();
    let again = given.deliver(&pipeline, &[r#"{"id":"a","v":1,"sent_at":"09:05"}"#]).await.unwrap();
    assert_eq!(counts(&again), "read 1, unchanged 1");
    assert_eq!(again.notes.same_content, 0);
}
