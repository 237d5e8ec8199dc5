//! A real process killed with SIGKILL while it keeps bytes: no half of a blob can be read, and the next try keeps them.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Command, Stdio};

use landonce_archive::Archive;

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
        .args(["--exact", "kills::the_process_that_is_killed", "--nocapture"])
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
