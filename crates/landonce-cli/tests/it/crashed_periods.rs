//! A run of a period killed with SIGKILL (F4, H3): at every failpoint and at random moments. The period is as before the run
//! or as after it, the ledger says which, and the next run leaves what an undisturbed one leaves.

use std::process::Command;

use landonce_testkit::crash::{self, End};
use landonce_testkit::dump::{self, Dump, Tables};
use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::seed;

use crate::folder::Folder;

/// How many runs are killed at random moments, in each store.
const RANDOM_KILLS: u32 = 40;
const DAY: &str = "2026-03-29";

const PIPELINE: &str = "
pipeline: crashes
identity: {hash_of: all, repeats: keep}
target: {table: sale, columns: {at: timestamp, item: text, n: integer}, rest: refuse}
write: {mode: overwrite_period, period: {field: at, every: day, tz: Europe/Berlin}}
on_bad_record: {quarantine: {max: 9}}
";

/// Two payloads of one day: the second has new, equal and repeated lines, and lacks some.
struct Scene {
    folder: Folder,
    database: Option<TestDatabase>,
}

fn lines(numbers: std::ops::Range<u32>) -> String {
    let line = |n: u32| format!("{DAY} 12:{:02}:00,item {},{}\n", n % 60, n / 3, n / 3);
    numbers.map(line).collect()
}

impl Scene {
    fn with(database: Option<TestDatabase>) -> Self {
        let folder = Folder::new();
        folder.write("p.yaml", PIPELINE);
        folder.write("neighbour.csv", "at,item,n\n2026-03-28 23:59:59,before,1\n");
        folder.write("first.csv", format!("at,item,n\n{}", lines(0..600)));
        let again = lines(400..420); // copies more than before
        folder.write("second.csv", format!("at,item,n\n{}{again}", lines(200..900)));
        Self { folder, database }
    }

    fn store(&self) -> String {
        self.database.as_ref().map_or_else(|| "sqlite:test.db".to_owned(), TestDatabase::url)
    }

    fn deliver(&self, file: &str, period: &str) -> Command {
        // Run ids are given, so that two ways to one state have the same.
        let run_id = format!("0190b6f2-0000-7000-8000-{:012}", file.len());
        let store = self.store();
        let args = ["run", "p.yaml", file, "--period", period, "--store", &store, "--run-id", &run_id];
        self.folder.command(&[&args[..], &["--no-progress", "--output", "json"]].concat())
    }

    fn delivered(&self, file: &str, period: &str) -> serde_json::Value {
        let output = self.deliver(file, period).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    async fn state(&self) -> Dump {
        let (dump, system) = match &self.database {
            None => (dump::sqlite(self.folder.path("test.db")), "landonce_"),
            Some(database) => {
                let client = database.client().await;
                dump::assert_no_leftovers(&client).await;
                (dump::postgres(&client, Tables::All).await, "landonce.")
            }
        };
        let times = [
            ("inbox", "claimed_at"),
            ("inbox", "settled_at"),
            ("migration", "applied_at"),
            ("ledger", "loaded_at"),
        ];
        times
            .iter()
            .fold(dump, |dump, (table, column)| dump.without(&[(&format!("{system}{table}"), column)]))
    }

    /// Goes back to the state after the first load.
    async fn reset(&self) {
        match &self.database {
            None => {
                for file in ["test.db", "test.db-wal", "test.db-shm", "test.db-journal"] {
                    let _ = std::fs::remove_file(self.folder.path(file));
                }
            }
            Some(database) => {
                let client = database.client().await;
                dump::assert_no_leftovers(&client).await;
                let gone = "DROP SCHEMA IF EXISTS landonce CASCADE; DROP TABLE IF EXISTS sale";
                client.batch_execute(gone).await.unwrap();
            }
        }
        self.delivered("neighbour.csv", "2026-03-28");
        self.delivered("first.csv", DAY);
    }
}

async fn killed_at_every_failpoint(scene: Scene) {
    scene.reset().await;
    let before = scene.state().await;
    let said = scene.delivered("second.csv", DAY);
    assert_eq!((&said["removed"], &said["inserted"]), (&200.into(), &320.into()), "{said}");
    let after = scene.state().await;
    assert_ne!(before, after);
    for name in landonce::failpoint::ALL {
        scene.reset().await;
        let killed = crash::at_failpoint(scene.deliver("second.csv", DAY), name).await;
        assert!(killed.is_ok(), "never came to `{name}`: {killed:?}");
        let left = if *name == "committed" { &after } else { &before };
        left.assert_same(&scene.state().await);
        let said = scene.delivered("second.csv", DAY);
        let status = if *name == "committed" { "skipped_duplicate" } else { "processed" };
        assert_eq!(said["status"], status, "{name}: {said}");
        assert_eq!(said["batch_id"], format!("{DAY}#2"), "{name}: a killed run is no load");
        after.assert_same(&scene.state().await);
    }
}

async fn killed_at_random_moments(scene: Scene) {
    let mut rng = seed::rng();
    scene.reset().await;
    let before = scene.state().await;
    let (usage, ended) = crash::usage(scene.deliver("second.csv", DAY)).await;
    assert!(ended.status.success(), "{ended:?}");
    let after = scene.state().await;
    let mut killed = 0;
    while killed < RANDOM_KILLS {
        scene.reset().await;
        // Killed again and again until a run gets through: a retry may die as well.
        loop {
            match crash::kill_at(scene.deliver("second.csv", DAY), usage.random_moment(&mut rng)).await {
                End::Killed(_) => killed += 1,
                End::Finished(ended) => {
                    assert!(ended.status.success(), "{ended:?}");
                    break;
                }
            }
            let left = scene.state().await;
            assert!(left == before || left == after, "neither before nor after\n{}", before.diff(&left));
            if killed % 3 == 0 {
                break;
            }
        }
        scene.delivered("second.csv", DAY);
        after.assert_same(&scene.state().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_killed_at_any_failpoint_is_as_before_or_after_on_sqlite() {
    killed_at_every_failpoint(Scene::with(None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_killed_at_any_failpoint_is_as_before_or_after_on_postgres() {
    killed_at_every_failpoint(Scene::with(Some(postgres::database().await))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_killed_at_any_moment_is_as_before_or_after_on_sqlite() {
    killed_at_random_moments(Scene::with(None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_killed_at_any_moment_is_as_before_or_after_on_postgres() {
    killed_at_random_moments(Scene::with(Some(postgres::database().await))).await;
}
