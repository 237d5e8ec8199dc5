//! The database and the broker cut, alone and together, also between COMMIT and its answer: each message lands once (F4, C37, X4).

use landonce::Store;
use landonce_testkit::kafka::Broker;
use landonce_testkit::proxy::{Fault, Proxy};
use landonce_testkit::wait::until;
use landonce_testkit::{dump, postgres};
use rdkafka::mocking::MockCluster;

use crate::kafka::nexts;
use crate::topic::{Worker, events, pipeline, produce, until_end};

async fn rows(database: &postgres::TestDatabase) -> Option<usize> {
    dump::postgres(&database.client().await, dump::Tables::All).await.rows("public.flight")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_has_landed_once_and_one_that_was_not_sent_lands_again() {
    let broker = Broker::start(&["t:3"]);
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    for partition in 0..3 {
        produce(broker.address(), "t", partition, &events(partition, 0..3_000));
    }
    let after = proxy.arm(Fault::CutAfterCommit.times(4));
    let before = proxy.arm(Fault::CutBeforeCommit.times(4).after(&after));
    let pipeline = pipeline(broker.address(), "");
    let store = Store::open(proxy.url()).unwrap();
    let tally = until_end(&pipeline, &store).await.unwrap();
    assert!(after.fired() == 4 && before.fired() >= 1, "{} {}", after.fired(), before.fired());
    assert_eq!((tally.messages, tally.outcome.inserted, tally.fenced), (9_000, 9_000, 0));
    assert_eq!(rows(&database).await, Some(9_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_refuses_the_worker_stays_a_member_and_then_goes_on() {
    let broker = Broker::start(&["t:2"]);
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    let store = Store::open(&database.url()).unwrap();
    let pipeline = pipeline(broker.address(), "");
    let worker = Worker::start(&pipeline, &Store::open(proxy.url()).unwrap());
    for partition in 0..2 {
        produce(broker.address(), "t", partition, &events(partition, 0..10));
    }
    let all = async |next: &str| {
        until(60, "both partitions", async || {
            (nexts(&store).await == vec![Some(next.to_owned()); 2]).then_some(())
        })
        .await;
    };
    all("10").await;
    let away = proxy.arm(Fault::refuse("landonce.inbox", "57P03").times(24));
    for partition in 0..2 {
        produce(broker.address(), "t", partition, &events(partition, 10..500));
    }
    all("500").await;
    assert_eq!(away.fired(), 24);
    let epochs: Vec<u64> =
        store.positions(None).await.unwrap().iter().map(|position| position.epoch).collect();
    assert_eq!(epochs, [1, 1], "nobody took a partition: the worker stayed a member");
    let tally = worker.stop().await.unwrap();
    assert!(tally.waits > 0 && tally.fenced == 0, "{tally:?}");
    assert_eq!(rows(&database).await, Some(1_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_goes_away_and_comes_back_while_answers_of_the_database_are_lost_too() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("t", 2, 1).unwrap();
    let brokers = cluster.bootstrap_servers();
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    let store = Store::open(&database.url()).unwrap();
    for partition in 0..2 {
        produce(&brokers, "t", partition, &events(partition, 0..2_000));
    }
    let pipeline = pipeline(&brokers, "");
    let worker = Worker::start(&pipeline, &Store::open(proxy.url()).unwrap());
    let all = async |next: &str| {
        until(90, "both partitions", async || {
            (nexts(&store).await == vec![Some(next.to_owned()); 2]).then_some(())
        })
        .await;
    };
    all("2000").await;
    let lost = proxy.arm(Fault::CutAfterCommit.times(3));
    for partition in 0..2 {
        produce(&brokers, "t", partition, &events(partition, 2_000..4_000));
    }
    until(60, "lost answers", async || (lost.fired() > 0).then_some(())).await;
    cluster.broker_down(1).unwrap();
    until(60, "more lost answers", async || (lost.fired() > 1).then_some(())).await;
    cluster.broker_up(1).unwrap();
    all("4000").await;
    let tally = worker.stop().await.unwrap();
    assert_eq!((tally.messages, tally.outcome.inserted), (8_000, 8_000));
    assert_eq!(rows(&database).await, Some(8_000));
}
