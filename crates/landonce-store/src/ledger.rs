//! The ledger: what has been loaded of which period, one row per pipeline and period label.
//!
//! A load enters it in the transaction of its own rows, so that a period is never said to be loaded without its rows, nor
//! the other way round. A failed attempt is noted beside what is loaded, and never in its place.

use uuid::Uuid;

use crate::error::{Error, Result};

/// A period, as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The pipeline's name.
    pub pipeline: String,
    /// The period's label.
    pub label: String,
    /// Its first instant, in microseconds since 1970 in UTC.
    pub start: i64,
    /// The first instant behind it.
    pub end: i64,
    /// How many loads have landed; 0 for none yet.
    pub loads: u64,
    /// The last of them.
    pub loaded: Option<Loaded>,
    /// The last attempt, if that has failed since. The next load clears it.
    pub failed: Option<Failed>,
}

/// A load that has landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// SHA-256 of the payload's bytes.
    pub digest: [u8; 32],
    /// Whether the period was over when the run began; false is a partial load, which is due again.
    pub is_complete: bool,
    /// The batch that it came in.
    pub batch_id: String,
    /// The run that landed it.
    pub run_id: Uuid,
    /// How many rows the period has by it.
    pub rows: u64,
    /// When, by the database's clock, RFC 3339 in UTC.
    pub loaded_at: String,
}

/// An attempt that has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The run that failed.
    pub run_id: Uuid,
    /// The error's code.
    pub code: String,
    /// What it said.
    pub message: String,
    /// When, by the database's clock, RFC 3339 in UTC.
    pub failed_at: String,
}

/// A load that wants in.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// The pipeline's name.
    pub pipeline: &'a str,
    /// The period's label.
    pub label: &'a str,
    /// Its first instant, in microseconds since 1970 in UTC.
    pub start: i64,
    /// The first instant behind it.
    pub end: i64,
    /// SHA-256 of the payload's bytes.
    pub digest: [u8; 32],
    /// Whether the period was over when the run began.
    pub is_complete: bool,
    /// The batch that it comes in.
    pub batch_id: &'a str,
    /// The run that lands it.
    pub run_id: Uuid,
    /// How many rows the period has by it.
    pub rows: u64,
}

/// A failed attempt to be noted.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// The pipeline's name.
    pub pipeline: &'a str,
    /// The period's label.
    pub label: &'a str,
    /// Its first instant, in microseconds since 1970 in UTC.
    pub start: i64,
    /// The first instant behind it.
    pub end: i64,
    /// The run that failed.
    pub run_id: Uuid,
    /// The error's code.
    pub code: &'a str,
    /// What it said, without secrets.
    pub message: &'a str,
}

/// Refuses what no database text can hold.
pub(crate) fn check(doing: &str, names: &[(&str, &str)]) -> Result<()> {
    for (what, text) in names {
        if text.contains('\0') {
            return Err(Error::refused(format!(
                "{doing}: the {what} holds U+0000, which no database text can hold"
            )));
        }
    }
    Ok(())
}

/// An error's words can quote the very character that a record was refused for.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\\u0000")
}

/// A row that landonce can't have written.
pub(crate) fn strange(label: &str, what: &str) -> Error {
    let shown = landonce_core::bad_record::shorten(label);
    Error::refused(format!("the ledger's row of period {shown} {what}: landonce didn't write it so"))
}
