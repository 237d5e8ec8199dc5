//! Kafka: a consumer group's partitions, each in its own queue, begun where the store says.
//!
//! One thread does it all: it answers the group, asks the desk for partitions that were given, reads from those whose lanes have room,
//! and commits at the broker what has landed. It polls without a pause, so the worker stays a member of its group also while the
//! database is away.

mod begin;
mod config;
mod context;
mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use landonce::Pipeline;
use landonce_core::pipeline::{Feed, Kafka as Declared};
use landonce_core::spec::StartSpec;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};

use crate::desk::{Desk, Given};
use crate::error::Error;
use crate::source::{PartName, Source, Start};
use begin::{Begin, Known, Rules};
use context::{Context, Event, offsets};
use reading::{Read, Reading};

/// How long the first answer of a broker is waited for.
const FIRST_ANSWER: Duration = Duration::from_secs(30);
/// How long an answer about a partition is waited for.
const ANSWER: Duration = Duration::from_secs(5);
/// How long the group is listened to where no partition has a message.
const IDLE: Duration = Duration::from_millis(5);
/// How often what has landed is committed at the broker.
const COMMIT: Duration = Duration::from_secs(1);
/// Before a partition is asked for again that couldn't be begun.
const AGAIN: Duration = Duration::from_secs(1);
/// Before a partition is taken again that somebody else has taken in the store, though the group says that it is ours. By then a worker
/// that was thought dead has heard from the group that it isn't a member any more (heartbeats are every 3 s).
const AFTER_GONE: Duration = Duration::from_secs(10);

/// A consumer group's worker.
pub struct Kafka {
    declared: Declared,
    config: ClientConfig,
}

impl std::fmt::Debug for Kafka {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The configuration holds passwords.
        f.debug_struct("Kafka").field("declared", &self.declared).finish_non_exhaustive()
    }
}

impl Kafka {
    /// The source that a pipeline declares. Connects to nothing yet.
    ///
    /// # Errors
    /// When it declares another one, or what can't be.
    pub fn open(pipeline: &Pipeline) -> Result<Self, Error> {
        let Feed::Kafka(declared) = &pipeline.declared().source().feed else {
            return Err(Error::Declared(format!("`{}` declares no `source.kafka`", pipeline.name())));
        };
        let config = config::client(declared, pipeline)?;
        Ok(Self { declared: declared.as_ref().clone(), config })
    }
}

impl Source for Kafka {
    fn run(self: Box<Self>, desk: &Desk) -> Result<(), Error> {
        let context =
            Context { desk: desk.clone(), group: self.declared.group.clone(), events: Mutex::default() };
        let consumer: BaseConsumer<Context> = self
            .config
            .create_with_context(context)
            .map_err(|error| Error::Declared(format!("source.kafka: {}", plain(&error))))?;
        let consumer = Arc::new(consumer);
        let known = first_answer(&consumer, &self.declared, desk)?;
        let topics: Vec<&str> = self.declared.topics.iter().map(String::as_str).collect();
        let subscribed = consumer.subscribe(&topics);
        subscribed.map_err(|error| Error::Declared(format!("source.kafka.topics: {}", plain(&error))))?;
        let rules = Rules {
            start: self.declared.start,
            on_recreated: self.declared.on_recreated,
            on_lost: self.declared.on_lost,
        };
        let mut worker = Worker {
            consumer,
            desk: desk.clone(),
            rules,
            known,
            ours: BTreeSet::new(),
            reading: BTreeMap::new(),
            to_begin: Vec::new(),
            to_assign: Vec::new(),
        };
        let ended = worker.work();
        if let Err(error) = ended {
            desk.fail(error);
        }
        worker.leave();
        Ok(())
    }
}

/// The name of a partition.
fn named(group: &str, topic: &str, partition: i32) -> PartName {
    PartName {
        source: format!("kafka {group} {topic}"),
        part: partition.to_string(),
        shown: format!("{topic}/{partition}"),
    }
}

/// The topic and the number of a partition.
fn place(part: &PartName) -> Option<(&str, i32)> {
    let (topic, partition) = part.shown.rsplit_once('/')?;
    Some((topic, partition.parse().ok()?))
}

/// What no waiting mends.
fn is_refusal(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode::{
        Authentication, ClusterAuthorizationFailed, GroupAuthorizationFailed, SaslAuthenticationFailed,
        TopicAuthorizationFailed, UnsupportedSASLMechanism,
    };
    matches!(
        code,
        Authentication
            | ClusterAuthorizationFailed
            | GroupAuthorizationFailed
            | SaslAuthenticationFailed
            | TopicAuthorizationFailed
            | UnsupportedSASLMechanism
    )
}

/// An error without the words that may repeat a value.
fn plain(error: &KafkaError) -> String {
    match error.rdkafka_error_code() {
        Some(code) => code.to_string(),
        None => "the client can't be made".to_owned(),
    }
}

fn refused(code: RDKafkaErrorCode) -> Error {
    Error::Broker(format!("source.kafka: the broker refuses: {code}"))
}

