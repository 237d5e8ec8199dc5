//! Workers of a stream of NATS that are killed again and again, beside a server that is killed, too, and a database that is killed and cut
//! off in mid-COMMIT: the table is that of one worker to which nothing happened, each message is in one batch, and all of it once more changes
//! nothing (H2, C37, C47).
//!
//! `LANDONCE_TEST_MESSAGES` and `LANDONCE_TEST_KILLS` make it as large as you like.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};

use async_nats::jetstream;
use landonce_testkit::nats::Server;
use landonce_testkit::postgres::{OwnServer, TestDatabase};
use landonce_testkit::proxy::{Fault, Proxy};
use landonce_testkit::{dump, postgres, seed, wait};
use rand::RngExt as _;

use crate::folder::{Folder, Ran};

const PARTS: u64 = 4;
const WORKERS: usize = 2;

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn yaml(server: &Server) -> String {
    let parts: Vec<String> = (0..PARTS).map(|part| format!("orders.{part}")).collect();
    format!(
        "pipeline: orders\nidentity: [id]\ntarget: {{table: orders, columns: {{id: integer, v: integer}}}}\n\
         write: {{delete_when: {{field: op, equals: [del]}}}}\nsource:\n  batch: {{records: 300, wait_ms: 50}}\n  nats:\n    \
         servers: ['{}']\n    stream: ORDERS\n    parts: [{}]\n    stand_by_s: 2\n",
        server.url(),
        parts.join(", ")
    )
}

/// Puts messages in: new ones, updates, deletes, and a fifth of them twice. Which part each one's number is of.
async fn publish(server: &Server, count: u64) -> Vec<u64> {
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let config = jetstream::stream::Config {
        name: "ORDERS".into(),
        subjects: vec!["orders.*".into()],
        ..Default::default()
    };
    context.create_stream(config).await.unwrap();
    let mut rng = seed::rng();
    let mut last = vec![String::new(); PARTS as usize];
    let mut known = vec![0u64; PARTS as usize];
    let (mut parts, mut acks) = (Vec::new(), Vec::new());
    for number in 0..count {
        let part = rng.random_range(0..PARTS);
        let (at, chance) = (part as usize, rng.random_range(0..100));
        if chance >= 20 || last[at].is_empty() {
            let (id, op) = match chance {
                20..40 if known[at] > 0 => (rng.random_range(0..known[at]), "put"),
                40..45 if known[at] > 0 => (rng.random_range(0..known[at]), "del"),
                _ => {
                    known[at] += 1;
                    (known[at] - 1, "put")
                }
            };
            last[at] = format!("{{\"id\":{},\"v\":{number},\"op\":\"{op}\"}}", id * PARTS + part);
        }
        acks.push(context.publish(format!("orders.{part}"), last[at].clone().into()).await.unwrap());
        parts.push(part);
        if acks.len() == 500 || number + 1 == count {
            for ack in acks.drain(..) {
                ack.await.unwrap();
            }
        }
    }
    parts
}

