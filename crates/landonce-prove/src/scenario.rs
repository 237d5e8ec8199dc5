//! The scenarios, and the proof that goes through them.

mod ack_lost;
mod clean;
mod heal;
mod killed;
mod late;
mod moments;
mod notified;
mod outcome;
mod refused;
mod stage;
mod stand;
mod together;
mod truncated;
mod twice;

use std::time::Instant;

use futures_util::future::BoxFuture;

use crate::class::Weight;
use crate::command::{Setting, Workplace};
use crate::database::Source;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::recorder::Recorder;
use crate::report::{LeftOut, Report, ScenarioReport, TableCounts, Verdict};
use crate::snapshot::Content;
use outcome::Outcome;
use stage::{Clean, Progress, Stage};

/// A way in which retries go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// The command runs, then runs again on the same input.
    Twice,
    /// The connection is cut after COMMIT is done, before its answer.
    AckLost,
    /// The command is killed at its k-th write, then runs again.
    Killed,
    /// Two runs at once.
    Together,
    /// The server refuses a statement once with a passing failure.
    Refused,
    /// The input is cut short after a full first run.
    Truncated,
    /// The same run at another time and in another time zone.
    Late,
    /// Calls to the outside are recorded.
    Notified,
}

impl Scenario {
    /// Every scenario, in the order in which they run.
    pub const ALL: [Self; 8] = [
        Self::Twice,
        Self::AckLost,
        Self::Killed,
        Self::Together,
        Self::Refused,
        Self::Truncated,
        Self::Late,
        Self::Notified,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Twice => "twice",
            Self::AckLost => "ack-lost",
            Self::Killed => "killed",
            Self::Together => "together",
            Self::Refused => "refused",
            Self::Truncated => "truncated",
            Self::Late => "late",
            Self::Notified => "notified",
        }
    }
}

/// Runs the proof. `progress` is told one line at a time what is going on.
///
/// Fails when no trial can be made at all: the database can't be reached or cloned, the command isn't there, the setup
/// fails. A command that fails by itself is a report with [`Verdict::Unjudged`].
pub async fn prove(plan: &Plan, progress: &mut (dyn FnMut(&str) + Send)) -> Result<Report, Error> {
    prove_until(plan, progress, std::future::pending()).await
}

/// The same, until `stop` comes to its end: then the command is killed, the clones are dropped, and it fails.
pub async fn prove_until(
    plan: &Plan,
    progress: &mut (dyn FnMut(&str) + Send),
    stop: impl Future<Output = ()>,
) -> Result<Report, Error> {
    let began = Instant::now();
    let started_at = jiff::Timestamp::now();
    crate::command::remove_leftovers(&std::env::temp_dir());
    let source = open(plan).await?;
    let proof = tokio::select! {
        proof = observing(plan, &source, progress) => proof,
        () = stop => Err(Error::new("the proof was stopped")),
    };
    let place = source.place().to_owned();
    // Clones are dropped whether the proof came to an end or not.
    let closed = source.close().await;
    let Proof { clean, scenarios, because } = proof?;
    closed?;
    let (verdict, because) = verdict(plan, &scenarios, because);
    Ok(Report {
        version: 1,
        landonce: env!("CARGO_PKG_VERSION"),
        verdict,
        because,
        command: plan.command.clone(),
        database: place,
        seed: plan.seed,
        started_at: format!("{started_at:.0}"),
        took: began.elapsed().as_secs_f64(),
        tables: clean.as_ref().map(tables).unwrap_or_default(),
        left_out: clean.as_ref().map(|clean| left_out(&clean.content)).unwrap_or_default(),
        scenarios,
    })
}

/// What was observed.
struct Proof {
    clean: Option<Clean>,
    scenarios: Vec<ScenarioReport>,
    /// Why nothing can be judged.
    because: Option<String>,
}

// Boxed where they are made: the code of an `async fn` is compiled anew in every crate that awaits it.

fn open(plan: &Plan) -> BoxFuture<'_, Result<Source>> {
    Box::pin(Source::open(&plan.database, plan.in_place.as_deref()))
}

fn observing<'a>(
    plan: &'a Plan,
    source: &'a Source,
    progress: &'a mut (dyn FnMut(&str) + Send),
) -> BoxFuture<'a, Result<Proof>> {
    Box::pin(observe(plan, source, progress))
}

async fn observe(plan: &Plan, source: &Source, progress: Progress<'_>) -> Result<Proof> {
    if plan.command.is_empty() {
        return Err(Error::new("there is no command to prove: give it after `--`"));
    }
    if let Some(setup) = &plan.setup {
        prepare(plan, source, setup).await?;
    }
    let mut stage = Stage::new(plan, source, progress);
    stage.sink = Some(Recorder::start().await?);
    match clean::observe(&mut stage).await? {
        Err(because) => {
            return Ok(Proof { clean: None, scenarios: Vec::new(), because: Some(because) });
        }
        Ok(clean) => stage.clean = Some(clean),
    }
    let mut scenarios = Vec::new();
    for scenario in Scenario::ALL {
        if !plan.scenarios.contains(&scenario) {
            continue;
        }
        let Some(clean) = &stage.clean else { break };
        stage.say(scenario.name());
        scenarios.push(play(scenario, &stage, clean).await.report(&stage, scenario));
    }
    Ok(Proof { clean: stage.clean, scenarios, because: None })
}

