//! A pipeline as its user writes it: YAML, every key known, every fault with its line and column.
//!
//! A [`Spec`] is only text that parsed. [`crate::pipeline::Pipeline`] is what it means, checked as a whole.

mod apply;
mod archive;
mod column;
mod command;
mod complete;
mod cut;
mod derive;
mod fault;
mod hook;
mod http;
mod identity;
mod kafka;
mod message;
mod nats;
mod notify;
mod query;
mod whole;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use apply::ApplySpec;
pub use archive::{ArchiveMap, ArchiveSpec};
pub use column::{ColumnSpec, ColumnsSpec};
pub use command::{CommandSpec, SingerSpec};
pub use complete::{
    CompleteSpec, CountSpec, MarkerRecordSpec, MarkerSpec, ProofMap, ProofSpec, ProofWord, SideFileSpec,
};
pub use cut::CutSpec;
pub use derive::DeriveSpec;
pub use fault::SpecError;
pub use hook::{
    EncodingSpec, EventIdSpec, GroupSpec, HashSpec, HmacSpec, HookFieldSpec, HookSpec, SchemeSpec,
};
pub use http::{
    CursorSpec, HttpAuthSpec, HttpBasicSpec, HttpRetrySpec, HttpSinceSpec, HttpSpec, HttpTlsSpec, LinkMap,
    LinkSpec, NumberSpec, OffsetSpec, PageSizeSpec, PageSpec, RedirectsSpec,
};
pub use identity::{
    AllFields, IdentityFields, IdentityMap, IdentitySpec, KeyFormSpec, Normalize, NullKey, Repeats,
};
pub use kafka::{KafkaSaslSpec, KafkaSpec, KafkaTlsSpec, LostSpec, MechanismSpec, RecreatedSpec, StartSpec};
pub use message::{
    CodecSpec, EnvelopeSpec, KeyCodecSpec, KeyMap, KeySpec, MessageFieldSpec, MessageSpec, RegistrySpec,
    TombstoneSpec,
};
pub use nats::{NatsAuthSpec, NatsSpec, NatsStartSpec, NatsTlsSpec};
pub use notify::{ChangeKind, NotifySpec, OrderSpec, PayloadSpec, ValueSpec, WhereSpec};
pub use query::{QuerySpec, QueryTypeSpec, SinceSpec};
pub use whole::{OwnerSpec, PeriodSpec, PlausibleSpec};

/// A pipeline file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "landonce pipeline")]
pub struct Spec {
    /// The pipeline's name: with the batch id it makes the inbox key, so renaming it forgets what has landed.
    pub pipeline: String,
    /// Where to write: `sqlite:landonce.db` or `postgres://…`. `${NAME}` is taken from the environment. `--store` wins.
    #[serde(default)]
    pub store: Option<String>,
    /// What to read. May be left out when the file is given on the command line.
    #[serde(default)]
    pub source: SourceSpec,
    /// What makes two records the same.
    pub identity: IdentitySpec,
    /// Fields that change per attempt (`sent_at`, `attempt`, `trace.id`): no part of the content digest.
    #[serde(default)]
    pub volatile: Vec<String>,
    /// Where records go.
    pub target: TargetSpec,
    /// How they are written.
    #[serde(default)]
    pub write: WriteSpec,
    /// What a bad record does.
    #[serde(default)]
    pub on_bad_record: OnBadSpec,
    /// Tables that are computed from the target, period by period.
    #[serde(default)]
    pub derive: Vec<DeriveSpec>,
    /// Where each batch's source bytes are kept before it lands; nowhere when left out.
    #[serde(default)]
    pub archive: Option<ArchiveSpec>,
    /// Changes of the target's rows that others are told of.
    #[serde(default)]
    pub notify: Vec<NotifySpec>,
    /// SQL that each newly written record brings about, in the transaction of its row: a balance, a counter.
    #[serde(default)]
    pub apply: Vec<ApplySpec>,
    /// How a sender's webhooks come in, with `landonce serve`.
    #[serde(default)]
    pub hook: Option<HookSpec>,
}

