//! Bytes that were changed, cut or lost are an error that names both digests, never part of a payload; and a later delivery
//! of the same bytes mends them.

use std::path::Path;

use landonce_archive::{Error, Manifest};

use crate::given::{Given, keep, noise, restored};

/// Texts and noise, compressed and not, small and of several parts.
fn payloads() -> Vec<Vec<u8>> {
    vec![b"{\"a\":1}\n".repeat(40_000), noise(10 << 20), [b"\x1f\x8b".to_vec(), noise(50_000)].concat()]
}

async fn is_refused(given: &Given, kept: &Manifest, bytes: &[u8], what: &str) {
    let error = match restored(&given.archive, kept).await {
        Ok(found) => panic!("{what}: {} bytes were given out", found.len()),
        Err(error) => error,
    };
    assert!(matches!(error, Error::Damaged(_)) && error.is_damage(), "{what}: {error}");
    let told = error.to_string();
    assert!(told.contains(&kept.digest) && told.contains("SHA-256"), "{what}: {told}");
    assert!(told.matches(|c: char| c.is_ascii_hexdigit()).count() >= 128, "both digests: {told}");
    assert!(given.archive.verify(kept).await.is_err(), "{what}");
    // The sender delivers the same bytes again.
    assert_eq!(&keep(&given.archive, &kept.batch_id, bytes).await.blob, &kept.blob);
    assert_eq!(restored(&given.archive, kept).await.unwrap(), bytes, "{what}: mended");
}

fn change(path: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    how(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_flipped_bit_never_gives_other_bytes() {
    for bytes in payloads() {
        let given = Given::folder();
        let kept = keep(&given.archive, "1", &bytes).await;
        let blob = given.only_blob();
        let length = blob.metadata().unwrap().len() as usize;
        for at in [0, 1, 5, length / 3, length / 2, length - 1] {
            change(&blob, |bytes| bytes[at] ^= 0x10);
            // The window's size in a Zstandard header may be another one without changing what comes out.
            if at == 5 && restored(&given.archive, &kept).await.is_ok_and(|found| found == bytes) {
                change(&blob, |bytes| bytes[at] ^= 0x10);
                continue;
            }
            is_refused(&given, &kept, &bytes, &format!("byte {at} of {length}")).await;
        }
    }
}

#[tokio::test]
async fn a_cut_blob_is_refused_at_every_length() {
    for bytes in payloads() {
        let given = Given::folder();
        let kept = keep(&given.archive, "1", &bytes).await;
        let blob = given.only_blob();
        let length = blob.metadata().unwrap().len() as usize;
        for left in [0, 1, 3, 4, length / 2, length - 1] {
            change(&blob, |bytes| bytes.truncate(left));
            is_refused(&given, &kept, &bytes, &format!("{left} of {length}")).await;
        }
    }
}

#[tokio::test]
async fn more_bytes_than_were_delivered_are_refused() {
    for bytes in payloads() {
        let given = Given::folder();
        let kept = keep(&given.archive, "1", &bytes).await;
        change(&given.only_blob(), |bytes| bytes.push(0));
        is_refused(&given, &kept, &bytes, "one more").await;
        // A blob made to unpack for ever is left after the first byte too many.
        let bomb = zstd::stream::encode_all(std::io::Read::take(std::io::repeat(0), 1 << 28), 3).unwrap();
        if kept.blob.contains(".zst") {
            std::fs::write(given.only_blob(), bomb).unwrap();
            is_refused(&given, &kept, &bytes, "a bomb").await;
        }
    }
}

#[tokio::test]
async fn a_blob_that_is_gone_says_so() {
    let given = Given::folder();
    let kept = keep(&given.archive, "1", b"abc").await;
    std::fs::remove_file(given.only_blob()).unwrap();
    let error = restored(&given.archive, &kept).await.unwrap_err();
    assert!(matches!(error, Error::Gone { .. }) && error.to_string().contains(&kept.digest), "{error}");
    keep(&given.archive, "2", b"abc").await;
    assert_eq!(restored(&given.archive, &kept).await.unwrap(), b"abc", "mended under another id too");
}

#[tokio::test]
async fn a_manifest_that_cannot_be_read_is_an_error_not_a_missing_batch() {
    let given = Given::folder();
    keep(&given.archive, "1", b"abc").await;
    let manifest = given.files("batches").pop().unwrap();
    change(&manifest, |bytes| bytes.truncate(20));
    let error = given.archive.list("flights/ü", None, None).await.unwrap_err();
    assert!(matches!(error, Error::Manifest { .. }) && error.to_string().contains("batches/"), "{error}");
    keep(&given.archive, "1", b"abc").await;
    assert_eq!(given.archive.list("flights/ü", None, None).await.unwrap().len(), 1, "mended");
}
