//! `landonce prove -- COMMAND`: runs anyone's pipeline under the faults that retries bring, and compares whole tables.

use std::path::{Path, PathBuf};
use std::time::Duration;

use landonce_prove::{Plan, Scenario, Verdict};

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Gate;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  landonce prove --db postgres://localhost/dev --input day.ndjson -- python ingest.py {input}
  landonce prove --db sqlite:dev.db --scenario twice,killed -- ./load.sh {db}
  landonce prove --db \"$DATABASE_URL\" --html report.html --junit report.xml -- dbt run

The command finds the database in DATABASE_URL, PGHOST, PGPORT … and in {db} ({url}, {host}, {port}, {user}, {password},
{database}) in its arguments; its input in {input}, a webhook's address in {hook}. Your own database is only read: every
trial works in a fresh clone.

Exit codes: 0 safe, 1 violations, 2 could not judge.";

/// `landonce prove`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The database that the command writes to, as it is before a run. It is only read.
    #[arg(long, value_name = "URL", env = "DATABASE_URL", hide_env_values = true)]
    db: String,

    /// Only these: twice, ack-lost, killed, together, refused, truncated, late, notified.
    #[arg(long = "scenario", value_name = "NAME", value_delimiter = ',', value_parser = scenario)]
    scenarios: Vec<Scenario>,

    /// A shell command that prepares the clone once, before all runs: DDL, seed rows.
    #[arg(long, value_name = "COMMAND")]
    setup: Option<String>,

    /// The file that the command reads. `truncated` cuts it.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Chooses the moments of faults; the same seed chooses the same.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// What may differ: TABLE.COLUMN, or TABLE.* for a whole table.
    #[arg(long, value_name = "TABLE.COLUMN", value_delimiter = ',')]
    ignore: Vec<String>,

    /// An empty scratch database, where the user may not create databases.
    #[arg(long, value_name = "URL")]
    in_place: Option<String>,

    /// Only this trial, as a finding's replay names it.
    #[arg(long, value_name = "TRIAL")]
    only: Option<String>,

    /// How many moments a scenario tries at most.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=1000))]
    trials: u32,

    /// How long one run may take. By default ten times as long as the first clean one, and 20 s more.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    timeout: Option<u64>,

    /// The folder that the command works in: every trial gets a copy.
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,

    /// Let HTTP calls with an effect (POST, PUT …) out of every run. By default they are answered here and go nowhere.
    #[arg(long)]
    let_calls_out: bool,

    /// Write the report as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the report as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A checked `prove`.
#[derive(Debug)]
pub(crate) struct Job {
    plan: Plan,
    html: Option<PathBuf>,
    junit: Option<PathBuf>,
}

fn scenario(name: &str) -> Result<Scenario, String> {
    Scenario::ALL
        .into_iter()
        .find(|scenario| scenario.name() == name)
        .ok_or_else(|| format!("the scenarios are {}", Scenario::ALL.map(Scenario::name).join(", ")))
}

pub(super) fn validate(args: Args) -> Result<Job, Failure> {
    if let Some(input) = &args.input
        && !input.is_file()
    {
        return Err(Failure::usage(
            format!("--input {} is no file", input.display()),
            "name the file that the command reads",
        ));
    }
    if !args.folder.is_dir() {
        return Err(Failure::usage(
            format!("--folder {} is no folder", args.folder.display()),
            "name the folder that the command works in",
        ));
    }
    // A proof may take long: what can't be written is told before.
    for (option, file) in [("--html", &args.html), ("--junit", &args.junit)] {
        let folder =
            file.as_ref().and_then(|file| file.parent()).filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder
            && !folder.is_dir()
        {
            return Err(Failure::usage(
                format!("{option}: there is no folder {}", folder.display()),
                "make it first, or name another",
            ));
        }
    }
    if let Some(only) = &args.only {
        scenario(only.split(':').next().unwrap_or(only)).map_err(|scenarios| {
            Failure::usage(
                format!("--only {only} names no trial"),
                format!("a trial's name is in a finding's replay command, and begins with a scenario's; {scenarios}"),
            )
        })?;
    }
    let mut plan =
        Plan::new(args.db, args.command).seed(args.seed).trials(args.trials as usize).folder(args.folder);
    // A trial's id begins with its scenario's name.
    let of_only = args.only.as_deref().and_then(|only| scenario(only.split(':').next().unwrap_or(only)).ok());
    match (args.scenarios.is_empty(), of_only) {
        (false, _) => plan = plan.scenarios(args.scenarios),
        (true, Some(scenario)) => plan = plan.scenarios([scenario]),
        (true, None) => {}
    }
    if let Some(only) = args.only {
        plan = plan.only(only);
    }
    if let Some(setup) = args.setup {
        plan = plan.setup(setup);
    }
    if let Some(input) = args.input {
        plan = plan.input(input);
    }
    if let Some(url) = args.in_place {
        plan = plan.in_place(url);
    }
    if let Some(seconds) = args.timeout {
        plan = plan.timeout(Duration::from_secs(seconds));
    }
    if args.let_calls_out {
        plan = plan.let_calls_out();
    }
    for what in args.ignore {
        plan = plan.ignore(what);
    }
    Ok(Job { plan, html: args.html, junit: args.junit })
}

pub(super) async fn run(job: Job, form: OutputForm, gate: Gate) -> Result<Exit, Failure> {
    // A signal ends the proof at once, but the clones are dropped first.
    gate.clears_up();
    let stopped = gate.stopped();
    let found = landonce_prove::prove_until(&job.plan, &mut |line| report::say(line), stopped).await?;
    if form.is_json() {
        report::json(&found)?;
    } else {
        report::print(&landonce_prove::report::terminal::render(
            &found,
            landonce_prove::report::terminal::Paint::Ansi,
        ))?;
    }
    // After the report itself: what can't be written there isn't lost.
    if let Some(file) = &job.html {
        write(file, &landonce_prove::report::html::render(&found))?;
    }
    if let Some(file) = &job.junit {
        write(file, &landonce_prove::report::junit::render(&found))?;
    }
    Ok(match found.verdict {
        Verdict::Safe => Exit::Fine,
        Verdict::Violations => Exit::Findings,
        Verdict::Unjudged => Exit::CouldNot,
    })
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text)
        .map_err(|error| Failure::system(format!("can't write {}", file.display()), error))
}
