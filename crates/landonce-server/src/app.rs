//! What every request may need: the store, the pipelines by name, and how things are allowed to be done.

use std::collections::BTreeMap;
use std::sync::Arc;

use landonce::{Pipeline, Store};

use crate::config::Config;

/// A server's state. Cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    config: Config,
    store: Store,
    pipelines: BTreeMap<String, Pipeline>,
}

impl App {
    /// The server of these pipelines on this store. Connects to nothing.
    pub fn new(config: Config, store: Store, pipelines: Vec<Pipeline>) -> Self {
        let pipelines =
            pipelines.into_iter().map(|pipeline| (pipeline.name().to_owned(), pipeline)).collect();
        Self(Arc::new(Inside { config, store, pipelines }))
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
}
