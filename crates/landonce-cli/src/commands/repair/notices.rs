//! `landonce repair notices`.

use std::path::PathBuf;

use landonce::Store;
use landonce::repair::{CorrectedNotice, Notices, NoticesReport, Search, Status};
use owo_colors::OwoColorize as _;

use super::RepairArgs;
use super::show::plural;
use crate::args::{OutputForm, StoreArgs, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::report::{self, line, moment};

const EXAMPLES: &str = "\
Examples:
  landonce repair notices --topic schedule-changes --store sqlite:landonce.db      # which were sent twice
  landonce repair notices parcels.yaml --topic zoning --recipient new.owner_email  # and which are about rows that aren't there
  landonce repair notices parcels.yaml --topic zoning --recipient new.owner_email --apply

Exit codes: 0 nothing to correct, or corrected; 1 there is something to correct, and --apply wasn't given; 2 could not.";

/// `landonce repair notices`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The pipeline that enqueued the notices: then those about rows that its table hasn't got are found too.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: Option<PathBuf>,

    /// The topic.
    #[arg(long, value_name = "TOPIC")]
    topic: String,

    /// Where a payload says who was told: `new.owner_email`. Each of them gets one correction; without it, the topic gets one.
    #[arg(long, value_name = "PATH")]
    recipient: Option<String>,

    /// Where a payload says what it is about, instead of the entity: `data.parcel_id`. May be given several times.
    #[arg(long, value_name = "PATH")]
    by: Vec<String>,

    /// What doesn't count when two payloads are compared: `attempt`, `meta.sent_at`. May be given several times.
    #[arg(long, value_name = "PATH")]
    ignore: Vec<String>,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    repair: RepairArgs,
}

/// A checked `repair notices`.
#[derive(Debug)]
pub(crate) struct Job {
    notices: Notices,
    store: Store,
    repair: RepairArgs,
}

fn path(text: &str) -> Result<Vec<String>, Failure> {
    let names: Vec<String> = text.split('.').map(str::to_owned).collect();
    if names.iter().any(String::is_empty) {
        return Err(Failure::usage(
            format!("`{}` is no path into a payload", line(text)),
            "names of members are due, from the outside in: `new.owner_email`",
        ));
    }
    Ok(names)
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    let (store, pipeline) = pipeline_store(args.pipeline.as_deref(), &args.store)?;
    let search = Search {
        topic: args.topic,
        by: args.by.iter().map(|text| path(text)).collect::<Result<_, _>>()?,
        ignored: args.ignore.iter().map(|text| path(text)).collect::<Result<_, _>>()?,
        recipient: args.recipient.as_deref().map(path).transpose()?,
    };
    Ok(Job { notices: Notices { search, pipeline }, store, repair: args.repair })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: &Gate) -> Result<Exit, Failure> {
    let Job { notices, store, repair } = job;
    let options = repair.options(gate);
    let found = if repair.apply {
        notices.apply(&store, &options).await
    } else {
        notices.plan(&store, &options).await
    };
    gate.settled();
    let found = found?;
    if form.is_json() {
        report::json(&found)?;
    } else {
        report::print(&shown(&found))?;
    }
    Ok(match found.status {
        Status::Clean | Status::Applied => Exit::Fine,
        Status::Planned => Exit::Findings,
        Status::Refused => Exit::CouldNot,
    })
}

/// The report, for people.
fn shown(report: &NoticesReport) -> String {
    let mut out = String::new();
    let mut say = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    say(format!(
        "{}: {} sent twice, {} about rows that aren't there",
        line(&report.topic).bold(),
        plural(report.twice, "notice"),
        report.in_error
    ));
    if report.not_judged > 0 {
        say(format!(
            "  note      {} about something that the table's columns don't tell: nothing is said of them",
            plural(report.not_judged, "notice")
        ));
    }
    let is_done = report.status == Status::Applied;
    for correction in &report.corrections {
        let to = correction
            .recipient
            .as_deref()
            .map_or_else(|| "the topic".to_owned(), |to| line(to).into_owned());
        let (verb, id) = if is_done { ("is enqueued", &*correction.id) } else { ("would name", "") };
        say(if is_done {
            format!("  to {to}: {id} {verb}, which names {}", plural(correction.names, "notice"))
        } else {
            format!("  to {to}: one correction {verb} {}", plural(correction.names, "notice"))
        });
        correction.first.iter().for_each(|notice| say(format!("    {}", named(notice))));
        let shown = correction.first.len() as u64;
        if correction.names > shown {
            say(format!("    … and {} more", correction.names - shown));
        }
    }
    say(match report.status {
        Status::Applied => "corrected; `landonce deliver` sends what is enqueued".to_owned(),
        Status::Planned => "nothing was written; --apply does it".to_owned(),
        Status::Refused => "nothing was written".to_owned(),
        Status::Clean => "nothing to correct".to_owned(),
    });
    out
}

fn named(notice: &CorrectedNotice) -> String {
    let why = match &notice.repeats {
        Some(before) => format!("says what {before} had said"),
        None => "no such row".to_owned(),
    };
    format!("{}  {} {} {}: {why}", moment(&notice.sent_at), notice.id, notice.kind, line(&notice.entity))
}
