//! A run of a snapshot killed with SIGKILL at every failpoint (F4, J5): what stands is as before the run or as after it, and the
//! next run leaves what an undisturbed one leaves.

use std::process::Command;

use landonce_testkit::crash;
use landonce_testkit::dump::{self, Dump, Tables};
use landonce_testkit::postgres::{self, TestDatabase};

use crate::folder::Folder;

const PIPELINE: &str = "
pipeline: crashes
source: {complete: {end_marker: '#EOF'}}
identity: [id]
target: {table: parcel, columns: {id: integer, v: text}}
write: {mode: snapshot, absent: retire}
on_bad_record: {quarantine: {max: 9}}
";

/// Two snapshots: the second has new, changed, equal and repeated rows, a record that is nobody's, and lacks some.
struct Scene {
    folder: Folder,
    database: Option<TestDatabase>,
}

fn lines(ids: std::ops::Range<u32>, v: &str) -> String {
    ids.map(|id| format!("{{\"id\":{id},\"v\":\"{v}\"}}\n")).collect()
}

impl Scene {
    fn with(database: Option<TestDatabase>) -> Self {
        let folder = Folder::new();
        folder.write("p.yaml", PIPELINE);
        folder.write("first.ndjson", format!("{}#EOF\n", lines(0..1000, "a")));
        let (changed, equal, new) = (lines(100..200, "b"), lines(200..1000, "a"), lines(1000..1050, "a"));
        let second = format!("{changed}{equal}{new}{}{{\"id\":null}}\n#EOF\n", lines(300..310, "a"));
        folder.write("second.ndjson", second);
        Self { folder, database }
    }

    fn deliver(&self, file: &str) -> Command {
        // Run ids are given, so that two ways to one state have the same.
        let run_id = format!("0190b6f2-0000-7000-8000-{:012}", file.len());
        let store = self.database.as_ref().map_or_else(|| "sqlite:test.db".to_owned(), TestDatabase::url);
        let args = ["run", "p.yaml", file, "--store", &store, "--run-id", &run_id];
        self.folder.command(&[&args[..], &["--no-progress", "--output", "json"]].concat())
    }

    fn delivered(&self, file: &str) -> serde_json::Value {
        let output = self.deliver(file).output().unwrap();
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
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
        let parcel = if self.database.is_some() { "public.parcel" } else { "parcel" };
        let times = [
            ("inbox", "claimed_at"),
            ("inbox", "settled_at"),
            ("migration", "applied_at"),
            ("ledger", "loaded_at"),
            ("quarantine", "kept_at"),
        ];
        times
            .iter()
            .fold(dump, |dump, (table, column)| dump.without(&[(&format!("{system}{table}"), column)]))
            .without(&[(parcel, "landonce_retired_at")])
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
                let gone = "DROP SCHEMA IF EXISTS landonce CASCADE; DROP TABLE IF EXISTS parcel";
                client.batch_execute(gone).await.unwrap();
            }
        }
        self.delivered("first.ndjson");
    }
}

async fn killed_at_every_failpoint(scene: Scene) {
    scene.reset().await;
    let before = scene.state().await;
    let said = scene.delivered("second.ndjson");
    assert_eq!(
        (&said["retired"], &said["inserted"], &said["updated"]),
        (&100.into(), &50.into(), &100.into())
    );
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
        assert_eq!(
            (&said["status"], &said["batch_id"]),
            (&status.into(), &"snapshot#2".into()),
            "{name}: {said}"
        );
        after.assert_same(&scene.state().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_killed_at_any_failpoint_is_as_before_or_after_on_sqlite() {
    killed_at_every_failpoint(Scene::with(None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_killed_at_any_failpoint_is_as_before_or_after_on_postgres() {
    killed_at_every_failpoint(Scene::with(Some(postgres::database().await))).await;
}
