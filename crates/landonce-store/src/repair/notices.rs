//! The contract between `repair notices` and a store: messages of the outbox that should not have gone out, and the correction
//! that names them.
//!
//! ```text
//! begin → alone → twice → baseless? → (correct)* → commit
//! ```

use landonce_core::plan::TableName;
use uuid::Uuid;

use crate::error::Result;
use crate::outbox::Message;
use crate::seam::Connection;

/// A place in a message's payload: the names of members, from the outside in.
pub type JsonPath = Vec<String>;

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The topic.
    pub topic: String,
    /// What tells one subject from another, in the payload; the entity when empty.
    pub by: Vec<JsonPath>,
    /// What doesn't count when two payloads are compared.
    pub ignored: Vec<JsonPath>,
    /// Who was told, in the payload; all of a topic is one recipient when left out.
    pub recipient: Option<JsonPath>,
}

/// A message that should not have gone out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Which.
    pub id: Uuid,
    /// Its order.
    pub seq: i64,
    /// Who was told, as JSON or text; `None` where the payload doesn't say, or nobody asked.
    pub recipient: Option<String>,
    /// What it is about, as JSON.
    pub entity: String,
    /// What it said had happened.
    pub kind: String,
    /// When the receiver took it.
    pub sent_at: String,
    /// The message that had said the same before; `None` for one about a row that isn't there.
    pub repeats: Option<Uuid>,
}

/// The verbs of finding and correcting, in one transaction.
#[expect(
    async_fn_in_trait,
    reason = "internal seam, called with concrete types: auto traits are inferred there"
)]
pub trait Correct: Connection {
    /// Whether there is an outbox.
    async fn has_outbox(&mut self) -> Result<bool>;

    /// Keeps other corrections of the topic out until the transaction ends.
    async fn alone(&mut self, topic: &str) -> Result<()>;

    /// Messages that were sent, said of their subject what the one sent before had said, and are named by no correction: in
    /// their order. A to B to A is three different things.
    async fn twice(&mut self, search: &Search) -> Result<Vec<Wrong>>;

    /// Messages of a producer that were sent about a row which isn't in the table, without that its end was told, and are named
    /// by no correction: in their order. Entities whose members aren't columns of the table are counted, not judged.
    async fn baseless(
        &mut self,
        search: &Search,
        producer: &str,
        table: &TableName,
    ) -> Result<(Vec<Wrong>, u64)>;

    /// Enqueues a correction and marks the messages that it names.
    async fn correct(&mut self, correction: &Message, named: &[Uuid]) -> Result<()>;
}
