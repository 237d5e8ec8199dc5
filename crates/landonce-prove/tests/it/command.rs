//! The user's command: what it is given, what it can't reach, and that nothing of it is left.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use landonce_prove::command::{Ended, Running, Setting, Workplace};
use landonce_testkit::wait;

const LONG: Duration = Duration::from_secs(30);

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|&word| word.to_owned()).collect()
}

fn shell(script: &str) -> Vec<String> {
    words(&["sh", "-c", script])
}

fn setting() -> Setting {
    Setting { url: "postgres://ann:hunter2@127.0.0.1:6000/shop?sslmode=disable".into(), ..Setting::default() }
}

async fn start(place: &Workplace, script: &str) -> Running {
    place.start(&shell(script), &setting()).await.unwrap()
}

async fn run(place: &Workplace, script: &str) -> Ended {
    start(place, script).await.ended(LONG).await.unwrap()
}

async fn empty() -> (tempfile::TempDir, Workplace) {
    let folder = tempfile::tempdir().unwrap();
    let place = Workplace::new(folder.path()).await.unwrap();
    (folder, place)
}

/// Waits for a file and gives its text.
async fn told(file: &Path) -> String {
    wait::until(10, "the command to write its file", async || {
        fs::read_to_string(file).ok().filter(|text| text.ends_with('\n'))
    })
    .await
}

