//! From the outbox of a real store to a receiver that misbehaves: everything arrives, in order per key, with the same id.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use landonce::Store;
use landonce::outbox::{Notice, State, Which, enqueue_in};
use landonce_deliver::{Delivery, Error, Options, Summary};
use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::receiver::{Receiver, Reply, Setup};
use tokio::sync::watch;

use crate::parcels::with_environment;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A store of either kind, with landonce's tables.
struct Given {
    store: Store,
    postgres: Option<TestDatabase>,
    folder: tempfile::TempDir,
}

async fn both() -> [Given; 2] {
    let folder = || tempfile::tempdir().unwrap();
    let (sqlite, database) = (folder(), postgres::database().await);
    let url = format!("sqlite:{}", sqlite.path().join("x.db").display());
    let both = [
        Given { store: Store::open(&url).unwrap(), postgres: None, folder: sqlite },
        Given { store: Store::open(&database.url()).unwrap(), postgres: Some(database), folder: folder() },
    ];
    for given in &both {
        given.store.migrate().await.unwrap();
    }
    both
}

impl Given {
    /// Enqueues so many messages for each key, in turns.
    async fn enqueue(&self, topic: &str, keys: u32, each: u32) {
        let notices: Vec<Notice> = (0..each)
            .flat_map(|nth| (0..keys).map(move |key| (nth, key)))
            .map(|(nth, key)| {
                let (entity, payload) =
                    (format!(r#"{{"id":{key}}}"#), format!(r#"{{"key":{key},"nth":{nth}}}"#));
                Notice::new("test", topic, entity, nth.to_string(), payload)
            })
            .collect();
        if let Some(database) = &self.postgres {
            let mut client = database.client().await;
            let mut transaction = client.transaction().await.unwrap();
            enqueue_in(&mut transaction, &notices).await.unwrap();
            transaction.commit().await.unwrap();
        } else {
            let mut connection = rusqlite::Connection::open(self.folder.path().join("x.db")).unwrap();
            let mut transaction = connection.transaction().unwrap();
            enqueue_in(&mut transaction, &notices).await.unwrap();
            transaction.commit().unwrap();
        }
    }

    async fn in_state(&self, state: State) -> usize {
        let which = Which { state: Some(state), ..Which::default() };
        self.store.outbox().messages(&which, 100_000).await.unwrap().len()
    }
}

/// A destination of the topic `t`, with further keys of its own.
fn to(receiver: &Receiver, keys: &str) -> Delivery {
    let yaml = format!(
        "destinations:\n  d:\n    topics: [t]\n    http: {{url: '{}', sign: ['${{SECRET}}'], allow_private: true, timeout: 2s}}\n    {keys}\n",
        receiver.url()
    );
    with_environment(&[("SECRET", SECRET)], |environment| {
        Delivery::parse(&yaml, "deliver.yaml", Path::new(""), environment).unwrap()
    })
}

async fn receiver() -> Receiver {
    Receiver::start(Setup { secrets: vec![SECRET.into()], ..Setup::of_key("/key") }).await
}

async fn run(store: &Store, delivery: &Delivery, is_once: bool, workers: usize) -> Result<Summary, Error> {
    let (_say, stop) = watch::channel(false);
    delivery.run(store, &Options { workers, is_once, ..Options::default() }, stop).await
}

/// What each key's messages arrived as, repeats left out, by the numbers in their payloads.
fn order(receiver: &Receiver) -> BTreeMap<String, Vec<u64>> {
    let mut order: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for one in receiver.received().iter().filter(|one| one.reply.is_acknowledgement()) {
        let body: serde_json::Value = serde_json::from_slice(&one.body).unwrap();
        let of_key = order.entry(one.key.clone().unwrap()).or_default();
        let nth = body["nth"].as_u64().unwrap();
        if !of_key.contains(&nth) {
            of_key.push(nth);
        }
    }
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_arrives_signed_once_and_in_order() {
    for given in both().await {
        given.enqueue("t", 20, 10).await;
        let receiver = receiver().await;
        let summary = run(&given.store, &to(&receiver, ""), true, 2).await.unwrap();
        assert!(summary.is_all_delivered());
        assert_eq!(summary.destinations[0].sent, 200);
        assert_eq!(given.in_state(State::Sent).await, 200);
        let got = receiver.received();
        assert_eq!(got.len(), 200);
        assert!(got.iter().all(landonce_testkit::receiver::Received::is_signed));
        assert!(order(&receiver).values().all(|nths| nths.is_sorted() && nths.len() == 10));
        assert!(receiver.connections() <= 40, "{}", receiver.connections());
        // Once more: nothing is left, nothing is sent.
        assert_eq!(run(&given.store, &to(&receiver, ""), true, 1).await.unwrap().destinations[0].sent, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_misbehaves_gets_everything_in_the_end() {
    for given in both().await {
        given.enqueue("t", 10, 4).await;
        let receiver = receiver().await;
        receiver.script([
            Reply::status(500),
            Reply::CutAfterHead,
            Reply::status(503).retry_after("1"),
            Reply::CloseBeforeAnswer,
            Reply::status(429).retry_after("1"),
            Reply::status(404),
        ]);
        let delivery = to(&receiver, "retry: {first: 100ms, most: 1s}");
        let (say, stop) = watch::channel(false);
        let store = given.store.clone();
        let running = tokio::spawn(async move { delivery.run(&store, &Options::default(), stop).await });
        receiver
            .wait_for(60, "every message", |got| {
                got.iter().filter(|one| one.reply.is_acknowledgement()).count() >= 40
            })
            .await;
        say.send(true).unwrap();
        let summary = running.await.unwrap().unwrap();
        assert_eq!((summary.destinations[0].sent, summary.destinations[0].dead), (40, 0));
        assert_eq!(given.in_state(State::Sent).await, 40);
        assert!(order(&receiver).values().all(|nths| *nths == [0, 1, 2, 3]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_takes_is_a_dead_letter_and_tells_why() {
    for given in both().await {
        given.enqueue("t", 1, 2).await;
        let receiver = receiver().await;
        receiver.script([Reply::status(410).body("gone for good")]);
        let summary = run(&given.store, &to(&receiver, ""), true, 1).await.unwrap();
        assert_eq!((summary.destinations[0].sent, summary.destinations[0].dead), (1, 1));
        assert!(!summary.is_all_delivered());
        let which = Which { state: Some(State::Dead), ..Which::default() };
        let dead = given.store.outbox().messages(&which, 10).await.unwrap();
        assert_eq!(dead[0].answer.as_deref(), Some("410: gone for good"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_for_other_processes_too() {
    for given in both().await {
        given.enqueue("t", 30, 1).await;
        let receiver = receiver().await;
        receiver.script([Reply::status(429).retry_after("3600")]);
        let summary = run(&given.store, &to(&receiver, ""), true, 1).await.unwrap();
        assert_eq!((summary.destinations[0].sent, summary.destinations[0].waiting), (0, 30));
        // Another process, which knows only what is in the store.
        run(&given.store, &to(&receiver, ""), true, 1).await.unwrap();
        assert_eq!(receiver.received().len(), 1);
        let depth = given.store.outbox().depth().await.unwrap();
        let (left, why) = depth[0].paused.clone().unwrap();
        assert!(left >= Duration::from_secs(3_500) && why.starts_with("429"), "{left:?} {why}");
        assert_eq!(depth[0].leased, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_cut_lose_nothing() {
    let [_, given] = both().await;
    given.enqueue("t", 100, 4).await;
    let receiver = receiver().await;
    let (say, stop) = watch::channel(false);
    let (store, delivery) = (given.store.clone(), to(&receiver, "rate: 400/s"));
    let options = Options { workers: 2, ..Options::default() };
    let running = tokio::spawn(async move { delivery.run(&store, &options, stop).await });
    let client = given.postgres.as_ref().unwrap().client().await;
    for cut in 1..=3 {
        receiver.wait_for(60, "some more", |got| got.len() >= cut * 80).await;
        client
            .batch_execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )
            .await
            .unwrap();
    }
    landonce_testkit::wait::until(60, "every acknowledgement", async || {
        (given.in_state(State::Sent).await == 400).then_some(())
    })
    .await;
    say.send(true).unwrap();
    assert_eq!(running.await.unwrap().unwrap().destinations[0].sent, 400);
    assert_eq!(receiver.count_by_id().len(), 400);
    assert!(order(&receiver).values().all(|nths| nths.is_sorted()));
}
