//! A payload that is all there is (J5, J6): proven whole and plausible it is what stands afterwards, and what it doesn't have is
//! retired; otherwise it is held for a person, and the target is as it was.

use landonce::held::{Although, Held};
use landonce::{Batch, Pipeline, Receipt, Status};

use crate::given::{Given, patient, pipeline};

mod at_once;
mod existing;
mod holds;
mod loads;
mod lost;
mod releases;

/// Rows are retired; what is plausible is left as it comes.
fn retiring() -> Pipeline {
    declared("absent: retire")
}

/// No share is too large.
fn anything(absent: &str) -> Pipeline {
    declared(&format!("absent: {absent}, plausible: {{rows: any, changed: any, retired: any}}"))
}

fn declared(write: &str) -> Pipeline {
    pipeline(&format!(
        "identity: [id]\ntarget: {{table: t, managed: {{retired_at: retired_at, retired_by: retired_by}}, columns: {{id: integer, v: text}}}}\nsource: {{complete: {{end_marker: '#EOF'}}}}\n\
         write: {{mode: snapshot, {write}}}"
    ))
}

/// Records with their ids and one content.
fn rows(ids: impl IntoIterator<Item = u32>, v: &str) -> Vec<String> {
    ids.into_iter().map(|id| format!(r#"{{"id":{id},"v":"{v}"}}"#)).collect()
}

/// A payload with its end marker.
fn whole(rows: &[String]) -> Batch {
    Batch::from_bytes("t.ndjson", format!("{}\n#EOF\n", rows.join("\n")))
}

/// A payload without: cut at a line's end.
fn cut(rows: &[String]) -> Batch {
    Batch::from_bytes("t.ndjson", format!("{}\n", rows.join("\n")))
}

async fn land(given: &Given, pipeline: &Pipeline, rows: &[String]) -> Receipt {
    let receipt = given.deliver_batch(pipeline, &whole(rows)).await.unwrap();
    assert_eq!(receipt.status, Status::Processed, "{:?}", receipt.notes.reasons);
    receipt
}

async fn hold(given: &Given, pipeline: &Pipeline, batch: &Batch) -> Vec<String> {
    let receipt = given.deliver_batch(pipeline, batch).await.unwrap();
    assert_eq!(receipt.status, Status::Held, "{receipt:?}");
    assert!(!receipt.notes.reasons.is_empty());
    receipt.notes.reasons
}

async fn the_held(given: &Given) -> Held {
    let mut held = given.store.held(Some("p"), false).await.unwrap();
    assert_eq!(held.len(), 1, "{held:?}");
    held.remove(0)
}

async fn release(given: &Given, pipeline: &Pipeline, although: Although) -> Result<Receipt, landonce::Error> {
    let held = the_held(given).await;
    pipeline.release(&given.store, &held, although, &patient()).await
}

/// The counts, with what has gone and come again.
fn counts(receipt: &Receipt) -> String {
    let mut counts = crate::given::counts(receipt);
    let outcome = receipt.outcome;
    for (name, count) in
        [("retired", outcome.retired), ("removed", outcome.removed), ("restored", outcome.restored)]
    {
        if count > 0 {
            counts.push_str(&format!("; {name} {count}"));
        }
    }
    counts
}

/// `id v` of the rows that stand.
async fn standing(given: &Given) -> Vec<String> {
    given.column("SELECT id || ' ' || v FROM t WHERE retired_at IS NULL ORDER BY id").await
}

async fn retired(given: &Given) -> Vec<String> {
    given.column("SELECT id || ' ' || v FROM t WHERE retired_at IS NOT NULL ORDER BY id").await
}

fn shown(ids: impl IntoIterator<Item = u32>, v: &str) -> Vec<String> {
    ids.into_iter().map(|id| format!("{id} {v}")).collect()
}
