//! `derive:` as written: tables that a query computes from the target, period by period.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ColumnsSpec, PeriodSpec};

/// A table that a query computes from the target, or from another derived table, period by period. Every period whose rows
/// a batch really changes is computed again, and only what differs is written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeriveSpec {
    /// The derived table, perhaps with its schema. Made when it doesn't exist.
    pub table: String,
    /// What it is computed from: the target when left out, or the name of another derived table of this pipeline.
    #[serde(default)]
    pub from: Option<String>,
    /// The columns that identify a row; the period's field is one of them.
    pub key: Vec<String>,
    /// Which rows of the derived table are a period's.
    pub period: PeriodSpec,
    /// The field (or column) of `from` that tells which period a row counts in; the name of the period's field when left out.
    #[serde(default)]
    pub of: Option<String>,
    /// How many periods behind a changed one change with it, for sums over several periods: 27 for the flight time of the last
    /// 28 days. None when left out.
    #[serde(default)]
    pub reach: Option<u16>,
    /// The columns and their types. The query gives each of them by its name.
    pub columns: ColumnsSpec,
    /// The query of one period: a SELECT with `{period.start}`, `{period.end}`, `{period.date}`, `{period.until}` or
    /// `{period.label}` in place of literals, without quotes around them.
    pub sql: String,
}
