//! `http:` as written: a receiver by its URL.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::AllowSpec;
use crate::secret::SecretName;

/// A receiver that takes messages by HTTP: `POST`, by Standard Webhooks.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    /// Where to, `https://…`. `${NAME}` is taken from the environment.
    pub url: String,
    /// The secrets (`whsec_…`) that messages are signed with, each as `${NAME}`; two while one is being replaced.
    #[serde(default)]
    pub sign: Vec<SecretName>,
    /// A bearer token for `authorization`, as `${NAME}`.
    #[serde(default)]
    pub bearer: Option<SecretName>,
    /// Further headers. `${NAME}` is taken from the environment.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A PEM file of certificates to trust beside the system's, relative to this file.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// What we show of ourselves: a client certificate.
    #[serde(default)]
    pub client: Option<ClientSpec>,
    /// Addresses that aren't public (loopback, private, link-local …) and may be connected to all the same; none when left out.
    #[serde(default)]
    pub allow_private: AllowSpec,
    /// How many redirects are followed, up to 5; none when left out.
    #[serde(default)]
    pub redirects: u8,
    /// The longest that a request may take in all; `10s` when left out.
    #[serde(default)]
    pub timeout: Option<String>,
    /// The longest that connecting may take; `5s` when left out.
    #[serde(default)]
    pub connect: Option<String>,
    /// How much of an answer is read; `64kB` when left out. The rest is dropped with the connection.
    #[serde(default)]
    pub max_answer: Option<String>,
}

/// A client certificate (mTLS): PEM files, relative to the file that names them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// The certificate, and those between it and its authority.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}
