//! The folder of a trial: what is copied, what is linked, and what counts as state that a run has left.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use landonce_prove::command::{Ended, Setting, Workplace};

async fn run(place: &Workplace, script: &str) -> Ended {
    let command = ["sh", "-c", script].map(str::to_owned);
    let setting = Setting { url: "sqlite:////nowhere/x.db".into(), ..Setting::default() };
    let ended = place.start(&command, &setting).await.unwrap().ended(Duration::from_secs(30)).await.unwrap();
    assert!(ended.is_success(), "{}", ended.stderr);
    ended
}

fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn files_are_copied_with_their_rights_and_times_and_links_stay() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path();
    write(from, "run.sh", "echo");
    write(from, "closed/a.txt", "a");
    fs::set_permissions(from.join("run.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(from.join("closed/a.txt"), fs::Permissions::from_mode(0o440)).unwrap();
    fs::set_permissions(from.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    symlink("run.sh", from.join("link")).unwrap();
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::options().append(true).open(from.join("run.sh")).unwrap().set_modified(then).unwrap();

    let place = Workplace::new(from).await.unwrap();
    let copy = place.folder();
    assert_eq!(copy.file_name(), from.file_name());
    assert_eq!((mode(&copy.join("run.sh")), mode(&copy.join("closed"))), (0o751, 0o555));
    assert_eq!(mode(&copy.join("closed/a.txt")), 0o440);
    assert_eq!(fs::read_link(copy.join("link")).unwrap(), Path::new("run.sh"));
    assert_eq!(fs::metadata(copy.join("run.sh")).unwrap().modified().unwrap(), then);
    assert!(!place.has_state().unwrap());

    run(&place, "echo changed >run.sh").await;
    assert_eq!(fs::read_to_string(from.join("run.sh")).unwrap(), "echo");
    assert!(place.has_state().unwrap());
    let root = copy.to_owned();
    drop(place);
    assert!(!root.exists(), "it is removed");
    fs::set_permissions(from.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn packages_and_version_control_are_linked() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path();
    for file in [
        ".git/HEAD",
        "a/node_modules/x/i.js",
        "env/pyvenv.cfg",
        "cargo/CACHEDIR.TAG",
        "target/run_results.json",
    ] {
        write(from, file, "");
    }
    let place = Workplace::new(from).await.unwrap();
    let is_link = |name: &str| fs::symlink_metadata(place.folder().join(name)).unwrap().is_symlink();
    for name in [".git", "a/node_modules", "env", "cargo"] {
        assert!(is_link(name), "{name}");
    }
    // dbt's: it keeps the state of runs there.
    assert!(!is_link("target") && !is_link("a"));
}

#[tokio::test]
async fn what_a_run_leaves_anywhere_is_state() {
    for script in [
        "echo 1 >new",
        "rm old",
        "echo 0 >old",
        "echo 1 >\"$HOME/.bookmark\"",
        "echo 1 >\"$TMPDIR/left\"",
        "echo 1 >\"$XDG_STATE_HOME/left\"",
        "ln -s old other",
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "old", "2\n");
        let place = Workplace::new(folder.path()).await.unwrap();
        assert!(!place.has_state().unwrap());
        run(&place, script).await;
        assert!(place.has_state().unwrap(), "{script}");
        assert_eq!(place.state().unwrap().len(), 1, "{script}");
    }
}

#[tokio::test]
async fn what_a_run_puts_back_or_caches_is_no_state() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "old", "2\n");
    let place = Workplace::new(folder.path()).await.unwrap();
    let contents = tempfile::NamedTempFile::new().unwrap();
    place.place_input("in.csv".as_ref(), contents.path()).unwrap();
    run(&place, "echo 2 >old; mkdir -p __pycache__ empty; echo >__pycache__/x.pyc; echo >\"$TMPDIR/x\"; rm \"$TMPDIR/x\"").await;
    assert!(place.state().unwrap().is_empty(), "{:?}", place.state());
}

#[tokio::test]
async fn trials_share_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) =
        (Workplace::new(folder.path()).await.unwrap(), Workplace::new(folder.path()).await.unwrap());
    run(&one, "echo >here; echo >\"$HOME/.landonce-test-state\"; echo >\"$TMPDIR/x\"").await;
    let seen =
        run(&other, "ls -A . \"$TMPDIR\"; test ! -e \"$HOME/.landonce-test-state\"; pwd; echo $PWD").await;
    assert!(!seen.stdout.contains("here"), "{}", seen.stdout);
    assert!(seen.stdout.contains(&*other.folder().to_string_lossy()));
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[tokio::test]
async fn an_input_is_replaced_even_when_a_run_has_locked_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = Workplace::new(folder.path()).await.unwrap();
    write(folder.path(), "full", "full");
    write(folder.path(), "cut", "cu");
    let file = place.place_input("day.csv".as_ref(), &folder.path().join("full")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    assert_eq!(place.place_input("day.csv".as_ref(), &folder.path().join("cut")).unwrap(), file);
    assert_eq!(fs::read_to_string(&file).unwrap(), "cu");
    assert!(!file.starts_with(place.folder()));
    assert!(!place.has_state().unwrap());
}

#[tokio::test]
async fn files_that_a_script_knows_by_heart_are_the_trials() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path();
    for (name, text) in [("in/day.csv", "the user's"), ("my.db", ""), ("other", "cut"), ("load.py", LOAD)] {
        write(from, name, text);
    }
    let clone = tempfile::tempdir().unwrap();
    let clone = clone.path().join("my.db");
    let place = Workplace::new(from).await.unwrap();
    let setting = Setting {
        url: format!("sqlite:///{}", clone.display()),
        source_url: Some(format!("sqlite:{}", from.join("my.db").display())),
        input: Some(place.place_input("day.csv".as_ref(), &from.join("other")).unwrap()),
        original_input: Some(from.join("in/day.csv")),
        ..Setting::default()
    };
    let run = async || {
        let command = ["python3", "load.py"].map(str::to_owned);
        place.start(&command, &setting).await.unwrap().ended(Duration::from_secs(30)).await.unwrap()
    };
    for _ in 0..2 {
        let ended = run().await;
        assert!(ended.is_success(), "{}", ended.stderr);
    }
    let rows: String = rusqlite::Connection::open(&clone)
        .unwrap()
        .query_row("SELECT group_concat(a) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, "cut,cut");
    assert_eq!(fs::metadata(from.join("my.db")).unwrap().len(), 0);
    assert!(!place.has_state().unwrap());
    // What a run takes away is away for the next.
    fs::remove_file(place.folder().join("in/day.csv")).unwrap();
    assert!(!run().await.is_success());
    assert!(place.has_state().unwrap());
}

const LOAD: &str = "import sqlite3
db = sqlite3.connect('my.db')
db.execute('CREATE TABLE IF NOT EXISTS t (a)')
db.execute('INSERT INTO t VALUES (?)', (open('in/day.csv').read(),))
db.commit()
";