fn consumer(folder: &Folder, store: &str) -> Child {
    let mut command = folder.command(&["consume", "p.yaml", "--store", store, "--output", "json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How many messages have been landed, by the positions.
async fn landed(database: &TestDatabase, parts: &[u64]) -> u64 {
    let sql = "SELECT part, next::bigint FROM landonce.position WHERE next IS NOT NULL";
    // No table yet: nothing has landed.
    let rows = database.client().await.query(sql, &[]).await.unwrap_or_default();
    let next: BTreeMap<String, i64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let is_behind = |(at, part): (usize, &u64)| {
        next.get(&format!("orders.{part}")).is_some_and(|next| (at as i64 + 1) < *next)
    };
    parts.iter().enumerate().filter(|one| is_behind(*one)).count() as u64
}

async fn until_landed(database: &TestDatabase, parts: &[u64], due: u64) {
    wait::until(300, "messages to land", async || (landed(database, parts).await >= due).then_some(())).await;
}

/// The table, less what hangs on how messages were cut into batches.
async fn table(database: &TestDatabase) -> dump::Dump {
    let tables = dump::Tables::Named(&["public.orders"]);
    let of_runs = [("public.orders", "landonce_run_id"), ("public.orders", "landonce_revision")];
    dump::postgres(&database.client().await, tables).await.without(&of_runs)
}

/// Every message is in one batch of its part that landed, and none is in two.
async fn assert_gapless(database: &TestDatabase, parts: &[u64]) {
    let client = database.client().await;
    let mut batches: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for row in client.query("SELECT batch_id FROM landonce.inbox", &[]).await.unwrap() {
        let id: String = row.get(0);
        let (part, rest) = id.split_once('@').unwrap();
        let (first, next) = rest.split_once('#').unwrap().0.split_once("..").unwrap();
        batches.entry(part.to_owned()).or_default().push((first.parse().unwrap(), next.parse().unwrap()));
    }
    assert_eq!(batches.len() as u64, PARTS);
    for (part, mut found) in batches {
        found.sort_unstable();
        assert!(found.windows(2).all(|two| two[0].1 <= two[1].0), "{part}: {found:?}");
        let of_part = |at: &usize| part == format!("ORDERS/orders.{}", parts[*at]);
        for number in (0..parts.len()).filter(of_part).map(|at| at + 1) {
            let is_there = found.iter().any(|(first, next)| (*first..*next).contains(&number));
            assert!(is_there, "{part}: {number} is in no batch");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_a_killed_server_and_a_killed_database_leave_what_one_worker_leaves() {
    let count = from_environment("LANDONCE_TEST_MESSAGES", 20_000);
    let kills = from_environment("LANDONCE_TEST_KILLS", 6);
    let mut server = Server::start();
    let parts = publish(&server, count).await;
    let folder = Folder::new();
    folder.write("p.yaml", yaml(&server));
    let mut own = OwnServer::start();
    let (alone, many) = (postgres::database().await, own.database());
    let once = |database: &TestDatabase| {
        let told =
            folder.run(&["consume", "p.yaml", "--until-end", "--store", &database.url(), "--output", "json"]);
        assert_eq!(told.code, 0, "{}", told.stderr);
        told.json()["messages"].as_u64().unwrap()
    };
    assert_eq!(once(&alone), count);

    let proxy = Proxy::start(&many.url()).await;
    let cuts = [Fault::CutAfterCommit, Fault::CutBeforeCommit];
    let mut armed = Vec::new();
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| consumer(&folder, proxy.url())).collect();
    for kill in 1..=kills {
        until_landed(&many, &parts, kill * count / (kills + 2)).await;
        armed.push(proxy.arm(cuts[kill as usize % cuts.len()].clone()));
        let at = kill as usize % WORKERS;
        workers[at].kill().unwrap();
        workers[at].wait().unwrap();
        if kill % 2 == 0 {
            server.restart();
        } else {
            own.restart();
        }
        workers[at] = consumer(&folder, proxy.url());
    }
    until_landed(&many, &parts, count).await;
    for worker in workers {
        let done = std::process::Command::new("kill").args(["-TERM", &worker.id().to_string()]).status();
        assert!(done.unwrap().success());
        let ran = Ran::from_output(&worker.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    assert!(armed.iter().all(|cut| cut.fired() == 1));
    assert_gapless(&alone, &parts).await;
    assert_gapless(&many, &parts).await;
    let landed = table(&alone).await;
    assert!(landed.rows("public.orders").unwrap() > count as usize / 4);
    landed.assert_same(&table(&many).await);

    // All of it once more.
    for part in 0..PARTS {
        let part = format!("orders.{part}");
        let args = ["position", "set", "p.yaml", "nats ORDERS", &part, "--beginning", "--store", &many.url()];
        let told = folder.run(&args);
        assert_eq!(told.code, 0, "{}", told.stderr);
    }
    assert_eq!(once(&many), count);
    landed.assert_same(&table(&many).await);
}

#[test]
fn parts_are_named_as_they_are_declared_and_only_with_nats() {
    let folder = Folder::new();
    let source = "source: {nats: {servers: ['nats://127.0.0.1:1'], stream: S, parts: [a, b]}}";
    folder.write("p.yaml", format!("pipeline: p\nidentity: [id]\ntarget: {{table: t}}\n{source}\n"));
    let told = folder.run(&["consume", "p.yaml", "--store", "sqlite:t.db", "--part", "c"]);
    assert_eq!(told.code, 2);
    assert!(told.stderr.contains("`c` is none of the parts `a`, `b`"), "{}", told.stderr);
    folder.write("f.yaml", "pipeline: p\nidentity: [id]\ntarget: {table: t}\nsource: {file: x.ndjson}\n");
    let told = folder.run(&["consume", "f.yaml", "--store", "sqlite:t.db", "--part", "c"]);
    assert_eq!(told.code, 2);
    assert!(told.stderr.contains("goes with `source.nats`"), "{}", told.stderr);
}
