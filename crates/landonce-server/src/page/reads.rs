//! What pages have in common when they ask the store: how a failure is told, and where a list goes on.

use axum::http::StatusCode;
use landonce::reads::Cursor;
use landonce::{Code, Error, InboxKey, Kind};

use super::visitor::not_found;
use crate::problem::Problem;

/// Microseconds of an hour.
pub(super) const HOUR: i64 = 3_600_000_000;

/// A failure of the store, as it is told. What was asked for wrongly is an address that leads nowhere.
pub(super) fn failed(error: Error) -> Problem {
    match error.kind() {
        Kind::Pipeline => Problem::of(StatusCode::NOT_FOUND, Code::L1025, error.to_string()),
        _ => error.into(),
    }
}

/// Where a list goes on, as it stands in an address.
pub(super) fn cursor_text(cursor: &Cursor) -> String {
    format!("{}~{}", cursor.settled_at, hex::encode(cursor.key.0))
}

/// From an address.
pub(super) fn cursor(text: &str) -> Result<Cursor, Problem> {
    let parsed = || {
        let (settled_at, key) = text.split_once('~')?;
        settled_at.parse::<jiff::Timestamp>().ok()?;
        Some(Cursor {
            settled_at: settled_at.to_owned(),
            key: InboxKey(hex::decode(key).ok()?.try_into().ok()?),
        })
    };
    parsed().ok_or_else(|| not_found("This address of a page of batches isn't whole."))
}
