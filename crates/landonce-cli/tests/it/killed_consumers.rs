//! Workers of a consumer group that are killed again and again, stopped and woken as zombies, with a database that is killed under
//! them: the table is that of one worker that wasn't, and each message is in one batch (H2, C37, C47).
//!
//! `LANDONCE_TEST_MESSAGES` and `LANDONCE_TEST_KILLS` make it as large as you like.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::Duration;

use landonce_testkit::kafka::Broker;
use landonce_testkit::postgres::{OwnServer, TestDatabase};
use landonce_testkit::{dump, postgres, seed, wait};
use rand::RngExt as _;
use rand::rngs::StdRng;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

use crate::folder::{Folder, Ran};

const PARTITIONS: u64 = 6;
const WORKERS: usize = 3;

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn yaml(broker: &str, group: &str, more: &str) -> String {
    format!(
        "pipeline: flights\nidentity: [id]\ntarget: {{table: flight, columns: {{id: integer, v: integer}}}}\n{more}\nsource:\n  \
         batch: {{records: 400, wait_ms: 50}}\n  kafka:\n    brokers: ['{broker}']\n    group: {group}\n    topics: [t]\n    \
         properties: {{session.timeout.ms: '6000', heartbeat.interval.ms: '500'}}\n"
    )
}

/// Messages of a partition: new ones, updates, deletes, and a fifth of them sent twice.
fn sequence(rng: &mut StdRng, partition: u64, count: u64) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut known = 0;
    while (all.len() as u64) < count {
        let chance = rng.random_range(0..100);
        let message = if chance < 20 && !all.is_empty() {
            // What a producer sends again comes within a few messages.
            all[all.len() - 1 - rng.random_range(0..all.len().min(5))].clone()
        } else {
            let (id, op) = match chance {
                20..40 if known > 0 => (rng.random_range(0..known), "put"),
                40..45 if known > 0 => (rng.random_range(0..known), "del"),
                _ => {
                    known += 1;
                    (known - 1, "put")
                }
            };
            let number = all.len();
            format!("{{\"id\":{},\"v\":{number},\"op\":\"{op}\"}}", id * PARTITIONS + partition)
        };
        all.push(message);
    }
    all
}

fn produce(broker: &str, each: u64) {
    let mut rng = seed::rng();
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", broker).set("linger.ms", "20").create().unwrap();
    for partition in 0..PARTITIONS {
        for value in sequence(&mut rng, partition, each) {
            let mut record: BaseRecord<'_, str, str> =
                BaseRecord::to("t").partition(partition as i32).key("k").payload(&value);
            while let Err((error, again)) = producer.send(record) {
                assert_eq!(error, KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull));
                producer.poll(Duration::from_millis(10));
                record = again;
            }
        }
    }
    producer.flush(Duration::from_mins(1)).unwrap();
}

