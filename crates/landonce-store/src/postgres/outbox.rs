//! The outbox: messages enqueued in the transaction of the rows, leased and settled by workers.

use tokio_postgres::types::Type as Pg;
use uuid::Uuid;

use super::inbox::without_tables;
use super::link::{Link, Params};
use crate::error::Result;
use crate::outbox::Message;

/// In the order given: `seq` grows with it.
const ENQUEUE: &str = "\
INSERT INTO landonce.outbox (id, producer, topic, lane, ordering, entity, kind, payload, run_id)
SELECT m.id, m.producer, m.topic, m.lane, m.ordering, m.entity, m.kind, m.payload, m.run_id
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::uuid[])
  WITH ORDINALITY m (id, producer, topic, lane, ordering, entity, kind, payload, run_id, nth)
ORDER BY m.nth
ON CONFLICT (id) DO NOTHING";

/// Enqueues messages that aren't there yet, in their order; returns how many.
pub(super) async fn enqueue(link: &Link<'_>, messages: &[Message]) -> Result<u64> {
    let texts = |of: fn(&Message) -> &str| messages.iter().map(of).collect::<Vec<&str>>();
    let uuids = |of: fn(&Message) -> Uuid| messages.iter().map(of).collect::<Vec<Uuid>>();
    let orderings: Vec<Option<&str>> = messages.iter().map(|message| message.ordering.as_deref()).collect();
    let runs: Vec<Option<Uuid>> = messages.iter().map(|message| message.run_id).collect();
    let params: Params<'_> = &[
        (&uuids(|message| message.id), Pg::UUID_ARRAY),
        (&texts(|message| &message.producer), Pg::TEXT_ARRAY),
        (&texts(|message| &message.topic), Pg::TEXT_ARRAY),
        (&uuids(|message| message.lane), Pg::UUID_ARRAY),
        (&orderings, Pg::TEXT_ARRAY),
        (&texts(|message| &message.entity), Pg::TEXT_ARRAY),
        (&texts(|message| &message.kind), Pg::TEXT_ARRAY),
        (&texts(|message| &message.payload), Pg::TEXT_ARRAY),
        (&runs, Pg::UUID_ARRAY),
    ];
    link.execute("enqueuing messages", ENQUEUE, params).await.map_err(without_tables)
}
