//! Processes of their own: one killed with SIGKILL while it keeps bytes leaves no half that can be read, and the next try keeps
//! them; one that keeps and reads a large payload takes no more memory for it.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Command, Stdio};

use landonce_archive::Archive;
use sha2::Digest as _;

use crate::given::{Given, delivery, keep, noise, restored};

/// Names the archive's folder to the process that is to be killed.
const VARIABLE: &str = "LANDONCE_ARCHIVE_KILLED";
/// Several parts have been written when it stops.
const LENGTH: usize = 40 << 20;

/// Gives all bytes but the last ones, says so, and stops for ever.
struct Stuck(std::io::Cursor<Vec<u8>>);

impl Read for Stuck {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.0.position() as usize + into.len() >= LENGTH {
            std::io::stderr().write_all(b"half\n").unwrap();
            loop {
                std::thread::park();
            }
        }
        self.0.read(into)
    }
}

/// Does nothing, except in the process that the next test starts.
#[tokio::test]
async fn the_process_that_is_killed() {
    let Ok(place) = std::env::var(VARIABLE) else { return };
    let bytes = noise(LENGTH);
    let archive = Archive::open_or_make(&place).unwrap();
    let kept = archive.keep(delivery("1", &bytes), Stuck(std::io::Cursor::new(bytes))).await;
    panic!("it was to be killed: {kept:?}");
}

#[tokio::test]
async fn a_process_killed_while_it_writes_leaves_no_readable_half() {
    let given = Given::folder();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::the_process_that_is_killed", "--nocapture"])
        .env(VARIABLE, given.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap()).lines().find(|line| {
        let line = line.as_ref().unwrap();
        assert!(!line.contains("panicked"), "{line}");
        line == "half"
    });
    assert!(said.is_some());
    child.kill().unwrap();
    child.wait().unwrap();

    let left = given.files("");
    assert!(!left.is_empty(), "it was killed while it wrote");
    assert!(left.iter().all(|path| path.to_string_lossy().contains('#')), "{left:?}");
    assert!(given.archive.list("flights/ü", None, None).await.unwrap().is_empty());
    let swept = given.archive.sweep(jiff::Timestamp::now(), true).await.unwrap();
    assert!(swept.condemned.is_empty(), "a half is no blob: {swept:?}");

    let bytes = noise(LENGTH);
    let kept = keep(&given.archive, "1", &bytes).await;
    assert!(restored(&given.archive, &kept).await.unwrap() == bytes);
}

/// Names the archive's folder to the process whose memory is looked at.
const MEASURED: &str = "LANDONCE_ARCHIVE_MEASURED";

/// Does nothing, except in the process that the next test starts.
#[tokio::test]
async fn the_process_that_is_measured() {
    let Ok(place) = std::env::var(MEASURED) else { return };
    let archive = Archive::open_or_make(&place).unwrap();
    // gzip's magic number: kept as it is, so that all of it passes through.
    let length = 200 << 20;
    let bytes = || (&[0x1f, 0x8b][..]).chain(std::io::repeat(7)).take(length);
    let mut hash = sha2::Sha256::new();
    std::io::copy(&mut bytes(), &mut Hashing(&mut hash)).unwrap();
    let delivery =
        landonce_archive::Delivery { digest: hash.finalize().into(), length, ..delivery("1", b"") };
    let kept = archive.keep(delivery, bytes()).await.unwrap();
    archive.verify(&kept).await.unwrap();
    assert_eq!(archive.open_verified(&kept).await.unwrap().metadata().unwrap().len(), length);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches("kB").trim().parse().unwrap();
    assert!(peak < 80 << 10, "{peak} kB for {} kB", length >> 10);
}

#[tokio::test]
async fn a_large_payload_takes_no_more_memory_than_a_small_one() {
    let given = Given::folder();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::the_process_that_is_measured", "--nocapture"])
        .env(MEASURED, given.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && !given.files("blobs").is_empty(), "{said}");
}

/// Hashes what is written.
struct Hashing<'h>(&'h mut sha2::Sha256);

impl std::io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