fn consumer(folder: &Folder, file: &str, database: &TestDatabase) -> Child {
    let mut command = folder.command(&["consume", file, "--store", &database.url(), "--output", "json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let done = std::process::Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

/// How far all partitions are, together.
async fn landed(database: &TestDatabase) -> u64 {
    let sql = "SELECT coalesce(sum(next::bigint), 0)::bigint FROM landonce.position";
    let client = database.client().await;
    // No table yet: nothing has landed.
    client.query_one(sql, &[]).await.map_or(0, |row| row.get::<_, i64>(0) as u64)
}

async fn until_landed(database: &TestDatabase, due: u64) {
    wait::until(300, "messages to land", async || (landed(database).await >= due).then_some(())).await;
}

/// The table, less what hangs on how messages were cut into batches.
async fn table(database: &TestDatabase) -> dump::Dump {
    let tables = dump::Tables::Named(&["public.flight"]);
    let of_runs = [("public.flight", "landonce_run_id"), ("public.flight", "landonce_revision")];
    dump::postgres(&database.client().await, tables).await.without(&of_runs)
}

/// Every message is in one batch that landed: the ranges of each partition's batches follow one another from 0 to the end.
async fn assert_gapless(database: &TestDatabase, each: u64) {
    let client = database.client().await;
    let mut ranges: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    for row in client.query("SELECT batch_id FROM landonce.inbox", &[]).await.unwrap() {
        let id: String = row.get(0);
        let (part, rest) = id.split_once('@').unwrap();
        let (first, next) = rest.split_once('#').unwrap().0.split_once("..").unwrap();
        ranges.entry(part.to_owned()).or_default().push((first.parse().unwrap(), next.parse().unwrap()));
    }
    assert_eq!(ranges.len() as u64, PARTITIONS);
    for (part, mut found) in ranges {
        found.sort_unstable();
        let mut at = 0;
        for (first, next) in found {
            assert_eq!(first, at, "{part}");
            at = next;
        }
        assert_eq!(at, each, "{part}");
    }
}

fn ended_well(child: Child) {
    let ran = Ran::from_output(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Lands a topic by three workers that are killed and started again, and by one that isn't.
async fn like_one_worker(more: &str, each: u64, kills: u64) -> (TestDatabase, TestDatabase) {
    let broker = Broker::start(&[&format!("t:{PARTITIONS}")]);
    produce(broker.address(), each);
    let folder = Folder::new();
    folder.write("one.yaml", yaml(broker.address(), "one", more));
    folder.write("many.yaml", yaml(broker.address(), "many", more));
    let (one, many) = (postgres::database().await, postgres::database().await);
    let told = folder.run(&["consume", "one.yaml", "--until-end", "--store", &one.url(), "--output", "json"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert_eq!(told.json()["messages"], each * PARTITIONS);

    let mut workers: Vec<Child> = (0..WORKERS).map(|_| consumer(&folder, "many.yaml", &many)).collect();
    for kill in 1..=kills {
        until_landed(&many, kill * each * PARTITIONS / (kills + 2)).await;
        let at = kill as usize % WORKERS;
        workers[at].kill().unwrap();
        workers[at].wait().unwrap();
        workers[at] = consumer(&folder, "many.yaml", &many);
    }
    until_landed(&many, each * PARTITIONS).await;
    for worker in &workers {
        signal(worker, "-TERM");
    }
    workers.into_iter().for_each(ended_well);
    assert_gapless(&one, each).await;
    assert_gapless(&many, each).await;
    table(&one).await.assert_same(&table(&many).await);
    (one, many)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_leave_the_table_that_one_worker_leaves() {
    let each = from_environment("LANDONCE_TEST_MESSAGES", 24_000) / PARTITIONS;
    let kills = from_environment("LANDONCE_TEST_KILLS", 5);
    let more = "write: {delete_when: {field: op, equals: [del]}}";
    let (one, many) = like_one_worker(more, each, kills).await;
    let rows = table(&one).await.rows("public.flight").unwrap();
    assert!(rows > 1_000 && table(&many).await.rows("public.flight") == Some(rows));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_tell_each_new_row_once() {
    let more = "write: {mode: insert_once}\nvolatile: [v, op]\nnotify: [{on: [inserted], topic: news}]";
    let (one, many) = like_one_worker(more, 2_000, 3).await;
    let told = async |database: &TestDatabase| {
        let tables = dump::Tables::Named(&["landonce.outbox"]);
        let all = dump::postgres(&database.client().await, tables).await;
        all.rows("landonce.outbox").unwrap()
    };
    let rows = table(&one).await.rows("public.flight").unwrap();
    assert_eq!((told(&one).await, told(&many).await), (rows, rows));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_killed_under_its_workers_has_each_message_once() {
    let broker = Broker::start(&[&format!("t:{PARTITIONS}")]);
    produce(broker.address(), 2_000);
    let folder = Folder::new();
    let more = "write: {delete_when: {field: op, equals: [del]}}";
    folder.write("one.yaml", yaml(broker.address(), "one", more));
    folder.write("many.yaml", yaml(broker.address(), "many", more));
    let one = postgres::database().await;
    let told = folder.run(&["consume", "one.yaml", "--until-end", "--store", &one.url(), "--output", "json"]);
    assert_eq!(told.code, 0, "{}", told.stderr);

    let mut server = OwnServer::start();
    let many = server.database();
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| consumer(&folder, "many.yaml", &many)).collect();
    for kill in 1..=3 {
        until_landed(&many, kill * 2_000 * PARTITIONS / 5).await;
        server.restart();
        let at = kill as usize % WORKERS;
        workers[at].kill().unwrap();
        workers[at].wait().unwrap();
        workers[at] = consumer(&folder, "many.yaml", &many);
    }
    until_landed(&many, 2_000 * PARTITIONS).await;
    for worker in &workers {
        signal(worker, "-TERM");
    }
    workers.into_iter().for_each(ended_well);
    assert_gapless(&many, 2_000).await;
    table(&one).await.assert_same(&table(&many).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_was_asleep_while_another_took_over_lands_nothing_when_it_wakes() {
    let broker = Broker::start(&[&format!("t:{PARTITIONS}")]);
    let folder = Folder::new();
    folder.write("p.yaml", yaml(broker.address(), "g", ""));
    let database = postgres::database().await;
    produce(broker.address(), 1_000);
    let zombie = consumer(&folder, "p.yaml", &database);
    until_landed(&database, 1_000).await;
    signal(&zombie, "-STOP");
    let heir = consumer(&folder, "p.yaml", &database);
    until_landed(&database, 1_000 * PARTITIONS).await;
    signal(&zombie, "-CONT");
    produce(broker.address(), 1_000);
    until_landed(&database, 2_000 * PARTITIONS).await;
    for worker in [&zombie, &heir] {
        signal(worker, "-TERM");
    }
    [zombie, heir].into_iter().for_each(ended_well);
    assert_gapless(&database, 2_000).await;
}
