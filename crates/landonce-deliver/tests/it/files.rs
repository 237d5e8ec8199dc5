//! A log file gets one line a message, whole or not at all.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use landonce_deliver::destination::Destination as _;
use landonce_deliver::destination::file::{FileSpec, LogFile};
use landonce_testkit::wait::{until, within};

use crate::parcels::{answer, parcel, with_environment};

fn file(folder: &Path) -> LogFile {
    let spec = FileSpec { path: "${NAME}.ndjson".into() };
    with_environment(&[("NAME", "notices")], |environment| spec.open(folder, environment).unwrap())
}

fn read(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("notices.ndjson")).unwrap()
}

#[tokio::test]
async fn each_message_is_a_line_with_every_digit_of_its_payload() {
    let folder = tempfile::tempdir().unwrap();
    let parcels = [parcel(1, "{\"n\": 9007199254740993.10}"), parcel(2, "[\n  1,\r\n  \"a\\nb\"\n]")];
    assert!(file(folder.path()).takes() > 1);
    let answers = file(folder.path()).send(&parcels).await;
    assert!(answers.iter().all(|one| answer(one) == ("taken", "written")), "{answers:?}");
    let [first, second] = [parcels[0].id, parcels[1].id];
    assert_eq!(
        read(folder.path()),
        format!(
            "{{\"id\":\"{first}\",\"topic\":\"crew\",\"kind\":\"updated\",\"entity\":{{\"flight\":\"B6-1\"}},\
             \"payload\":{{\"n\": 9007199254740993.10}}}}\n\
             {{\"id\":\"{second}\",\"topic\":\"crew\",\"kind\":\"updated\",\"entity\":{{\"flight\":\"B6-2\"}},\
             \"payload\":[   1,    \"a\\nb\" ]}}\n"
        )
    );
}

#[tokio::test]
async fn after_a_lost_acknowledgement_the_same_line_comes_again() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        file(folder.path()).send(&[parcel(1, "{}")]).await;
    }
    let text = read(folder.path());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, lines[1]), "readers tell by the id");
}

#[tokio::test]
async fn a_line_that_a_crash_has_torn_is_ended_first() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notices.ndjson"), "{\"id\":1}\n{\"id\":").unwrap();
    file(folder.path()).send(&[parcel(1, "{}")]).await;
    let text = read(folder.path());
    assert!(text.starts_with("{\"id\":1}\n{\"id\":\n{\"id\":\""), "{text}");
    assert_eq!(text.lines().count(), 3);
}

#[tokio::test]
async fn a_payload_that_is_no_json_is_never_written_and_the_others_are() {
    let folder = tempfile::tempdir().unwrap();
    let answers = file(folder.path()).send(&[parcel(1, "{"), parcel(2, "{}")]).await;
    assert_eq!((answer(&answers[0]).0, answer(&answers[1]).0), ("never", "taken"));
    assert!(answer(&answers[0]).1.starts_with("its payload is no JSON"));
    assert_eq!(read(folder.path()).lines().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_many_writers_never_mix() {
    let folder = tempfile::tempdir().unwrap();
    let payload = format!("\"{}\"", "x".repeat(20_000));
    let writers = (0..8).map(|writer| {
        let (file, payload) = (file(folder.path()), payload.clone());
        tokio::spawn(async move {
            for n in 0..5 {
                let parcels =
                    [parcel(writer * 100 + 2 * n, &payload), parcel(writer * 100 + 2 * n + 1, &payload)];
                assert!(file.send(&parcels).await.iter().all(|one| answer(one).0 == "taken"));
            }
        })
    });
    for ended in within(60, "all writers", futures_util::future::join_all(writers)).await {
        ended.unwrap();
    }
    let text = read(folder.path());
    assert_eq!(text.lines().count(), 80);
    for line in text.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_renamed_while_its_lock_is_awaited_gets_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notices.ndjson");
    let mut held = std::fs::File::create(&path).unwrap();
    held.lock().unwrap();
    let (file, parcels) = (file(folder.path()), [parcel(1, "{}")]);
    let sending = tokio::spawn(async move { file.send(&parcels).await });
    // Rotated by whoever has the lock, when the other one has opened the file and waits.
    until(10, "the file to be opened twice", async || (times_open(&path) == 2).then_some(())).await;
    std::fs::rename(&path, folder.path().join("notices.1")).unwrap();
    held.write_all(b"{}\n").unwrap();
    drop(held);
    assert_eq!(answer(&sending.await.unwrap()[0]).0, "taken");
    assert_eq!(std::fs::read_to_string(folder.path().join("notices.1")).unwrap(), "{}\n");
    assert_eq!(read(folder.path()).lines().count(), 1);
}

/// How often this process has the file open.
fn times_open(path: &Path) -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    open.filter(|fd| fd.as_ref().is_ok_and(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to == path)))
        .count()
}

#[tokio::test]
async fn where_no_file_can_be_nothing_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let answers = file(&folder.path().join("no/such")).send(&[parcel(1, "{}"), parcel(2, "{}")]).await;
    assert!(answers.iter().all(|one| answer(one).0 == "later for all"), "{answers:?}");
    Command::new("mkfifo").arg(folder.path().join("notices.ndjson")).status().unwrap();
    let answers = within(10, "an answer", file(folder.path()).send(&[parcel(1, "{}")])).await;
    assert!(answer(&answers[0]).1.ends_with("it is no regular file; name another path"), "{answers:?}");
}

/// Set in the process that may write only so much.
const FULL: &str = "LANDONCE_TEST_FULL_FOLDER";

/// The limit of a process is what a full disk is: a part of the write succeeds, the next fails.
#[tokio::test]
async fn a_full_disk_leaves_the_file_as_it_was() {
    if let Some(folder) = std::env::var_os(FULL) {
        let parcels: Vec<_> = (0..100).map(|n| parcel(n, "\"a payload that takes its place\"")).collect();
        let answers = file(Path::new(&folder)).send(&parcels).await;
        assert!(answers.iter().all(|one| answer(one).0 == "later for all"), "{answers:?}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    file(folder.path()).send(&[parcel(1, "{}")]).await;
    let before = read(folder.path());
    // 8 blocks are 4 or 8 KiB, by the shell; the lines are more.
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 8; trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "files::a_full_disk_leaves_the_file_as_it_was"])
        .env(FULL, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(read(folder.path()), before);
    file(folder.path()).send(&[parcel(2, "{}")]).await;
    assert_eq!(read(folder.path()).lines().count(), 2);
}
