//! A program is killed where it was said to be, and never silently somewhere else.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use landonce_testkit::crash::{self, End, Moment};
use landonce_testkit::seed;

const SIGKILL: i32 = 9;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[tokio::test]
async fn a_program_at_its_failpoint_is_killed_there() {
    let script =
        r#"echo before; echo "landonce: at failpoint $LANDONCE_FAILPOINT" >&2; kill -STOP $$; echo after"#;
    let ended = crash::at_failpoint(shell(script), "claimed").await.unwrap();
    assert_eq!(ended.status.signal(), Some(SIGKILL));
    assert_eq!(ended.stdout, "before\n");
    assert_eq!(ended.stderr, "landonce: at failpoint claimed\n");
}

#[tokio::test]
async fn a_failpoint_not_come_to_is_no_crash() {
    let script =
        r#"echo "landonce: at failpoint other" >&2; printf "landonce: at failpoint claimed" >&2; exit 3"#;
    let ended = crash::at_failpoint(shell(script), "claimed").await.unwrap_err();
    assert_eq!(ended.status.code(), Some(3));
}

#[tokio::test]
async fn a_parked_program_lives_until_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script =
        format!(r#"echo $$ >"{}"; echo "landonce: at failpoint x" >&2; kill -STOP $$"#, pid.display());
    let parked = crash::park(shell(&script), "x").await.unwrap();
    let proc = format!("/proc/{}", std::fs::read_to_string(pid).unwrap().trim());
    assert!(std::fs::exists(&proc).unwrap());
    parked.kill().await;
    assert!(!std::fs::exists(&proc).unwrap());
}

#[tokio::test]
async fn moments_come_with_what_the_program_does() {
    let cases = [
        ("exec yes", Moment::StdoutBytes(100_000)),
        ("while :; do echo x >&2; done", Moment::StderrLines(50)),
        ("while :; do :; done", Moment::CpuTime(Duration::from_millis(30))),
        ("exec cat /dev/zero >/dev/null", Moment::ReadBytes(50_000_000)),
    ];
    for (script, moment) in cases {
        let End::Killed(ended) = crash::kill_at(shell(script), moment).await else {
            panic!("{script} ended by itself");
        };
        assert_eq!(ended.status.signal(), Some(SIGKILL), "{script}");
        match moment {
            Moment::StdoutBytes(bytes) => assert!(ended.stdout.len() as u64 >= bytes),
            Moment::StderrLines(lines) => assert!(ended.stderr.lines().count() as u64 >= lines),
            Moment::CpuTime(_) | Moment::ReadBytes(_) => {}
        }
    }
}

#[tokio::test]
async fn a_moment_that_never_comes_leaves_the_program_alone() {
    let end = crash::kill_at(shell("echo one >&2; exit 4"), Moment::StderrLines(2)).await;
    assert!(!end.is_killed());
    let End::Finished(ended) = end else { unreachable!() };
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(4), "one\n"));
}

#[tokio::test]
async fn a_random_moment_lies_within_what_a_run_used() {
    let count = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done";
    let (usage, ended) = crash::usage(shell(count)).await;
    assert_eq!(ended.stdout, "done\n");
    assert!(usage.cpu_time > Duration::from_millis(1), "{usage:?}");
    let mut rng = seed::rng();
    for _ in 0..100 {
        let Moment::CpuTime(time) = usage.random_moment(&mut rng) else { panic!("not a CPU time") };
        assert!(time < usage.cpu_time);
    }
}
