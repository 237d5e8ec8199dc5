//! A disk that is full (C49): a clean failure, nothing left, and the next run does it all.

use std::process::Command;

use landonce_testkit::dump;
use landonce_testkit::fixture::Events;

use crate::folder::Folder;

/// Runs the program where no file may grow beyond so many KiB, which is how a full disk looks to it.
fn with_room(folder: &Folder, kib: u32, file: &str) -> (i32, String) {
    let script = format!(
        "trap '' XFSZ; ulimit -f {kib}; exec \"$0\" run {file} --into t --key flight_id,event_kind,instant_utc --no-progress"
    );
    let output = Command::new("bash")
        .args(["-c", &script, env!("CARGO_BIN_EXE_landonce")])
        .current_dir(folder.path(""))
        .env_remove("LANDONCE_STORE")
        .output()
        .unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_full_disk_fails_cleanly_and_the_next_run_does_it_all() {
    let (folder, clean) = (Folder::new(), Folder::new());
    let bytes = |count| {
        let mut bytes = Vec::new();
        Events::new(4, count).write_to(&mut bytes).unwrap();
        bytes
    };
    for one in [&folder, &clean] {
        one.write("small.ndjson", bytes(50));
        one.write("large.ndjson", bytes(4_000));
        assert_eq!(with_room(one, 1 << 20, "small.ndjson").0, 0);
    }
    let before = dump::sqlite(folder.path("landonce.db"));
    let (code, told) = with_room(&folder, 400, "large.ndjson");
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("error[L06"), "{told}");
    before.assert_same(&dump::sqlite(folder.path("landonce.db")));
    for one in [&folder, &clean] {
        assert_eq!(with_room(one, 1 << 20, "large.ndjson").0, 0);
    }
    let rows = |one: &Folder| {
        dump::sqlite(one.path("landonce.db"))
            .without(&[("t", "landonce_run_id")])
            .without_tables(&["landonce_inbox", "landonce_migration"])
    };
    rows(&clean).assert_same(&rows(&folder));
}
