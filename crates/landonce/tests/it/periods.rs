//! A run overwrites its period (H3, H4): after it the period holds exactly the payload's rows, and every other period and
//! owner is as it was, to the byte.

use landonce::{Batch, Error, Options, Pipeline, Receipt};
use landonce_testkit::dump::physical;

use crate::given::{Given, patient, pipeline};

mod at_once;
mod bounds;
mod callers;
mod copies;
mod existing;
mod ledger;
mod loads;
mod lost;
mod model;
mod removal;

/// Days of UTC, one shop's.
const DAYS: &str = "identity: [id]
target: {table: t, columns: {at: timestamptz, v: text}}
write: {mode: overwrite_period, period: {field: at, every: day, tz: UTC}}";

fn days() -> Pipeline {
    pipeline(DAYS)
}

/// A record of a day, at noon.
fn row(id: u32, day: &str, v: &str) -> String {
    format!(r#"{{"id":{id},"at":"{day}T12:00:00Z","v":"{v}"}}"#)
}

fn batch(lines: &[impl AsRef<str>]) -> Batch {
    let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
    Batch::from_bytes("day.ndjson", lines.join("\n"))
}

/// Loads a period.
async fn load(
    given: &Given,
    pipeline: &Pipeline,
    period: &str,
    lines: &[impl AsRef<str>],
) -> Result<Receipt, Error> {
    load_with(given, pipeline, period, lines, &patient()).await
}

async fn load_with(
    given: &Given,
    pipeline: &Pipeline,
    period: &str,
    lines: &[impl AsRef<str>],
    options: &Options,
) -> Result<Receipt, Error> {
    pipeline.in_period(period).unwrap().ingest_with(&given.store, &batch(lines), options).await
}

/// The counts, with the rows that were removed.
fn counts(receipt: &Receipt) -> String {
    let counts = crate::given::counts(receipt);
    match receipt.outcome.removed {
        0 => counts,
        removed => format!("{counts}; removed {removed}"),
    }
}

/// `id v` of all rows.
async fn rows(given: &Given) -> Vec<String> {
    let id = if given.is_postgres() { "id::text" } else { "CAST(id AS TEXT)" };
    given.column(&format!("SELECT {id} || ' ' || v FROM t ORDER BY CAST(id AS INTEGER)")).await
}

/// Every row's place and versions, where the store shows them.
async fn touched(given: &Given) -> Vec<(String, String, String)> {
    if !given.is_postgres() {
        return Vec::new();
    }
    let rows = physical(&given.database().client().await, "public.t").await;
    rows.into_iter().map(|row| (row.ctid, row.xmin, row.xmax)).collect()
}
