//! `landonce deliver`: what it says, how it ends, and that nothing is lost however it does.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use landonce::Store;
use landonce::outbox::{Notice, State, Which, enqueue_in};
use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::receiver::{Received, Receiver, Reply, Setup};
use landonce_testkit::wait;
use snapbox::str;

use crate::folder::{Folder, Ran, said};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A folder with a delivery file, a store with messages, and a receiver of them.
struct Scene {
    folder: Folder,
    database: Option<TestDatabase>,
    receiver: Receiver,
}

async fn both() -> [Scene; 2] {
    let scene = async |database| {
        let receiver = Receiver::start(Setup { secrets: vec![SECRET.into()], ..Setup::of_key("/key") }).await;
        let scene = Scene { folder: Folder::new(), database, receiver };
        scene.declare("");
        scene.store().migrate().await.unwrap();
        scene
    };
    [scene(None).await, scene(Some(postgres::database().await)).await]
}

impl Scene {
    /// Writes the delivery file, with further keys of the destination's.
    fn declare(&self, keys: &str) {
        let yaml = format!(
            "store: ${{STORE}}\ndestinations:\n  crew-app:\n    topics: [t]\n    http:\n      url: {}\n      sign: ['${{SECRET}}']\n      \
             allow_private: [127.0.0.0/8]\n      timeout: 2s\n{keys}",
            self.receiver.url()
        );
        self.folder.write("deliver.yaml", yaml);
    }

    fn url(&self) -> String {
        let path = || format!("sqlite:{}", self.folder.path("test.db").display());
        self.database.as_ref().map_or_else(path, TestDatabase::url)
    }

    fn store(&self) -> Store {
        Store::open(&self.url()).unwrap()
    }

