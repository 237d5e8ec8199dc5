//! Changes told to a real receiver by real processes that are killed (J7, J10): each change is told, with one id, in order of its
//! key, and nothing is left stuck.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};

use landonce_testkit::postgres;
use landonce_testkit::receiver::{Received, Receiver, Reply, Setup};
use landonce_testkit::{seed, wait};
use rand::RngExt as _;

use crate::folder::Folder;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const PIPELINE: &str = "
pipeline: told
identity: [id]
target: {table: thing, columns: {id: integer, n: integer}}
notify: [{topic: things, on: [inserted, updated]}]
";

/// How many workers there are at any time.
const WORKERS: usize = 4;

struct Scene {
    folder: Folder,
    store: String,
    receiver: Receiver,
}

impl Scene {
    /// A receiver that fails one request in fifty at its first attempt, in several ways. The breaker's pause is short: on a machine
    /// that is busy with other tests, ten requests in a row may well take longer than their time.
    async fn new(store: String) -> Self {
        let plan = |received: &Received, before: usize| {
            let chosen = received.id.as_ref()?.bytes().map(usize::from).sum::<usize>() % 200;
            (before == 0).then_some(match chosen {
                0 => Reply::status(500),
                1 => Reply::CloseBeforeAnswer,
                2 => Reply::CutAfterHead,
                3 => Reply::status(408),
                _ => return None,
            })
        };
        let receiver = Receiver::start(Setup {
            secrets: vec![SECRET.to_owned()],
            plan: Some(Box::new(plan)),
            ..Setup::of_key("/entity/id")
        })
        .await;
        let folder = Folder::new();
        folder.write("p.yaml", PIPELINE);
        folder.write(
            "deliver.yaml",
            format!(
                "destinations:\n  receiver:\n    topics: [things]\n    http:\n      url: {}\n      sign: ['${{HOOK_SECRET}}']\n      \
                 allow_private: true\n      timeout: 500ms\n    lease: 2s\n    concurrency: 32\n    \
                 retry: {{first: 50ms, most: 200ms}}\n    breaker: {{pause: 100ms}}\n",
                receiver.url()
            ),
        );
        Self { folder, store, receiver }
    }

    /// Each of the entities changes so many times.
    fn change(&self, entities: u32, times: u32) {
        for n in 1..=times {
            let rows: String = (0..entities).map(|id| format!("{{\"id\":{id},\"n\":{n}}}\n")).collect();
            self.folder.write("in.ndjson", rows);
            let ran =
                self.folder.run(&["run", "p.yaml", "in.ndjson", "--store", &self.store, "--output", "json"]);
            assert_eq!(ran.code, 0, "{ran}");
            assert_eq!(ran.json()["enqueued"], entities, "{ran}");
        }
    }

    fn worker(&self) -> Child {
        self.folder
            .command(&["deliver", "deliver.yaml", "--store", &self.store])
            .env("HOOK_SECRET", SECRET)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn pending(&self) -> u64 {
        let told = self.folder.run(&["outbox", "stats", "--store", &self.store, "--output", "json"]).json();
        told["topics"].as_array().unwrap().iter().map(|topic| topic["pending"].as_u64().unwrap()).sum()
    }

    /// Kills one worker after the other, each after so many more requests at most, until all is told.
    async fn tell_with_kills(&self, changes: usize, apart: usize) -> usize {
        let mut rng = seed::rng();
        let mut workers: Vec<Child> = (0..WORKERS).map(|_| self.worker()).collect();
        let mut kills = 0;
        let mut arrived = 0;
        loop {
            let until = arrived + rng.random_range(1..apart);
            let (requests, ids) = self.receiver.wait_for_count(60, until, changes).await;
            if ids >= changes {
                break;
            }
            arrived = requests;
            let worker = &mut workers[rng.random_range(0..WORKERS)];
            worker.kill().unwrap();
            worker.wait().unwrap();
            *worker = self.worker();
            kills += 1;
        }
        wait::until(60, "everything to be marked as sent", async || (self.pending() == 0).then_some(()))
            .await;
        for worker in &mut workers {
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
        kills
    }

    /// Every change was told, with one id and a signature, and no change of an entity before an earlier one.
    fn assert_told(&self, entities: u32, times: u32) {
        let mut first: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut ids: BTreeMap<(String, u64), BTreeSet<String>> = BTreeMap::new();
        for received in self.receiver.received() {
            assert!(received.is_signed(), "{received:?}");
            assert_eq!(received.header("idempotency-key"), received.id.as_deref());
            let body: serde_json::Value = serde_json::from_slice(&received.body).unwrap();
            let (key, revision) = (received.key.clone().unwrap(), body["revision"].as_u64().unwrap());
            assert_eq!(body["new"]["n"], revision, "{body}");
            let told = first.entry(key.clone()).or_default();
            if !told.contains(&revision) {
                told.push(revision);
            }
            ids.entry((key, revision)).or_default().insert(received.id.unwrap());
        }
        let all: Vec<u64> = (1..=u64::from(times)).collect();
        assert_eq!(first.len(), entities as usize);
        assert!(first.values().all(|told| *told == all), "{first:?}");
        assert!(ids.values().all(|ids| ids.len() == 1), "{ids:?}");
        let distinct: BTreeSet<&String> = ids.values().flatten().collect();
        assert_eq!(distinct.len(), (entities * times) as usize);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_changes_are_each_told_in_order_whichever_workers_are_killed() {
    let database = postgres::database().await;
    let scene = Scene::new(database.url()).await;
    scene.change(500, 20);
    let kills = scene.tell_with_kills(10_000, 1_000).await;
    assert!(kills >= 5, "{kills}");
    scene.assert_told(500, 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_embedded_store_tells_its_changes_through_killed_workers_too() {
    let scene = Scene::new("sqlite:test.db".to_owned()).await;
    scene.change(100, 10);
    let kills = scene.tell_with_kills(1_000, 200).await;
    assert!(kills >= 3, "{kills}");
    scene.assert_told(100, 10);
}

#[test]
fn the_example_tells_two_changes_once() {
    let folder = Folder::new();
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gate-changes");
    for file in ["flights.yaml", "deliver.yaml", "morning.ndjson", "noon.ndjson"] {
        folder.write(file, std::fs::read(example.join(file)).unwrap());
    }
    for args in [
        &["run", "flights.yaml", "morning.ndjson", "noon.ndjson"][..],
        &["deliver", "deliver.yaml", "--once"],
        &["run", "flights.yaml", "noon.ndjson"],
        &["deliver", "deliver.yaml", "--once"],
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, 0, "{ran}");
    }
    let told = std::fs::read_to_string(folder.path("told.ndjson")).unwrap();
    assert_eq!(told.lines().count(), 2, "{told}");
    for text in ["B6-739 leaves from 9 (was 7), scheduled", "UA-15 leaves from C3 (was C3), cancelled"] {
        assert!(told.contains(text), "{told}");
    }
}