/// Waits until there is no such process, or only its remains.
async fn gone(pid: &str) {
    wait::until(10, "a process to be gone", async || {
        let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        (status.is_empty() || status.contains(") Z ")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_end_is_told_as_it_was() {
    let (_folder, place) = empty().await;
    let ended = run(&place, "echo out; echo err >&2; exit 3").await;
    assert_eq!(
        (ended.code, ended.signal, ended.is_timed_out, ended.is_success()),
        (Some(3), None, false, false)
    );
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
    let ended = run(&place, "kill -9 $$").await;
    assert_eq!((ended.code, ended.signal), (None, Some(9)));
    assert!(run(&place, "cat").await.is_success(), "there is nothing to read");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_with_its_children() {
    let (_folder, place) = empty().await;
    let mut running = start(&place, "sleep 1000 & echo $! >child; wait").await;
    let child = told(&place.folder().join("child")).await;
    let ended = running.ended(Duration::from_millis(50)).await.unwrap();
    assert_eq!((ended.is_timed_out, ended.signal), (true, Some(9)));
    assert!(ended.took < LONG);
    gone(&child).await;
}

#[tokio::test]
async fn children_that_outlive_the_command_are_killed() {
    let (_folder, place) = empty().await;
    let started = Instant::now();
    // The child holds the pipes: who waits for their end would wait for it.
    let ended = run(&place, "sleep 1000 & echo $! >child; exit 0").await;
    assert!(ended.is_success() && started.elapsed() < LONG);
    gone(&fs::read_to_string(place.folder().join("child")).unwrap()).await;
}

#[tokio::test]
async fn a_child_that_has_left_the_group_is_killed_too() {
    let (_folder, place) = empty().await;
    let script =
        "setsid sh -c 'echo $$ >child; sleep 1000' >/dev/null 2>&1 & while ! test -s child; do :; done";
    assert!(run(&place, script).await.is_success());
    gone(&fs::read_to_string(place.folder().join("child")).unwrap()).await;
}

#[tokio::test]
async fn dropping_a_run_kills_its_group() {
    let (_folder, place) = empty().await;
    let running = start(&place, "sleep 1000 & echo $! >child; wait").await;
    let child = told(&place.folder().join("child")).await;
    drop(running);
    gone(&child).await;
}

#[tokio::test]
async fn a_killed_run_tells_so_and_a_paused_one_goes_on() {
    let (_folder, place) = empty().await;
    let mut running = start(&place, "echo $$ >pid; while ! test -e go; do :; done; exit 7").await;
    let pid = told(&place.folder().join("pid")).await;
    let state = |state: &'static str| {
        let stat = format!("/proc/{}/stat", pid.trim());
        wait::until(10, "the process to stop or go on", async move || {
            fs::read_to_string(&stat).unwrap().contains(state).then_some(())
        })
    };
    running.pause();
    state(") T ").await;
    running.resume();
    state(") R ").await;
    fs::write(place.folder().join("go"), "").unwrap();
    assert_eq!(running.ended(LONG).await.unwrap().code, Some(7));

    let mut running = start(&place, "echo $$ >pid2; while :; do :; done").await;
    told(&place.folder().join("pid2")).await;
    running.kill();
    let ended = running.ended(LONG).await.unwrap();
    assert_eq!((ended.signal, ended.is_timed_out), (Some(9), false));
}

#[tokio::test]
async fn waiting_can_be_given_up_and_begun_again() {
    let (_folder, place) = empty().await;
    let mut running = start(&place, "while ! test -e go; do :; done; echo done").await;
    assert!(tokio::time::timeout(Duration::from_millis(20), running.ended(LONG)).await.is_err());
    fs::write(place.folder().join("go"), "").unwrap();
    assert_eq!(running.ended(LONG).await.unwrap().stdout, "done\n");
}

#[tokio::test]
async fn a_chatty_command_is_read_to_its_end_and_shown_from_there() {
    let (_folder, place) = empty().await;
    let ended = run(&place, "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done").await;
    assert!(ended.is_success());
    assert!(ended.stdout.ends_with("line 19999\n") && ended.stdout.len() <= 4096, "{}", ended.stdout.len());
}

#[tokio::test]
async fn no_password_is_shown() {
    let (_folder, place) = empty().await;
    let ended = run(&place, "echo $DATABASE_URL $PGPASSWORD; echo http://bob:secret@web/ >&2").await;
    assert_eq!(ended.stdout, "postgres://ann:***@127.0.0.1:6000/shop?sslmode=disable ***\n");
    assert_eq!(ended.stderr, "http://bob:***@web/\n");
    assert!(!format!("{:?}", setting()).contains("hunter2"));
}

#[tokio::test]
async fn the_database_is_in_arguments_and_variables() {
    let (_folder, place) = empty().await;
    let mut setting = setting();
    setting.hook = Some("http://127.0.0.1:1/hook".into());
    setting.environment.push(("MORE".into(), "more".into()));
    setting.without.push("PGUSER".into());
    let script = "echo $1; echo $PGHOST $PGPORT $PGDATABASE [$PGUSER] $PGSSLMODE $MORE";
    let mut command = shell(script);
    command.extend(words(&["-", "{host}:{port}/{database} {user} {hook}"]));
    let ended = place.start(&command, &setting).await.unwrap().ended(LONG).await.unwrap();
    assert_eq!(
        ended.stdout,
        "127.0.0.1:6000/shop ann http://127.0.0.1:1/hook\n127.0.0.1 6000 shop [] disable more\n"
    );
}

#[tokio::test]
async fn a_command_that_is_nowhere_is_told() {
    let (folder, place) = empty().await;
    fs::write(place.folder().join("no-interpreter"), "#!/no/such/thing\n").unwrap();
    fs::write(place.folder().join("not-executable"), "").unwrap();
    fs::set_permissions(
        place.folder().join("no-interpreter"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    for (program, expected) in [
        ("no-such-command", "PATH"),
        ("./no-such-script", "copy of your folder"),
        ("./no-interpreter", "interpreter"),
        ("./not-executable", "chmod"),
    ] {
        let error = place.start(&words(&[program]), &setting()).await.unwrap_err().to_string();
        assert!(error.contains(program) && error.contains(expected), "{error}");
    }
    assert!(place.start(&[], &setting()).await.is_err());
    drop(folder);
}

#[tokio::test]
async fn python_runs_a_script_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("helper.py"), "WORD = 'hello'\n").unwrap();
    fs::write(
        folder.path().join("ingest.py"),
        "import pathlib, sys, helper\n\
         pathlib.Path(__file__).with_name('bookmark').write_text('7')\n\
         print(helper.WORD, open(sys.argv[1]).read())\n",
    )
    .unwrap();
    fs::write(folder.path().join("day.txt"), "the user's").unwrap();
    let place = Workplace::new(folder.path()).await.unwrap();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("cut"), "cut").unwrap();
    let input = place.place_input("day.txt".as_ref(), &other.path().join("cut")).unwrap();
    assert_eq!(input.file_name(), Some("day.txt".as_ref()));
    let setting =
        Setting { input: Some(input), original_input: Some(folder.path().join("day.txt")), ..setting() };
    // By an absolute path, as shells complete it: its bookmark must not land beside the original.
    let script = folder.path().join("ingest.py").display().to_string();
    for argument in ["{input}", "day.txt", "./day.txt"] {
        let command = words(&["python3", &script, argument]);
        let ended = place.start(&command, &setting).await.unwrap().ended(LONG).await.unwrap();
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("hello cut\n", ""), "{argument}");
    }
    assert!(!folder.path().join("bookmark").exists());
    assert!(place.folder().join("bookmark").exists());
    let state: Vec<String> = place.state().unwrap().iter().map(|path| path.display().to_string()).collect();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(state, [format!("folder/{name}/bookmark")], "byte code is no state");
}
