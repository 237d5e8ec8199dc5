//! A topic to consume: a real broker, messages put into it by partition, and a worker.

use std::time::Duration;

use landonce::{Pipeline, Store};
use landonce_stream::desk::Settings;
use landonce_stream::kafka::Kafka;
use landonce_stream::{Error, Options, Tally, consume};
use rdkafka::config::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Puts messages into a partition, in order: a key, and a value or a tombstone.
pub(crate) fn produce(brokers: &str, topic: &str, partition: i32, messages: &[(String, Option<String>)]) {
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("linger.ms", "5")
        .set("message.max.bytes", "60000000")
        .set("message.timeout.ms", "30000")
        .create()
        .unwrap();
    for (key, value) in messages {
        let mut record = BaseRecord::to(topic).partition(partition).key(key);
        if let Some(value) = value {
            record = record.payload(value);
        }
        producer.send(record).unwrap();
        producer.poll(Duration::ZERO);
    }
    producer.flush(Duration::from_secs(30)).unwrap();
}

/// Events `from..to` of a partition: their id is their number and the partition's.
pub(crate) fn events(partition: i32, numbers: std::ops::Range<u64>) -> Vec<(String, Option<String>)> {
    numbers
        .map(|number| {
            let id = number * 100 + partition as u64;
            (id.to_string(), Some(format!("{{\"id\":{id},\"v\":{number}}}")))
        })
        .collect()
}

/// Tansu lets a group wait for half of the session's time at every change.
const QUICK: &str = "    properties: {session.timeout.ms: '6000', heartbeat.interval.ms: '500'}\n";

/// A pipeline that reads a topic.
pub(crate) fn pipeline(brokers: &str, more: &str) -> Pipeline {
    let quick = if more.contains("properties") { "" } else { QUICK };
    let yaml = format!(
        "pipeline: flights\nidentity: [id]\ntarget: {{table: flight, columns: {{id: integer, v: integer}}}}\nsource:\n  batch: {{wait_ms: 20, records: 1000}}\n  \
         kafka:\n    brokers: ['{brokers}']\n    group: g\n    topics: [t]\n{more}{quick}"
    );
    Pipeline::from_yaml(&yaml).unwrap()
}

/// Consumes to the end.
pub(crate) async fn until_end(pipeline: &Pipeline, store: &Store) -> Result<Tally, Error> {
    let (_stop, stopped) = watch::channel(false);
    let settings = Settings { until_end: true, ..Settings::default() };
    let options = Options { settings, ..Options::default() };
    let source = Box::new(Kafka::open(pipeline)?);
    tokio::time::timeout(Duration::from_mins(1), consume(pipeline, store, source, options, stopped))
        .await
        .unwrap()
}

/// A worker that goes on until it is stopped.
pub(crate) struct Worker {
    stop: watch::Sender<bool>,
    ended: JoinHandle<Result<Tally, Error>>,
}

impl Worker {
    pub(crate) fn start(pipeline: &Pipeline, store: &Store) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (pipeline, store) = (pipeline.clone(), store.clone());
        let ended = tokio::spawn(async move {
            let source = Box::new(Kafka::open(&pipeline)?);
            consume(&pipeline, &store, source, Options::default(), stopped).await
        });
        Self { stop, ended }
    }

    pub(crate) async fn stop(self) -> Result<Tally, Error> {
        let _ = self.stop.send(true);
        self.ended().await
    }

    pub(crate) async fn ended(self) -> Result<Tally, Error> {
        tokio::time::timeout(Duration::from_mins(1), self.ended).await.unwrap().unwrap()
    }
}
