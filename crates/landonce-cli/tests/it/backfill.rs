//! `backfill` loads each period by itself and goes on from wherever it was stopped: the ledger is its memory.

use std::process::Command;

use landonce_testkit::dump::{self, Dump, Tables};
use landonce_testkit::postgres::{self, TestDatabase};
use snapbox::str;

use crate::folder::{Folder, Ran, said};

const DAYS: &str = "
pipeline: orders
source: {file: 'in/{period.label}.ndjson'}
identity: [id]
target: {table: orders, columns: {id: integer, day: date}}
write: {mode: overwrite_period, period: {field: day, every: day, tz: Europe/Berlin}}
";

/// Given, so that two ways to one state have the same.
const RUN: &str = "0190b6f2-0000-7000-8000-000000000001";

/// The days over the spring shift, on which the middle one has 23 hours.
const WINDOW: [&str; 4] = ["--from", "2026-03-24", "--to", "2026-04-02"];

/// A folder with a pipeline and its files, and a database.
struct Scene {
    folder: Folder,
    database: Option<TestDatabase>,
}

impl Scene {
    fn sqlite() -> Self {
        Self::with(None)
    }

    async fn postgres() -> Self {
        Self::with(Some(postgres::database().await))
    }

    fn with(database: Option<TestDatabase>) -> Self {
        let scene = Self { folder: Folder::new(), database };
        scene.folder.write("p.yaml", DAYS);
        for day in days() {
            scene.deliver(&day, 40, "first");
        }
        scene
    }

    /// A day's file: so many rows.
    fn deliver(&self, day: &str, rows: u32, text: &str) {
        self.folder.write(&format!("in/{day}.ndjson"), lines(day, rows, text));
    }

    fn store(&self) -> String {
        self.database.as_ref().map_or_else(|| "sqlite:test.db".to_owned(), TestDatabase::url)
    }

    fn command(&self, args: &[&str]) -> Command {
        let store = self.store();
        let all = [&["backfill", "p.yaml", "--store", &store, "--run-id", RUN, "--no-progress"][..], args];
        self.folder.command(&all.concat())
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args))
    }

    /// `backfill` of the window, and its JSON object.
    fn told(&self, args: &[&str]) -> serde_json::Value {
        self.run(&[&WINDOW[..], args, &["--output", "json"]].concat()).json()
    }

    fn status(&self) -> serde_json::Value {
        let store = self.store();
        let args = ["status", "--periods", "p.yaml", "--store", &store, "--output", "json"];
        self.folder.run(&[&args[..], &WINDOW].concat()).json()
    }

    /// All tables, without what the clock says.
    async fn state(&self) -> Dump {
        let without = |schema: &str, dump: Dump| {
            let named = |table: &str| format!("{schema}{table}");
            let (inbox, migration, ledger) = (named("inbox"), named("migration"), named("ledger"));
            dump.without(&[
                (&inbox, "claimed_at"),
                (&inbox, "settled_at"),
                (&migration, "applied_at"),
                (&ledger, "loaded_at"),
                (&ledger, "failed_at"),
            ])
        };
        match &self.database {
            None => without("landonce_", dump::sqlite(self.folder.path("test.db"))),
            Some(database) => {
                let client = database.client().await;
                dump::assert_no_leftovers(&client).await;
                without("landonce.", dump::postgres(&client, Tables::All).await)
            }
        }
    }
}

fn days() -> Vec<String> {
    let march = (24..=31).map(|day| format!("2026-03-{day}"));
    march.chain(["2026-04-01".to_owned(), "2026-04-02".to_owned()]).collect()
}

fn lines(day: &str, rows: u32, text: &str) -> String {
    let number: u32 = day.replace('-', "").parse().unwrap();
    let line =
        |row| format!("{{\"id\": {}, \"day\": \"{day}\", \"text\": \"{text} {row}\"}}\n", number * 100 + row);
    (0..rows).map(line).collect()
}

fn statuses(told: &serde_json::Value) -> Vec<String> {
    let periods = told["periods"].as_array().unwrap();
    periods
        .iter()
        .map(|one| format!("{} {}", one["label"].as_str().unwrap(), one["status"].as_str().unwrap()))
        .collect()
}

