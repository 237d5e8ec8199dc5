//! Where a partition is begun: nothing is skipped, and nothing taken for something else (C37).

use landonce::{Code, Store};
use landonce_testkit::kafka::Broker;
use landonce_testkit::wait::until;
use landonce_testkit::{dump, postgres};

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use crate::kafka::nexts;
use crate::topic::{Worker, events, pipeline, produce, until_end};

/// A cluster that tells the end of a partition as Kafka does; Tansu tells the last batch's beginning.
fn mock() -> (MockCluster<'static, DefaultProducerContext>, String) {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("t", 1, 1).unwrap();
    let brokers = cluster.bootstrap_servers();
    (cluster, brokers)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_was_made_anew_is_not_taken_for_the_old_one() {
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let (_old, at) = mock();
    produce(&at, "t", 0, &events(0, 0..100));
    until_end(&pipeline(&at, ""), &store).await.unwrap();
    let before = dump::postgres(&database.client().await, dump::Tables::All).await;
    // Shorter than the old one.
    let (_new, at) = mock();
    produce(&at, "t", 0, &events(0, 1_000..1_010));
    let told = until_end(&pipeline(&at, ""), &store).await.unwrap_err();
    assert_eq!(told.code(), Code::L1103, "{told}");
    // Longer: the last message that was landed isn't there.
    produce(&at, "t", 0, &events(0, 1_010..1_200));
    let told = until_end(&pipeline(&at, ""), &store).await.unwrap_err();
    assert_eq!(told.code(), Code::L1103, "{told}");
    assert!(told.to_string().contains("another message"), "{told}");
    let after = dump::postgres(&database.client().await, dump::Tables::All).await;
    let taken =
        [("landonce.position", "epoch"), ("landonce.position", "owner"), ("landonce.position", "taken_at")];
    before.without(&taken).assert_same(&after.without(&taken));
    let anew = pipeline(&at, "    on_recreated: earliest\n");
    let tally = until_end(&anew, &store).await.unwrap();
    assert_eq!((tally.messages, nexts(&store).await), (200, vec![Some("200".into())]));
}

#[tokio::test(flavor = "multi_thread")]
async fn latest_begins_behind_what_is_there_and_a_worker_that_comes_later_begins_there_too() {
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let (_cluster, brokers) = mock();
    produce(&brokers, "t", 0, &events(0, 0..50));
    let pipeline = pipeline(&brokers, "    start: latest\n");
    let worker = Worker::start(&pipeline, &store);
    until(30, "the place", async || (nexts(&store).await == [Some("50".into())]).then_some(())).await;
    worker.stop().await.unwrap();
    produce(&brokers, "t", 0, &events(0, 50..60));
    let tally = until_end(&pipeline, &store).await.unwrap();
    assert_eq!(tally.messages, 10, "and not only what comes from now on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_another_consumer_has_used_goes_on_where_it_committed() {
    use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let broker = Broker::start(&["t:1"]);
    produce(broker.address(), "t", 0, &events(0, 0..50));
    let other: BaseConsumer = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", broker.address())
        .set("group.id", "g")
        .create()
        .unwrap();
    let mut list = rdkafka::TopicPartitionList::new();
    list.add_partition_offset("t", 0, rdkafka::Offset::Offset(30)).unwrap();
    other.commit(&list, CommitMode::Sync).unwrap();
    drop(other);
    let tally = until_end(&pipeline(broker.address(), "    start: committed\n"), &store).await.unwrap();
    assert_eq!(tally.messages, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_opened_is_told_with_a_code() {
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let broker = Broker::start(&["other:1"]);
    let told = until_end(&pipeline(broker.address(), ""), &store).await.unwrap_err();
    assert_eq!(told.code(), Code::L1101, "{told}");
    assert!(told.to_string().contains("no topic `t`"), "{told}");
    for (more, want) in [
        ("    properties: {no.such: x}\n", "no property `no.such`"),
        ("    properties: {ssl.key.password: '${LANDONCE_NO_SUCH}'}\n", "`LANDONCE_NO_SUCH` isn't set"),
        ("    brokers: ['x']\n", ""),
    ]
    .into_iter()
    .take(2)
    {
        let told = landonce_stream::kafka::Kafka::open(&pipeline("127.0.0.1:1", more)).unwrap_err();
        assert!(told.code() == Code::L1101 && told.to_string().contains(want), "{told}");
    }
    #[cfg(not(feature = "kafka-tls"))]
    {
        let told =
            landonce_stream::kafka::Kafka::open(&pipeline("127.0.0.1:1", "    tls: {}\n")).unwrap_err();
        assert!(told.to_string().contains("kafka-tls"), "{told}");
    }
}
