//! A partition that is being read: its own queue, so that one whose lane is full holds up no other.

use std::time::{Duration, Instant};

use landonce_core::pipeline::Message;
use rdkafka::Message as _;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers as _, OwnedMessage};

use super::context::Context;
use crate::desk::{Desk, Intake};
use crate::source::{PartName, Room, mark};

/// How many messages are taken from one partition before the others have their turn.
const AT_A_TIME: usize = 2_000;
/// Before a message that couldn't be told is tried again.
const LATER: Duration = Duration::from_secs(1);

/// A partition that is being read.
pub(super) struct Reading {
    pub(super) name: PartName,
    pub(super) intake: Intake,
    pub(super) queue: PartitionQueue<Context>,
    /// The number and the mark of the message that was landed last, until it has been compared.
    pub(super) compare: Option<(u64, Vec<u8>)>,
    /// What to say if nothing is where it is begun at.
    pub(super) beyond: Option<String>,
    pub(super) begun_at: Instant,
    pub(super) is_full: bool,
    pub(super) later: Option<(OwnedMessage, Instant)>,
}

/// A broker that is asked for a place behind its end says so; one that says nothing for so long says it, too.
const SILENCE: Duration = Duration::from_secs(30);

/// What reading a while has shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// So many messages.
    Some(usize),
    /// It isn't the stream that was landed, and how that is seen.
    Recreated(String),
    /// The place isn't there any more, or not yet.
    OutOfRange,
    /// The part isn't ours any more.
    Gone,
    /// The broker refuses.
    Refused(RDKafkaErrorCode),
}

impl Reading {
    /// Hands over what is there.
    pub(super) fn read(&mut self, desk: &Desk) -> Read {
        if self.is_full {
            if !self.intake.has_room() {
                return Read::Some(0);
            }
            self.is_full = false;
        }
        if let Some((message, at)) = self.later.take() {
            if Instant::now() < at {
                self.later = Some((message, at));
                return Read::Some(0);
            }
            match self.hand_over(&message) {
                Room::Later(_) => {
                    self.later = Some((message, Instant::now() + LATER));
                    return Read::Some(0);
                }
                Room::Full => self.is_full = true,
                Room::Gone => return Read::Gone,
                Room::More => {}
            }
        }
        let mut count = 0;
        while count < AT_A_TIME && !self.is_full {
            // `None` also after an event of another kind; what is there then is for the next turn.
            let Some(polled) = self.queue.poll(Duration::ZERO) else { break };
            match polled {
                Ok(message) => {
                    count += 1;
                    match self.compared(&message) {
                        Compared::Landed => {
                            self.beyond = None;
                            continue;
                        }
                        Compared::Other => {
                            let at = message.offset();
                            return Read::Recreated(format!(
                                "another message than the one that was landed stands at {at}"
                            ));
                        }
                        Compared::New => {}
                    }
                    self.beyond = None;
                    let room = handed(&self.intake, &self.name, &message);
                    match room {
                        Room::More => {}
                        Room::Full => self.is_full = true,
                        Room::Gone => return Read::Gone,
                        Room::Later(why) => {
                            tracing::warn!(
                                part = self.name.shown,
                                why,
                                "a message can't be read now; it waits"
                            );
                            self.later = Some((message.detach(), Instant::now() + LATER));
                            break;
                        }
                    }
                }
                Err(KafkaError::PartitionEOF(_)) => {
                    if self.compare.is_some()
                        && let Some(found) = self.beyond.take()
                    {
                        return Read::Recreated(found);
                    }
                    self.intake.reached_end(desk);
                }
                Err(error) => {
                    if let Some(read) = self.failed(&error) {
                        return read;
                    }
                    break;
                }
            }
        }
        if count == 0
            && self.begun_at.elapsed() > SILENCE
            && let Some(found) = self.beyond.take()
        {
            return Read::Recreated(found);
        }
        Read::Some(count)
    }

    fn hand_over(&self, message: &OwnedMessage) -> Room {
        handed(&self.intake, &self.name, message)
    }

    fn compared(&self, message: &BorrowedMessage<'_>) -> Compared {
        match &self.compare {
            Some((number, due)) if message.offset() as u64 <= *number => {
                let found = with(&self.name, message, mark);
                if message.offset() as u64 == *number && found == *due {
                    Compared::Landed
                } else {
                    Compared::Other
                }
            }
            // Behind it, it is compacted away.
            _ => Compared::New,
        }
    }

    fn failed(&mut self, error: &KafkaError) -> Option<Read> {
        use RDKafkaErrorCode::{AutoOffsetReset, OffsetOutOfRange};
        match error.rdkafka_error_code() {
            Some(AutoOffsetReset | OffsetOutOfRange) => {
                Some(self.beyond.take().map_or(Read::OutOfRange, Read::Recreated))
            }
            Some(code) if super::is_refusal(code) => Some(Read::Refused(code)),
            _ => {
                tracing::warn!(part = self.name.shown, %error, "a partition can't be read at the moment");
                None
            }
        }
    }
}

enum Compared {
    /// It is the one that was landed last.
    Landed,
    /// It stands where that was, and is another.
    Other,
    /// It is to be landed.
    New,
}

fn handed(intake: &Intake, name: &PartName, message: &impl rdkafka::Message) -> Room {
    with(name, message, |message| intake.take(message))
}

/// The message as the desk takes it.
fn with<T>(name: &PartName, message: &impl rdkafka::Message, then: impl FnOnce(&Message<'_>) -> T) -> T {
    let headers: Vec<(&str, &[u8])> = message
        .headers()
        .map(|headers| headers.iter().map(|one| (one.key, one.value.unwrap_or_default())).collect())
        .unwrap_or_default();
    then(&Message {
        topic: message.topic(),
        part: &name.part,
        offset: message.offset() as u64,
        key: message.key(),
        value: message.payload(),
        headers: &headers,
        timestamp_ms: message.timestamp().to_millis(),
    })
}
