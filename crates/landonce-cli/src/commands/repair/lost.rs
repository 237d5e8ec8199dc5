//! `landonce repair lost`.

use std::path::PathBuf;
use std::sync::Arc;

use landonce::repair::{Cell, FullPayload, Lost, LostLoad, LostReport, Status};
use landonce::{Progress, Store};
use owo_colors::OwoColorize as _;

use super::RepairArgs;
use super::show::{cell, plural};
use crate::args::{OutputForm, StoreArgs, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::Input;
use crate::interrupt::Gate;
use crate::report::{self, counts, line, moment};

const EXAMPLES: &str = "\
Examples:
  landonce repair lost parcels.yaml                       # which loads fell short, and what they took away
  landonce repair lost parcels.yaml --apply               # bring the retired rows back
  landonce repair lost parcels.yaml --from full.csv --apply

Exit codes: 0 nothing is lost, or it is back; 1 something is lost, and --apply wasn't given; 2 could not.";

/// `landonce repair lost`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The pipeline file.
    #[arg(value_name = "PIPELINE.yaml")]
    pipeline: PathBuf,

    /// How far below the median of the last seven loads before it a load is too far.
    #[arg(long, value_name = "SHARE", default_value = "20%", value_parser = parse_share)]
    share: f64,

    /// Only the load of this run, whether it fell short or not.
    #[arg(long, value_name = "RUN")]
    load: Option<uuid::Uuid>,

    /// A later full payload: with --apply it is landed, as any load of the pipeline and released.
    #[arg(long, value_name = "FILE", conflicts_with = "from_archive")]
    from: Option<PathBuf>,

    /// The payload of the load before, out of the pipeline's archive: with --apply it is landed once more.
    #[arg(long)]
    from_archive: bool,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    repair: RepairArgs,
}

/// `20%`, `20 %` or `0.2`.
fn parse_share(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    let share = number.parse::<f64>().map(|number| number / whole).ok();
    share
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| "a share below 100 % is due: `20%` or `0.2`".to_owned())
}

/// A checked `repair lost`.
#[derive(Debug)]
pub(crate) struct Job {
    lost: Lost,
    from: Option<PathBuf>,
    from_archive: bool,
    store: Store,
    repair: RepairArgs,
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    args.repair.check()?;
    let (store, pipeline) = pipeline_store(Some(&args.pipeline), &args.store)?;
    let pipeline = pipeline.ok_or_else(|| Failure::usage("which pipeline?", "name its file"))?;
    Ok(Job {
        lost: Lost { pipeline, share: args.share, load: args.load },
        from: args.from,
        from_archive: args.from_archive,
        store,
        repair: args.repair,
    })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: &Gate) -> Result<Exit, Failure> {
    let Job { lost, from, from_archive, store, repair } = job;
    let options = repair.options(gate);
    let payload = match from {
        Some(path) => Some(FullPayload::Given(Input::File(path).open().await?)),
        None => from_archive.then_some(FullPayload::Archived),
    };
    let found = match &payload {
        Some(payload) if repair.apply => {
            let at_commit = gate.clone();
            let attempts = landonce::Options {
                run_id: Some(options.run_id),
                progress: Some(Arc::new(move |progress| {
                    if progress == Progress::Committing {
                        at_commit.commit();
                    }
                })),
                ..landonce::Options::default()
            };
            lost.land(&store, payload, &options, &attempts).await
        }
        None if repair.apply => lost.apply(&store, &options).await,
        _ => lost.plan(&store, &options).await,
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
fn shown(report: &LostReport) -> String {
    let mut out = String::new();
    let mut say = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let percent = (report.share * 1000.0).round() / 10.0;
    say(format!(
        "{}: {} of {} looked at; {} short by more than {percent} %, with rows missing",
        line(&report.table).bold(),
        plural(report.loads, "load"),
        line(&report.pipeline),
        report.findings.len()
    ));
    let is_done = report.status == Status::Applied;
    report.findings.iter().for_each(|load| say(finding(load, is_done)));
    if report.made_up_for > 0 {
        say(format!(
            "  {} more fell short, and a full load since, or a repair, has made up for it",
            report.made_up_for
        ));
    }
    for text in &report.notes {
        say(format!("  note      {}", line(text)));
    }
    for text in &report.refusals {
        say(format!("  {}   {}", "refused".bold(), line(text)));
    }
    say(match (report.status, &report.script, &report.landed) {
        (Status::Applied, Some(script), _) => format!(
            "{} brought back; {} takes it back",
            plural(report.restored, "row"),
            line(&script.display().to_string())
        ),
        (Status::Applied, None, Some(outcome)) => format!("landed the full payload: {}", counts(outcome)),
        (Status::Applied, None, None) => "repaired".to_owned(),
        (Status::Planned, ..) if report.findings.iter().all(|load| load.lost == 0) => {
            "nothing was written; --apply with --from FILE or --from-archive lands a full payload".to_owned()
        }
        (Status::Planned, ..) => "nothing was written; --apply does it".to_owned(),
        (Status::Refused, ..) => "nothing was written".to_owned(),
        (Status::Clean, ..) => "nothing is lost".to_owned(),
    });
    out
}

fn finding(load: &LostLoad, is_done: bool) -> String {
    let median = load.median.map_or_else(
        || "nothing came before".to_owned(),
        |median| format!("the median of the {} before is {median}", plural(load.earlier, "load")),
    );
    let mut out = format!(
        "  {}  {} from {}, run {}{}\n    {}; {median}",
        moment(&load.landed_at),
        line(&load.batch_id),
        line(&load.source),
        load.run_id,
        if load.is_released { ", released by a person" } else { "" },
        plural(load.read, "record"),
    );
    if load.retired > 0 {
        out.push_str(&format!(
            "\n    it retired {}, {} of which {} missing still",
            plural(load.retired, "row"),
            load.lost,
            if is_done { "were" } else { "are" }
        ));
    }
    if load.removed > 0 {
        out.push_str(&format!("\n    it deleted {}", plural(load.removed, "row")));
        if let Some(before) = &load.before {
            out.push_str(&format!(
                "; the load before is {} ({}, {})",
                line(&before.batch_id),
                moment(&before.landed_at),
                plural(before.read, "record")
            ));
        }
    }
    for row in &load.first_rows {
        let cells: Vec<String> = row.iter().map(|value: &Cell| cell(value)).collect();
        out.push_str(&format!("\n      {}", cells.join(" ")));
    }
    if load.lost > load.first_rows.len() as u64 {
        out.push_str(&format!("\n      … and {} more", load.lost - load.first_rows.len() as u64));
    }
    if load.later_loads > 0 {
        out.push_str(&format!(
            "\n    {} since, and no full one: if the source has shrunk rightly, nothing is to be done",
            plural(load.later_loads, "load")
        ));
    }
    out
}
