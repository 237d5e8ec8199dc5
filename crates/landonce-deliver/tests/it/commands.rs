//! A command gets a message on its standard input, and its exit code is its answer.

use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use landonce_deliver::Delivery;
use landonce_deliver::destination::command::{Command, CommandSpec};
use landonce_deliver::destination::{Answer, Destination as _};
use landonce_testkit::wait::{until, within};

use crate::parcels::{answer, parcel, with_environment};

fn spec(run: &[&str], timeout: &str) -> CommandSpec {
    let run = run.iter().map(|&word| word.to_owned()).collect();
    let env = [("GREETING".to_owned(), "hi ${WHO}".to_owned()), ("PLAIN".into(), "exit".into())].into();
    CommandSpec { run, timeout: Some(timeout.to_owned()), env }
}

fn command(folder: &Path, run: &[&str], timeout: &str) -> Command {
    with_environment(&[("WHO", "s3kr3t")], |environment| {
        spec(run, timeout).open(folder, environment).unwrap()
    })
}

/// What a script answers to one message.
async fn run(folder: &Path, script: &str) -> Answer {
    let parcels = [parcel(7, "{\"gate\":\"é\"}")];
    command(folder, &["sh", "-c", script], "20s").send(&parcels).await.remove(0)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test]
async fn it_gets_the_payload_byte_for_byte_and_the_rest_in_variables() {
    let folder = folder();
    let script = "cat >stdin; printf '%s\\n' \"$LANDONCE_MESSAGE_ID\" \"$LANDONCE_TOPIC\" \"$LANDONCE_KIND\" \
                  \"$LANDONCE_ENTITY\" \"$LANDONCE_ATTEMPT\" \"$GREETING\" >variables; echo lost";
    assert_eq!(answer(&run(folder.path(), script).await), ("taken", "exit 0"));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("stdin"), "{\"gate\":\"é\"}");
    let id = parcel(7, "").id;
    assert_eq!(read("variables"), format!("{id}\ncrew\nupdated\n{{\"flight\":\"B6-7\"}}\n3\nhi s3kr3t\n"));
}

#[tokio::test]
async fn a_message_that_comes_again_has_the_same_id() {
    let folder = folder();
    for _ in 0..2 {
        let taken = run(folder.path(), "echo $LANDONCE_MESSAGE_ID >>ids").await;
        assert_eq!(answer(&taken).0, "taken");
    }
    let ids = std::fs::read_to_string(folder.path().join("ids")).unwrap();
    let ids: Vec<&str> = ids.lines().collect();
    assert_eq!((ids.len(), ids[0]), (2, ids[1]));
}

#[tokio::test]
async fn its_exit_code_decides_and_its_first_words_are_told_without_secrets() {
    let folder = folder();
    for (script, expected) in [
        ("exit 75", ("later", "exit 75")),
        (
            "echo >&2; echo ' no '$GREETING, s3kr3t >&2; echo more >&2; exit 1",
            ("later", "exit 1: (what it said repeats a secret)"),
        ),
        ("echo bad data >&2; exit 65", ("never", "exit 65: bad data")),
        ("kill -9 $$", ("later", "killed by signal 9")),
        ("echo fine >&2", ("taken", "exit 0: fine")),
    ] {
        assert_eq!(answer(&run(folder.path(), script).await), expected, "{script}");
    }
}

#[tokio::test]
async fn it_is_not_quoted_with_a_secret_of_another_part_of_the_file() {
    let folder = folder();
    let yaml = "
store: ${STORE}
destinations:
  one: {topics: [a], command: {run: [sh, ./say.sh]}}
  two: {topics: [b], http: {url: 'https://x.example/', bearer: '${TOKEN}', sign: ['${SIGN}'], headers: {x: '${X}'}}}
  zoo: {topics: [c], sql: {store: 'sqlite:${NAMED}', table: t}}
";
    let sign = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let variables = [
        ("STORE", "postgres://u:hunt%40r22@127.0.0.1/d"),
        ("TOKEN", "t0ken-s3kr3t"),
        ("SIGN", sign),
        ("X", "x-value"),
        ("NAMED", "named.db"),
        ("LANDONCE_STORE", "postgres://u:0ther-pass@127.0.0.1/d"),
    ];
    let delivery = with_environment(&variables, |environment| {
        Delivery::parse(yaml, "deliver.yaml", folder.path(), environment).unwrap()
    });
    let command = delivery.destinations().next().unwrap();
    let mut said = Vec::new();
    for words in
        ["hunt@r22", "hunt%40r22", "t0ken-s3kr3t", &sign[6..], "x-value", "named.db", "0ther-pass", "fine"]
    {
        std::fs::write(folder.path().join("say.sh"), format!("echo 'no: {words}' >&2; exit 1")).unwrap();
        said.push(answer(&command.send(&[parcel(1, "{}")]).await[0]).1.to_owned());
    }
    assert_eq!(said.pop().unwrap(), "exit 1: no: fine");
    assert!(said.iter().all(|said| said == "exit 1: (what it said repeats a secret)"), "{said:?}");
}

