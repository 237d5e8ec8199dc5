//! An HTTP API that is read page by page (F5): whatever goes wrong meanwhile, the target holds what the API has, once.

mod again;
mod ends;
mod failures;
mod refusals;
mod snapshots;

use landonce::Pipeline;

use crate::given::pipeline;
pub(crate) use landonce_testkit::source::{Asked, Does, Server};

/// Tiny pauses, so that no test waits.
const QUICK: &str = "retry: {attempts: 4, first: 1ms, most: 2ms}";

/// A duty of somebody's, with digits that no double has.
fn duty(id: usize, updated_at: &str) -> String {
    format!(
        r#"{{"duty_id":{id},"crew":"c{}","hours":0.1000000000000000{id:03},"updated_at":"{updated_at}"}}"#,
        id % 5
    )
}

/// Duties from one to another, all of one moment.
fn duties(ids: std::ops::Range<usize>) -> Vec<String> {
    ids.map(|id| duty(id, "2026-03-01T12:00:00Z")).collect()
}

fn list(rows: &[String]) -> String {
    format!("[{}]", rows.join(","))
}

/// The page of these rows that begins behind `offset`.
fn slice(rows: &[String], offset: usize, size: usize) -> &[String] {
    &rows[offset.min(rows.len())..(offset + size).min(rows.len())]
}

/// A roster that is read from this address.
fn roster(url: &str, http: &str, more: &str) -> Pipeline {
    pipeline(&format!(
        "pipeline: roster\nidentity: [duty_id]\ntarget: {{table: roster, columns: {{duty_id: integer, hours: 'decimal(20,19)', \
         updated_at: timestamptz}}}}\nsource:\n  http: {{url: '{url}', {QUICK}{}{http}}}\n{more}",
        if http.is_empty() { "" } else { ", " }
    ))
}

/// The pages of these rows, by a cursor that is their offset.
fn by_cursor(rows: Vec<String>, size: usize) -> impl Fn(&Asked, usize) -> Does + Send + Sync + 'static {
    move |asked, _| cursor_page(&rows, asked, size)
}

fn cursor_page(rows: &[String], asked: &Asked, size: usize) -> Does {
    let offset = asked.number("cursor");
    let next = offset + size;
    let next = if next < rows.len() { format!("\"{next}\"") } else { "null".to_owned() };
    Does::json(format!(
        r#"{{"data":{{"items":{}}},"meta":{{"next":{next},"total":{}}}}}"#,
        list(slice(rows, offset, size)),
        rows.len()
    ))
}

const CURSOR: &str = "records: data.items, page: {cursor: {param: cursor, from: meta.next}}";