/// Waits for the first answer, and remembers the partitions that there are now.
fn first_answer(
    consumer: &BaseConsumer<Context>,
    declared: &Declared,
    desk: &Desk,
) -> Result<BTreeMap<String, i32>, Error> {
    let until = Instant::now() + FIRST_ANSWER;
    let metadata = loop {
        match consumer.fetch_metadata(None, Duration::from_secs(2)) {
            Ok(metadata) => break metadata,
            Err(_) if desk.is_stopping() => return Ok(BTreeMap::new()),
            Err(error) if Instant::now() > until => {
                return Err(Error::Broker(format!(
                    "source.kafka.brokers: no broker has answered at {} within {} s: {}",
                    declared.brokers.join(", "),
                    FIRST_ANSWER.as_secs(),
                    plain(&error)
                )));
            }
            Err(_) => {}
        }
        // Refusals come as events.
        if let Some(Err(error)) = consumer.poll(Duration::ZERO)
            && let Some(code) = error.rdkafka_error_code().filter(|code| is_refusal(*code))
        {
            return Err(refused(code));
        }
    };
    let found: BTreeMap<String, i32> = metadata
        .topics()
        .iter()
        .map(|topic| (topic.name().to_owned(), topic.partitions().len() as i32))
        .collect();
    if !declared.is_pattern() {
        for topic in declared.topics.iter().filter(|topic| !found.contains_key(*topic)) {
            if desk.is_until_end() {
                return Err(Error::Declared(format!("source.kafka.topics: there is no topic `{topic}`")));
            }
            tracing::warn!(topic, "there is no such topic; it is waited for");
        }
    }
    Ok(found)
}

struct Worker {
    consumer: Arc<BaseConsumer<Context>>,
    desk: Desk,
    rules: Rules,
    /// The topics that were there at the beginning, and how many partitions they had.
    known: BTreeMap<String, i32>,
    /// What the group gives us.
    ours: BTreeSet<PartName>,
    reading: BTreeMap<PartName, Reading>,
    /// Ours in the store, too; the broker is to be asked what it has.
    to_begin: Vec<(Given, Instant)>,
    /// To be taken in the store, again.
    to_assign: Vec<(PartName, Instant)>,
}

impl Worker {
    fn work(&mut self) -> Result<(), Error> {
        let mut committed = Instant::now();
        let mut is_idle = false;
        while !self.desk.is_stopping() {
            self.hear(if is_idle { IDLE } else { Duration::ZERO })?;
            self.take()?;
            is_idle = true;
            for name in self.reading.keys().cloned().collect::<Vec<_>>() {
                is_idle &= !self.read(&name)?;
            }
            if committed.elapsed() >= COMMIT {
                committed = Instant::now();
                self.commit(CommitMode::Async);
            }
        }
        Ok(())
    }

    /// Listens to the group.
    fn hear(&mut self, wait: Duration) -> Result<(), Error> {
        match self.consumer.poll(wait) {
            Some(Err(KafkaError::MessageConsumptionFatal(code))) => return Err(refused(code)),
            Some(Err(error)) => match error.rdkafka_error_code() {
                Some(code) if is_refusal(code) => return Err(refused(code)),
                _ => tracing::warn!(%error, "the broker is away, or says so; it is waited for"),
            },
            // Partitions have queues of their own: this is left of one that has been given back.
            Some(Ok(_)) | None => {}
        }
        for event in self.consumer.context().events() {
            match event {
                Event::Given(parts) => {
                    for part in parts {
                        self.desk.assign(&part);
                        self.ours.insert(part);
                    }
                }
                Event::Taken(parts) => {
                    for part in &parts {
                        self.ours.remove(part);
                        self.reading.remove(part);
                        self.to_begin.retain(|(given, _)| &given.part != part);
                        self.to_assign.retain(|(name, _)| name != part);
                    }
                }
            }
        }
        Ok(())
    }

    /// Begins what the store has given, and asks again for what others had taken.
    fn take(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        self.to_begin.extend(self.desk.starts().into_iter().map(|given| (given, now)));
        for part in self.desk.gone() {
            self.unread(&part);
            self.to_assign.push((part, now + AFTER_GONE));
        }
        self.to_assign.retain(|(part, at)| {
            if *at <= now {
                self.desk.assign(part);
            }
            *at > now
        });
        for (given, at) in std::mem::take(&mut self.to_begin) {
            if at > now {
                self.to_begin.push((given, at));
            } else if self.ours.contains(&given.part) {
                self.begin(given)?;
            }
        }
        Ok(())
    }

