//! A stream of NATS JetStream, as it is declared. Read by every build, opened by those with the feature `nats`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{LostSpec, RecreatedSpec};

/// A stream of NATS JetStream.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NatsSpec {
    /// Servers to begin with, each `nats://host:4222`. `${NAME}` is taken from the environment. Who the worker is stands in `auth`.
    pub servers: Vec<String>,
    /// The stream. Its retention is by limits: from the others the server takes messages away by acknowledgements, which landonce doesn't
    /// send.
    pub stream: String,
    /// Its parts, each a filter of subjects (`orders.eu.>`). A part is read in order, by one worker at a time, and several parts are read
    /// at once. No subject may belong to two of them. The whole stream is one part when left out.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Where a part begins of which nothing has been landed yet; `earliest` when left out.
    #[serde(default)]
    pub start: NatsStartSpec,
    /// What happens when the stream isn't the one that was landed (it was deleted and made anew); `fail` when left out.
    #[serde(default)]
    pub on_recreated: RecreatedSpec,
    /// What happens when messages are gone before they were landed (the stream's limits, or a purge); `fail` when left out. In a stream
    /// that keeps so many messages of each subject, older ones give way to newer ones: there it isn't asked.
    #[serde(default)]
    pub on_lost: LostSpec,
    /// A worker from which another one has taken a part stands by. It takes the part again when so many seconds have gone by in which
    /// messages waited and none landed; 30 when left out.
    #[serde(default)]
    pub stand_by_s: Option<u64>,
    /// The JetStream domain, where the stream is in another one than the server's.
    #[serde(default)]
    pub domain: Option<String>,
    /// TLS, with the system's certificates unless `ca` names others: `{}`.
    #[serde(default)]
    pub tls: Option<NatsTlsSpec>,
    /// Who the worker is for the servers.
    #[serde(default)]
    pub auth: Option<NatsAuthSpec>,
}

/// Where a part begins of which nothing has been landed yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NatsStartSpec {
    /// At the first message that is there.
    #[default]
    Earliest,
    /// Behind the last one.
    Latest,
}

/// TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NatsTlsSpec {
    /// A file of certificates (PEM) that the servers' are signed by, in place of the system's. Relative to the pipeline file.
    #[serde(default)]
    pub ca: Option<String>,
    /// The worker's own certificate, a file (PEM).
    #[serde(default)]
    pub cert: Option<String>,
    /// The key of that certificate, a file (PEM).
    #[serde(default)]
    pub key: Option<String>,
}

/// Who the worker is: one of `user` with `password`, `token`, `credentials`, `nkey`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NatsAuthSpec {
    /// The user. `${NAME}` is taken from the environment.
    #[serde(default)]
    pub user: Option<String>,
    /// The password: `${NAME}`, never the password itself.
    #[serde(default)]
    pub password: Option<String>,
    /// A token: `${NAME}`.
    #[serde(default)]
    pub token: Option<String>,
    /// A file of credentials (a user's JWT and seed, as `nsc` writes it). Relative to the pipeline file.
    #[serde(default)]
    pub credentials: Option<String>,
    /// The seed of an NKey: `${NAME}`.
    #[serde(default)]
    pub nkey: Option<String>,
}
