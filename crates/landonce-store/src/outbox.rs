//! The outbox: messages about changes, enqueued in the transaction of the change, delivered by workers apart from it.
//!
//! The contract of delivery, which both stores keep:
//!
//! - A message is enqueued once: its id is made of what it says, and a second one of that id isn't taken.
//! - [`Outbox::lease`] gives out pending messages that are due: of each lane the first, and those behind it. While one message of a
//!   lane is leased, or waits for its next attempt, nobody else gets any of that lane; other lanes go on.
//! - Every lease raises a message's fence. Only the holder of the last fence can renew, or say what became of the message: one
//!   whose lease ran out and was taken over is told so, and nothing of what it says counts.
//! - What is found is found by state, never by "greater than the last seq": a transaction that commits late loses nothing.
//! - Times are the database's own. Callers say how long, never until when.

use std::time::Duration;

use uuid::Uuid;

use crate::error::Result;

/// A message to be enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is known by ([`landonce_core::message::id`]).
    pub id: Uuid,
    /// Who speaks: a pipeline's name, or a program's own.
    pub producer: String,
    /// The topic.
    pub topic: String,
    /// The lane of the ordering key ([`landonce_core::message::lane`]).
    pub lane: Uuid,
    /// The ordering key as text, where it isn't the entity.
    pub ordering: Option<String>,
    /// What it is about, as JSON: for a row the identity's columns.
    pub entity: String,
    /// What happened: `inserted`, `updated`, `retired`, `restored`, `deleted`, `correction`, or a program's own word.
    pub kind: String,
    /// What is sent, byte for byte: a JSON text.
    pub payload: String,
    /// The run that changed the row.
    pub run_id: Option<Uuid>,
}

/// What a worker asks for.
#[derive(Debug, Clone, Copy)]
pub struct Want<'a> {
    /// The topics that it has destinations for.
    pub topics: &'a [String],
    /// Who it is, for people who look: host, process and number.
    pub worker: &'a str,
    /// How long it wants them for.
    pub lease: Duration,
    /// The most messages in all.
    pub most: u32,
    /// The most of one lane.
    pub most_of_a_lane: u32,
    /// Lanes behind this one first ([`Leased::next`]), then from the beginning: workers that start elsewhere don't meet.
    pub behind: Uuid,
}

/// What a worker was given.
#[derive(Debug, Clone, Default)]
pub struct Leased {
    /// The messages, lane by lane, each lane in its order.
    pub messages: Vec<Parcel>,
    /// Where to go on.
    pub next: Uuid,
}

/// A leased message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    /// What it is known by; the receiver gets it with every attempt.
    pub id: Uuid,
    /// The fence of this lease.
    pub fence: i64,
    /// Its order in the lane.
    pub seq: i64,
    /// The topic.
    pub topic: String,
    /// The lane.
    pub lane: Uuid,
    /// What it is about, as JSON.
    pub entity: String,
    /// What happened.
    pub kind: String,
    /// What is to be sent.
    pub payload: String,
    /// Attempts that have ended before this one.
    pub attempts: u32,
    /// How long ago it was enqueued.
    pub age: Duration,
}

/// The most characters of an answer that are kept.
const MOST_OF_AN_ANSWER: usize = 500;

/// No lease, wait or pause lasts longer: times beyond the year 9999 have no spelling.
const LONGEST: Duration = Duration::from_hours(24 * 365 * 100);

/// How long, in seconds.
pub(crate) fn seconds(duration: Duration) -> f64 {
    duration.min(LONGEST).as_secs_f64()
}

/// From seconds that a database has told; what is past is now.
pub(crate) fn lasting(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(LONGEST)
}

/// An answer as it is kept: a receiver's words can be long, and hold what no database's text can.
pub(crate) fn answer(told: &str) -> String {
    told.chars().take(MOST_OF_AN_ANSWER).map(|c| if c == '\0' { '\u{fffd}' } else { c }).collect()
}

/// A lease as its holder names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The message.
    pub id: Uuid,
    /// The fence that came with it.
    pub fence: i64,
}

/// What became of a leased message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Which.
    pub lease: Lease,
    /// What became of it.
    pub fate: Fate,
}

/// What becomes of a leased message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The receiver has taken it: `sent_at` is now.
    Sent {
        /// What it answered, in short.
        answer: String,
    },
    /// Again, not before so long from now.
    Again {
        /// How long from now.
        after: Duration,
        /// What it answered, in short.
        answer: String,
    },
    /// Given up: a dead letter. Its lane goes on.
    Dead {
        /// What it answered last, in short.
        answer: String,
    },
    /// Not tried: given back as it was.
    Untried,
}

/// A message as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The message itself.
    pub message: Message,
    /// Its order in its lane.
    pub seq: i64,
    /// What has become of it.
    pub state: State,
    /// When it was enqueued, RFC 3339 in UTC.
    pub enqueued_at: String,
    /// When it is due next, if it is pending.
    pub due_at: Option<String>,
    /// Attempts so far.
    pub attempts: u32,
    /// Who holds it, and until when, if it is leased now.
    pub leased: Option<(String, String)>,
    /// The last answer, in short.
    pub answer: Option<String>,
    /// When the acknowledgement was recorded.
    pub sent_at: Option<String>,
    /// The correction that names it.
    pub corrected_by: Option<Uuid>,
}

