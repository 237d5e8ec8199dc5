//! A real process killed with SIGKILL (F4): at every failpoint of the transaction, and at random moments. Whatever was cut
//! short, nothing of it is left, and the next run leaves what an undisturbed one leaves.

use std::process::Command;

use landonce_testkit::crash::{self, End};
use landonce_testkit::dump::{self, Dump, Tables};
use landonce_testkit::fixture::Events;
use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::seed;

use crate::folder::Folder;

/// How many runs are killed at random moments, in each store.
const RANDOM_KILLS: u32 = 100;

const PIPELINE: &str = "
pipeline: crashes
identity: [flight_id, event_kind, instant_utc]
target: {table: duty_event, columns: {instant_utc: timestamptz, updated_at: timestamptz}}
write: {version: updated_at}
on_bad_record: {quarantine: {max: 99}}
archive: archive
";

/// An empty database and the files of two deliveries: the second has new, changed, equal, repeated and bad records.
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
        let folder = Folder::new();
        folder.write("p.yaml", PIPELINE);
        let bytes = |events: Events| {
            let mut bytes = Vec::new();
            events.write_to(&mut bytes).unwrap();
            bytes
        };
        folder.write("first.ndjson", bytes(Events::new(5, 600)));
        let mut second = bytes(Events::new(5, 900).changed(0.2).duplicated(0.1));
        second.extend_from_slice(b"{\"flight_id\":null}\n{\"broken\n");
        folder.write("second.ndjson", second);
        Self { folder, database }
    }

    fn store(&self) -> String {
        self.database.as_ref().map_or_else(|| "sqlite:test.db".to_owned(), TestDatabase::url)
    }

    fn deliver(&self, file: &str) -> Command {
        // Run ids are given, so that two ways to one state have the same.
        let run_id = format!("0190b6f2-0000-7000-8000-{:012}", file.len());
        self.folder.command(&[
            "run",
            "p.yaml",
            "--input",
            file,
            "--store",
            &self.store(),
            "--run-id",
            &run_id,
            "--no-progress",
            "--output",
            "json",
        ])
    }

    fn delivered(&self, file: &str) -> String {
        let output = self.deliver(file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    async fn state(&self) -> Dump {
        let times = |inbox: &str, quarantine: &str, migration: &str, dump: Dump| {
            dump.without(&[
                (inbox, "claimed_at"),
                (inbox, "settled_at"),
                (quarantine, "kept_at"),
                (migration, "applied_at"),
            ])
        };
        match &self.database {
            None => times(
                "landonce_inbox",
                "landonce_quarantine",
                "landonce_migration",
                dump::sqlite(self.folder.path("test.db")),
            ),
            Some(database) => {
                let client = database.client().await;
                dump::assert_no_leftovers(&client).await;
                times(
                    "landonce.inbox",
                    "landonce.quarantine",
                    "landonce.migration",
                    dump::postgres(&client, Tables::All).await,
                )
            }
        }
    }

    /// The archive has these deliveries' bytes, once and whole, wherever runs were killed.
    fn has_archived(&self, deliveries: usize) {
        for below in ["blobs", "batches"] {
            let files = walk(&self.folder.path("archive").join(below));
            let whole: Vec<_> = files.iter().filter(|path| !path.to_string_lossy().contains('#')).collect();
            assert_eq!(whole.len(), deliveries, "{whole:?}");
        }
        let verified = self.folder.run(&["archive", "verify", "p.yaml"]);
        assert_eq!(verified.code, 0, "{verified}");
    }

    /// Goes back to the state after the first delivery.
    async fn reset(&self) {
        let _ = std::fs::remove_dir_all(self.folder.path("archive"));
        match &self.database {
            None => {
                for file in ["test.db", "test.db-wal", "test.db-shm", "test.db-journal"] {
                    let _ = std::fs::remove_file(self.folder.path(file));
                }
            }
            Some(database) => {
                let client = database.client().await;
                dump::assert_no_leftovers(&client).await;
                client
                    .batch_execute("DROP SCHEMA IF EXISTS landonce CASCADE; DROP TABLE IF EXISTS duty_event")
                    .await
                    .unwrap();
            }
        }
        self.delivered("first.ndjson");
    }
}

async fn killed_at_every_failpoint(scene: Scene) {
    scene.reset().await;
    let before = scene.state().await;
    scene.delivered("second.ndjson");
    let after = scene.state().await;
    assert_ne!(before, after);
    for name in landonce::failpoint::ALL {
        scene.reset().await;
        let killed = crash::at_failpoint(scene.deliver("second.ndjson"), name).await;
        assert!(killed.is_ok(), "never came to `{name}`: {killed:?}");
        let left = if *name == "committed" { &after } else { &before };
        left.assert_same(&scene.state().await);
        let said = scene.delivered("second.ndjson");
        let status = if *name == "committed" { "skipped_duplicate" } else { "processed" };
        assert!(said.contains(status), "{name}: {said}");
        after.assert_same(&scene.state().await);
        scene.has_archived(2);
    }
}

async fn killed_at_random_moments(scene: Scene) {
    let mut rng = seed::rng();
    scene.reset().await;
    let before = scene.state().await;
    let (usage, ended) = crash::usage(scene.deliver("second.ndjson")).await;
    assert!(ended.status.success(), "{ended:?}");
    let after = scene.state().await;
    let mut killed = 0;
    while killed < RANDOM_KILLS {
        scene.reset().await;
        // Killed again and again until a run gets through: a retry may die as well.
        loop {
            match crash::kill_at(scene.deliver("second.ndjson"), usage.random_moment(&mut rng)).await {
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
        scene.delivered("second.ndjson");
        after.assert_same(&scene.state().await);
        scene.has_archived(2);
    }
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

mod sqlite {
    use super::Scene;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_killed_at_any_failpoint_leaves_nothing_and_the_next_one_everything() {
        super::killed_at_every_failpoint(Scene::sqlite()).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_killed_at_any_moment_leaves_nothing_and_the_next_one_everything() {
        super::killed_at_random_moments(Scene::sqlite()).await;
    }
}

mod postgres_ {
    use super::Scene;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_killed_at_any_failpoint_leaves_nothing_and_the_next_one_everything() {
        super::killed_at_every_failpoint(Scene::postgres().await).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_killed_at_any_moment_leaves_nothing_and_the_next_one_everything() {
        super::killed_at_random_moments(Scene::postgres().await).await;
    }

    /// F4: a parked run holds the claim; its twin waits, and lands when the first one dies.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_twin_waits_for_a_claim_and_takes_over_when_its_holder_dies() {
        let scene = Scene::postgres().await;
        scene.reset().await;
        let parked = landonce_testkit::crash::park(scene.deliver("second.ndjson"), "written").await.unwrap();
        let twin = scene.deliver("second.ndjson").stdout(std::process::Stdio::piped()).spawn().unwrap();
        let client = scene.database.as_ref().unwrap().client().await;
        landonce_testkit::wait::until(30, "the twin to wait for the claim", async || {
            let waiting = client.query("SELECT 1 FROM pg_locks WHERE NOT granted", &[]).await.unwrap();
            (!waiting.is_empty()).then_some(())
        })
        .await;
        parked.kill().await;
        let output = twin.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && said.contains("\"processed\""), "{said}");
    }
}
