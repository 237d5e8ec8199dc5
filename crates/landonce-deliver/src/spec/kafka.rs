//! `kafka:` as written: a Kafka topic. Read by every build, opened by those with the feature `kafka`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A Kafka topic.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KafkaSpec {
    /// Brokers to begin with, each `host:port`. `${NAME}` is taken from the environment.
    pub brokers: Vec<String>,
    /// The topic. It must be there, unless the brokers make topics by themselves.
    pub topic: String,
    /// What a record's key is; `entity` when left out.
    #[serde(default)]
    pub key: KafkaKeySpec,
    /// The longest that a record may take to be acknowledged, with all of the client's own retries; `30s` when left out.
    #[serde(default)]
    pub timeout: Option<String>,
    /// Further properties of librdkafka, by its names: `{compression.type: gzip}`. `${NAME}` is taken from the environment.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
}

/// What a record's key is. Records of one key are in one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KafkaKeySpec {
    /// The entity, as JSON.
    #[default]
    Entity,
    /// A UUID that is the same for all messages of one ordering key: for pipelines whose ordering key isn't the entity.
    Ordering,
}
