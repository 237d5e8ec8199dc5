//! `landonce audit PATH…`: reads SQL, dbt models, program code and a live schema, and finds what isn't safe to retry.

use std::path::PathBuf;

use landonce_audit::Options;
use serde::Serialize;

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  landonce audit pipelines/
  landonce audit models/ dags/ --sarif audit.sarif
  landonce audit --db \"$DATABASE_URL\" ingest.py
  landonce audit --rules

`-- landonce: allow RULE reason` in a comment on the line before silences one finding.

Exit codes: 0 nothing that isn't safe, 1 findings, 2 nothing could be read.";

/// `landonce audit`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files and folders: .sql, dbt projects, .py, .js, .ts, .go, .java, .rs, .sh.
    #[arg(value_name = "PATH", required_unless_present_any = ["db", "rules"])]
    paths: Vec<PathBuf>,

    /// A live database whose schema is read too.
    #[arg(long, value_name = "URL")]
    db: Option<String>,

    /// Only these rules.
    #[arg(long = "rule", value_name = "RULE", value_delimiter = ',')]
    only: Vec<String>,

    /// Not these rules.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    skip: Vec<String>,

    /// Write SARIF 2.1.0 for code hosts.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// List the rules and end.
    #[arg(long)]
    rules: bool,
}

/// A checked `audit`.
#[derive(Debug)]
pub(crate) struct Job {
    options: Options,
    sarif: Option<PathBuf>,
    lists_rules: bool,
}

/// A rule in the JSON list.
#[derive(Serialize)]
struct Listed {
    rule: &'static str,
    title: &'static str,
}

pub(super) fn validate(args: Args) -> Job {
    Job {
        options: Options { paths: args.paths, database: args.db, only: args.only, skip: args.skip },
        sarif: args.sarif,
        lists_rules: args.rules,
    }
}

pub(super) async fn run(job: Job, form: OutputForm) -> Result<Exit, Failure> {
    if job.lists_rules {
        if form.is_json() {
            let rules =
                landonce_audit::rule::all().iter().map(|rule| Listed { rule: rule.id, title: rule.title });
            report::json(&rules.collect::<Vec<_>>())?;
        } else {
            for rule in landonce_audit::rule::all() {
                report::print(&format!("{:<28} {}\n", rule.id, rule.title))?;
            }
        }
        return Ok(Exit::Fine);
    }
    let found = landonce_audit::audit(&job.options).await?;
    if let Some(file) = &job.sarif {
        std::fs::write(file, landonce_audit::report::sarif(&found))
            .map_err(|error| Failure::system(format!("can't write {}", file.display()), error))?;
    }
    if form.is_json() {
        report::json(&found)?;
    } else {
        report::print(&landonce_audit::report::terminal(&found, true))?;
    }
    Ok(match found.exit_code() {
        0 => Exit::Fine,
        1 => Exit::Findings,
        _ => Exit::CouldNot,
    })
}
