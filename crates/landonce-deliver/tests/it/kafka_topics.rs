//! A Kafka topic gets a record for each message, with its id, acknowledged or not taken.
//!
//! What a broker makes of records is asked of a real one (Tansu). Faults are made with librdkafka's own mock cluster.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use landonce_deliver::destination::Destination as _;
use landonce_deliver::destination::kafka::Topic;
use landonce_deliver::spec::{KafkaKeySpec, KafkaSpec};
use landonce_store::outbox::Parcel;
use landonce_testkit::kafka::Broker;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Headers as _, Message as _, OwnedMessage};
use rdkafka::mocking::MockCluster;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{Offset, TopicPartitionList};

use crate::parcels::{answer, parcel, with_environment};

fn spec(brokers: &str, timeout: &str) -> KafkaSpec {
    KafkaSpec {
        brokers: vec![brokers.to_owned()],
        topic: "crew".into(),
        key: KafkaKeySpec::Entity,
        timeout: Some(timeout.to_owned()),
        properties: [].into(),
    }
}

fn open(spec: &KafkaSpec) -> Topic {
    with_environment(&[], |environment| spec.open(Path::new(""), environment).unwrap())
}

async fn hand(topic: &Topic, parcels: &[Parcel]) -> Vec<(&'static str, String)> {
    let answers = topic.send(parcels).await;
    assert_eq!(answers.len(), parcels.len());
    answers.iter().map(|one| answer(one)).map(|(what, told)| (what, told.to_owned())).collect()
}

/// All records of the topic, of which there must be so many.
fn records(brokers: &str, count: usize) -> Vec<OwnedMessage> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", "test")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let metadata = consumer.fetch_metadata(Some("crew"), Duration::from_secs(10)).unwrap();
    let mut list = TopicPartitionList::new();
    for partition in metadata.topics()[0].partitions() {
        list.add_partition_offset("crew", partition.id(), Offset::Beginning).unwrap();
    }
    consumer.assign(&list).unwrap();
    let mut found = Vec::new();
    let begun = Instant::now();
    while found.len() < count {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} of {count} records", found.len());
        if let Some(record) = consumer.poll(Duration::from_millis(100)) {
            found.push(record.unwrap().detach());
        }
    }
    assert!(consumer.poll(Duration::from_millis(300)).is_none(), "no more than {count}");
    found
}

fn text(bytes: Option<&[u8]>) -> &str {
    std::str::from_utf8(bytes.unwrap()).unwrap()
}

