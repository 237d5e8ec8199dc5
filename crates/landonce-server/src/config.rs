//! How a server is set up, as its user writes it: YAML, every key known, every fault with its line and column.

use landonce_core::spec::{SpecError, read};
use schemars::JsonSchema;
use serde::Deserialize;

/// A server file (`--config serve.yaml`). Everything may be left out.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "landonce server")]
pub struct Config {
    /// The store of all pipelines: `sqlite:landonce.db` or `postgres://…`. `${NAME}` is taken from the environment. `--store` wins.
    #[serde(default)]
    pub store: Option<String>,
}

impl Config {
    /// Reads a server file's text.
    ///
    /// # Errors
    /// What is wrong, with its line and column, and the nearest known name.
    pub fn parse(yaml: &str) -> Result<Self, SpecError> {
        read(yaml)
    }
}