/// What to read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceSpec {
    /// A file, or a glob: each file is a batch of its own, in name order. Relative to the pipeline file.
    #[serde(default)]
    pub file: Option<String>,
    /// Topics of a Kafka cluster, read by `landonce consume`.
    #[serde(default)]
    pub kafka: Option<KafkaSpec>,
    /// A stream of NATS JetStream, read by `landonce consume`.
    #[serde(default)]
    pub nats: Option<NatsSpec>,
    /// An HTTP API, page by page.
    #[serde(default)]
    pub http: Option<HttpSpec>,
    /// The rows of a query to another database.
    #[serde(default)]
    pub query: Option<QuerySpec>,
    /// What a program writes to its standard output.
    #[serde(default)]
    pub command: Option<CommandSpec>,
    /// With `kafka` or `nats`: how a message becomes a record.
    #[serde(default)]
    pub message: Option<MessageSpec>,
    /// With `kafka`, `nats`, `http`, `query` or `command`: how much lands in one transaction.
    #[serde(default)]
    pub batch: CutSpec,
    /// The format; guessed from the file's name and first bytes when left out.
    #[serde(default)]
    pub format: Option<FormatSpec>,
    /// Options for CSV.
    #[serde(default)]
    pub csv: CsvSpec,
    /// The longest record in bytes; 16 MiB when left out.
    #[serde(default)]
    pub max_record: Option<u64>,
    /// What proves that a payload is complete. A payload that fails a declared proof isn't taken.
    #[serde(default)]
    pub complete: CompleteSpec,
}

/// A file format. Compression (gzip, zstd) is seen from the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FormatSpec {
    /// One JSON object a line.
    Ndjson,
    /// One array of JSON objects.
    Json,
    /// A GeoJSON FeatureCollection: each feature's properties, and its geometry.
    Geojson,
    /// Comma-separated values with a header.
    Csv,
    /// Apache Parquet, in a landonce that was built with the feature `parquet`.
    Parquet,
}

/// Options for CSV.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CsvSpec {
    /// The delimiter, one ASCII character; `,` when left out (a tab for `.tsv`).
    #[serde(default)]
    pub delimiter: Option<String>,
    /// The column names, for files without a header.
    #[serde(default)]
    pub header: Option<Vec<String>>,
    /// Field texts that mean null, for example `[NA, "\\N"]`.
    #[serde(default)]
    pub nulls: Vec<String>,
}

/// Where records go.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// The table, perhaps with its schema: `duty_event`, `ops.duty_event`. Made when it doesn't exist.
    pub table: String,
    /// Columns and their types. Fields without a column land in `rest`.
    #[serde(default)]
    pub columns: ColumnsSpec,
    /// The JSON column for fields without a column of their own: a name, `ignore` or `refuse`. `payload` for a table that
    /// landonce makes; otherwise `payload` if the table has it, else `refuse`.
    #[serde(default)]
    pub rest: Option<String>,
    /// The names of the columns that landonce fills.
    #[serde(default)]
    pub managed: ManagedSpec,
}

/// The names of the columns that landonce fills, in a table that exists only those that it has.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ManagedSpec {
    /// The hashed key.
    pub key: String,
    /// The content digest.
    pub digest: String,
    /// The run that last changed the row.
    pub run_id: String,
    /// How many times the row really changed, from 1.
    pub revision: String,
    /// With `absent: retire`: when the row was found absent; NULL in a row that is there.
    pub retired_at: String,
    /// With `absent: retire`: the run that found it so.
    pub retired_by: String,
}

impl ManagedSpec {
    /// All of them.
    pub fn names(&self) -> [&str; 6] {
        [&self.key, &self.digest, &self.run_id, &self.revision, &self.retired_at, &self.retired_by]
    }
}

impl Default for ManagedSpec {
    fn default() -> Self {
        Self {
            key: "landonce_key".into(),
            digest: "landonce_digest".into(),
            run_id: "landonce_run_id".into(),
            revision: "landonce_revision".into(),
            retired_at: "landonce_retired_at".into(),
            retired_by: "landonce_retired_by".into(),
        }
    }
}

