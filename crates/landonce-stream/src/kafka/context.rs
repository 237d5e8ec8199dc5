//! What librdkafka calls: partitions that come and go, and its log.
//!
//! A partition that the group gives is only noted here: it is fetched once the store has told where to go on, however long that takes,
//! while the worker goes on being a member. One that the group takes is given back when nothing of it is on its way any more.

use std::sync::{Mutex, PoisonError};

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientContext, TopicPartitionList};

use super::named;
use crate::desk::Desk;
use crate::source::PartName;

/// What has happened in the group.
#[derive(Debug)]
pub(super) enum Event {
    /// Partitions are ours to read.
    Given(Vec<PartName>),
    /// They aren't any more.
    Taken(Vec<PartName>),
}

/// What librdkafka calls.
pub(super) struct Context {
    pub(super) desk: Desk,
    pub(super) group: String,
    pub(super) events: Mutex<Vec<Event>>,
}

impl Context {
    pub(super) fn events(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        use RDKafkaLogLevel::{Alert, Critical, Debug, Emerg, Error, Info, Notice, Warning};
        match level {
            Emerg | Alert | Critical => tracing::error!(facility, message, "librdkafka"),
            Error | Warning => tracing::warn!(facility, message, "librdkafka"),
            Notice | Info => tracing::info!(facility, message, "librdkafka"),
            Debug => tracing::debug!(facility, message, "librdkafka"),
        }
    }

    fn stats_raw(&self, _: &[u8]) {}

    fn error(&self, error: KafkaError, reason: &str) {
        // An end that is reached is no error.
        if error.rdkafka_error_code() != Some(RDKafkaErrorCode::PartitionEOF) {
            tracing::warn!(%error, reason, "librdkafka");
        }
    }
}

impl ConsumerContext for Context {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, what: RDKafkaRespErr, list: &mut TopicPartitionList) {
        let parts: Vec<PartName> =
            list.elements().iter().map(|one| named(&self.group, one.topic(), one.partition())).collect();
        let told = parts.iter().map(|part| part.shown.as_str()).collect::<Vec<_>>().join(" ");
        if what == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            tracing::info!(parts = told, "the group gives partitions");
            // The answer that the group waits for; they are fetched one by one, later.
            say(consumer.incremental_assign(&TopicPartitionList::new()));
            self.note(Event::Given(parts));
            return;
        }
        let is_lost = consumer.assignment_lost();
        tracing::info!(parts = told, is_lost, "the group takes partitions");
        if is_lost {
            self.desk.lose(&parts);
        } else {
            self.desk.revoke(&parts);
            // For those who watch the group's lag; the store is what decides.
            let landed = offsets(self.desk.landed());
            if landed.count() > 0 {
                say(consumer.commit(&landed, CommitMode::Async));
            }
        }
        // Only those that are being fetched: librdkafka refuses a list with others in it.
        let mut fetched = TopicPartitionList::new();
        if let Ok(assignment) = consumer.assignment() {
            for one in list.elements() {
                if assignment.find_partition(one.topic(), one.partition()).is_some() {
                    fetched.add_partition(one.topic(), one.partition());
                }
            }
        }
        say(consumer.incremental_unassign(&fetched));
        self.note(Event::Taken(parts));
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        if let Err(error) = result {
            tracing::debug!(%error, "the broker didn't take how far it has landed; the store has it");
        }
    }
}

/// What has landed, as the broker takes it.
pub(super) fn offsets(landed: std::collections::BTreeMap<PartName, u64>) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for (part, next) in landed {
        let offset = rdkafka::Offset::Offset(i64::try_from(next).unwrap_or(i64::MAX));
        if let Some((topic, partition)) = super::place(&part) {
            // A number from 0 on is always an offset.
            let _ = list.add_partition_offset(topic, partition, offset);
        }
    }
    list
}

fn say(done: KafkaResult<()>) {
    if let Err(error) = done {
        tracing::warn!(%error, "librdkafka");
    }
}