#[tokio::test]
async fn one_that_reads_nothing_or_says_too_much_is_no_failure() {
    let folder = folder();
    // More than any pipe holds, both ways.
    let parcels = [parcel(1, &"x".repeat(1 << 20))];
    for script in ["exit 0", "exec <&-; exit 0", "head -c 3000000 /dev/zero >&2"] {
        let command = command(folder.path(), &["sh", "-c", script], "20s");
        assert_eq!(answer(&command.send(&parcels).await[0]).0, "taken", "{script}");
    }
}

#[tokio::test]
async fn one_that_leaves_something_running_is_done_when_it_ends_itself() {
    let folder = folder();
    let end = folder.path().join("end");
    std::process::Command::new("mkfifo").arg(&end).status().unwrap();
    // The one in the background holds all three pipes until it is told to end.
    let taken = within(15, "its end", run(folder.path(), "{ cat end; : >ended; } & exit 0")).await;
    assert_eq!(answer(&taken).0, "taken");
    // Nobody can open the pipe for writing while nobody reads: what it left on purpose stays.
    let without_waiting = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let told = async || std::fs::OpenOptions::new().write(true).custom_flags(without_waiting).open(&end).ok();
    drop(until(15, "the one in the background to read", told).await);
    until(15, "its end", async || folder.path().join("ended").exists().then_some(())).await;
}

#[tokio::test]
async fn at_the_time_limit_it_is_killed_with_all_that_it_started() {
    let folder = folder();
    let script = "sleep 1000 & echo $! >pid; wait";
    let command = command(folder.path(), &["sh", "-c", script], "500ms");
    let answers = within(15, "the time limit", command.send(&[parcel(1, "{}")])).await;
    assert_eq!(answer(&answers[0]), ("later", "no end within 500ms; killed"));
    assert_dies(folder.path()).await;
}

#[tokio::test]
async fn when_nobody_waits_for_it_any_longer_it_is_killed_too() {
    let folder = folder();
    let script = "sleep 1000 & echo $! >pid.new; mv pid.new pid; wait";
    let command = command(folder.path(), &["sh", "-c", script], "1h");
    let parcels = [parcel(1, "{}")];
    let written = until(15, "the command", async || folder.path().join("pid").exists().then_some(()));
    tokio::select! {
        answers = command.send(&parcels) => panic!("{answers:?}"),
        () = written => {}
    }
    assert_dies(folder.path()).await;
}

async fn assert_dies(folder: &Path) {
    let pid: u32 = std::fs::read_to_string(folder.join("pid")).unwrap().trim().parse().unwrap();
    until(15, "the end of what it started", async || (!is_running(pid)).then_some(())).await;
}

/// It is there, and not just waiting for somebody to notice its end.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[tokio::test]
async fn no_shell_reads_what_is_to_be_run_and_a_path_is_relative_to_the_file() {
    let folder = folder();
    let script = folder.path().join("take.sh");
    std::fs::write(&script, "#!/bin/sh\nprintf '%s' \"$1\" >argument\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = command(folder.path(), &["./take.sh", "$(exit 3); *"], "20s");
    assert_eq!(answer(&command.send(&[parcel(1, "{}")]).await[0]).0, "taken");
    assert_eq!(std::fs::read_to_string(folder.path().join("argument")).unwrap(), "$(exit 3); *");
}

#[tokio::test]
async fn a_program_that_is_not_there_speaks_for_all_messages_and_what_no_process_can_get_for_one() {
    let folder = folder();
    let gone = command(folder.path(), &["no-such-program"], "20s").send(&[parcel(1, "{}")]).await;
    let (what, told) = answer(&gone[0]);
    assert!(what == "later for all" && told.starts_with("`no-such-program` can't be started"), "{gone:?}");
    let mut odd = parcel(1, "{}");
    odd.kind = "a\0b".into();
    let odd = command(folder.path(), &["true"], "20s").send(&[odd]).await;
    assert_eq!(answer(&odd[0]).0, "never");
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_its_key() {
    let open = |spec: CommandSpec| {
        with_environment(&[("WHO", "s3kr3t")], |environment| {
            spec.open(Path::new(""), environment).unwrap_err().to_string()
        })
    };
    assert!(open(spec(&[], "1s")).starts_with("run: it names no program"));
    assert!(open(spec(&["true"], "soon")).starts_with("timeout: `soon` is no length of time"));
    let with = |name: &str, value: &str| CommandSpec {
        env: [(name.to_owned(), value.to_owned())].into(),
        ..spec(&["true"], "1s")
    };
    assert!(open(with("LANDONCE_TOPIC", "x")).starts_with("env.LANDONCE_TOPIC: variables that begin"));
    assert!(open(with("A", "${NO_SUCH}")).starts_with("env.A: the environment variable `NO_SUCH`"));
    let shown = format!("{:?}", command(Path::new(""), &["true"], "1s"));
    assert!(!shown.contains("s3kr3t"), "{shown}");
}