async fn play(scenario: Scenario, stage: &Stage<'_>, clean: &Clean) -> Outcome {
    match scenario {
        Scenario::Twice => twice::run(stage, clean).await,
        Scenario::AckLost => ack_lost::run(stage, clean).await,
        Scenario::Killed => killed::run(stage, clean).await,
        Scenario::Together => together::run(stage, clean).await,
        Scenario::Refused => refused::run(stage, clean).await,
        Scenario::Truncated => truncated::run(stage, clean).await,
        Scenario::Late => late::run(stage, clean).await,
        Scenario::Notified => notified::run(stage, clean).await,
    }
}

/// Runs `--setup` once against the base copy.
async fn prepare(plan: &Plan, source: &Source, setup: &str) -> Result<()> {
    let workplace = Workplace::new(&plan.folder).await?;
    let command = ["sh", "-c", setup].map(str::to_owned);
    let setting = Setting { url: source.base_url().to_owned(), ..Setting::default() };
    let mut running = workplace.start(&command, &setting).await?;
    let limit = plan.timeout.unwrap_or(std::time::Duration::from_mins(30));
    let ended = running.ended(limit).await?;
    if ended.is_success() {
        return Ok(());
    }
    Err(Error::new(format!("--setup {}; its last words: {}", stand::how(&ended), ended.last_words())))
}

/// What it all comes to. A scenario that was asked for by name and couldn't be judged is told by the exit code; of the
/// default set those that apply decide.
fn verdict(plan: &Plan, scenarios: &[ScenarioReport], because: Option<String>) -> (Verdict, String) {
    if let Some(because) = because {
        return (Verdict::Unjudged, because);
    }
    let findings = || scenarios.iter().flat_map(|scenario| &scenario.findings);
    let violations = findings().filter(|finding| finding.weight == Weight::Violation).count();
    let remarks = findings().count() - violations;
    if let Some(only) = &plan.only
        && scenarios.iter().all(|scenario| scenario.trials.is_empty())
    {
        return (
            Verdict::Unjudged,
            format!(
                "there is no trial `{only}` here: a finding's replay names one, which is the same with the same --seed, \
                 --trials and --scenario only"
            ),
        );
    }
    let names = |verdict| -> Vec<String> {
        let those = scenarios.iter().filter(|scenario| scenario.verdict == verdict);
        those.map(|scenario| scenario.scenario.name().to_owned()).collect()
    };
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    if violations > 0 {
        return (
            Verdict::Violations,
            format!(
                "{} and {} ({})",
                plural(violations, "violation"),
                plural(remarks, "remark"),
                names(Verdict::Violations).join(", ")
            ),
        );
    }
    let (safe, unjudged) = (names(Verdict::Safe), names(Verdict::Unjudged));
    let is_default = plan.scenarios.len() == Scenario::ALL.len();
    if safe.is_empty() || (!is_default && !unjudged.is_empty()) {
        let why = scenarios.iter().find(|scenario| scenario.verdict == Verdict::Unjudged);
        let why = why
            .and_then(|scenario| scenario.because.clone())
            .unwrap_or_else(|| "no trial was made".to_owned());
        return (Verdict::Unjudged, format!("could not judge {}: {why}", unjudged.join(", ")));
    }
    let mut said = format!("no violation and {} in {}", plural(remarks, "remark"), safe.join(", "));
    if !unjudged.is_empty() {
        said.push_str(&format!("; not judged: {}", unjudged.join(", ")));
    }
    (Verdict::Safe, said)
}

fn tables(clean: &Clean) -> Vec<TableCounts> {
    let mut names: Vec<&String> = clean.one.tables.keys().chain(clean.two.tables.keys()).collect();
    names.sort();
    names.dedup();
    let rows = |snapshot: &crate::snapshot::Snapshot, table: &String| {
        snapshot.tables.get(table).map_or(0, |table| table.rows)
    };
    let counts = names.into_iter().map(|table| TableCounts {
        table: table.clone(),
        before: rows(&clean.base, table),
        after_one: rows(&clean.one, table),
        after_two: rows(&clean.two, table),
        rewritten: clean
            .repeat
            .tables
            .get(table)
            .map_or(0, |rows| rows.rewritten + rows.restamped + rows.renumbered + rows.changed),
    });
    // A table that no run touches is not in question.
    counts
        .filter(|counts| {
            counts.before != counts.after_one || counts.after_one != counts.after_two || counts.rewritten > 0
        })
        .collect()
}

fn left_out(content: &Content) -> Vec<LeftOut> {
    let mut all = Vec::new();
    let kinds = [
        (&content.varying, "varies by itself between two clean runs"),
        (&content.generated, "filled by a sequence or a random default, or points to one that is"),
        (&content.ignored, "--ignore"),
    ];
    for (columns, why) in kinds {
        for (table, columns) in columns {
            for column in columns {
                all.push(LeftOut { what: format!("{table}.{column}"), why: why.to_owned() });
            }
        }
    }
    for table in &content.unstable {
        all.push(LeftOut {
            what: format!("{table}.*"),
            why: "two clean runs leave different rows: compared within one clone only".to_owned(),
        });
    }
    all
}
