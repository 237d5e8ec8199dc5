//! The same promises at an S3-compatible server. The archive takes its settings from the environment, which only a process
//! that is started with it has: each test runs itself again, with the server's.

use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use landonce_archive::{Archive, Error};
use landonce_testkit::s3::{BUCKET, Server};

use crate::given::{keep, noise, restored};

/// Tells a test that it runs with a server.
const VARIABLE: &str = "LANDONCE_ARCHIVE_S3";

/// Whether the test is to go on; without a server, it is run again with one.
fn has_server(name: &str) -> bool {
    if std::env::var(VARIABLE).is_ok() {
        return true;
    }
    let server = Server::start();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("s3::{name}"), "--nocapture"])
        .env(VARIABLE, "1")
        .envs(server.environment())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_come_back_as_they_were() {
    if !has_server("bytes_come_back_as_they_were") {
        return;
    }
    let archive = Archive::open_or_make(&format!("s3://{BUCKET}/a/b")).unwrap();
    for (id, bytes) in [
        ("empty", vec![]),
        ("small", b"{}\n".to_vec()),
        ("three parts", noise(20 << 20)),
        ("gzip", [b"\x1f\x8b".to_vec(), noise(9 << 20)].concat()),
    ] {
        let kept = keep(&archive, id, &bytes).await;
        assert!(restored(&archive, &kept).await.unwrap() == bytes, "{id}");
        assert_eq!(archive.of_batch("flights/ü", id).await.unwrap(), [kept]);
        // Twice is once.
        keep(&archive, id, &bytes).await;
    }
    assert_eq!(archive.list("flights/ü", None, None).await.unwrap().len(), 4);
    let elsewhere = Archive::open(&format!("s3://{BUCKET}/a/c")).unwrap();
    assert!(elsewhere.list("flights/ü", None, None).await.unwrap().is_empty());
    assert_eq!(archive.place(), format!("s3://{BUCKET}/a/b"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_announced_otherwise_or_forgotten_is_not_there() {
    if !has_server("what_was_announced_otherwise_or_forgotten_is_not_there") {
        return;
    }
    let archive = Archive::open(&format!("s3://{BUCKET}")).unwrap();
    let bytes = noise(20 << 20);
    let mut read = bytes.clone();
    read[15 << 20] ^= 1;
    let delivery = crate::given::delivery("1", &bytes);
    let error = archive.keep(delivery, std::io::Cursor::new(read)).await.unwrap_err();
    assert!(matches!(error, Error::Changed { .. }), "{error}");
    assert!(archive.list("flights/ü", None, None).await.unwrap().is_empty());

    let kept = keep(&archive, "1", &bytes).await;
    archive.forget(&kept).await.unwrap();
    assert_eq!(archive.sweep(Timestamp::now(), true).await.unwrap().condemned.len(), 1);
    let again = keep(&archive, "1", &bytes).await;
    let later = Timestamp::now() + SignedDuration::from_hours(25);
    assert_eq!(archive.sweep(later, true).await.unwrap().deleted, std::slice::from_ref(&kept.blob));
    assert!(matches!(restored(&archive, &kept).await, Err(Error::Gone { .. })));
    assert!(restored(&archive, &again).await.unwrap() == bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_is_not_there_is_an_error_without_secrets() {
    if !has_server("a_bucket_that_is_not_there_is_an_error_without_secrets") {
        return;
    }
    let archive = Archive::open("s3://no-such-bucket/p").unwrap();
    let bytes = b"abc".to_vec();
    let error =
        archive.keep(crate::given::delivery("1", &bytes), std::io::Cursor::new(bytes)).await.unwrap_err();
    let told = format!("{error} {error:?}");
    assert!(told.contains("no-such-bucket") && !told.contains("sekret"), "{told}");
}
