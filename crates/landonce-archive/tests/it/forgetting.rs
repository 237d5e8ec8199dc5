//! Forgetting: a manifest at once, its blob only when nothing else needs it, and never under a delivery's feet.

use jiff::{SignedDuration, Timestamp};

use crate::given::{Given, keep, restored};

/// Sweeps as if so many hours had gone by.
async fn swept(given: &Given, hours: i64) -> landonce_archive::Swept {
    let now = Timestamp::now() + SignedDuration::from_hours(hours);
    given.archive.sweep(now, true).await.unwrap()
}

#[tokio::test]
async fn a_blob_goes_a_day_after_the_last_batch_that_needed_it() {
    let given = Given::folder();
    let one = keep(&given.archive, "1", b"shared").await;
    let two = keep(&given.archive, "2", b"shared").await;
    given.archive.forget(&one).await.unwrap();
    given.archive.forget(&one).await.unwrap(); // twice is once
    assert!(swept(&given, 0).await.condemned.is_empty());
    assert!(swept(&given, 1000).await.deleted.is_empty(), "another batch needs it");
    assert_eq!(restored(&given.archive, &two).await.unwrap(), b"shared");

    given.archive.forget(&two).await.unwrap();
    assert_eq!(swept(&given, 0).await.condemned, std::slice::from_ref(&two.blob));
    assert!(swept(&given, 23).await.deleted.is_empty());
    let last = swept(&given, 25).await;
    assert_eq!((last.deleted, last.freed > 0), (vec![two.blob], true));
    assert!(given.files("blobs").is_empty());
}

#[tokio::test]
async fn a_delivery_that_comes_between_mark_and_deletion_keeps_its_bytes() {
    let given = Given::folder();
    let one = keep(&given.archive, "1", b"shared").await;
    given.archive.forget(&one).await.unwrap();
    swept(&given, 0).await;
    let again = keep(&given.archive, "1", b"shared").await;
    assert_ne!(again.blob, one.blob, "a condemned name is never used again");
    assert_eq!(swept(&given, 25).await.deleted, [one.blob]);
    assert_eq!(restored(&given.archive, &again).await.unwrap(), b"shared");
    assert!(swept(&given, 1000).await.deleted.is_empty());
    // And once more: its name is taken too.
    given.archive.forget(&again).await.unwrap();
    swept(&given, 0).await;
    swept(&given, 25).await;
    let third = keep(&given.archive, "1", b"shared").await;
    assert!(third.blob.ends_with(".2.zst"), "{}", third.blob);
    assert_eq!(restored(&given.archive, &third).await.unwrap(), b"shared");
}

#[tokio::test]
async fn a_delivery_that_had_looked_before_the_mark_is_safe() {
    let given = Given::folder();
    let one = keep(&given.archive, "1", b"shared").await;
    let manifest = given.files("batches").pop().unwrap();
    let text = std::fs::read(&manifest).unwrap();
    given.archive.forget(&one).await.unwrap();
    swept(&given, 0).await;
    // It found the blob, then the mark was set, and only now it writes its manifest.
    std::fs::write(&manifest, text).unwrap();
    assert!(swept(&given, 25).await.deleted.is_empty());
    assert_eq!(restored(&given.archive, &one).await.unwrap(), b"shared");
}

#[tokio::test]
async fn a_dry_sweep_writes_nothing() {
    let given = Given::folder();
    let one = keep(&given.archive, "1", b"bytes").await;
    given.archive.forget(&one).await.unwrap();
    let before = given.files("");
    let dry = given.archive.sweep(Timestamp::now(), false).await.unwrap();
    assert_eq!(dry.condemned.len(), 1);
    assert_eq!(given.files(""), before);
}

#[tokio::test]
async fn nothing_is_deleted_while_a_manifest_cannot_be_read() {
    let given = Given::folder();
    let one = keep(&given.archive, "1", b"bytes").await;
    keep(&given.archive, "2", b"other").await;
    given.archive.forget(&one).await.unwrap();
    swept(&given, 0).await;
    std::fs::write(&given.files("batches")[0], "{").unwrap();
    let later = Timestamp::now() + SignedDuration::from_hours(25);
    assert!(given.archive.sweep(later, true).await.is_err());
    assert_eq!(given.files("blobs").len(), 2);
}

#[tokio::test]
async fn halves_of_killed_processes_go_after_a_day() {
    let given = Given::folder();
    let kept = keep(&given.archive, "1", b"bytes").await;
    let half = given.path().join(format!("{}#1", kept.blob));
    std::fs::write(&half, "half").unwrap();
    assert_eq!(swept(&given, 23).await.halves, 0);
    assert!(half.exists());
    assert_eq!(swept(&given, 25).await.halves, 1);
    assert!(!half.exists());
    assert_eq!(restored(&given.archive, &kept).await.unwrap(), b"bytes");
}
