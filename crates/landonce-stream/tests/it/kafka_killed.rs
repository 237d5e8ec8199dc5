//! A broker that is killed and started again under its workers, each time while transactions are on their way: each message lands once
//! (F4, C37, X4).

use std::collections::BTreeMap;

use landonce::Store;
use landonce_testkit::kafka::Broker;
use landonce_testkit::proxy::{Fault, Proxy};
use landonce_testkit::wait::until;
use landonce_testkit::{postgres, s3};

use crate::kafka::nexts;
use crate::topic::{Worker, events, pipeline, produce};

const PARTITIONS: i32 = 4;

/// Every message is in one batch that landed: the ranges of each partition's batches follow one another from 0 to the end.
async fn assert_gapless(database: &postgres::TestDatabase, end: u64) {
    let client = database.client().await;
    let mut ranges: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    for row in client.query("SELECT batch_id FROM landonce.inbox", &[]).await.unwrap() {
        let id: String = row.get(0);
        let (part, rest) = id.split_once('@').unwrap();
        let (first, next) = rest.split_once('#').unwrap().0.split_once("..").unwrap();
        ranges.entry(part.to_owned()).or_default().push((first.parse().unwrap(), next.parse().unwrap()));
    }
    assert_eq!(ranges.len(), PARTITIONS as usize);
    for (part, mut found) in ranges {
        found.sort_unstable();
        let reached = found.iter().fold(0, |at, (first, next)| {
            assert_eq!(*first, at, "{part}");
            *next
        });
        assert_eq!(reached, end, "{part}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_again_and_again_leaves_each_message_landed_once() {
    let kept = s3::Server::start();
    let mut broker = Broker::keeping(&kept, &[&format!("t:{PARTITIONS}")]);
    let at = broker.address().to_owned();
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    let store = Store::open(&database.url()).unwrap();
    let pipeline = pipeline(&at, "");
    let workers = [1, 2].map(|_| Worker::start(&pipeline, &Store::open(proxy.url()).unwrap()));
    let mut end = 0;
    for kill in 0..4 {
        // Behind the answer is behind COMMIT; before the request is in the middle of it all.
        let on_its_way = match kill % 2 {
            0 => Fault::StallAnswer("commit".into()),
            _ => Fault::StallRequest("commit".into()),
        };
        let mut stalled = proxy.arm(on_its_way);
        for partition in 0..PARTITIONS {
            produce(&at, "t", partition, &events(partition, end..end + 3_000));
        }
        end += 3_000;
        stalled.wait(60).await;
        let landed: u64 = nexts(&store).await.iter().flatten().map(|next| next.parse::<u64>().unwrap()).sum();
        assert!(landed < end * PARTITIONS as u64, "something is left to land");
        broker.restart();
        proxy.resume();
    }
    let due = vec![Some(end.to_string()); PARTITIONS as usize];
    until(120, "all partitions", async || (nexts(&store).await == due).then_some(())).await;
    let mut messages = 0;
    for worker in workers {
        messages += worker.stop().await.unwrap().messages;
    }
    let all = end * PARTITIONS as u64;
    assert_eq!(messages, all, "each message landed once");
    assert_gapless(&database, end).await;
    let client = database.client().await;
    let row = client.query_one("SELECT count(*), sum(v)::bigint FROM flight", &[]).await.unwrap();
    let sum = PARTITIONS as u64 * (0..end).sum::<u64>();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, Option<i64>>(1)), (all as i64, Some(sum as i64)));
}
