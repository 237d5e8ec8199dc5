//! A Kafka topic: a message is a record, acknowledged by all in-sync replicas before it counts as taken.
//!
//! The record's key keeps the messages of one entity (or of one ordering key) in one partition, in their order. The message's id
//! stands in two headers: a consumer that keeps the ids it has seen can tell a record that comes again.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use landonce_store::outbox::Parcel;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::future_producer::OwnedDeliveryResult;
use rdkafka::producer::{DeliveryFuture, FutureProducer, FutureRecord, Producer as _};

use super::{Answer, Destination, Sending, told};
use crate::environment::Environment;
use crate::error::Fault;
use crate::policy::some_time;
use crate::spec::{KafkaKeySpec, KafkaSpec};
use crate::veil::Veil;

/// How many records are under way at once.
const AT_ONCE: usize = 1_000;
const TIMEOUT: Duration = Duration::from_secs(30);
/// How much longer than the records' own time limit their acknowledgements are awaited.
const GRACE: Duration = Duration::from_secs(2);
/// What the promises of this destination hang on, and what has a key of its own.
const OURS: [&str; 10] = [
    "bootstrap.servers",
    "metadata.broker.list",
    "acks",
    "request.required.acks",
    "enable.idempotence",
    "message.timeout.ms",
    "delivery.timeout.ms",
    "transactional.id",
    "delivery.report.only.error",
    "dr_cb",
];

impl KafkaSpec {
    /// The destination. Connects to nothing yet.
    ///
    /// # Errors
    /// A key whose value can't be.
    pub fn open(&self, _folder: &Path, environment: Environment<'_>) -> Result<Topic, Fault> {
        if self.brokers.is_empty() {
            return Err(Fault::new("brokers", "it names no broker; write `[host:9092]`"));
        }
        if self.topic.is_empty() {
            return Err(Fault::new("topic", "a topic has a name"));
        }
        let timeout = some_time("timeout", self.timeout.as_deref(), TIMEOUT)?;
        let brokers: Vec<String> = self
            .brokers
            .iter()
            .map(|broker| environment.expand("brokers", broker))
            .collect::<Result<_, _>>()?;
        let mut config = ClientConfig::new();
        // As the clients of Java choose partitions: others may write to the topic, too.
        config.set("partitioner", "murmur2_random");
        let mut secrets = Vec::new();
        for (name, text) in &self.properties {
            let key = format!("properties.{name}");
            if OURS.contains(&name.as_str()) {
                return Err(Fault::new(
                    key,
                    "landonce sets it by itself: delivery hangs on it; leave it out",
                ));
            }
            let value = environment.expand(&key, text)?;
            if value != *text {
                secrets.push(value.clone());
            }
            config.set(name, value);
        }
        let veil = Veil::new(secrets.iter().map(String::as_str));
        config
            .set("bootstrap.servers", brokers.join(","))
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("message.timeout.ms", timeout.as_millis().max(1).to_string());
        config.create_native_config().map_err(|error| match error {
            // Its own words would repeat the value.
            KafkaError::ClientConfig(_, _, name, _) => Fault::new(
                format!("properties.{name}"),
                "librdkafka has no such property, or not this value for it (this build has no TLS)",
            ),
            other => Fault::new("properties", told::first_line(other.to_string().as_bytes(), &veil)),
        })?;
        Ok(Topic {
            config,
            veil,
            name: self.topic.clone(),
            key: self.key,
            timeout,
            producer: Mutex::default(),
        })
    }
}

/// A Kafka topic.
pub struct Topic {
    config: ClientConfig,
    /// Values from the environment, which an error of the client's may repeat.
    veil: Veil,
    name: String,
    key: KafkaKeySpec,
    timeout: Duration,
    /// Made when it is first needed, and again after a failure that it doesn't survive.
    producer: Mutex<Option<Arc<FutureProducer>>>,
}

