//! What `landonce archive` says.

use landonce::archive::{Manifest, Pruned};
use serde::Serialize;

use crate::args::OutputForm;
use crate::failure::Failure;
use crate::report::{self, Table};

/// How wide the sources are shown, in characters.
const SOURCE: usize = 40;

#[derive(Serialize)]
struct ListReport<'r> {
    archive: &'r str,
    batches: Vec<&'r Manifest>,
}

pub(super) fn list<'r>(
    place: &'r str,
    shown: impl Iterator<Item = &'r Manifest>,
    all: usize,
    form: OutputForm,
) -> Result<(), Failure> {
    let shown: Vec<&Manifest> = shown.collect();
    if form.is_json() {
        return report::json(&ListReport { archive: place, batches: shown });
    }
    if shown.is_empty() {
        return report::print(&format!("nothing of this pipeline is in {} yet\n", report::line(place)));
    }
    let mut table = Table::new(&["received at (UTC)", "batch", "source", "bytes", "SHA-256"]);
    for one in &shown {
        table.push(vec![
            report::moment(&one.received_at.to_string()),
            report::line(report::short(&one.batch_id)).into_owned(),
            report::tail(&report::line(&one.source), SOURCE).into_owned(),
            one.length.to_string(),
            one.digest.chars().take(12).collect(),
        ]);
    }
    let mut text = table.render();
    if shown.len() < all {
        text.push_str(&format!("{} of {all}; --limit N shows more\n", shown.len()));
    }
    report::print(&text)
}

#[derive(Serialize)]
struct VerifyReport<'r> {
    status: &'static str,
    archive: &'r str,
    checked: u64,
    damaged: Vec<DamageReport<'r>>,
}

#[derive(Serialize)]
struct DamageReport<'r> {
    batch_id: &'r str,
    digest: &'r str,
    blob: &'r str,
    message: &'r str,
}

pub(super) fn verified(
    place: &str,
    checked: u64,
    damaged: &[(Manifest, String)],
    form: OutputForm,
) -> Result<(), Failure> {
    if form.is_json() {
        let damaged: Vec<DamageReport> = damaged
            .iter()
            .map(|(one, message)| DamageReport {
                batch_id: &one.batch_id,
                digest: &one.digest,
                blob: &one.blob,
                message,
            })
            .collect();
        let status = if damaged.is_empty() { "whole" } else { "damaged" };
        return report::json(&VerifyReport { status, archive: place, checked, damaged });
    }
    let noun = if checked == 1 { "batch" } else { "batches" };
    let mut text = format!("{checked} {noun} in {} checked", report::line(place));
    if damaged.is_empty() {
        text.push_str(", all as they were delivered\n");
    } else {
        text.push_str(&format!(", {} damaged\n", damaged.len()));
        for (_, message) in damaged {
            text.push_str(&format!("  {}\n", report::line(message)));
        }
        text.push_str("the same bytes, delivered again as a batch that has not landed, mend the archive\n");
    }
    report::print(&text)
}

#[derive(Serialize)]
struct PruneReport<'r> {
    status: &'static str,
    archive: &'r str,
    forgotten: &'r [Manifest],
    kept: KeptReport<'r>,
    blobs_condemned: &'r [String],
    blobs_deleted: &'r [String],
    bytes_freed: u64,
    halves_deleted: u64,
}

#[derive(Serialize)]
struct KeptReport<'r> {
    keep_for: u64,
    retry_window: u64,
    never_landed: &'r [Manifest],
}

pub(super) fn pruned(
    place: &str,
    pruned: &Pruned,
    is_applied: bool,
    keeps_all: bool,
    form: OutputForm,
) -> Result<(), Failure> {
    let swept = &pruned.swept;
    if form.is_json() {
        return report::json(&PruneReport {
            status: if is_applied { "applied" } else { "dry_run" },
            archive: place,
            forgotten: &pruned.forgotten,
            kept: KeptReport {
                keep_for: pruned.young,
                retry_window: pruned.may_be_retried,
                never_landed: &pruned.never_landed,
            },
            blobs_condemned: &swept.condemned,
            blobs_deleted: &swept.deleted,
            bytes_freed: swept.freed,
            halves_deleted: swept.halves,
        });
    }
    let verb = if is_applied { "forgotten" } else { "to forget" };
    let mut text = format!("{}\n", report::line(place));
    let mut row = |name: &str, told: String| text.push_str(&format!("  {name:<9}  {told}\n"));
    row(verb, batches(pruned.forgotten.len() as u64));
    let why =
        if keeps_all { "no `keep_for` is declared: everything is kept" } else { "`keep_for` isn't over" };
    for (count, why) in [
        (pruned.young, why),
        (pruned.may_be_retried, "the sender may still deliver them again (`retry_window`)"),
        (
            pruned.never_landed.len() as u64,
            "never landed: the archive has all that there is of them; --never-landed forgets them too",
        ),
    ] {
        if count > 0 {
            row("kept", format!("{}: {why}", batches(count)));
        }
    }
    if !swept.condemned.is_empty() {
        row(
            "bytes",
            format!("{} marked; a prune a day from now deletes them", objects(swept.condemned.len() as u64)),
        );
    }
    if !swept.deleted.is_empty() || swept.halves > 0 {
        let deleted = objects(swept.deleted.len() as u64 + swept.halves);
        row("bytes", format!("{deleted} deleted, {} bytes freed", swept.freed));
    }
    if !is_applied {
        text.push_str("nothing was done; --apply does it\n");
    }
    report::print(&text)
}

fn batches(count: u64) -> String {
    if count == 1 { "1 batch".to_owned() } else { format!("{count} batches") }
}

fn objects(count: u64) -> String {
    if count == 1 { "1 object".to_owned() } else { format!("{count} objects") }
}
