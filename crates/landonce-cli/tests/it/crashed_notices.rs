//! A run that tells its changes, killed with SIGKILL at every failpoint (F4, J7): the messages stand or fall with the rows, and
//! the next run, under another id, leaves those that an undisturbed one leaves.

use std::process::Command;

use landonce_testkit::crash;
use landonce_testkit::postgres::{self, TestDatabase};

use crate::folder::Folder;

const PIPELINE: &str = "
pipeline: crashes
identity: [id]
target: {table: flight, rest: ignore, columns: {id: integer, v: text, op: text}}
write: {delete_when: {field: op, equals: [D]}}
on_bad_record: {quarantine: {max: 9}}
archive: archive
notify:
  - topic: flights
  - {topic: gates, on: [updated], columns: [v], payload: '{entity.id}: {old.v} → {new.v}', order_by: all}
";

/// Two deliveries: the second has new, changed, equal, repeated, deleted and bad records.
struct Scene {
    folder: Folder,
    database: Option<TestDatabase>,
}

fn lines(ids: std::ops::Range<u32>, rest: &str) -> String {
    ids.map(|id| format!("{{\"id\":{id},{rest}}}\n")).collect()
}

impl Scene {
    fn with(database: Option<TestDatabase>) -> Self {
        let folder = Folder::new();
        folder.write("p.yaml", PIPELINE);
        folder.write("first.ndjson", lines(0..1000, r#""v":"a""#));
        let (changed, equal) = (lines(100..300, r#""v":"b""#), lines(300..900, r#""v":"a""#));
        let (gone, new) = (lines(0..50, r#""op":"D""#), lines(1000..1700, r#""v":"a""#));
        let second = format!("{changed}{equal}{gone}{new}{}{{\"id\":null}}\n", lines(300..310, r#""v":"a""#));
        folder.write("second.ndjson", second);
        Self { folder, database }
    }

    fn deliver(&self, file: &str) -> Command {
        let store = self.database.as_ref().map_or_else(|| "sqlite:test.db".to_owned(), TestDatabase::url);
        let args = ["run", "p.yaml", "--input", file, "--store", &store, "--no-progress", "--output", "json"];
        self.folder.command(&args)
    }

    fn delivered(&self, file: &str) -> serde_json::Value {
        let output = self.deliver(file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The messages in their order, without what tells of the run.
    async fn messages(&self) -> Vec<String> {
        let columns = "CAST(id AS text) || producer || topic || CAST(lane AS text) || coalesce(ordering, '') || entity || kind || payload || state";
        match &self.database {
            None => {
                let connection = rusqlite::Connection::open(self.folder.path("test.db")).unwrap();
                let sql = format!("SELECT {columns} FROM landonce_outbox ORDER BY seq");
                let mut statement = connection.prepare(&sql).unwrap();
                statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
            }
            Some(database) => {
                let sql = format!("SELECT {columns} FROM landonce.outbox ORDER BY seq");
                let rows = database.client().await.query(&sql, &[]).await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
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
                landonce_testkit::dump::assert_no_leftovers(&client).await;
                let gone = "DROP SCHEMA IF EXISTS landonce CASCADE; DROP TABLE IF EXISTS flight";
                client.batch_execute(gone).await.unwrap();
            }
        }
        assert_eq!(self.delivered("first.ndjson")["enqueued"], 1000);
    }
}

async fn killed_at_every_failpoint(scene: Scene) {
    scene.reset().await;
    let before = scene.messages().await;
    let said = scene.delivered("second.ndjson");
    assert_eq!(said["enqueued"], 200 + 50 + 700 + 200, "{said}");
    let after = scene.messages().await;
    for name in landonce::failpoint::ALL.iter().chain(landonce::failpoint::NOTIFY) {
        scene.reset().await;
        let killed = crash::at_failpoint(scene.deliver("second.ndjson"), name).await;
        assert!(killed.is_ok(), "never came to `{name}`: {killed:?}");
        let left = if *name == "committed" { &after } else { &before };
        assert_eq!(*left, scene.messages().await, "{name}");
        let said = scene.delivered("second.ndjson");
        let enqueued = if *name == "committed" { 0 } else { 1150 };
        assert_eq!(said["enqueued"], enqueued, "{name}: {said}");
        assert_eq!(after, scene.messages().await, "{name}");
    }
}

/// The most memory that a run has taken when it comes to a failpoint, in KiB.
async fn peak(scene: &Scene, file: &str, failpoint: &str) -> u64 {
    let parked = crash::park(scene.deliver(file), failpoint).await.unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", parked.id().unwrap())).unwrap();
    parked.kill().await;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn many_changes_take_no_more_memory_than_the_rows(scene: Scene) {
    let text = |v: &str| lines(0..25_000, &format!(r#""v":"{v}{}""#, "x".repeat(400)));
    scene.folder.write("a.ndjson", text("a"));
    scene.folder.write("b.ndjson", text("b"));
    for file in ["a.ndjson", "b.ndjson"] {
        let before = peak(&scene, file, "classified").await;
        let told = peak(&scene, file, "enqueued").await;
        // In debug builds: 25,000 rows, whose messages are 20 to 35 MB. What is written between the two takes some by itself.
        assert!(told < before + 8_000, "{file}: {before} KiB before, {told} KiB when all is told");
        assert_eq!(scene.delivered(file)["inserted"], if file == "a.ndjson" { 25_000 } else { 0 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_messages_take_bounded_memory_on_sqlite() {
    many_changes_take_no_more_memory_than_the_rows(Scene::with(None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_messages_take_bounded_memory_on_postgres() {
    many_changes_take_no_more_memory_than_the_rows(Scene::with(Some(postgres::database().await))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_a_run_killed_at_any_failpoint_are_all_there_or_none_on_sqlite() {
    killed_at_every_failpoint(Scene::with(None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_a_run_killed_at_any_failpoint_are_all_there_or_none_on_postgres() {
    killed_at_every_failpoint(Scene::with(Some(postgres::database().await))).await;
}
