//! What has been loaded of which period: the stable JSON object; for people a drawn calendar of days, or a list.

use landonce_core::period::{Calendar, Every};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use uuid::Uuid;

use super::{Table, moment, plain};
use crate::window::{Known, State};

/// A pipeline's periods. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Debug, Serialize)]
pub(crate) struct PeriodsReport {
    store: String,
    pipeline: String,
    every: Every,
    tz: String,
    from: Option<String>,
    to: Option<String>,
    counts: Counts,
    strays: usize,
    periods: Vec<PeriodRow>,
}

/// How many periods are in which state.
#[derive(Debug, Default, Serialize)]
struct Counts {
    complete: usize,
    partial: usize,
    failed: usize,
    missing: usize,
    due: usize,
}

#[derive(Debug, Serialize)]
struct PeriodRow {
    label: String,
    start: String,
    end: String,
    #[serde(serialize_with = "word")]
    state: State,
    is_over: bool,
    is_due: bool,
    loads: u64,
    loaded: Option<LoadedRow>,
    failed: Option<FailedRow>,
    #[serde(skip)]
    day: Day,
}

/// Where a day stands in a drawn calendar.
#[derive(Debug, Clone, Copy, Default)]
struct Day {
    year: i16,
    month: i8,
    of_month: i8,
}

#[derive(Debug, Serialize)]
struct LoadedRow {
    is_complete: bool,
    rows: u64,
    batch_id: String,
    digest: String,
    run_id: Uuid,
    loaded_at: String,
}

#[derive(Debug, Serialize)]
struct FailedRow {
    run_id: Uuid,
    code: String,
    message: String,
    failed_at: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn word<S: serde::Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.as_str())
}

impl PeriodRow {
    fn new(known: &Known) -> Self {
        let entry = known.entry.as_ref();
        let date = known.period.date();
        Self {
            label: known.period.label().to_owned(),
            start: known.period.start().to_string(),
            end: known.period.end().to_string(),
            state: known.state(),
            is_over: known.is_over,
            is_due: known.is_due(),
            loads: entry.map_or(0, |entry| entry.loads),
            loaded: entry.and_then(|entry| entry.loaded.as_ref()).map(|loaded| LoadedRow {
                is_complete: loaded.is_complete,
                rows: loaded.rows,
                batch_id: loaded.batch_id.clone(),
                digest: hex::encode(loaded.digest),
                run_id: loaded.run_id,
                loaded_at: loaded.loaded_at.clone(),
            }),
            failed: entry.and_then(|entry| entry.failed.as_ref()).map(|failed| FailedRow {
                run_id: failed.run_id,
                code: failed.code.clone(),
                message: failed.message.clone(),
                failed_at: failed.failed_at.clone(),
            }),
            day: Day { year: date.year(), month: date.month(), of_month: date.day() },
        }
    }

    /// Its sign in a drawn calendar.
    fn sign(&self) -> Sign {
        match self.state {
            State::Complete => Sign::Complete,
            State::Partial if self.is_due => Sign::PartialAndOver,
            State::Partial => Sign::Partial,
            State::Failed => Sign::Failed,
            State::Missing => Sign::Missing,
        }
    }

    /// For people: one row of a table.
    fn cells(&self) -> Vec<String> {
        let (rows, at) = self
            .loaded
            .as_ref()
            .map_or_else(Default::default, |loaded| (loaded.rows.to_string(), moment(&loaded.loaded_at)));
        let (run, why) = match (&self.failed, &self.loaded) {
            (Some(failed), _) => {
                let first = failed.message.lines().next().unwrap_or_default();
                (failed.run_id.to_string(), plain::line(&format!("{}: {first}", failed.code)).into_owned())
            }
            (None, Some(loaded)) => (loaded.run_id.to_string(), String::new()),
            (None, None) => Default::default(),
        };
        vec![self.label.clone(), self.sign().word().to_owned(), rows, at, run, why]
    }
}

/// The signs of a drawn calendar: told apart by their form, coloured only to be found quickly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Complete,
    Partial,
    PartialAndOver,
    Failed,
    Missing,
}

impl Sign {
    const ALL: [Self; 5] = [Self::Complete, Self::Partial, Self::PartialAndOver, Self::Failed, Self::Missing];

    const fn character(self) -> char {
        match self {
            Self::Complete => '#',
            Self::Partial => '+',
            Self::PartialAndOver => '~',
            Self::Failed => '!',
            Self::Missing => '.',
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::PartialAndOver => "partial, over by now",
            Self::Failed => "failed",
            Self::Missing => "missing",
        }
    }

    fn drawn(self) -> String {
        let sign = self.character();
        match self {
            Self::Complete => sign.green().to_string(),
            Self::Partial | Self::PartialAndOver => sign.yellow().to_string(),
            Self::Failed => sign.red().to_string(),
            Self::Missing => sign.to_string(),
        }
    }
}

