//! What every request may need: the store, the pipelines by name, and how things are allowed to be done.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use landonce::{Pipeline, Store};
use landonce_deliver::Delivery;
use tokio::sync::mpsc;

use crate::auth::Sessions;
use crate::batches::Desk;
use crate::config::Config;
use crate::figures::Figures;
use crate::hooks::Hooks;
use crate::listen::Drain;
use crate::telemetry::Telemetry;

/// A server's state. Cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    config: Config,
    store: Store,
    pipelines: BTreeMap<String, Pipeline>,
    sessions: Sessions,
    figures: Figures,
    desk: Desk,
    drain: Drain,
    delivery: OnceLock<Delivering>,
    hooks: OnceLock<Hooks>,
    telemetry: OnceLock<Telemetry>,
    /// Told the name of a pipeline in which a batch has landed.
    landed: OnceLock<mpsc::Sender<String>>,
}

/// What delivers the outbox's messages.
#[derive(Debug)]
pub(crate) struct Delivering {
    pub(crate) delivery: Delivery,
    pub(crate) workers: usize,
}

impl App {
    /// The server of these pipelines on this store. Connects to nothing.
    pub fn new(config: Config, store: Store, pipelines: Vec<Pipeline>) -> Self {
        let pipelines =
            pipelines.into_iter().map(|pipeline| (pipeline.name().to_owned(), pipeline)).collect();
        Self(Arc::new(Inside {
            sessions: Sessions::new(config.is_https()),
            figures: Figures::new(),
            desk: Desk::new(config.limits()),
            drain: Drain::new(),
            delivery: OnceLock::new(),
            hooks: OnceLock::new(),
            telemetry: OnceLock::new(),
            landed: OnceLock::new(),
            config,
            store,
            pipelines,
        }))
    }

    /// Has the server hand the outbox's messages to these destinations, too. Only the first call counts, before the server is
    /// started.
    #[must_use]
    pub fn delivering(self, delivery: Delivery, workers: usize) -> Self {
        let _ = self.0.delivery.set(Delivering { delivery, workers });
        self
    }

    /// The same server with these hooks; without, it takes no webhooks. Only the first call counts.
    #[must_use]
    pub fn with_hooks(self, hooks: Hooks) -> Self {
        let _ = self.0.hooks.set(hooks);
        self
    }

    /// The hooks.
    pub fn hooks(&self) -> &Hooks {
        self.0.hooks.get_or_init(Hooks::default)
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// The store that all of the pipelines write to.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// A pipeline by its name.
    pub fn pipeline(&self, name: &str) -> Option<&Pipeline> {
        self.0.pipelines.get(name)
    }

    /// The pipelines, by name.
    pub fn pipelines(&self) -> impl Iterator<Item = &Pipeline> {
        self.0.pipelines.values()
    }

    /// The sessions of browsers.
    pub(crate) fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// What is counted, for `/metrics`.
    pub(crate) fn figures(&self) -> &Figures {
        &self.0.figures
    }

    /// What batches share: places, keys under way, room for bodies.
    pub(crate) fn desk(&self) -> &Desk {
        &self.0.desk
    }

    /// Where traces and lineage go. Started by the first call, which is to be made on the server's runtime.
    pub(crate) fn telemetry(&self) -> &Telemetry {
        self.0.telemetry.get_or_init(|| Telemetry::start(self))
    }

    /// How far the end of the server is.
    pub(crate) fn drain(&self) -> &Drain {
        &self.0.drain
    }

    /// What delivers messages, if the server does.
    pub(crate) fn delivery(&self) -> Option<&Delivering> {
        self.0.delivery.get()
    }

    /// Has [`App::has_landed`] tell this channel. Only the first call counts.
    pub(crate) fn tell_of_landings(&self, to: mpsc::Sender<String>) {
        let _ = self.0.landed.set(to);
    }

    /// Says that something of a pipeline has landed: its derived tables may be due.
    pub(crate) fn has_landed(&self, pipeline: &Pipeline) {
        if !pipeline.declared().derived().is_empty()
            && let Some(to) = self.0.landed.get()
        {
            // When it is full, or nobody listens any more, the next look at what is due finds it.
            let _ = to.try_send(pipeline.name().to_owned());
        }
    }
}
