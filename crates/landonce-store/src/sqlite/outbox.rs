//! The outbox: messages enqueued in the transaction of the rows, leased and settled by workers.

use rusqlite::{Connection, params};

use super::errors::during;
use super::inbox::is_there;
use crate::error::{Error, Result};
use crate::outbox::Message;

const ENQUEUE: &str = "\
INSERT INTO main.landonce_outbox (id, producer, topic, lane, ordering, entity, kind, payload, run_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (id) DO NOTHING";

/// Enqueues messages that aren't there yet, in their order; returns how many.
pub(super) fn enqueue(connection: &Connection, messages: &[Message]) -> Result<u64> {
    let doing = "enqueuing messages";
    if !is_there(connection, "landonce_outbox").map_err(during(doing))? {
        return Err(Error::refused(format!(
            "{doing}: landonce's own tables are missing; `landonce setup` makes them"
        )));
    }
    let mut statement = connection.prepare_cached(ENQUEUE).map_err(during(doing))?;
    let mut enqueued = 0;
    for message in messages {
        let values = params![
            message.id.to_string(),
            message.producer,
            message.topic,
            message.lane.to_string(),
            message.ordering,
            message.entity,
            message.kind,
            message.payload,
            message.run_id.map(|run_id| run_id.to_string()),
        ];
        enqueued += statement.execute(values).map_err(during(doing))? as u64;
    }
    Ok(enqueued)
}
