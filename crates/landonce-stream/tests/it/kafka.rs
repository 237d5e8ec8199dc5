//! A Kafka topic lands in a table, once, whoever reads it (C30, C37, C47).

use landonce::Store;
use landonce_testkit::kafka::Broker;
use landonce_testkit::wait::until;
use landonce_testkit::{dump, postgres};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::topic::{Worker, events, pipeline, produce, until_end};

pub(crate) async fn nexts(store: &Store) -> Vec<Option<String>> {
    store.positions(Some("flights")).await.unwrap().into_iter().map(|position| position.next).collect()
}

fn some(nexts: &[&str]) -> Vec<Option<String>> {
    nexts.iter().map(|next| Some((*next).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_partition_lands_and_a_second_worker_has_nothing_to_do() {
    let broker = Broker::start(&["t:3"]);
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let at = broker.address();
    for partition in 0..3 {
        produce(at, "t", partition, &events(partition, 0..500));
    }
    let pipeline = pipeline(at, "");
    let tally = until_end(&pipeline, &store).await.unwrap();
    assert_eq!((tally.messages, tally.outcome.inserted), (1_500, 1_500));
    assert_eq!(nexts(&store).await, some(&["500", "500", "500"]));
    let before = dump::postgres(&database.client().await, dump::Tables::All).await;
    assert_eq!(before.rows("public.flight"), Some(1_500));
    let again = until_end(&pipeline, &store).await.unwrap();
    assert_eq!((again.messages, again.batches), (0, 0));
    produce(at, "t", 1, &events(1, 500..510));
    let more = until_end(&pipeline, &store).await.unwrap();
    assert_eq!((more.messages, more.outcome.inserted), (10, 10));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_share_the_partitions_and_one_that_leaves_leaves_them_to_the_other() {
    let broker = Broker::start(&["t:4"]);
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let at = broker.address();
    let pipeline = pipeline(at, "");
    let one = Worker::start(&pipeline, &store);
    for partition in 0..4 {
        produce(at, "t", partition, &events(partition, 0..200));
    }
    let all = async |each: u64| {
        until(60, "all partitions", async || {
            (nexts(&store).await == vec![Some(each.to_string()); 4]).then_some(())
        })
        .await;
    };
    all(200).await;
    let two = Worker::start(&pipeline, &store);
    until(60, "the second worker to have some", async || {
        let owners: std::collections::BTreeSet<_> =
            store.positions(None).await.unwrap().into_iter().map(|position| position.owner).collect();
        (owners.len() == 2).then_some(())
    })
    .await;
    for partition in 0..4 {
        produce(at, "t", partition, &events(partition, 200..400));
    }
    all(400).await;
    let first = one.stop().await.unwrap();
    for partition in 0..4 {
        produce(at, "t", partition, &events(partition, 400..600));
    }
    all(600).await;
    let second = two.stop().await.unwrap();
    assert_eq!(first.messages + second.messages, 2_400, "each message landed once");
    assert_eq!((first.fenced, second.fenced), (0, 0), "partitions were given, not taken");
    assert_eq!(
        dump::postgres(&database.client().await, dump::Tables::All).await.rows("public.flight"),
        Some(2_400)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_landed_is_committed_at_the_broker_and_never_read_from_there() {
    let broker = Broker::start(&["t:1"]);
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let at = broker.address();
    produce(at, "t", 0, &events(0, 0..100));
    let pipeline = pipeline(at, "");
    until_end(&pipeline, &store).await.unwrap();
    let admin: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", at).set("group.id", "g").create().unwrap();
    let mut list = TopicPartitionList::new();
    list.add_partition("t", 0);
    let found = admin.committed_offsets(list.clone(), std::time::Duration::from_secs(10)).unwrap();
    assert_eq!(found.find_partition("t", 0).unwrap().offset(), Offset::Offset(100));
    // Somebody sets the broker's back: the store's wins.
    list.set_partition_offset("t", 0, Offset::Offset(5)).unwrap();
    admin.commit(&list, rdkafka::consumer::CommitMode::Sync).unwrap();
    produce(at, "t", 0, &events(0, 100..101));
    let tally = until_end(&pipeline, &store).await.unwrap();
    assert_eq!(tally.messages, 1);
}
