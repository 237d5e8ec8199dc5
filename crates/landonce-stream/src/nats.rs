//! NATS JetStream: a stream's parts, each a filter of subjects, begun where the store says.
//!
//! The server remembers nothing of us: every part is read by a consumer that is made for the moment, without acknowledgements, at the
//! number that the store says; when it is gone, another one is made behind what was read. A task for each part (`fetch`) asks for
//! messages and puts them into a queue of its own; one thread hands them over to the desk, from those queues whose lanes have room.
//!
//! JetStream divides nothing between workers. A part is whose worker took it last; the worker that lost it stands by (`standby`).

mod begin;
mod connect;
mod fetch;
mod message;
mod reading;
mod server;
mod standby;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::ConnectOptions;
use landonce::Pipeline;
use landonce_core::pipeline::{Feed, Nats as Declared};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use crate::desk::{Desk, Given};
use crate::error::Error;
use crate::source::{PartName, Source};
use reading::{Read, Reading};
use server::Server;

/// How long the thread sleeps where nothing has come: lanes that have room again don't wake it.
const IDLE: Duration = Duration::from_millis(10);
/// How often a quiet part's position moves on with the numbers of the others.
const QUIET: Duration = Duration::from_mins(5);

/// A worker that reads a stream of JetStream.
pub struct Nats {
    declared: Declared,
    /// The parts that this worker reads.
    parts: Vec<String>,
    options: ConnectOptions,
    servers: Vec<String>,
    quiet: Duration,
}

impl std::fmt::Debug for Nats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The options hold passwords.
        f.debug_struct("Nats").field("declared", &self.declared).finish_non_exhaustive()
    }
}

impl Nats {
    /// The source that a pipeline declares. `only` are the parts that this worker reads, as they are declared; all of them where it is
    /// empty. Connects to nothing yet.
    ///
    /// # Errors
    /// When it declares another one, or what can't be, or when one of `only` isn't declared.
    pub fn open(pipeline: &Pipeline, only: &[String]) -> Result<Self, Error> {
        let Feed::Nats(declared) = &pipeline.declared().source().feed else {
            return Err(Error::Declared(format!("`{}` declares no `source.nats`", pipeline.name())));
        };
        let declared = declared.as_ref().clone();
        if let Some(other) = only.iter().find(|part| !declared.parts.contains(part)) {
            let parts = declared.parts.join("`, `");
            return Err(Error::Declared(format!(
                "source.nats.parts: `{other}` is none of the parts `{parts}`"
            )));
        }
        let parts = if only.is_empty() { declared.parts.clone() } else { only.to_vec() };
        let options = connect::options(&declared, pipeline)?;
        let servers = connect::servers(&declared)?;
        Ok(Self { declared, parts, options, servers, quiet: QUIET })
    }

    /// How often a quiet part's position moves on with the numbers of the others; 5 minutes unless it is set. Messages that the stream's
    /// limits took away before it moved are told as lost, though they were other parts'.
    #[must_use]
    pub fn with_quiet(self, quiet: Duration) -> Self {
        Self { quiet, ..self }
    }

    fn names(&self) -> Vec<(PartName, String)> {
        let stream = &self.declared.stream;
        let name = |filter: &str| {
            let shown = if filter.is_empty() { stream.clone() } else { format!("{stream}/{filter}") };
            (PartName { source: format!("nats {stream}"), part: filter.to_owned(), shown }, filter.to_owned())
        };
        if self.parts.is_empty() {
            vec![name("")]
        } else {
            self.parts.iter().map(|part| name(part)).collect()
        }
    }
}

impl Source for Nats {
    fn run(self: Box<Self>, desk: &Desk) -> Result<(), Error> {
        let names = self.names();
        let connected = connect::connect(self.options, &self.servers, desk);
        let Some((client, reconnects)) = desk.runtime().block_on(connected)? else { return Ok(()) };
        // The client's tasks are the runtime's.
        let server = desk.runtime().block_on(async { Server::new(client, reconnects, &self.declared) });
        let (lost, lost_again) = mpsc::unbounded_channel();
        let mut worker = Worker {
            desk: desk.clone(),
            server,
            rules: begin::Rules {
                start: self.declared.start,
                on_recreated: self.declared.on_recreated,
                on_lost: self.declared.on_lost,
                quiet: self.quiet,
            },
            stand_by: self.declared.stand_by,
            filters: names.into_iter().collect(),
            reading: BTreeMap::new(),
            news: Arc::new(Notify::new()),
            standby: lost,
            to_assign: lost_again,
        };
        if let Err(error) = worker.work() {
            desk.fail(error);
        }
        worker.reading.clear();
        desk.drain();
        Ok(())
    }
}

struct Worker {
    desk: Desk,
    server: Server,
    rules: begin::Rules,
    stand_by: Duration,
    /// The parts, and the filter of each.
    filters: BTreeMap<PartName, String>,
    reading: BTreeMap<PartName, Reading>,
    /// Wakes the thread: something has come.
    news: Arc<Notify>,
    /// Where those who stand by say that a part is to be taken again.
    standby: mpsc::UnboundedSender<PartName>,
    to_assign: mpsc::UnboundedReceiver<PartName>,
}

impl Worker {
    fn work(&mut self) -> Result<(), Error> {
        self.filters.keys().for_each(|part| self.desk.assign(part));
        while !self.desk.is_stopping() {
            self.take();
            let mut is_idle = true;
            for name in self.reading.keys().cloned().collect::<Vec<_>>() {
                is_idle &= !self.read(&name)?;
            }
            if is_idle {
                // A timeout is a turn like any other.
                let _ = self.desk.runtime().block_on(async { timeout(IDLE, self.news.notified()).await });
            }
        }
        Ok(())
    }

    /// Begins what the store has given, and lets go what others have taken.
    fn take(&mut self) {
        for Given { part, start, intake } in self.desk.starts() {
            let Some(filter) = self.filters.get(&part) else { continue };
            let reading = Reading::begin(
                &self.desk,
                self.server.of_part(&part.shown, filter),
                self.rules,
                start,
                intake,
                &self.news,
            );
            self.reading.insert(part, reading);
        }
        for part in self.desk.gone() {
            self.reading.remove(&part);
            self.let_go(part);
        }
        while let Ok(part) = self.to_assign.try_recv() {
            self.desk.assign(&part);
        }
    }

    /// Another worker has it.
    fn let_go(&self, part: PartName) {
        if self.desk.is_until_end() {
            // Whoever has it lands it to its end.
            tracing::warn!(part = part.shown, "another worker has taken the part; it is left to it");
            if self.reading.is_empty() {
                self.desk.stop();
            }
            return;
        }
        let Some(filter) = self.filters.get(&part) else { return };
        let server = self.server.of_part(&part.shown, filter);
        self.desk.runtime().spawn(standby::stand_by(
            self.desk.clone(),
            server,
            part,
            self.stand_by,
            self.standby.clone(),
        ));
    }

    /// Hands over what has come of a part. True when something had.
    fn read(&mut self, name: &PartName) -> Result<bool, Error> {
        let Some(reading) = self.reading.get_mut(name) else { return Ok(false) };
        match reading.read(name, &self.desk) {
            Read::Some(count) => Ok(count > 0),
            // The desk says so as well, in `gone`.
            Read::Gone => Ok(false),
            Read::Failed(error) => Err(error),
        }
    }
}