fn header<'a>(record: &'a OwnedMessage, name: &str) -> &'a str {
    text(record.headers().unwrap().iter().find(|header| header.key == name).unwrap().value)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_a_record_with_its_key_and_its_id_also_when_it_comes_again() {
    let broker = Broker::start(&["crew"]);
    let topic = open(&spec(broker.address(), "20s"));
    let parcels = [parcel(1, "{\"exact\":9007199254740993.10}")];
    for _ in 0..2 {
        let answers = hand(&topic, &parcels).await;
        assert!(answers[0].0 == "taken" && answers[0].1.starts_with("partition "), "{answers:?}");
    }
    let by_lane = open(&KafkaSpec { key: KafkaKeySpec::Ordering, ..spec(broker.address(), "20s") });
    hand(&by_lane, &parcels).await;
    let records = records(broker.address(), 3);
    let id = parcels[0].id.to_string();
    for record in &records {
        assert_eq!(text(record.payload()), "{\"exact\":9007199254740993.10}");
        let headers = ["landonce-id", "landonce-kind", "idempotency-key"].map(|name| header(record, name));
        assert_eq!(headers, [id.as_str(), "updated", id.as_str()]);
    }
    let keys: BTreeSet<&str> = records.iter().map(|record| text(record.key())).collect();
    assert_eq!(keys, ["{\"flight\":\"B6-1\"}", parcels[0].lane.to_string().as_str()].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_at_once_are_acknowledged_and_each_keeps_its_place_among_its_key() {
    let broker = Broker::start(&["crew"]);
    let topic = open(&spec(broker.address(), "20s"));
    assert!(topic.takes() > 1);
    // Ten keys, a hundred messages each.
    let parcels: Vec<Parcel> =
        (0..1_000).map(|n| Parcel { entity: format!("{}", n % 10), ..parcel(n, &n.to_string()) }).collect();
    let answers = hand(&topic, &parcels).await;
    assert!(answers.iter().all(|(what, _)| *what == "taken"), "{answers:?}");
    let mut records = records(broker.address(), 1_000);
    records.sort_by_key(|record| (record.partition(), record.offset()));
    for key in 0..10_u64 {
        let of_key: Vec<u64> = records
            .iter()
            .filter(|record| text(record.key()) == key.to_string())
            .map(|record| text(record.payload()).parse().unwrap())
            .collect();
        assert_eq!(of_key, (0..100).map(|nth| nth * 10 + key).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_gone_speaks_for_all_messages_within_the_time_limit() {
    let mut broker = Broker::start(&["crew"]);
    let topic = open(&spec(broker.address(), "500ms"));
    hand(&topic, &[parcel(1, "{}")]).await;
    broker.kill();
    let begun = Instant::now();
    let answers = hand(&topic, &[parcel(2, "{}"), parcel(3, "{}")]).await;
    assert!(begun.elapsed() <= topic.limit(), "{:?}", begun.elapsed());
    assert!(
        answers.iter().all(|one| *one == ("later for all", "no acknowledgement within 500ms".into())),
        "{answers:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_lost_acknowledgement_the_same_id_comes_again() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("crew", 1, 1).unwrap();
    let topic = open(&spec(&cluster.bootstrap_servers(), "1s"));
    let parcels = [parcel(1, "{}")];
    // So that the slow answer isn't one to the client's first questions.
    hand(&topic, &[parcel(0, "{}")]).await;
    cluster.broker_round_trip_time(1, Duration::from_secs(5)).unwrap();
    assert_eq!(hand(&topic, &parcels).await[0].0, "later for all");
    cluster.broker_round_trip_time(1, Duration::ZERO).unwrap();
    let again = open(&spec(&cluster.bootstrap_servers(), "20s"));
    assert_eq!(hand(&again, &parcels).await[0].0, "taken");
    let records = records(&cluster.bootstrap_servers(), 3);
    let ids: Vec<&str> = records.iter().map(|record| header(record, "landonce-id")).collect();
    let [other, id] = [parcel(0, "").id.to_string(), parcels[0].id.to_string()];
    assert_eq!(ids, [&other, &id, &id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_too_large_is_never_tried_again_and_keeps_no_other_back() {
    let cluster = MockCluster::new(1).unwrap();
    let mut spec = spec(&cluster.bootstrap_servers(), "20s");
    spec.properties.insert("message.max.bytes".into(), "2000".into());
    let parcels = [parcel(1, "{}"), parcel(2, &"x".repeat(5_000)), parcel(3, "{}")];
    let answers = hand(&open(&spec), &parcels).await;
    assert_eq!([answers[0].0, answers[1].0, answers[2].0], ["taken", "never", "taken"], "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_is_sat_out_and_a_topic_that_is_not_there_speaks_for_all() {
    let cluster = MockCluster::new(1).unwrap();
    let topic = open(&spec(&cluster.bootstrap_servers(), "20s"));
    let busy = RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS;
    cluster.request_errors(RDKafkaApiKey::Produce, &[busy, busy]);
    assert_eq!(hand(&topic, &[parcel(1, "{}")]).await[0].0, "taken");
    let forbidden = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    cluster.request_errors(RDKafkaApiKey::Produce, &[forbidden]);
    let answers = hand(&topic, &[parcel(2, "{}")]).await;
    assert_eq!(answers[0].0, "later for all", "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_that_is_broken_for_good_is_replaced() {
    let cluster = MockCluster::new(1).unwrap();
    let topic = open(&spec(&cluster.bootstrap_servers(), "20s"));
    assert_eq!(hand(&topic, &[parcel(1, "{}")]).await[0].0, "taken");
    let lost = RDKafkaRespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
    cluster.request_errors(RDKafkaApiKey::Produce, &[lost]);
    let failed = hand(&topic, &[parcel(2, "{}")]).await;
    assert_eq!(failed[0].0, "later for all", "{failed:?}");
    let answers = hand(&topic, &[parcel(2, "{}")]).await;
    assert_eq!(answers[0].0, "taken", "{answers:?}");
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_its_key_and_without_its_value() {
    let told = |spec: &KafkaSpec| {
        with_environment(&[("PASSWORD", "s3kr3t")], |environment| {
            spec.open(Path::new(""), environment).unwrap_err().to_string()
        })
    };
    let with = |name: &str, value: &str| KafkaSpec {
        properties: [(name.to_owned(), value.to_owned())].into(),
        ..spec("127.0.0.1:9092", "1s")
    };
    assert!(told(&with("acks", "0")).starts_with("properties.acks: landonce sets it"));
    assert!(told(&with("no.such", "x")).starts_with("properties.no.such: librdkafka has no such property"));
    let secret = told(&with("security.protocol", "${PASSWORD}"));
    assert!(secret.starts_with("properties.security.protocol: ") && !secret.contains("s3kr3t"), "{secret}");
    assert!(
        told(&KafkaSpec { brokers: vec![], ..spec("", "1s") }).starts_with("brokers: it names no broker")
    );
    assert!(told(&spec("h:1", "soon")).starts_with("timeout: `soon`"));
}
