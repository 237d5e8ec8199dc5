//! Topics of a Kafka cluster, as they are declared. Read by every build, opened by those with the feature `kafka`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// Topics of a Kafka cluster.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KafkaSpec {
    /// Brokers to begin with, each `host:port`. `${NAME}` is taken from the environment.
    pub brokers: Vec<String>,
    /// The consumer group. Workers of one group share the partitions; the positions in the store are the group's, so that another name
    /// reads from the beginning.
    pub group: String,
    /// The topics.
    #[serde(default)]
    pub topics: Vec<String>,
    /// In place of `topics`: a regular expression that topics' whole names match. New ones are found within half a minute.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Where a partition begins of which nothing has been landed yet; `earliest` when left out.
    #[serde(default)]
    pub start: StartSpec,
    /// What happens when the topic isn't the one that was landed (it was deleted and made anew); `fail` when left out.
    #[serde(default)]
    pub on_recreated: RecreatedSpec,
    /// What happens when messages are gone before they were landed (the topic's retention); `fail` when left out.
    #[serde(default)]
    pub on_lost: LostSpec,
    /// TLS, with the system's certificates unless `ca` names others: `{}`. In builds with the feature `kafka-tls`.
    #[serde(default)]
    pub tls: Option<KafkaTlsSpec>,
    /// Who the worker is for the brokers.
    #[serde(default)]
    pub sasl: Option<KafkaSaslSpec>,
    /// Further properties of librdkafka, by its names: `{fetch.max.bytes: "10000000"}`. `${NAME}` is taken from the environment.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
}

/// Where a partition begins of which nothing has been landed yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartSpec {
    /// At the first message that is there.
    #[default]
    Earliest,
    /// Behind the last one. A partition that is added later is read from its beginning.
    Latest,
    /// Where the group has committed to at the broker (a consumer that landonce takes over from), at the first message where it hasn't.
    Committed,
}

/// What happens when the topic isn't the one that was landed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecreatedSpec {
    /// The worker stops, with an error.
    #[default]
    Fail,
    /// It is read from its beginning.
    Earliest,
}

/// What happens when messages are gone before they were landed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LostSpec {
    /// The worker stops, with an error.
    #[default]
    Fail,
    /// It goes on at the first message that is there, and the log says how many are missing.
    Continue,
}

/// TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KafkaTlsSpec {
    /// A file of certificates (PEM) that the brokers' are signed by. Relative to the pipeline file.
    #[serde(default)]
    pub ca: Option<String>,
    /// The worker's own certificate, a file (PEM).
    #[serde(default)]
    pub cert: Option<String>,
    /// The key of that certificate, a file (PEM).
    #[serde(default)]
    pub key: Option<String>,
}

/// Who the worker is for the brokers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KafkaSaslSpec {
    /// How it is shown.
    pub mechanism: MechanismSpec,
    /// The user. `${NAME}` is taken from the environment.
    pub user: String,
    /// The password: `${NAME}`, never the password itself.
    pub password: String,
}

/// A mechanism of SASL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum MechanismSpec {
    /// The password is sent as it is: only with `tls`.
    #[serde(rename = "PLAIN")]
    Plain,
    /// SCRAM with SHA-256; in builds with the feature `kafka-tls`.
    #[serde(rename = "SCRAM-SHA-256")]
    Scram256,
    /// SCRAM with SHA-512; in builds with the feature `kafka-tls`.
    #[serde(rename = "SCRAM-SHA-512")]
    Scram512,
}

impl MechanismSpec {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Scram256 => "SCRAM-SHA-256",
            Self::Scram512 => "SCRAM-SHA-512",
        }
    }
}