/// How records are written.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteSpec {
    /// What happens to a row that is there already; `upsert` when left out.
    #[serde(default)]
    pub mode: ModeSpec,
    /// The field that orders two contents of one identity: the higher wins, an older one is `stale`, an equal one with
    /// other content is a `conflict`. Its column needs a type with an order.
    #[serde(default)]
    pub version: Option<String>,
    /// With `mode: upsert`: what an absent field does to a row that is there; `replace` when left out. With `mode:
    /// snapshot`: what becomes of a row that the payload doesn't have.
    #[serde(default)]
    pub absent: Option<AbsentSpec>,
    /// With `mode: overwrite_period`: which rows are a period's.
    #[serde(default)]
    pub period: Option<PeriodSpec>,
    /// With `mode: overwrite_period` or `snapshot`: fields and the value that each has in all rows of this source, which owns only those.
    /// A record that doesn't have the field gets the value.
    #[serde(default)]
    pub owner: OwnerSpec,
    /// With `mode: overwrite_period`: a payload without records empties a period that has rows. Otherwise it is refused.
    #[serde(default)]
    pub allow_empty: bool,
    /// With `mode: snapshot`: every version of a row is kept in `<table>_history`, with `valid_from` and `valid_to`.
    #[serde(default)]
    pub history: bool,
    /// With `mode: snapshot`: how far a payload may differ from what is there before the run is held for a person to look.
    #[serde(default)]
    pub plausible: PlausibleSpec,
    /// Which records are deletes.
    #[serde(default)]
    pub delete_when: Option<DeleteSpec>,
    /// What a delete does to its row, whether a record says it (`delete_when`) or a message; `delete` when left out.
    #[serde(default)]
    pub deleted: DeletedSpec,
}

/// What a delete does to its row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeletedSpec {
    /// It is deleted.
    #[default]
    Delete,
    /// It is marked as retired, and restored by the next put.
    Retire,
}

/// The write modes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModeSpec {
    /// The first delivery's row stays.
    InsertOnce,
    /// The newest content wins; equal content is left untouched.
    #[default]
    Upsert,
    /// The run's period holds exactly the payload's rows; every other period stays as it is.
    OverwritePeriod,
    /// The source's rows are exactly the payload's: a row that a complete and plausible payload doesn't have is retired or
    /// deleted; otherwise the run is held.
    Snapshot,
}

/// What absence does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AbsentSpec {
    /// A field: the record is the whole row, it becomes NULL.
    Replace,
    /// A field: the record is a change, what is there stays. A row: it stays as it is.
    Keep,
    /// A row: it is marked as retired, and restored when it comes again.
    Retire,
    /// A row: it is deleted.
    Delete,
}

/// Which records are deletes: those whose field has one of these texts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSpec {
    /// The field.
    pub field: String,
    /// Its texts.
    pub equals: Vec<String>,
}

/// What a bad record does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnBadSpec {
    /// The batch fails, nothing is written, the error lists the bad records.
    #[default]
    Fail,
    /// The good ones land, the bad ones are kept whole.
    Quarantine(QuarantineSpec),
}

/// The quarantine's ceiling.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuarantineSpec {
    /// How many bad records a batch may have before it fails: a share (`1%`) or a number.
    pub max: String,
}

/// Reads a declaration of any kind from its YAML, as all of landonce's files are read.
///
/// # Errors
/// What is wrong, with its line and column, and the nearest known name.
pub fn read<T: DeserializeOwned>(yaml: &str) -> Result<T, SpecError> {
    // An owner of the name `NO`, or `007`, is a text, as written: YAML 1.1 would make false and 7 of them.
    let options = serde_saphyr::options! { strict_booleans: true, leading_zero_numbers_as_strings: true };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| SpecError::new(&error))
}

impl Spec {
    /// Parses a pipeline file's text.
    pub fn parse(yaml: &str) -> Result<Self, SpecError> {
        read(yaml)
    }

    /// The JSON Schema of pipeline files, pretty-printed (committed as `docs/reference/pipeline.schema.json`).
    pub fn json_schema() -> String {
        let schema = schemars::schema_for!(Self);
        // A schema is made of plain JSON values, which always serialise.
        serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests;