    /// Begins a partition, or tries again later.
    fn begin(&mut self, given: Given) -> Result<(), Error> {
        let Some((topic, partition)) = place(&given.part) else { return Ok(()) };
        let known = match self.ask(topic, partition, &given.start) {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(part = given.part.shown, %error, "the broker doesn't tell what it has; it is asked again");
                self.to_begin.push((given, Instant::now() + AGAIN));
                return Ok(());
            }
        };
        let is_new = self.known.get(topic).is_none_or(|count| partition >= *count);
        let start = if is_new && self.rules.start == StartSpec::Latest {
            StartSpec::Earliest
        } else {
            self.rules.start
        };
        let begin = begin::begin(&given.part.shown, &given.start, known, Rules { start, ..self.rules })?;
        self.fetch(given, begin)
    }

    fn ask(&self, topic: &str, partition: i32, start: &Start) -> Result<Known, KafkaError> {
        let (low, high) = self.consumer.fetch_watermarks(topic, partition, ANSWER)?;
        let mut committed = None;
        if start.next.is_none() && self.rules.start == StartSpec::Committed {
            let mut list = TopicPartitionList::new();
            list.add_partition(topic, partition);
            let found = self.consumer.committed_offsets(list, ANSWER)?;
            committed = found.find_partition(topic, partition).and_then(|one| match one.offset() {
                Offset::Offset(next) => u64::try_from(next).ok(),
                _ => None,
            });
        }
        Ok(Known { low: low.max(0) as u64, high: high.max(0) as u64, committed })
    }

    fn fetch(&mut self, given: Given, begin: Begin) -> Result<(), Error> {
        let Some((topic, partition)) = place(&given.part) else { return Ok(()) };
        let Begin { at, mark, is_put, beyond } = begin;
        if is_put {
            given.intake.begins_at(at);
        }
        let compare = mark.map(|mark| (at, mark));
        // Before it is fetched, so that none of its messages goes elsewhere.
        let Some(queue) = self.consumer.split_partition_queue(topic, partition) else {
            return Err(Error::Internal(format!("librdkafka has no queue for {}", given.part.shown)));
        };
        let mut list = TopicPartitionList::new();
        let offset = Offset::Offset(i64::try_from(at).unwrap_or(i64::MAX));
        let assigned = list
            .add_partition_offset(topic, partition, offset)
            .and_then(|()| self.consumer.incremental_assign(&list));
        assigned
            .map_err(|error| Error::Internal(format!("{} can't be fetched: {error}", given.part.shown)))?;
        tracing::debug!(part = given.part.shown, at, "begun");
        let reading = Reading {
            name: given.part.clone(),
            intake: given.intake,
            queue,
            compare,
            beyond,
            begun_at: Instant::now(),
            is_full: false,
            later: None,
        };
        self.reading.insert(given.part, reading);
        Ok(())
    }

    /// Reads from a partition. True when it had something.
    fn read(&mut self, name: &PartName) -> Result<bool, Error> {
        let Some(reading) = self.reading.get_mut(name) else { return Ok(false) };
        match reading.read(&self.desk) {
            Read::Some(count) => Ok(count > 0),
            Read::Gone => Ok(false),
            Read::Refused(code) => Err(refused(code)),
            Read::Recreated(found) => {
                let Some(reading) = self.unread(name) else { return Ok(false) };
                let Some((topic, partition)) = place(name) else { return Ok(false) };
                // Only where it may be read from its beginning is the broker asked for that.
                let begin = begin::recreated(&name.shown, &found, 0, self.rules)?;
                let low = self
                    .consumer
                    .fetch_watermarks(topic, partition, ANSWER)
                    .map(|(low, _)| low.max(0) as u64);
                let begin = low.map_or(begin, Begin::at);
                let start = Start { next: None, mark: None };
                self.fetch(Given { part: name.clone(), start, intake: reading.intake }, begin)?;
                Ok(true)
            }
            Read::OutOfRange => {
                // From the store again: what is there decides, against what the broker has now.
                tracing::warn!(part = name.shown, "the broker has no such place any more");
                self.unread(name);
                self.desk.revoke(std::slice::from_ref(name));
                self.to_assign.push((name.clone(), Instant::now() + AGAIN));
                Ok(false)
            }
        }
    }

    /// Stops fetching a partition.
    fn unread(&mut self, name: &PartName) -> Option<Reading> {
        let reading = self.reading.remove(name)?;
        if let Some((topic, partition)) = place(name) {
            let mut list = TopicPartitionList::new();
            list.add_partition(topic, partition);
            if let Err(error) = self.consumer.incremental_unassign(&list) {
                tracing::debug!(part = name.shown, %error, "wasn't fetched");
            }
        }
        Some(reading)
    }

    fn commit(&self, mode: CommitMode) {
        let landed = offsets(self.desk.landed());
        if landed.count() > 0
            && let Err(error) = self.consumer.commit(&landed, mode)
        {
            tracing::debug!(%error, "the broker didn't take how far it has landed; the store has it");
        }
    }

    /// Lands what was taken, tells the broker, and leaves the group.
    fn leave(mut self) {
        self.desk.drain();
        self.commit(CommitMode::Sync);
        self.reading.clear();
        self.to_begin.clear();
        // The last owner: dropping it leaves the group.
        drop(self.consumer);
    }
}
