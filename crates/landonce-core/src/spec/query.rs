//! A query to another database, as it is declared.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A query to another database: each of its rows is a record, each of its columns a field.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuerySpec {
    /// Where to ask: `postgres://…`, `mysql://…` or `sqlite:FILE`. `${NAME}` is taken from the environment.
    pub url: String,
    /// One SELECT. `{since}` and, in a pipeline that is loaded by periods, `{period.start}` and its like are bound as values.
    pub sql: String,
    /// Where a run goes on; without it each run reads all rows.
    #[serde(default)]
    pub since: Option<SinceSpec>,
    /// Columns whose type their database doesn't know.
    #[serde(default)]
    pub types: BTreeMap<String, QueryTypeSpec>,
    /// The longest that the database may be silent, before and between rows: `30s`, `10m` (when left out), `2h`.
    #[serde(default)]
    pub timeout: Option<String>,
}

/// Where a run of a query goes on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SinceSpec {
    /// The column of the query that grows: a time of change, a number that is given in order. `{since}` is the highest that has
    /// landed; rows that equal it must come again, so write `>=`.
    pub column: String,
    /// What `{since}` is as long as nothing has landed.
    pub start: String,
    /// How far below the highest value `{since}` is: `5m` for times, a whole number for numbers; nothing when left out. Rows that were
    /// committed later than others of higher values are found as long as they lie within it.
    #[serde(default)]
    pub overlap: Option<String>,
    /// The rows come in the column's order (`ORDER BY` it): then a run that was cut off goes on where it was. A row that comes out of
    /// order fails the run.
    #[serde(default)]
    pub ordered: bool,
}

/// What a column is, where its database has only texts and numbers for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueryTypeSpec {
    /// JSON in a text.
    Json,
    /// 0 and 1.
    Boolean,
}
