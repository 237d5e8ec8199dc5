//! Bytes that are kept: once, compressed, under the name of their digest, and told apart by batch.

use std::io::Write as _;

use landonce_archive::{Archive, Error};

use crate::given::{Given, at, delivery, keep, noise, restored};

#[tokio::test]
async fn bytes_come_back_as_they_were_whatever_their_size() {
    let given = Given::folder();
    for (id, bytes) in [
        ("empty", vec![]),
        ("one", b"x".to_vec()),
        ("three", b"{}\n".to_vec()),
        ("text", b"{\"flight\":\"B6-739\"}\n".repeat(50_000)),
        ("parts", noise(20 << 20)),
        ("a part exactly", noise(8 << 20)),
    ] {
        let kept = keep(&given.archive, id, &bytes).await;
        assert_eq!(restored(&given.archive, &kept).await.unwrap(), bytes, "{id}");
        given.archive.verify(&kept).await.unwrap();
        let found = given.archive.of_batch("flights/ü", id).await.unwrap();
        assert_eq!(found, [kept]);
    }
    assert!(given.archive.of_batch("flights/ü", "another").await.unwrap().is_empty());
    assert!(given.archive.of_batch("flights", "one").await.unwrap().is_empty());
    assert_eq!(given.archive.list("flights/ü", None, None).await.unwrap().len(), 6);
}

#[tokio::test]
async fn text_is_compressed_and_named_after_its_digest() {
    let given = Given::folder();
    let text = b"{\"flight\":\"B6-739\"}\n".repeat(50_000);
    let kept = keep(&given.archive, "1", &text).await;
    let blob = given.only_blob();
    assert_eq!(blob.file_name().unwrap().to_str().unwrap(), format!("{}.zst", kept.digest));
    assert!(blob.metadata().unwrap().len() < text.len() as u64 / 50);
    let unpacked = zstd::stream::decode_all(std::fs::File::open(&blob).unwrap()).unwrap();
    assert_eq!(unpacked, text, "`zstd -d` reads it as well");
}

#[tokio::test]
async fn what_is_compressed_already_stays_as_it_is() {
    let given = Given::folder();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&b"{\"a\":1}\n".repeat(1000)).unwrap();
    for (id, bytes) in [
        ("gzip", gzip.finish().unwrap()),
        ("zstd", zstd::stream::encode_all(&b"{\"a\":1}\n"[..], 3).unwrap()),
    ] {
        let kept = keep(&given.archive, id, &bytes).await;
        assert!(kept.blob.contains(".raw"), "{}", kept.blob);
        assert_eq!(std::fs::read(given.path().join(&kept.blob)).unwrap(), bytes);
        assert_eq!(restored(&given.archive, &kept).await.unwrap(), bytes);
    }
}

#[tokio::test]
async fn equal_bytes_are_one_blob_under_however_many_ids() {
    let given = Given::folder();
    let bytes = noise(100_000);
    keep(&given.archive, "monday", &bytes).await;
    let blob = given.only_blob();
    let written = blob.metadata().unwrap().modified().unwrap();
    keep(&given.archive, "monday", &bytes).await;
    keep(&given.archive, "tuesday", &bytes).await;
    assert_eq!(given.only_blob().metadata().unwrap().modified().unwrap(), written, "not written again");
    assert_eq!(given.files("batches").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_bytes_kept_by_many_at_once_are_one_whole_blob() {
    let given = Given::folder();
    let bytes = noise(9 << 20);
    let tasks: Vec<_> = (0..8)
        .map(|at| {
            let (archive, bytes) = (given.archive.clone(), bytes.clone());
            tokio::spawn(async move { keep(&archive, &format!("batch {}", at % 4), &bytes).await })
        })
        .collect();
    for task in tasks {
        let kept = task.await.unwrap();
        assert_eq!(restored(&given.archive, &kept).await.unwrap(), bytes);
    }
    given.only_blob();
    assert_eq!(given.archive.list("flights/ü", None, None).await.unwrap().len(), 4);
}

#[tokio::test]
async fn another_content_under_an_id_is_told_apart() {
    let given = Given::folder();
    let (first, second) = (b"first".to_vec(), b"second".to_vec());
    keep(&given.archive, "id", &first).await;
    given.archive.keep(delivery_at("id", &second, 60), std::io::Cursor::new(second.clone())).await.unwrap();
    let found = given.archive.of_batch("flights/ü", "id").await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(restored(&given.archive, &found[0]).await.unwrap(), first);
    assert_eq!(restored(&given.archive, &found[1]).await.unwrap(), second);
}

#[tokio::test]
async fn a_delivery_again_is_the_later_one_and_its_first_time_is_remembered() {
    let given = Given::folder();
    keep(&given.archive, "a", b"a").await;
    given.archive.keep(delivery_at("b", b"b", 10), &b"b"[..]).await.unwrap();
    given.archive.keep(delivery_at("a", b"a", 20), &b"a"[..]).await.unwrap();
    let order: Vec<_> = given.archive.list("flights/ü", None, None).await.unwrap();
    assert_eq!(order.iter().map(|kept| kept.batch_id.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!((order[1].first_received_at, order[1].received_at), (at(0), at(20)));
    let some = given.archive.list("flights/ü", Some(at(10)), Some(at(20))).await.unwrap();
    assert_eq!(some.len(), 1, "from is included, to isn't");
    assert_eq!(some[0].batch_id, "b");
}

#[tokio::test]
async fn bytes_that_are_not_the_announced_ones_are_not_kept() {
    let given = Given::folder();
    for bytes in [noise(1000), noise(30 << 20)] {
        let mut read = bytes.clone();
        read.push(b'x');
        let error = given.archive.keep(delivery("1", &bytes), std::io::Cursor::new(read)).await.unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
    }
    assert!(given.files("blobs").is_empty() && given.files("batches").is_empty());
}

#[tokio::test]
async fn a_payload_that_fails_half_way_leaves_nothing() {
    struct Failing(usize);
    impl std::io::Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(std::io::Error::other("the disk is gone"));
            }
            let bytes = noise(self.0.min(into.len()));
            into[..bytes.len()].copy_from_slice(&bytes);
            self.0 -= bytes.len();
            Ok(bytes.len())
        }
    }
    let given = Given::folder();
    let error = given.archive.keep(delivery("1", b"x"), Failing(30 << 20)).await.unwrap_err();
    assert!(error.to_string().contains("the disk is gone"), "{error}");
    assert!(given.files("blobs").is_empty() && given.files("batches").is_empty());
}

#[test]
fn a_folder_that_is_not_there_is_no_empty_archive() {
    let folder = tempfile::tempdir().unwrap();
    let error = Archive::open(folder.path().join("no").to_str().unwrap()).unwrap_err();
    assert!(matches!(&error, Error::NoArchive { .. }) && error.to_string().contains("no"), "{error}");
}

#[cfg(not(feature = "s3"))]
#[test]
fn a_build_without_s3_says_so() {
    let error = Archive::open("s3://bucket/prefix").unwrap_err();
    assert!(error.to_string().contains("--features s3"), "{error}");
}

fn delivery_at(id: &str, bytes: &[u8], second: i64) -> landonce_archive::Delivery {
    landonce_archive::Delivery { received_at: at(second), ..delivery(id, bytes) }
}
