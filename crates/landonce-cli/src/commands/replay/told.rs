//! What a replay says, before and after.

use landonce::Store;
use landonce::archive::{LeftOut, Replay, Step, What};
use serde::Serialize;

use crate::args::OutputForm;
use crate::failure::Failure;
use crate::report::{self, BatchReport, Batches, Table};

/// The JSON object: that of several batches, and those that were left out.
#[derive(Serialize)]
pub(super) struct Report<'r> {
    #[serde(flatten)]
    batches: Batches<'r>,
    left_out: Vec<StepReport<'r>>,
}

/// A batch of the archive, and what is done with it.
#[derive(Serialize)]
struct StepReport<'r> {
    batch_id: &'r str,
    digest: &'r str,
    source: &'r str,
    length: u64,
    received_at: String,
    does: &'static str,
}

#[derive(Serialize)]
struct DryReport<'r> {
    status: &'static str,
    target: &'r str,
    store: String,
    steps: Vec<StepReport<'r>>,
}

impl<'r> StepReport<'r> {
    fn new(step: &'r Step) -> Self {
        let manifest = &step.manifest;
        Self {
            batch_id: &manifest.batch_id,
            digest: &manifest.digest,
            source: &manifest.source,
            length: manifest.length,
            received_at: manifest.received_at.to_string(),
            does: does(step),
        }
    }
}

impl<'r> Report<'r> {
    pub(super) fn new(done: &'r [BatchReport], replay: &'r Replay) -> Self {
        let left_out = replay.steps().iter().filter(|step| matches!(step.what, What::LeftOut(_)));
        Self { batches: Batches::new(done), left_out: left_out.map(StepReport::new).collect() }
    }
}

/// What is done with a batch, in one word of the JSON.
fn does(step: &Step) -> &'static str {
    match &step.what {
        What::Apply { is_again: false, .. } => "apply",
        What::Apply { is_again: true, .. } => "apply_again",
        What::Landed(_) => "skipped_duplicate",
        What::LeftOut(LeftOut::NeverLanded) => "never_landed",
        What::LeftOut(LeftOut::OtherContent) => "other_content",
        What::LeftOut(LeftOut::LaterLoad) => "later_load",
    }
}

/// What would be done, batch by batch.
pub(super) fn dry(replay: &Replay, store: &Store, form: OutputForm) -> Result<(), Failure> {
    let steps: Vec<StepReport> = replay.steps().iter().map(StepReport::new).collect();
    if form.is_json() {
        return report::json(&DryReport {
            status: "dry_run",
            target: replay.table(),
            store: store.place(),
            steps,
        });
    }
    let mut table = Table::new(&["received at (UTC)", "batch", "source", "bytes", "what a replay does"]);
    for step in &steps {
        table.push(vec![
            report::moment(&step.received_at),
            report::line(report::short(step.batch_id)).into_owned(),
            report::line(step.source).into_owned(),
            step.length.to_string(),
            match step.does {
                "apply" => "apply it",
                "apply_again" => "apply it again",
                "skipped_duplicate" => "skip it: it has landed",
                "later_load" => "leave it out: a later load of its period is applied",
                "never_landed" => "leave it out: it never landed",
                _ => "leave it out: another content under its id counts",
            }
            .to_owned(),
        ]);
    }
    let mut text = table.render();
    text.push_str(&format!(
        "into {} in {}; nothing was done\n",
        report::line(replay.table()),
        report::line(&store.place())
    ));
    report::print(&text)
}

/// A line for each reason for which batches were left out.
pub(super) fn left_out(replay: &Replay) -> String {
    let count = |why: LeftOut| replay.steps().iter().filter(|step| step.what == What::LeftOut(why)).count();
    let mut out = String::new();
    match count(LeftOut::NeverLanded) {
        0 => {}
        count => out.push_str(&format!(
            "  left out  {count} that never landed; `landonce replay` without --into lands what can be landed\n"
        )),
    }
    match count(LeftOut::OtherContent) {
        0 => {}
        count => out.push_str(&format!(
            "  left out  {count} with another content under an id that has landed or came later\n"
        )),
    }
    match count(LeftOut::LaterLoad) {
        0 => {}
        count => out.push_str(&format!("  left out  {count} before a later load of the same period\n")),
    }
    out
}