    async fn enqueue(&self, count: u32) {
        let notice = |key: u32| {
            Notice::new("test", "t", format!(r#"{{"id":{key}}}"#), "1", format!(r#"{{"key":{key}}}"#))
        };
        let notices: Vec<Notice> = (0..count).map(notice).collect();
        if let Some(database) = &self.database {
            let mut client = database.client().await;
            let mut transaction = client.transaction().await.unwrap();
            enqueue_in(&mut transaction, &notices).await.unwrap();
            transaction.commit().await.unwrap();
        } else {
            let mut connection = rusqlite::Connection::open(self.folder.path("test.db")).unwrap();
            let mut transaction = connection.transaction().unwrap();
            enqueue_in(&mut transaction, &notices).await.unwrap();
            transaction.commit().unwrap();
        }
    }

    /// All leases run out now, as they would in a minute.
    async fn let_leases_run_out(&self) {
        if let Some(database) = &self.database {
            let sql =
                "UPDATE landonce.outbox SET leased_until = clock_timestamp() WHERE leased_until IS NOT NULL";
            database.client().await.batch_execute(sql).await.unwrap();
        } else {
            let connection = rusqlite::Connection::open(self.folder.path("test.db")).unwrap();
            let sql = "UPDATE landonce_outbox SET leased_until = '2020-01-01T00:00:00.000Z' WHERE leased_until IS NOT NULL";
            connection.execute_batch(sql).unwrap();
        }
    }

    async fn in_state(&self, state: State) -> usize {
        let which = Which { state: Some(state), ..Which::default() };
        self.store().outbox().messages(&which, 10_000).await.unwrap().len()
    }

    async fn leased(&self) -> u64 {
        self.store().outbox().depth().await.unwrap().iter().map(|depth| depth.leased).sum()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.folder.command(&[&["deliver", "deliver.yaml"], args].concat());
        command.env("STORE", self.url()).env("SECRET", SECRET);
        command
    }

    /// Runs it while this test's own runtime goes on.
    async fn run(&self, args: &[&str]) -> Ran {
        let command = self.command(args);
        tokio::task::spawn_blocking(move || Ran::of(command)).await.unwrap()
    }

    fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// Waits for the end of a program without stopping the runtime of the receiver.
async fn end(child: Child) -> Ran {
    tokio::task::spawn_blocking(move || Ran::from_output(&child.wait_with_output().unwrap())).await.unwrap()
}

fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn once_delivers_what_is_due_and_ends_with_0() {
    for scene in both().await {
        scene.enqueue(25).await;
        said(
            &scene.run(&["--once"]).await,
            str![[r#"
exit 0
--- stdout
--- stderr
crew-app: sent 25; again 0; dead 0; waiting 0

"#]],
        );
        assert!(scene.receiver.received().iter().all(Received::is_signed));
        let told = scene.run(&["--once", "--workers", "3", "--output", "json"]).await;
        assert_eq!(told.code, 0);
        let expected = serde_json::json!([
            {"destination": "crew-app", "sent": 0, "again": 0, "dead": 0, "lost": 0, "waiting": 0}
        ]);
        assert_eq!(told.json()["destinations"], expected);
        assert_eq!(scene.receiver.received().len(), 25, "nothing is sent twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_or_is_dead_ends_once_with_1() {
    for scene in both().await {
        scene.enqueue(3).await;
        scene.receiver.script_for("0", [Reply::status(500).body("try later")]);
        scene.receiver.script_for("1", [Reply::status(410)]);
        let ran = scene.run(&["--once"]).await;
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.stderr.contains("crew-app: sent 1; again 1; dead 1; waiting 1\n"), "{ran}");
        assert!(ran.stderr.contains("crew-app: dead letter ") && ran.stderr.contains(": 410 ("), "{ran}");
        assert_eq!(scene.in_state(State::Dead).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_that_is_sent_again_has_its_id_and_a_new_signature() {
    for scene in both().await {
        scene.enqueue(1).await;
        scene.receiver.script([Reply::status(410)]);
        assert_eq!(scene.run(&["--once"]).await.code, 1);
        let mut command =
            scene.folder.command(&["outbox", "redrive", "--topic", "t", "--all", "--store", &scene.url()]);
        assert_eq!(command.status().unwrap().code(), Some(0));
        let ran = scene.run(&["--once"]).await;
        assert_eq!(ran.code, 0, "{ran}");
        let got = scene.receiver.received();
        assert_eq!((got.len(), &got[0].id), (2, &got[1].id));
        assert!(got.iter().all(Received::is_signed));
        let times = got.iter().map(|one| one.header("webhook-timestamp").unwrap().parse::<u64>().unwrap());
        assert!(times.is_sorted(), "signed when it was sent");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_asks_for_a_pause_is_told_and_ends_once_with_1() {
    for scene in both().await {
        scene.enqueue(40).await;
        scene.receiver.script([Reply::status(503).retry_after("7200").body("closed")]);
        let ran = scene.run(&["--once"]).await;
        assert_eq!(ran.code, 1, "{ran}");
        assert!(
            ran.stderr.contains("crew-app: pauses for 7") && ran.stderr.contains(" s: 503: closed\n"),
            "{ran}"
        );
        assert!(ran.stderr.contains("waiting 40"), "{ran}");
        assert_eq!((scene.receiver.received().len(), scene.leased().await), (1, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_what_is_under_way_end_and_gives_back_the_rest() {
    for scene in both().await {
        scene.declare("    concurrency: 1\n");
        scene.enqueue(20).await;
        scene.receiver.script([Reply::status(200), Reply::Hang]);
        let child = scene.start(&[]);
        scene.receiver.wait_for(30, "the second message", |got| got.len() == 2).await;
        signal(&child, "-TERM");
        // It waits for the answer: that comes now.
        let ending = tokio::spawn(end(child));
        wait::until(10, "the rest to be given back", async || (scene.leased().await <= 1).then_some(()))
            .await;
        scene.receiver.release();
        let ran = ending.await.unwrap();
        assert_eq!(ran.code, 0, "{ran}");
        assert!(
            ran.stderr.starts_with("stopping; ")
                && ran.stderr.contains("crew-app: sent 2; again 0; dead 0\n"),
            "{ran}"
        );
        assert_eq!((scene.leased().await, scene.in_state(State::Pending).await), (0, 18));
        assert_eq!(scene.receiver.received().len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_delivers_what_is_enqueued_while_it_runs() {
    for scene in both().await {
        let child = scene.start(&["--workers", "2"]);
        scene.enqueue(3).await;
        scene.receiver.wait_for(30, "three messages", |got| got.len() == 3).await;
        wait::until(10, "their acknowledgements", async || {
            (scene.in_state(State::Sent).await == 3).then_some(())
        })
        .await;
        signal(&child, "-INT");
        let ran = end(child).await;
        assert_eq!(ran.code, 0, "{ran}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_had_is_sent_by_another_with_the_same_ids() {
    for scene in both().await {
        scene.declare("    concurrency: 4\n");
        scene.enqueue(12).await;
        scene.receiver.script([
            Reply::status(200),
            Reply::status(200),
            Reply::Hang,
            Reply::Hang,
            Reply::Hang,
        ]);
        let mut child = scene.start(&[]);
        scene.receiver.wait_for(30, "three that hang", |got| got.len() == 5).await;
        child.kill().unwrap();
        child.wait().unwrap();
        // It sends what is new, and waits for what the dead process holds.
        scene.enqueue(13).await;
        let waiting = tokio::spawn(end(scene.start(&["--once"])));
        scene.receiver.wait_for(30, "the new one", |got| got.len() == 6).await;
        assert_eq!(scene.receiver.count_by_id().len(), 6, "the others are leased to the dead process");
        wait::until(30, "the new one to be recorded", async || {
            (scene.in_state(State::Sent).await == 1).then_some(())
        })
        .await;
        scene.let_leases_run_out().await;
        let ran = waiting.await.unwrap();
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(scene.in_state(State::Sent).await, 13);
        let by_id = scene.receiver.count_by_id();
        let by_key = scene.receiver.count_by_key();
        assert_eq!(
            (by_id.len(), by_key.len()),
            (13, 13),
            "each message has one id, however often it is sent"
        );
        assert!(by_id.values().any(|count| *count > 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn four_processes_at_once_send_each_message_once() {
    for scene in both().await {
        scene.enqueue(400).await;
        let children: Vec<_> =
            (0..4).map(|_| tokio::spawn(end(scene.start(&["--once", "--output", "json"])))).collect();
        let mut sent = 0;
        for child in children {
            let ran = child.await.unwrap();
            assert_eq!(ran.code, 0, "{ran}");
            sent += ran.json()["destinations"][0]["sent"].as_u64().unwrap();
        }
        assert_eq!(sent, 400);
        assert_eq!(scene.receiver.received().len(), 400);
    }
}

#[test]
fn a_file_that_can_not_be_is_refused_before_anything_is_touched() {
    let folder = Folder::new();
    folder.write("d.yaml", "destinations:\n  app:\n    topic: [t]\n    http: {url: 'https://a.example'}\n");
    said(
        &folder.run(&["deliver", "d.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: d.yaml: line 3, column 5: unknown key `topic`; did you mean `topics`?

"#]],
    );
    folder.write(
        "d.yaml",
        "destinations:\n  app:\n    topics: [t]\n    http: {url: 'https://a.example', bearer: s3kr3t}\n",
    );
    said(
        &folder.run(&["deliver", "d.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: d.yaml: line 4, column 46: a secret isn't written into a file; put it into an environment variable, and write ${NAME} here

"#]],
    );
    folder.write("d.yaml", "destinations:\n  app:\n    topics: [t]\n    http: {url: 'https://a.example', bearer: '${NO_SUCH}'}\n");
    said(
        &folder.run(&["deliver", "d.yaml"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: d.yaml: destinations.app.http.bearer: the environment variable `NO_SUCH` isn't set, or is empty

"#]],
    );
    assert_eq!(folder.names(), ["d.yaml"]);
}

#[test]
fn a_store_that_can_not_be_reached_ends_with_2() {
    let folder = Folder::new();
    folder.write("d.yaml", "destinations:\n  app:\n    topics: [t]\n    http: {url: 'https://a.example'}\n");
    let ran = folder.run(&["deliver", "d.yaml", "--store", "postgres://u@127.0.0.1:1/d"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("error[L0601]"), "{ran}");
}

#[test]
fn the_schema_of_delivery_files_is_printed() {
    let ran = Folder::new().run(&["schema", "--deliver"]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.json()["title"], "landonce delivery");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_secret_and_no_payload_is_in_the_log() {
    for scene in both().await {
        scene.enqueue(2).await;
        scene.receiver.script([Reply::status(500), Reply::status(429).retry_after("1")]);
        let ran = scene.run(&["--once", "-vv"]).await;
        assert!(ran.stderr.contains("handed over"), "{ran}");
        assert!(!ran.stderr.contains("MfKQ9r8GKY") && !ran.stderr.contains("\"key\":"), "{ran}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_comes_twice_does_not_wait() {
    let [scene, _] = both().await;
    scene.enqueue(1).await;
    scene.receiver.script([Reply::Hang]);
    let mut child = scene.start(&[]);
    scene.receiver.wait_for(30, "the message", |got| got.len() == 1).await;
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    signal(&child, "-TERM");
    let told = tokio::task::spawn_blocking(move || {
        let mut told = String::new();
        stderr.read_line(&mut told).unwrap();
        assert!(told.starts_with("stopping; "), "{told}");
        signal(&child, "-TERM");
        stderr.read_to_string(&mut told).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(143), "{told}");
        told
    });
    let told = told.await.unwrap();
    assert!(told.contains("sent again when their leases have run out"), "{told}");
}

#[tokio::test]
async fn a_store_without_an_outbox_is_an_error_and_setup_makes_what_was_dropped() {
    for database in [None, Some(postgres::database().await)] {
        let folder = Folder::new();
        folder.write("d.yaml", "destinations: {log: {topics: [t], file: {path: told.ndjson}}}\n");
        let store = database.as_ref().map_or_else(|| "sqlite:typo.db".to_owned(), TestDatabase::url);
        let deliver = ["deliver", "d.yaml", "--once", "--store", &store];
        let ran = folder.run(&deliver);
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains("there is no outbox in"), "{ran}");
        assert!(!folder.path("typo.db").exists());
        for _ in 0..2 {
            let made = folder.run(&["setup", "--store", &store]);
            assert_eq!(made.code, 0, "{made}");
            let ran = folder.run(&deliver);
            assert_eq!(ran.code, 0, "{ran}");
            match &database {
                None => {
                    let connection = rusqlite::Connection::open(folder.path("typo.db")).unwrap();
                    connection.execute_batch("DROP TABLE landonce_outbox").unwrap();
                }
                Some(database) => {
                    database.client().await.batch_execute("DROP TABLE landonce.outbox").await.unwrap();
                }
            }
            let ran = folder.run(&deliver);
            assert_eq!(ran.code, 2, "{ran}");
        }
    }
}
