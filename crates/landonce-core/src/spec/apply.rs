//! `apply:` as written: SQL that a newly written record brings about, in the transaction of its row.

use schemars::JsonSchema;
use serde::Deserialize;

/// A statement that runs once for each record that is newly written, in the transaction of its row; never for a duplicate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplySpec {
    /// One INSERT, UPDATE or DELETE, in which `:name` stands for the row's column of that name:
    /// `UPDATE account SET balance = balance + :amount WHERE customer_id = :customer_id`.
    pub sql: String,
    /// How many rows it must change: a record for which it changes others fails. Any number when left out.
    #[serde(default)]
    pub rows: Option<u64>,
}
