//! Messages that a program enqueues in a transaction of its own.

use landonce_core::json::Tape;
use landonce_core::message;
use landonce_store::outbox::Message;
use uuid::Uuid;

use crate::error::Error;
use crate::store::CallersTransaction;

/// A message about a change that a program of yours has made.
///
/// What makes two of them the same is the producer, the topic, the entity and the change: the same change is told once, however
/// often the transaction is retried. Use for the change what it is known by (an event's id, a version, the request's
/// idempotency key), never the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    producer: String,
    topic: String,
    entity: String,
    change: Vec<u8>,
    payload: String,
    kind: String,
    ordering: Option<String>,
    run_id: Option<Uuid>,
}

impl Notice {
    /// A notice of a program (`producer`) in a topic: about an entity, which is JSON text (for a row the columns that identify
    /// it), and a change of it. The payload, JSON text too, is sent byte for byte.
    ///
    /// Its kind is `changed`, and messages about one entity are sent in the order in which they were enqueued.
    pub fn new(
        producer: impl Into<String>,
        topic: impl Into<String>,
        entity: impl Into<String>,
        change: impl AsRef<[u8]>,
        payload: impl Into<String>,
    ) -> Self {
        Self {
            producer: producer.into(),
            topic: topic.into(),
            entity: entity.into(),
            change: change.as_ref().to_vec(),
            payload: payload.into(),
            kind: "changed".to_owned(),
            ordering: None,
            run_id: None,
        }
    }

    /// What happened, in a word: `inserted`, `updated`, `deleted`, or one of your own.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = kind.into();
        self
    }

    /// Messages of one topic and one ordering key are sent one after the other; the entity by default. Notices about one
    /// ordering key should come from transactions that wait for each other (that lock one row, say): else which comes first
    /// is chance.
    #[must_use]
    pub fn ordering(mut self, key: impl Into<String>) -> Self {
        self.ordering = Some(key.into());
        self
    }

    /// The run that it belongs to, for people who look.
    #[must_use]
    pub fn run_id(mut self, run_id: Uuid) -> Self {
        self.run_id = Some(run_id);
        self
    }

    /// The id that the receiver will know it by.
    pub fn id(&self) -> Uuid {
        message::id(&self.producer, &self.topic, &self.entity, &self.change)
    }

    fn message(&self, tape: &mut Tape) -> Result<Message, Error> {
        let faulty = |what: &str| Error::declaration(format!("a notice's {what}"));
        for (what, text) in [("producer", &self.producer), ("topic", &self.topic), ("kind", &self.kind)] {
            if text.is_empty() {
                return Err(faulty(&format!("{what} is empty")));
            }
        }
        let ordering = self.ordering.as_ref();
        let texts = [&self.producer, &self.topic, &self.kind, &self.entity, &self.payload];
        if texts.into_iter().chain(ordering).any(|text| text.contains('\0')) {
            return Err(faulty("texts hold U+0000, which no store takes"));
        }
        for (what, text) in [("entity", &self.entity), ("payload", &self.payload)] {
            tape.scan(text.as_bytes())
                .map_err(|bad| faulty(&format!("{what} is no JSON that everybody reads alike: {bad}")))?;
        }
        Ok(Message {
            id: self.id(),
            producer: self.producer.clone(),
            topic: self.topic.clone(),
            lane: message::lane(&self.topic, ordering.unwrap_or(&self.entity)),
            ordering: self.ordering.clone(),
            entity: self.entity.clone(),
            kind: self.kind.clone(),
            payload: self.payload.clone(),
            run_id: self.run_id,
        })
    }
}

/// Enqueues notices inside your own open transaction (a `tokio_postgres::Transaction` or a `rusqlite::Transaction`), in their
/// order: they are delivered if and when it commits. Returns how many weren't in the outbox yet; what is there already stays
/// as it is. landonce's tables must be there ([`Store::migrate`](crate::Store::migrate)).
///
/// # Errors
/// Before anything is written, when a notice's entity or payload isn't valid JSON, a text holds U+0000, or its producer, topic
/// or kind is empty. On an error of the database roll back; the whole transaction is what you retry.
pub async fn enqueue_in<T: CallersTransaction>(
    transaction: &mut T,
    notices: &[Notice],
) -> Result<u64, Error> {
    let mut tape = Tape::default();
    let messages = notices.iter().map(|notice| notice.message(&mut tape)).collect::<Result<Vec<_>, _>>()?;
    transaction.enqueue(&messages).await
}
