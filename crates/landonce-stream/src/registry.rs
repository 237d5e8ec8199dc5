//! Keys and values in Avro and Protobuf: by the schemas of a registry with Confluent's API they become JSON, which
//! [`landonce_core::pipeline::Shape`] goes on with.
//!
//! A schema never changes under its id, so each is asked for once. A registry that can't be reached is a passing failure: whoever
//! consumes waits, and no message is judged by it. An id that the registry doesn't know is the message's own fault.

mod avro;
mod client;
mod protobuf;
mod wire;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::pipeline::{Codec, RegistryAt, Shape};
use thiserror::Error;

use crate::decode::{Decode, Undecoded};
use client::{Client, Kind, Stored};

/// How long an unknown id is taken for unknown, so that a topic full of them doesn't ask for each.
const UNKNOWN: Duration = Duration::from_secs(10);

/// Why the registry gives no schema.
#[derive(Debug, Clone, Error)]
#[error("the schema registry at {at}: {told}")]
pub struct RegistryError {
    at: String,
    told: String,
    is_passing: bool,
}

impl RegistryError {
    fn new(at: &str, told: impl Into<String>, is_passing: bool) -> Self {
        Self { at: at.to_owned(), told: told.into(), is_passing }
    }

    /// It may be over by itself.
    pub fn is_passing(&self) -> bool {
        self.is_passing
    }
}

/// Decodes the keys and values of a pipeline's messages.
///
/// What is asked of the registry is asked on a thread of its own, so that whoever decodes needs no runtime.
#[derive(Debug)]
pub struct Decoder {
    registry: Arc<Registry>,
    value: Codec,
    has_texts: bool,
    key: Codec,
    asks: Sender<Ask>,
}

/// A schema that isn't known yet, and where it is waited for.
struct Ask {
    id: u32,
    answer: SyncSender<Result<Arc<Schema>, Undecoded>>,
}

impl Decoder {
    /// The decoder for messages of this shape; `None` where all of them are text. `variable` looks environment variables up
    /// (`landonce::environment::variable`).
    ///
    /// # Errors
    /// When the address is none, or a variable of the login isn't set.
    pub fn of(
        shape: &Shape,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, RegistryError> {
        let Some(at) = shape.registry() else { return Ok(None) };
        let registry = Arc::new(Registry::new(at, variable)?);
        let (asks, asked) = channel();
        let failed = |error: std::io::Error| RegistryError::new(&at.url, error.to_string(), false);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let answering = Arc::clone(&registry);
        thread::spawn(move || answer(&runtime, &answering, &asked));
        let (value, has_texts, key) = (shape.value_codec(), shape.has_structured_events(), shape.key_codec());
        Ok(Some(Self { registry, value, has_texts, key, asks }))
    }

    fn decode(&self, codec: Codec, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Undecoded> {
        let (id, datum) = wire::split(bytes)?;
        let schema = match self.registry.known(id)? {
            Some(known) => known,
            None => self.ask(id)?,
        };
        *out = match (codec, &*schema) {
            (Codec::Avro, Schema::Avro(schema)) => schema.json(datum)?,
            (Codec::Protobuf, Schema::Protobuf(schema)) => schema.json(datum)?,
            (Codec::Avro, Schema::Protobuf(_)) => {
                return Err(bad(format!("schema {id} is Protobuf, and Avro is declared")).into());
            }
            (Codec::Protobuf, Schema::Avro(_)) => {
                return Err(bad(format!("schema {id} is Avro, and Protobuf is declared")).into());
            }
            (Codec::Text, _) => bytes.to_vec(),
        };
        Ok(())
    }

    fn ask(&self, id: u32) -> Result<Arc<Schema>, Undecoded> {
        let gone = || Undecoded::Later("the thread that asks the schema registry is gone".to_owned());
        let (answer, answered) = sync_channel(1);
        self.asks.send(Ask { id, answer }).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}

/// Asks the registry until nobody decodes any more.
fn answer(runtime: &tokio::runtime::Runtime, registry: &Registry, asked: &Receiver<Ask>) {
    while let Ok(Ask { id, answer }) = asked.recv() {
        let _ = answer.send(runtime.block_on(registry.schema(id))); // who asked may be gone
    }
}

impl Decode for Decoder {
    fn value(&self, _topic: &str, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Undecoded> {
        // No JSON begins with a zero byte, and every datum does.
        if self.value == Codec::Text || (self.has_texts && bytes.first() != Some(&0)) {
            out.extend_from_slice(bytes);
            return Ok(());
        }
        self.decode(self.value, bytes, out)
    }

    fn key(&self, _topic: &str, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, Undecoded> {
        if self.key == Codec::Text {
            return Ok(false);
        }
        self.decode(self.key, bytes, out).map(|()| true)
    }
}

impl From<BadRecord> for Undecoded {
    fn from(bad: BadRecord) -> Self {
        Self::Bad(bad)
    }
}

impl From<RegistryError> for Undecoded {
    /// No message is judged by a registry that fails, whatever fails there: somebody may mend it.
    fn from(error: RegistryError) -> Self {
        Self::Later(error.to_string())
    }
}

/// A registry, and the schemas that have been asked for.
struct Registry {
    client: Client,
    known: RwLock<HashMap<u32, Arc<Schema>>>,
    unknown: RwLock<HashMap<u32, Instant>>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("at", &self.client.at()).finish_non_exhaustive()
    }
}

/// A schema, ready to decode by.
#[derive(Debug)]
enum Schema {
    Avro(avro::Schema),
    Protobuf(protobuf::Schema),
}

impl Registry {
    fn new(at: &RegistryAt, variable: impl Fn(&str) -> Option<String>) -> Result<Self, RegistryError> {
        Ok(Self { client: Client::new(at, variable)?, known: RwLock::default(), unknown: RwLock::default() })
    }

    async fn schema(&self, id: u32) -> Result<Arc<Schema>, Undecoded> {
        if let Some(known) = self.known(id)? {
            return Ok(known);
        }
        let Some(stored) = self.client.by_id(id).await? else {
            self.unknown.write().unwrap_or_else(PoisonError::into_inner).insert(id, Instant::now());
            return Err(unknown(id).into());
        };
        let schema = Arc::new(self.read(id, &stored).await?);
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&schema));
        Ok(schema)
    }

    fn known(&self, id: u32) -> Result<Option<Arc<Schema>>, BadRecord> {
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(Some(Arc::clone(known)));
        }
        match self.unknown.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            Some(since) if since.elapsed() < UNKNOWN => Err(unknown(id)),
            _ => Ok(None),
        }
    }

    async fn read(&self, id: u32, stored: &Stored) -> Result<Schema, Undecoded> {
        let others = self.client.references(stored).await?;
        let read = match stored.kind {
            Kind::Avro => avro::Schema::parse(&stored.schema, &others).map(Schema::Avro),
            Kind::Protobuf => protobuf::Schema::parse(&stored.schema, &others).map(Schema::Protobuf),
            Kind::Other => Err("it is neither Avro nor Protobuf".to_owned()),
        };
        read.map_err(|told| bad(format!("schema {id} can't be read: {told}")).into())
    }
}

fn unknown(id: u32) -> BadRecord {
    bad(format!("the registry doesn't know schema {id}"))
}

/// A datum that can't be read.
fn bad(detail: impl Into<String>) -> BadRecord {
    BadRecord::new(BadKind::Syntax, "", detail)
}

#[cfg(test)]
mod tests;
