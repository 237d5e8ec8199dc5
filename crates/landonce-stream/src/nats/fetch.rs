//! Asks the server for a part's messages, for as long as the part is read.
//!
//! Whatever happens to the consumer, the server or the connection, another consumer is made behind what was read. The server numbers
//! what it delivers to a consumer: a number that is left out was lost on the way, and is read again. The numbers of the stream may have
//! gaps (other subjects, deletes): they are told from messages that the stream's limits took away by the stream's first number.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::Consumer;
use async_nats::jetstream::consumer::pull::Config;
use futures_util::StreamExt as _;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use super::begin::{self, Begin, Rules};
use super::connect::FIRST_ANSWER;
use super::message::Fetched;
use super::server::{Part, Seen, Unanswered};
use crate::error::Error;
use crate::source::Start;

/// The most messages that are asked for at once.
const MESSAGES: usize = 4_000;
/// The most bytes, if no message is larger.
const BYTES: usize = 4 << 20;
/// How long the server waits for messages where there are none.
const WAIT: Duration = Duration::from_secs(5);
/// Between attempts at a server that doesn't answer.
const AGAIN: Duration = Duration::from_millis(500);

/// What comes of a part, in order.
pub(super) enum Item {
    /// A message.
    Message(Fetched),
    /// Nothing has been landed, and this is where to begin.
    Begins(u64),
    /// None of the part's is before this number that hasn't come.
    Passed(u64, Option<Vec<u8>>),
    /// There is nothing more at the moment.
    End,
    /// No waiting mends it.
    Failed(Error),
}

/// Reads a part until nobody listens any more.
pub(super) async fn fetch(
    server: Part,
    rules: Rules,
    start: Start,
    say: UnboundedSender<Item>,
    news: Arc<Notify>,
) {
    let most = server.largest().max(BYTES);
    let mut fetching = Fetching {
        reconnects: server.reconnects(),
        // One batch is handed over while the next one is on its way.
        memory: Arc::new(Semaphore::new(2 * most)),
        most,
        server,
        rules,
        say,
        news,
        place: None,
    };
    if let Err(error) = fetching.run(&start).await {
        fetching.say(Item::Failed(error));
    }
}

struct Fetching {
    server: Part,
    rules: Rules,
    reconnects: watch::Receiver<u64>,
    memory: Arc<Semaphore>,
    /// The bytes that one batch may have.
    most: usize,
    say: UnboundedSender<Item>,
    news: Arc<Notify>,
    place: Option<Place>,
}

/// Where it is.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// None of the part's messages before it hasn't come.
    next: u64,
    /// The desk knows it up to here, since then.
    told: u64,
    told_at: Instant,
    /// The stream that this is of.
    created: i128,
}

impl Fetching {
    fn say(&self, item: Item) {
        // The part may be gone: this task ends with it.
        let _ = self.say.send(item);
        self.news.notify_one();
    }

    async fn run(&mut self, start: &Start) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            let why = match self.round(start).await {
                Ok(never) => match never {},
                Err(Unanswered::Never(error)) => return Err(error),
                Err(Unanswered::Passing(why)) => why,
            };
            let shown = &self.server.shown;
            if self.place.is_none() && began.elapsed() > FIRST_ANSWER {
                let within = FIRST_ANSWER.as_secs();
                return Err(Error::Broker(format!("{shown}: it can't be read within {within} s: {why}")));
            }
            tracing::debug!(part = shown, why, "a consumer is made anew");
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Makes a consumer, and reads from it for as long as it goes.
    async fn round(&mut self, start: &Start) -> Result<Infallible, Unanswered> {
        self.reconnects.mark_unchanged();
        let seen = self.server.seen(if self.place.is_none() { start.next } else { None }).await?;
        let mut place = self.begin(start, &seen)?;
        let consumer = self.server.consumer(place.next).await?;
        if consumer.cached_info().num_pending == 0 {
            self.say(Item::End);
        }
        let mut delivered = 0;
        loop {
            let count = self.pull(&consumer, &mut place, &mut delivered).await;
            self.place = Some(place);
            if count? == 0 {
                let rested = self.rest(&consumer, &mut place, delivered).await;
                self.place = Some(place);
                rested?;
            }
        }
    }

