//! `landonce status --periods`: what has been loaded of which period. Makes nothing.

use std::path::PathBuf;

use jiff::Timestamp;
use landonce::{Pipeline, Store};
use landonce_core::period::Period;

use crate::args::{OutputForm, StoreArgs, pipeline_store};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::{self, PeriodsReport};
use crate::window::{self, Window};

/// The window, as flags.
#[derive(Debug, clap::Args)]
pub(crate) struct PeriodArgs {
    /// Show what has been loaded of which period, instead of batches.
    #[arg(long)]
    pub(super) periods: bool,

    /// With --periods: the first one, as a label, a date, a week or a month; the first that was ever loaded when left out.
    #[arg(long, value_name = "PERIOD", requires = "periods")]
    from: Option<String>,

    /// With --periods: the last one, included; the last that was ever loaded when left out.
    #[arg(long, value_name = "PERIOD", requires = "periods")]
    to: Option<String>,

    /// With --periods: list days one by one instead of drawing them.
    #[arg(long, requires = "periods")]
    list: bool,
}

/// A checked `status --periods`.
#[derive(Debug)]
pub(crate) struct Job {
    file: PathBuf,
    pipeline: Pipeline,
    store: Store,
    from: Option<Period>,
    to: Option<Period>,
    is_list: bool,
}

pub(super) fn validate(args: &PeriodArgs, file: Option<&PathBuf>, store: &StoreArgs) -> Result<Job, Failure> {
    let Some(file) = file else {
        return Err(Failure::usage(
            "--periods of which pipeline?",
            "name its file: `landonce status --periods pipeline.yaml`",
        ));
    };
    let (store, pipeline) = pipeline_store(Some(file), store)?;
    let pipeline = pipeline.ok_or_else(|| Failure::usage("--periods of which pipeline?", "name its file"))?;
    let calendar = window::calendar(&pipeline)?;
    let from = args.from.as_deref().map(|text| window::first(calendar, text)).transpose()?;
    let to = args.to.as_deref().map(|text| window::last(calendar, text)).transpose()?;
    if let (Some(from), Some(to)) = (&from, &to) {
        Window::new(calendar, from, to)?;
    }
    Ok(Job { file: file.clone(), from, to, is_list: args.list, store, pipeline })
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    let calendar = window::calendar(&job.pipeline)?;
    let (known, strays) = match job.window().await? {
        Some(window) => window.look_up(&job.store, job.pipeline.name(), Timestamp::now()).await?,
        None => (Vec::new(), 0),
    };
    let report = PeriodsReport::new(&job.store.place(), job.pipeline.name(), calendar, &known, strays);
    if form.is_json() {
        report::json(&report)?;
    } else {
        report::print(&report.text(&job.file.display().to_string(), job.is_list))?;
    }
    Ok(Exit::Fine)
}

impl Job {
    /// What was asked for, filled up with what the ledger knows; `None` when that is nothing.
    async fn window(&self) -> Result<Option<Window>, Failure> {
        let calendar = window::calendar(&self.pipeline)?;
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            return Window::new(calendar, from, to).map(Some);
        }
        let starts: Vec<i64> = self
            .store
            .periods(self.pipeline.name(), i64::MIN, i64::MAX)
            .await?
            .iter()
            .map(|entry| entry.start)
            .collect();
        let at = |start: Option<&i64>| -> Option<Period> {
            calendar.containing(Timestamp::from_microsecond(*start?).ok()?).ok()
        };
        let earliest = self.from.clone().or_else(|| at(starts.first()));
        let latest = self.to.clone().or_else(|| at(starts.last()));
        match (earliest, latest) {
            (Some(from), Some(to)) if to.start() >= from.start() => {
                Window::new(calendar, &from, &to).map(Some)
            }
            // What was asked for lies outside all that is known: it alone is shown.
            (Some(one), _) if self.from.is_some() => Window::new(calendar, &one, &one).map(Some),
            (_, Some(one)) => Window::new(calendar, &one, &one).map(Some),
            _ => Ok(None),
        }
    }
}