/// What has become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It waits, or is under way.
    Pending,
    /// Its receiver has taken it.
    Sent,
    /// Nobody took it.
    Dead,
    /// A person said that it isn't to be sent.
    Discarded,
}

impl Fate {
    /// The word that the statements know it by.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Sent { .. } => "sent",
            Self::Again { .. } => "again",
            Self::Dead { .. } => "dead",
            Self::Untried => "untried",
        }
    }

    /// The receiver's words as they are kept.
    pub(crate) fn answer(&self) -> Option<String> {
        match self {
            Self::Sent { answer: told } | Self::Again { answer: told, .. } | Self::Dead { answer: told } => {
                Some(answer(told))
            }
            Self::Untried => None,
        }
    }

    /// The seconds until it is due.
    pub(crate) fn after(&self) -> f64 {
        match self {
            Self::Again { after, .. } => seconds(*after),
            _ => 0.0,
        }
    }
}

impl State {
    /// As it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Dead => "dead",
            Self::Discarded => "discarded",
        }
    }

    /// From how it is stored.
    pub fn read(text: &str) -> Result<Self> {
        match text {
            "pending" => Ok(Self::Pending),
            "sent" => Ok(Self::Sent),
            "dead" => Ok(Self::Dead),
            "discarded" => Ok(Self::Discarded),
            _ => Err(crate::Error::refused(format!("`{text}` is no state of a message"))),
        }
    }
}

/// Which messages: all that fit everything given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which {
    /// Of this topic.
    pub topic: Option<String>,
    /// In this state.
    pub state: Option<State>,
    /// About this entity, exactly as it is stored.
    pub entity: Option<String>,
    /// These; any when empty.
    pub ids: Vec<Uuid>,
    /// Those whose id begins with these hex digits (of an id without its hyphens).
    pub id_prefix: Option<String>,
}

impl Which {
    /// The lowest and the highest id that fit the prefix; all ids without one.
    pub(crate) fn id_range(&self) -> Result<(Uuid, Uuid)> {
        let digits = self.id_prefix.as_deref().unwrap_or_default().replace('-', "");
        if digits.len() > 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(crate::Error::refused("a message's id is up to 32 hex digits"));
        }
        let filled = |with: char| {
            let mut id = digits.clone();
            id.extend(std::iter::repeat_n(with, 32 - digits.len()));
            Uuid::parse_str(&id).map_err(|_| crate::Error::refused("a message's id is up to 32 hex digits"))
        };
        Ok((filled('0')?, filled('f')?))
    }
}

/// What a person does with messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Pending ones that wait for their next attempt are due now.
    Retry,
    /// Dead and discarded ones become pending again, due now, with no attempts counted; the id stays.
    Redrive,
    /// As [`Act::Redrive`], for messages that were sent too: the receiver gets the same id again.
    Resend,
    /// Pending and dead ones are not to be sent. One that is leased at the moment isn't taken from its worker.
    Discard,
}

/// A topic's figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Depth {
    /// The topic.
    pub topic: String,
    /// Messages that wait or are under way.
    pub pending: u64,
    /// Of these, how many are leased now.
    pub leased: u64,
    /// Of these, how many have failed before.
    pub retrying: u64,
    /// Attempts that the pending ones have behind them.
    pub attempts: u64,
    /// How long ago the oldest pending one was enqueued.
    pub oldest: Option<Duration>,
    /// Dead letters.
    pub dead: u64,
    /// How much longer the topic pauses, and why.
    pub paused: Option<(Duration, String)>,
}

/// The verbs of delivery, each a transaction of its own.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Outbox {
    /// Leases messages that are due. Nothing where there are no tables of landonce's yet.
    async fn lease(&mut self, want: &Want<'_>) -> Result<Leased>;

    /// Holds leases for so much longer. Returns those that are lost.
    async fn renew(&mut self, leases: &[Lease], lease: Duration) -> Result<Vec<Lease>>;

    /// Says what became of leased messages, all in one transaction. Returns the leases that are lost: what was said of them
    /// doesn't count. What is said again after a COMMIT without an answer is in effect already, counts once, and isn't lost.
    async fn settle(&mut self, verdicts: &[Verdict]) -> Result<Vec<Lease>>;

    /// No message of a topic is leased for so long, by anybody; an earlier, longer pause stays.
    async fn pause(&mut self, topic: &str, lasting: Duration, reason: &str) -> Result<()>;

    /// Ends a topic's pause.
    async fn resume(&mut self, topic: &str) -> Result<()>;

    /// How long until a message of these topics can be leased: zero when one can now, `None` when none is pending. A lease that
    /// others hold counts until it runs out, a pause until it ends.
    async fn next_due(&mut self, topics: &[String]) -> Result<Option<Duration>>;

    /// Messages, newest first. None where there are no tables of landonce's yet.
    async fn messages(&mut self, which: &Which, most: usize) -> Result<Vec<Entry>>;

    /// Does something with messages; returns how many it was done with.
    async fn act(&mut self, which: &Which, act: Act) -> Result<u64>;

    /// The figures of every topic that has pending or dead messages, or pauses, by name.
    async fn depth(&mut self) -> Result<Vec<Depth>>;

    /// Deletes messages that were sent or discarded so long ago, the oldest first, at most so many, in one transaction; returns how many. What
    /// is deleted is forgotten: the same change would be told again.
    async fn prune(&mut self, older_than: Duration, most: u32) -> Result<u64>;
}