fn count(told: &serde_json::Value, what: &str) -> u64 {
    told["counts"][what].as_u64().unwrap()
}

#[test]
fn ten_days_land_one_by_one() {
    let scene = Scene::sqlite();
    said(
        &scene.run(&WINDOW),
        str![[r#"
exit 0
--- stdout
processed          2026-03-24  read 40 = inserted 40
processed          2026-03-25  read 40 = inserted 40
processed          2026-03-26  read 40 = inserted 40
processed          2026-03-27  read 40 = inserted 40
processed          2026-03-28  read 40 = inserted 40
processed          2026-03-29  read 40 = inserted 40
processed          2026-03-30  read 40 = inserted 40
processed          2026-03-31  read 40 = inserted 40
processed          2026-04-01  read 40 = inserted 40
processed          2026-04-02  read 40 = inserted 40
10 periods: 10 processed
  counts    read 400 = inserted 400
  target    orders in sqlite:test.db
  took      [TOOK]
--- stderr

"#]],
    );
}

#[tokio::test]
async fn what_is_the_same_is_skipped_and_what_has_changed_is_loaded() {
    let scene = Scene::sqlite();
    assert_eq!(count(&scene.told(&[]), "processed"), 10);
    let loaded = scene.state().await;
    assert_eq!(count(&scene.told(&[]), "skipped_duplicate"), 10);
    loaded.assert_same(&scene.state().await);

    scene.deliver("2026-03-29", 30, "second");
    let told = scene.told(&["--missing"]);
    assert_eq!((count(&told, "not_due"), &told["status"]), (10, &"nothing_due".into()));
    loaded.assert_same(&scene.state().await);
    let told = scene.told(&[]);
    assert_eq!((count(&told, "processed"), count(&told, "skipped_duplicate")), (1, 9));
    assert_eq!((&told["updated"], &told["removed"]), (&30.into(), &10.into()));

    let told = scene.told(&["--force"]);
    assert_eq!((count(&told, "processed"), &told["unchanged"]), (10, &390.into()));
    assert_eq!(scene.status()["periods"][5]["loads"], 3);
}

#[test]
fn a_failing_period_stops_no_other_and_is_due_again() {
    let scene = Scene::sqlite();
    std::fs::remove_file(scene.folder.path("in/2026-03-26.ndjson")).unwrap();
    scene.folder.write("in/2026-03-30.ndjson", lines("2026-03-31", 2, "of another day"));
    let ran = scene.run(&WINDOW);
    said(
        &ran,
        str![[r#"
exit 2
--- stdout
processed          2026-03-24  read 40 = inserted 40
processed          2026-03-25  read 40 = inserted 40
failed             2026-03-26  error[L0102]: source.file `in/2026-03-26.ndjson`: no such file; check the path (it is relative to the pipeline file)
processed          2026-03-27  read 40 = inserted 40
processed          2026-03-28  read 40 = inserted 40
processed          2026-03-29  read 40 = inserted 40
failed             2026-03-30  error[L0401]: 2 records are bad; nothing was written
processed          2026-03-31  read 40 = inserted 40
processed          2026-04-01  read 40 = inserted 40
processed          2026-04-02  read 40 = inserted 40
10 periods: 8 processed, 2 failed
  counts    read 320 = inserted 320
  target    orders in sqlite:test.db
  took      [TOOK]
  next      mend what failed and give the same command again, with --missing: it goes on from here
--- stderr
error[L0102]: source.file `in/2026-03-26.ndjson`: no such file; check the path (it is relative to the pipeline file)
  = help: landonce explain L0102
error[L0401]: in/2026-03-30.ndjson: 2 records are bad; nothing was written
  record 1: outside the period: `day`: the row is in 2026-03-31, and the run's period is 2026-03-30
  record 2: outside the period: `day`: the row is in 2026-03-31, and the run's period is 2026-03-30
  = help: landonce explain L0401

"#]],
    );
    let status = scene.status();
    assert_eq!((count(&status, "complete"), count(&status, "failed"), count(&status, "due")), (8, 2, 2));

    // Only the files of what is due are looked at.
    std::fs::remove_dir_all(scene.folder.path("in")).unwrap();
    scene.deliver("2026-03-26", 1, "late");
    scene.deliver("2026-03-30", 1, "mended");
    let told = scene.told(&["--missing"]);
    assert_eq!(statuses(&told), ["2026-03-26 processed", "2026-03-30 processed"]);
    assert_eq!((count(&told, "not_due"), count(&scene.status(), "complete")), (8, 10));
}

#[test]
fn a_failure_keeps_what_is_loaded_and_the_next_run_settles_it() {
    let scene = Scene::sqlite();
    scene.told(&[]);
    scene.deliver("2026-03-24", 40, "first");
    let good = std::fs::read(scene.folder.path("in/2026-03-24.ndjson")).unwrap();
    scene.folder.write("in/2026-03-24.ndjson", "{broken\n");
    assert_eq!(count(&scene.told(&[]), "failed"), 1);
    let first = scene.status()["periods"][0].clone();
    assert_eq!((&first["state"], &first["loaded"]["rows"]), (&"failed".into(), &40.into()));
    // The file that had landed comes back: nothing of the rows changes, and the period is complete again.
    scene.folder.write("in/2026-03-24.ndjson", good);
    let told = scene.told(&["--missing"]);
    assert_eq!((count(&told, "failed"), count(&told, "not_due")), (0, 9));
    assert_eq!(count(&scene.status(), "complete"), 10);
}

#[test]
fn stop_on_failure_begins_no_other() {
    let scene = Scene::sqlite();
    std::fs::remove_file(scene.folder.path("in/2026-03-26.ndjson")).unwrap();
    let told = scene.told(&["--stop-on-failure"]);
    assert_eq!(statuses(&told), ["2026-03-24 processed", "2026-03-25 processed", "2026-03-26 failed"]);
    assert_eq!((count(&told, "not_begun"), &told["status"]), (7, &"failed".into()));
    assert_eq!(count(&scene.status(), "missing"), 7);
}

#[test]
fn a_partial_load_is_due_once_its_period_is_over() {
    let scene = Scene::sqlite();
    scene.deliver("2999-12-31", 3, "early");
    let future = ["--from", "2999-12-31", "--to", "2999-12-31"];
    let ran = scene.run(&future);
    assert!(ran.stdout.contains("read 3 = inserted 3; partial: it isn't over"), "{ran}");
    assert!(scene.run(&[&future[..], &["--missing"]].concat()).stdout.contains("1 not due"));

    scene.told(&[]);
    let database = rusqlite::Connection::open(scene.folder.path("test.db")).unwrap();
    let partial = "UPDATE landonce_ledger SET is_complete = 0 WHERE label IN ('2026-03-29', '2026-03-31')";
    assert_eq!(database.execute(partial, []).unwrap(), 2);
    // The same bytes once more, and now the period is over: that is what makes it complete.
    let told = scene.told(&["--missing"]);
    assert_eq!(statuses(&told), ["2026-03-29 processed", "2026-03-31 processed"]);
    assert_eq!((&told["unchanged"], count(&scene.status(), "complete")), (&80.into(), 10));
}

async fn jobs_at_once_leave_what_one_leaves(clean: Scene, scene: Scene) {
    assert_eq!(count(&clean.told(&[]), "processed"), 10);
    let told = scene.told(&["--jobs", "4"]);
    assert_eq!((count(&told, "processed"), count(&told, "failed")), (10, 0), "{told}");
    let order: Vec<String> = days().iter().map(|day| format!("{day} processed")).collect();
    assert_eq!(statuses(&told), order, "whoever was first, they are told in their order");
    clean.state().await.assert_same(&scene.state().await);
}

/// Two backfills of one window, each with several jobs: no period lands twice, and none fails for having waited.
async fn twins_share_the_work(clean: Scene, scene: Scene) {
    clean.told(&[]);
    let start = || {
        let mut command = scene.command(&[&WINDOW[..], &["--jobs", "3", "--output", "json"]].concat());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let children = [start(), start()];
    let mut processed = 0;
    for child in children {
        let ran = Ran::from_output(&child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{ran}");
        processed += count(&ran.json(), "processed");
    }
    assert_eq!(processed, 10);
    clean.state().await.assert_same(&scene.state().await);
}

mod sqlite {
    use super::Scene;

    #[tokio::test(flavor = "multi_thread")]
    async fn jobs_at_once_leave_what_one_leaves() {
        super::jobs_at_once_leave_what_one_leaves(Scene::sqlite(), Scene::sqlite()).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn twins_share_the_work() {
        super::twins_share_the_work(Scene::sqlite(), Scene::sqlite()).await;
    }

    #[cfg(feature = "failpoints")]
    #[tokio::test(flavor = "multi_thread")]
    async fn killed_again_and_again_it_goes_on_and_leaves_what_one_pass_leaves() {
        super::killed::again_and_again(Scene::sqlite(), Scene::sqlite()).await;
    }
}

mod postgres_ {
    use super::Scene;

    #[tokio::test(flavor = "multi_thread")]
    async fn jobs_at_once_leave_what_one_leaves() {
        super::jobs_at_once_leave_what_one_leaves(Scene::postgres().await, Scene::postgres().await).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn twins_share_the_work() {
        super::twins_share_the_work(Scene::postgres().await, Scene::postgres().await).await;
    }

    #[cfg(feature = "failpoints")]
    #[tokio::test(flavor = "multi_thread")]
    async fn killed_again_and_again_it_goes_on_and_leaves_what_one_pass_leaves() {
        super::killed::again_and_again(Scene::postgres().await, Scene::postgres().await).await;
    }
}

#[cfg(feature = "failpoints")]
mod killed {
    use std::io::BufRead as _;
    use std::process::{Command, Stdio};

    use landonce_testkit::crash;

    use super::{Ran, Scene, WINDOW, count};

    /// Where it dies, run by run: after some periods each time, with one job and with several.
    const DEATHS: [(&str, &[&str]); 7] = [
        ("connected:1", &[]),
        ("written:3", &[]),
        ("settled:2", &["--missing"]),
        ("committed:2", &[]),
        ("claimed:1", &["--missing", "--jobs", "2"]),
        ("folded:1", &["--jobs", "3"]),
        ("checked:1", &["--missing"]),
    ];

    /// Ctrl-C in the middle of the third period: two are told and stay, nothing of the third is written.
    #[test]
    fn an_interrupt_leaves_what_has_landed() {
        let scene = Scene::sqlite();
        let mut command = scene.command(&WINDOW);
        command.env(crash::VARIABLE, "written:3").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "landonce: at failpoint written:3\n");
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let ran = Ran::from_output(&child.wait_with_output().unwrap());
        assert_eq!(ran.code, 130, "{ran}");
        assert_eq!(ran.stdout.matches("processed ").count(), 2, "{ran}");
        assert!(ran.stderr.contains("interrupted; nothing of this batch was written"), "{ran}");
        assert_eq!(count(&scene.status(), "complete"), 2);
        assert_eq!(count(&scene.told(&["--missing"]), "processed"), 8);
    }

    pub(super) async fn again_and_again(clean: Scene, scene: Scene) {
        assert_eq!(count(&clean.told(&[]), "processed"), 10);
        let mut landed = 0;
        for (failpoint, args) in DEATHS {
            let command = scene.command(&[&WINDOW[..], args].concat());
            let killed = crash::at_failpoint(command, failpoint).await;
            assert!(killed.is_ok(), "never came to {failpoint}: {killed:?}");
            let status = scene.status();
            for period in status["periods"].as_array().unwrap() {
                let is_whole = period["state"] == "missing" || period["loaded"]["rows"] == 40;
                assert!(is_whole, "{failpoint}: {period}");
            }
            let now = count(&status, "complete");
            assert!(now >= landed, "{failpoint}: {now} after {landed}");
            landed = now;
        }
        assert!((5..10).contains(&landed), "{landed} had landed before the last one");
        let told = scene.told(&["--missing"]);
        assert_eq!((count(&told, "processed"), count(&told, "failed")), (10 - landed, 0));
        clean.state().await.assert_same(&scene.state().await);
        assert_eq!(count(&scene.told(&[]), "skipped_duplicate"), 10);
    }
}

#[test]
fn a_day_stands_for_its_hours_however_many_it_has() {
    let scene = Scene::sqlite();
    let hours = DAYS.replace("every: day", "every: hour").replace("day: date", "day: timestamptz");
    scene.folder.write("p.yaml", hours);
    let calendar = landonce_core::period::Calendar::new(landonce_core::period::Every::Hour, "Europe/Berlin");
    let calendar = calendar.unwrap();
    for (day, count_of_hours) in [("2026-03-29", 23), ("2026-10-25", 25)] {
        let mut hour = calendar.parse(&format!("{day}T00")).unwrap();
        for number in 0..count_of_hours {
            let line = format!(
                "{{\"id\": {}, \"day\": \"{}\"}}\n",
                day.replace('-', "").parse::<u32>().unwrap() * 100 + number,
                hour.start()
            );
            scene.folder.write(&format!("in/{}.ndjson", hour.label()), line);
            hour = calendar.next(&hour).unwrap();
        }
        let args = ["--from", day, "--to", day, "--output", "json", "--jobs", "2"];
        let told = scene.run(&args).json();
        assert_eq!(
            (count(&told, "processed"), &told["inserted"]),
            (count_of_hours.into(), &count_of_hours.into())
        );
        assert_eq!(count(&scene.run(&args).json(), "skipped_duplicate"), u64::from(count_of_hours));
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_touched() {
    let scene = Scene::sqlite();
    scene.folder.write("plain.yaml", "pipeline: p\nidentity: [id]\ntarget: {table: t}\n");
    scene.folder.write("same.yaml", DAYS.replace("{period.label}", "all"));
    scene.folder.write("none.yaml", DAYS.replace("source: {file: 'in/{period.label}.ndjson'}", ""));
    for (args, says) in [
        (vec!["plain.yaml", "--from", "2026-03-01", "--to", "2026-03-02"], "`p` isn't loaded by periods"),
        (vec!["same.yaml", "--from", "2026-03-01", "--to", "2026-03-02"], "is the same for every period"),
        (vec!["none.yaml", "--from", "2026-03-01", "--to", "2026-03-02"], "names no `source.file`"),
        (vec!["p.yaml", "--from", "2026-03-02", "--to", "2026-03-01"], "2026-03-01 is before 2026-03-02"),
        (vec!["p.yaml", "--from", "2026-02-30", "--to", "2026-03-01"], "--from `2026-02-30`"),
        (vec!["p.yaml", "--from", "2026-03-01"], "--to <PERIOD>"),
        (vec!["p.yaml", "--from", "2026-03", "--to", "2026-03", "--missing", "--force"], "--force"),
        (vec!["p.yaml", "--from", "2026-03", "--to", "2026-03", "--jobs", "0"], "--jobs"),
        (vec!["gone.yaml", "--from", "2026-03", "--to", "2026-03"], "no pipeline file at `gone.yaml`"),
    ] {
        let ran = scene.folder.run(&[&["backfill"][..], &args].concat());
        assert!(ran.code == 2 && ran.stderr.contains(says), "{args:?}: {ran}");
    }
    assert!(!scene.folder.names().iter().any(|name| name.contains(".db")));
}

#[test]
fn a_store_that_is_not_there_ends_it_at_once() {
    let scene = Scene::sqlite();
    let nowhere = "postgres://nobody@127.0.0.1:1/none";
    let args = ["backfill", "p.yaml", "--store", nowhere, "--attempts", "1", "--output", "json"];
    let ran = scene.folder.run(&[&args[..], &WINDOW].concat());
    assert_eq!(ran.code, 2);
    assert_eq!((count(&ran.json(), "failed"), count(&ran.json(), "not_begun")), (1, 9));
}
