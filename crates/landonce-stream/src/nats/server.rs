//! What is asked of the server: what the stream has, and consumers for the moment.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy};
use async_nats::jetstream::stream::{RetentionPolicy, Stream};
use async_nats::jetstream::{self, Context};
use landonce_core::pipeline::Nats;
use tokio::sync::watch;

use super::begin::Known;
use super::message::Fetched;
use crate::error::Error;
use crate::source::mark;

/// Beside a message's own bytes, as the server counts them.
const AROUND: usize = 64 << 10;
/// How long the server keeps a consumer that nobody asks any more.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);

/// A server, connected.
#[derive(Debug, Clone)]
pub(super) struct Server {
    client: Client,
    context: Context,
    /// Changes whenever the client has connected again.
    reconnects: watch::Receiver<u64>,
    stream: String,
}

/// A server, asked of one part.
#[derive(Debug, Clone)]
pub(super) struct Part {
    server: Server,
    /// Its name for errors.
    pub(super) shown: String,
    pub(super) filter: String,
}

/// What the stream is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// When it was made, in nanoseconds: another time is another stream.
    pub(super) created: i128,
    pub(super) known: Known,
}

/// Why the server can't be asked: it passes, unless it is an error of ours.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// It is asked again.
    Passing(String),
    /// No waiting mends it.
    Never(Error),
}

impl Server {
    pub(super) fn new(client: Client, reconnects: watch::Receiver<u64>, declared: &Nats) -> Self {
        let context = match &declared.domain {
            Some(domain) => jetstream::with_domain(client.clone(), domain),
            None => jetstream::new(client.clone()),
        };
        Self { client, context, reconnects, stream: declared.stream.clone() }
    }

    /// To ask of one part.
    pub(super) fn of_part(&self, shown: &str, filter: &str) -> Part {
        Part { server: self.clone(), shown: shown.to_owned(), filter: filter.to_owned() }
    }
}

impl Part {
    pub(super) fn stream(&self) -> &str {
        &self.server.stream
    }

    /// Changes whenever the client has connected again.
    pub(super) fn reconnects(&self) -> watch::Receiver<u64> {
        self.server.reconnects.clone()
    }

    /// The most bytes of one message, with all around it.
    pub(super) fn largest(&self) -> usize {
        self.server.client.server_info().max_payload + AROUND
    }

    async fn opened(&self) -> Result<Stream, Unanswered> {
        let stream = self.server.context.get_stream(&self.server.stream).await;
        let stream = stream.map_err(|error| Unanswered::Passing(error.to_string()))?;
        let retention = stream.cached_info().config.retention;
        if retention != RetentionPolicy::Limits {
            return Err(Unanswered::Never(Error::Declared(format!(
                "source.nats.stream: `{}` has the retention {retention:?}: its messages go when they are acknowledged, and landonce keeps \
                 its place in the database and acknowledges nothing. A stream that is retained by limits is due (it may take its messages \
                 from this one, as a source)",
                self.server.stream
            ))));
        }
        Ok(stream)
    }

    /// What the stream has now. What stands before `next` is compared where `next` is given.
    pub(super) async fn seen(&self, next: Option<u64>) -> Result<Seen, Unanswered> {
        let stream = self.opened().await?;
        let info = stream.cached_info();
        let before = match next.and_then(|next| next.checked_sub(1)).filter(|number| *number > 0) {
            Some(number) => self.mark_at(&stream, number).await?,
            None => None,
        };
        Ok(Seen {
            created: info.created.unix_timestamp_nanos(),
            known: Known {
                // Of an empty stream it is the number behind the last.
                low: info.state.first_sequence.max(1),
                high: info.state.last_sequence + 1,
                before,
                gives_way: info.config.max_messages_per_subject > 0,
            },
        })
    }

    /// The mark of the message with a number, of whatever subject; `None` where there is none.
    async fn mark_at(&self, stream: &Stream, number: u64) -> Result<Option<Vec<u8>>, Unanswered> {
        use async_nats::jetstream::stream::LastRawMessageErrorKind::{JetStream, NoMessageFound};
        match stream.get_raw_message(number).await {
            Ok(message) => Ok(Some(Fetched::asked(message).with(&self.server.stream, &self.filter, mark))),
            Err(error) => match error.kind() {
                NoMessageFound => Ok(None),
                // "no message found", in the numbers of JetStream.
                JetStream(error) if error.error_code().0 == 10_037 => Ok(None),
                _ => Err(Unanswered::Passing(error.to_string())),
            },
        }
    }

    /// A consumer for the moment, of this part's messages from `next` on; it says how many there are.
    pub(super) async fn consumer(&self, next: u64) -> Result<Consumer<Config>, Unanswered> {
        let stream = self.opened().await?;
        let config = Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: next },
            ack_policy: AckPolicy::None,
            filter_subject: self.filter.clone(),
            inactive_threshold: FORGOTTEN_AFTER,
            // It is remade anywhere: nothing is kept of it, and nowhere twice.
            memory_storage: true,
            num_replicas: 1,
            ..Config::default()
        };
        stream.create_consumer(config).await.map_err(|error| Unanswered::Passing(error.to_string()))
    }

    /// The mark of the message before `next`, if it is there.
    pub(super) async fn mark_before(&self, next: u64) -> Result<Option<Vec<u8>>, Unanswered> {
        Ok(self.seen(Some(next)).await?.known.before)
    }

    /// How many messages of the part there are from `next` on.
    pub(super) async fn waiting(&self, next: u64) -> Result<u64, Unanswered> {
        let consumer = self.consumer(next.max(1)).await?;
        let info = consumer.cached_info();
        let waiting = info.num_pending;
        // It would be forgotten anyhow.
        let _ = self.server.context.delete_consumer_from_stream(&info.name, &self.server.stream).await;
        Ok(waiting)
    }
}