impl PeriodsReport {
    /// What is known of a pipeline's periods, in order.
    pub(crate) fn new(
        store: &str,
        pipeline: &str,
        calendar: &Calendar,
        known: &[Known],
        strays: usize,
    ) -> Self {
        let mut counts = Counts::default();
        for one in known {
            *counts.of(one.state()) += 1;
            counts.due += usize::from(one.is_due());
        }
        let label = |one: Option<&Known>| one.map(|known| known.period.label().to_owned());
        Self {
            store: store.to_owned(),
            pipeline: pipeline.to_owned(),
            every: calendar.every(),
            tz: calendar.zone().to_owned(),
            from: label(known.first()),
            to: label(known.last()),
            counts,
            strays,
            periods: known.iter().map(PeriodRow::new).collect(),
        }
    }

    /// For people.
    pub(crate) fn text(&self, file: &str, is_list: bool) -> String {
        let (pipeline, store) = (plain::line(&self.pipeline), plain::line(&self.store));
        let (Some(from), Some(to)) = (&self.from, &self.to) else {
            return format!(
                "no period of {pipeline} has been loaded in {store} yet; --from and --to show a window all the same\n"
            );
        };
        let mut out =
            format!("{}  {}s of {}, {from} to {to}, in {store}\n\n", pipeline.bold(), self.every, self.tz);
        let is_drawn = self.every == Every::Day && !is_list;
        if is_drawn {
            out.push_str(&self.calendar());
        }
        let is_told = |row: &&PeriodRow| !is_drawn || matches!(row.state, State::Failed | State::Partial);
        let mut table = Table::new(&["period", "state", "rows", "loaded at (UTC)", "run", ""]);
        let told: Vec<&PeriodRow> = self.periods.iter().filter(is_told).collect();
        for row in &told {
            table.push(row.cells());
        }
        if !told.is_empty() {
            out.push_str(&table.render());
            out.push('\n');
        }
        out.push_str(&self.summary(file));
        out
    }

    fn summary(&self, file: &str) -> String {
        let noun = if self.periods.len() == 1 { "period" } else { "periods" };
        let mut out = format!("{} {noun}: {}\n", self.periods.len(), self.counts.told());
        if self.counts.due > 0
            && let (Some(from), Some(to)) = (&self.from, &self.to)
        {
            let them = if self.counts.due == 1 { "is" } else { "are" };
            out.push_str(&format!(
                "{} {them} due: landonce backfill {} --from {from} --to {to} --missing\n",
                self.counts.due,
                plain::line(file)
            ));
        }
        if self.strays > 0 {
            out.push_str(&format!(
                "{} more in the ledger by other periods than {}s of {}: what the pipeline was loaded by before\n",
                self.strays, self.every, self.tz
            ));
        }
        out
    }

    /// One line a month, one sign a day.
    fn calendar(&self) -> String {
        let mut out = format!("{:9}1   5    10   15   20   25   30\n", "");
        for month in self.periods.chunk_by(|a, b| (a.day.year, a.day.month) == (b.day.year, b.day.month)) {
            let mut counts = Counts::default();
            let mut signs = vec![" ".to_owned(); 31];
            for row in month {
                *counts.of(row.state) += 1;
                if let Some(sign) =
                    usize::try_from(row.day.of_month - 1).ok().and_then(|at| signs.get_mut(at))
                {
                    *sign = row.sign().drawn();
                }
            }
            let Some(first) = month.first() else { continue };
            out.push_str(&format!(
                "{:04}-{:02}  {}  {}\n",
                first.day.year,
                first.day.month,
                signs.concat(),
                counts.told()
            ));
        }
        let is_drawn = |sign: &Sign| self.periods.iter().any(|row| row.sign() == *sign);
        let legend: Vec<String> = Sign::ALL
            .into_iter()
            .filter(is_drawn)
            .map(|sign| format!("{} {}", sign.drawn(), sign.word()))
            .collect();
        out.push_str(&format!("{:9}{}\n\n", "", legend.join("   ")));
        out
    }
}

impl Counts {
    fn of(&mut self, state: State) -> &mut usize {
        match state {
            State::Complete => &mut self.complete,
            State::Partial => &mut self.partial,
            State::Failed => &mut self.failed,
            State::Missing => &mut self.missing,
        }
    }

    /// The states that there are.
    fn told(&self) -> String {
        let parts: Vec<String> = State::ALL
            .into_iter()
            .map(|state| {
                let count = match state {
                    State::Complete => self.complete,
                    State::Partial => self.partial,
                    State::Failed => self.failed,
                    State::Missing => self.missing,
                };
                (state, count)
            })
            .filter(|(_, count)| *count > 0)
            .map(|(state, count)| format!("{count} {}", state.as_str()))
            .collect();
        parts.join(", ")
    }
}
