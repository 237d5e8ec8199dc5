//! A server file as it is written: only text that parsed. [`super::Config`] is what it means.

use landonce_core::spec::{SpecError, read};
use schemars::JsonSchema;
use serde::Deserialize;

use super::telemetry::TelemetrySpec;
use crate::auth::May;

/// A server file (`--config serve.yaml`). Everything may be left out.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "landonce server")]
pub struct Spec {
    /// The store of all pipelines: `sqlite:landonce.db` or `postgres://…`. `${NAME}` is taken from the environment. `--store` wins.
    #[serde(default)]
    pub store: Option<String>,
    /// The address to listen on; `127.0.0.1:8080` when left out. `--listen` wins.
    #[serde(default)]
    pub listen: Option<String>,
    /// The certificate that the server shows; plain HTTP when left out.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// A proxy before the server does TLS, so that plain HTTP on an address that others reach is meant.
    #[serde(default)]
    pub behind_proxy: bool,
    /// Where people reach the server, if that isn't where it listens: `https://ingest.example`.
    #[serde(default)]
    pub public_url: Option<String>,
    /// Further names that it answers to. `localhost`, addresses and the name in `public_url` are known; a request to another name
    /// is refused (421), which keeps other people's pages from reaching it through a name of theirs.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Who may do what. Without tokens the server listens on loopback only, and whoever reaches it may do everything.
    #[serde(default)]
    pub tokens: Vec<TokenSpec>,
    /// What a request may use, and all of them together.
    #[serde(default)]
    pub limits: LimitsSpec,
    /// How long requests that were taken have for their answers once the server is told to stop; `25s` when left out.
    #[serde(default)]
    pub drain: Option<String>,
    /// Hands the outbox's messages to their destinations, as `landonce deliver` does.
    #[serde(default)]
    pub deliver: Option<DeliverSpec>,
    /// When derived tables are computed.
    #[serde(default)]
    pub derive: DeriveSpec,
    /// Where a batch's id is looked for beside `Idempotency-Key`.
    #[serde(default)]
    pub batch_id: BatchIdSpec,
    /// What is told to systems that watch, beside the log and `/metrics`.
    #[serde(default)]
    pub telemetry: TelemetrySpec,
}

/// A certificate and its key.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// The certificate's file with its chain, PEM; relative to the server file.
    pub certificate: String,
    /// The private key's file, PEM; relative to the server file.
    pub key: String,
}

/// Somebody who may ask.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenSpec {
    /// A name, for logs and the list of actions.
    pub name: String,
    /// The SHA-256 of the token: `sha256:…`, as `landonce serve token` prints it. The token itself stands nowhere.
    pub hash: String,
    /// What it is good for.
    pub may: Vec<May>,
    /// With which pipelines; with all when left out.
    #[serde(default)]
    pub pipelines: Option<Vec<String>>,
}

/// What a request may use, and all of them together. Sizes: `64kB`, `64MiB`, `4GiB`; times: `500ms`, `10s`, `5m`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsSpec {
    /// The longest body of a batch as it is sent, compressed or not; `256MiB` when left out.
    #[serde(default)]
    pub body: Option<String>,
    /// The longest body of a webhook; `1MiB` when left out.
    #[serde(default)]
    pub hook_body: Option<String>,
    /// The longest batch when it is decompressed; `4GiB` when left out.
    #[serde(default)]
    pub decoded: Option<String>,
    /// The most records of a batch; 10,000,000 when left out.
    #[serde(default)]
    pub records: Option<u64>,
    /// How long a body may take to arrive; `10m` when left out.
    #[serde(default)]
    pub request_time: Option<String>,
    /// How long a request's head may take to arrive, and a TLS handshake; `10s` when left out.
    #[serde(default)]
    pub header_time: Option<String>,
    /// How long nothing may arrive: of a body, or between two requests on a connection; `60s` when left out.
    #[serde(default)]
    pub idle_time: Option<String>,
    /// The most batches at once; 32 when left out. One more is told to come again (503).
    #[serde(default)]
    pub concurrency: Option<usize>,
    /// The most batches at once of one token for one pipeline; 16 when left out. One more is told to come again (429).
    #[serde(default)]
    pub per_pipeline: Option<usize>,
    /// The most connections; 1024 when left out. One more is told to come again (503) and closed.
    #[serde(default)]
    pub connections: Option<usize>,
    /// The most bytes of bodies that lie in temporary files at once; `4GiB` when left out. Beyond, requests are told to come again
    /// (503).
    #[serde(default)]
    pub spool: Option<String>,
}

/// Delivery of the outbox.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliverSpec {
    /// The delivery file (`docs/reference/deliver.md`), relative to the server file.
    pub file: String,
    /// How many workers; 1 when left out.
    #[serde(default)]
    pub workers: Option<usize>,
}

/// When derived tables are computed.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeriveSpec {
    /// Whether they are at all; they are when left out.
    #[serde(default)]
    pub run: Option<bool>,
    /// How often what is due is looked for, beside after every batch that lands here; `60s` when left out.
    #[serde(default)]
    pub every: Option<String>,
}

/// Where a batch's id is looked for, beside `Idempotency-Key`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchIdSpec {
    /// A header of the sender's: `X-Batch-Id`.
    #[serde(default)]
    pub header: Option<String>,
    /// A field of the query; `batch_id` when left out.
    #[serde(default)]
    pub query: Option<String>,
}

impl Spec {
    /// Parses a server file's text.
    ///
    /// # Errors
    /// What is wrong, with its line and column, and the nearest known name.
    pub fn parse(yaml: &str) -> Result<Self, SpecError> {
        read(yaml)
    }

    /// The JSON Schema of server files, pretty-printed (committed as `docs/reference/serve.schema.json`).
    pub fn json_schema() -> String {
        let schema = schemars::schema_for!(Self);
        // A schema is made of plain JSON values, which always serialise.
        serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
    }
}