impl std::fmt::Debug for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Properties may hold passwords.
        f.debug_struct("Topic").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Destination for Topic {
    fn takes(&self) -> usize {
        AT_ONCE
    }

    fn limit(&self) -> Duration {
        self.timeout + 2 * GRACE
    }

    fn send<'a>(&'a self, parcels: &'a [Parcel]) -> Sending<'a> {
        Box::pin(async move {
            let producer = match self.producer() {
                Ok(producer) => producer,
                Err(error) => {
                    let answer = Answer::later_for_all(self.short(&error.to_string()));
                    return vec![answer; parcels.len()];
                }
            };
            let until = tokio::time::Instant::now() + self.timeout + GRACE;
            // All are under way, in their order, before the first is awaited.
            let under_way: Vec<_> = parcels.iter().map(|parcel| self.enqueue(&producer, parcel)).collect();
            let mut answers = Vec::with_capacity(parcels.len());
            for one in under_way {
                let answer = match one {
                    Err(error) => self.refused(&error),
                    Ok(report) => match tokio::time::timeout_at(until, report).await {
                        Ok(Ok(report)) => self.answer(&report),
                        Ok(Err(_)) => Answer::later_for_all("the producer is gone".to_owned()),
                        Err(_) => {
                            Answer::later_for_all(format!("no acknowledgement within {:?}", self.timeout))
                        }
                    },
                };
                answers.push(answer);
            }
            self.let_go_if_dead(&producer);
            answers
        })
    }
}

impl Topic {
    fn producer(&self) -> Result<Arc<FutureProducer>, KafkaError> {
        let mut held = self.producer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(producer) = &*held {
            return Ok(Arc::clone(producer));
        }
        let made = Arc::new(self.config.create::<FutureProducer>()?);
        *held = Some(Arc::clone(&made));
        Ok(made)
    }

    /// An idempotent producer that has lost track of what it has sent refuses everything from then on; a new one goes on.
    fn let_go_if_dead(&self, producer: &Arc<FutureProducer>) {
        if producer.client().fatal_error().is_some() {
            let mut held = self.producer.lock().unwrap_or_else(PoisonError::into_inner);
            if held.as_ref().is_some_and(|there| Arc::ptr_eq(there, producer)) {
                *held = None;
            }
        }
    }

    fn enqueue(&self, producer: &FutureProducer, parcel: &Parcel) -> Result<DeliveryFuture, KafkaError> {
        let id = parcel.id.to_string();
        let key = match self.key {
            KafkaKeySpec::Entity => parcel.entity.clone(),
            KafkaKeySpec::Ordering => parcel.lane.to_string(),
        };
        let mut headers = OwnedHeaders::new_with_capacity(3);
        for (name, value) in [("landonce-id", &id), ("landonce-kind", &parcel.kind), ("idempotency-key", &id)]
        {
            headers = headers.insert(Header { key: name, value: Some(value) });
        }
        let record = FutureRecord::to(&self.name).key(&key).payload(&parcel.payload).headers(headers);
        producer.send_result(record).map_err(|(error, _)| error)
    }

    fn answer(&self, report: &OwnedDeliveryResult) -> Answer {
        match report {
            Ok(there) => {
                Answer::Taken { told: format!("partition {}, offset {}", there.partition, there.offset) }
            }
            Err((error, _)) => self.refused(error),
        }
    }

    fn refused(&self, error: &KafkaError) -> Answer {
        use RDKafkaErrorCode::{InvalidMessageSize, InvalidRecord, MessageSizeTooLarge, MessageTimedOut};
        let code = error.rdkafka_error_code();
        match code {
            Some(MessageSizeTooLarge | InvalidMessageSize | InvalidRecord) => {
                Answer::Never { told: self.short(&error.to_string()) }
            }
            Some(MessageTimedOut) => {
                Answer::later_for_all(format!("no acknowledgement within {:?}", self.timeout))
            }
            // Brokers, topics and rights are the same for all of them.
            _ => Answer::later_for_all(self.short(&error.to_string())),
        }
    }

    fn short(&self, text: &str) -> String {
        told::first_line(text.as_bytes(), &self.veil)
    }
}
