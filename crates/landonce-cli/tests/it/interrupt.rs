//! A signal stops the program at once, the exit code tells, and nothing of the batch was written.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::folder::{EVENTS, FLAGS, Folder, Ran};

fn interrupted_by(signal: &str) -> Ran {
    let folder = Folder::with_events();
    let args = [&["run", "-", "--format", "ndjson"][..], &FLAGS].concat();
    let mut child = folder
        .command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // More than a pipe holds: once it is written, the program is reading, and its signal handlers are there.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(EVENTS.repeat(1000).as_bytes()).unwrap();
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ran = Ran::from_output(&child.wait_with_output().unwrap());
    drop(stdin);
    assert_eq!(folder.names(), ["events.ndjson"], "nothing was made");
    ran
}

#[test]
fn sigint_ends_with_130() {
    let ran = interrupted_by("-INT");
    assert_eq!(
        ran.to_string(),
        "exit 130\n--- stdout\n--- stderr\ninterrupted; nothing of this batch was written\n"
    );
}

#[test]
fn sigterm_ends_with_143() {
    let ran = interrupted_by("-TERM");
    assert_eq!(
        ran.to_string(),
        "exit 143\n--- stdout\n--- stderr\ninterrupted; nothing of this batch was written\n"
    );
}