    fn begin(&mut self, start: &Start, seen: &Seen) -> Result<Place, Unanswered> {
        if let Some(mut place) = self.place {
            let same = self.same(&mut place, seen);
            self.place = Some(place);
            return same.map(|()| place);
        }
        let begin =
            begin::begin(&self.server.shown, start, &seen.known, self.rules).map_err(Unanswered::Never)?;
        let next = match begin {
            Begin::At(next) => next,
            Begin::Put(next) => {
                self.say(Item::Begins(next));
                next
            }
        };
        tracing::debug!(part = self.server.shown, next, "begun");
        let place = Place { next, told: next, told_at: Instant::now(), created: seen.created };
        self.place = Some(place);
        Ok(place)
    }

    /// It is the stream that is being read; another one is read from its beginning, if that may be.
    fn same(&self, place: &mut Place, seen: &Seen) -> Result<(), Unanswered> {
        if seen.created == place.created {
            return Ok(());
        }
        let found = "it was deleted while it was read";
        let low = begin::recreated(&self.server.shown, found, seen.known.low, self.rules);
        let low = low.map_err(Unanswered::Never)?;
        *place = Place { next: low, told: low, told_at: Instant::now(), created: seen.created };
        Err(Unanswered::Passing(found.into()))
    }

    /// Asks for messages once, and says what comes. How many came.
    async fn pull(
        &mut self,
        consumer: &Consumer<Config>,
        place: &mut Place,
        delivered: &mut u64,
    ) -> Result<usize, Unanswered> {
        let most = u32::try_from(self.most).unwrap_or(u32::MAX);
        let held = Arc::clone(&self.memory).acquire_many_owned(most).await;
        let mut held = held.map_err(passing)?;
        let batch = consumer.batch().max_messages(MESSAGES).max_bytes(self.most).expires(WAIT);
        let mut batch = batch.messages().await.map_err(passing)?;
        let (mut count, mut has_looked) = (0, false);
        loop {
            let polled = tokio::select! {
                biased;
                polled = batch.next() => polled,
                _ = self.reconnects.changed() => return Err(passing("the connection is another one")),
            };
            let message = match polled {
                None => break,
                Some(Ok(message)) => message,
                // So many bytes are enough; if it is anything else, the next batch says so.
                Some(Err(_)) if count > 0 => break,
                Some(Err(error)) => return Err(passing(error)),
            };
            let info = message.info().map_err(passing)?;
            let (number, pending) = (info.stream_sequence, info.pending);
            let published = info.published.unix_timestamp_nanos();
            if info.consumer_sequence != *delivered + 1 {
                return Err(passing("a message was lost on the way"));
            }
            if number > place.next && !has_looked {
                let seen = self.server.seen(None).await?;
                self.same(place, &seen)?;
                if seen.known.low > place.next {
                    let shown = &self.server.shown;
                    begin::lost(shown, place.next, &seen.known, self.rules).map_err(Unanswered::Never)?;
                }
                has_looked = true;
            }
            *delivered += 1;
            count += 1;
            let mut message = Fetched::delivered(message, number, published);
            message.held = part_of(&mut held, message.size());
            self.say(Item::Message(message));
            (place.next, place.told, place.told_at) = (number + 1, number + 1, Instant::now());
            if pending == 0 {
                self.say(Item::End);
            }
        }
        Ok(count)
    }

    /// Nothing has come for a while: the place moves on with the numbers of the other parts.
    async fn rest(
        &mut self,
        consumer: &Consumer<Config>,
        place: &mut Place,
        delivered: u64,
    ) -> Result<(), Unanswered> {
        // In this order: what comes between the two is behind what is seen here.
        let seen = self.server.seen(None).await?;
        self.same(place, &seen)?;
        let info = consumer.get_info().await.map_err(passing)?;
        if info.delivered.consumer_sequence != delivered {
            return Err(passing("a message was lost on the way"));
        }
        if info.num_pending > 0 {
            return Ok(());
        }
        place.next = place.next.max(seen.known.high);
        self.say(Item::End);
        if place.next > place.told && place.told_at.elapsed() >= self.rules.quiet {
            let mark = self.server.mark_before(place.next).await?;
            self.say(Item::Passed(place.next, mark));
            (place.told, place.told_at) = (place.next, Instant::now());
        }
        Ok(())
    }
}

/// So many bytes of what is held, or all that is left.
fn part_of(held: &mut OwnedSemaphorePermit, size: usize) -> Option<OwnedSemaphorePermit> {
    held.split(size.min(held.num_permits()))
}

fn passing(why: impl std::fmt::Display) -> Unanswered {
    Unanswered::Passing(why.to_string())
}
