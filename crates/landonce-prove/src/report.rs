//! What a proof has found, as data; the files beside this one write it for terminals, CI and browsers.

mod columns;
pub mod html;
pub mod junit;
pub mod terminal;
mod words;

use crate::class::{Class, Weight};
use crate::command::Ended;
use crate::scenario::Scenario;
use crate::snapshot::Sample;

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every scenario was seen and none found a violation. Exit code 0.
    Safe,
    /// Exit code 1.
    Violations,
    /// Nothing was observed that could be judged. Exit code 2.
    Unjudged,
}

/// A whole proof.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Report {
    /// The version of this format: 1.
    pub version: u32,
    /// The version of landonce.
    pub landonce: &'static str,
    /// What it comes to.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub because: String,
    /// The user's command, with its placeholders.
    pub command: Vec<String>,
    /// The database, without secrets.
    pub database: String,
    /// Brings the same choices again.
    pub seed: u64,
    /// When it began, UTC, RFC 3339.
    pub started_at: String,
    /// How long it took, seconds.
    pub took: f64,
    /// Rows per table after one run, after two, and rewritten by the second.
    pub tables: Vec<TableCounts>,
    /// What was left out of comparisons, and why.
    pub left_out: Vec<LeftOut>,
    /// One per scenario that was asked for, in the order of [`Scenario::ALL`].
    pub scenarios: Vec<ScenarioReport>,
}

/// A table in the chart.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TableCounts {
    /// The table.
    pub table: String,
    /// Rows before any run.
    pub before: u64,
    /// Rows after one run.
    pub after_one: u64,
    /// Rows after the second, on the same input.
    pub after_two: u64,
    /// Rows with equal content that the second run has written anew.
    pub rewritten: u64,
}

/// A column that isn't compared.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// `table.column`, or `table.*`.
    pub what: String,
    /// `varies by itself`, `filled by a sequence`, `points to one that is`, `--ignore`.
    pub why: String,
}

/// One scenario.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ScenarioReport {
    /// Which.
    pub scenario: Scenario,
    /// What it comes to.
    pub verdict: Verdict,
    /// Why it couldn't be judged, or wasn't needed.
    pub because: Option<String>,
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// What was found, the gravest first; one per class and table set, however many trials show it.
    pub findings: Vec<Finding>,
}

/// One trial: a fresh clone, one fault, one or more runs.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Trial {
    /// The fault in words: `killed after write 3 of 7 was done (COMMIT)`.
    pub name: String,
    /// What replays it: the value of `--only`.
    pub id: String,
    /// What happened when.
    pub timeline: Vec<Moment>,
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// What it comes to.
    pub verdict: Verdict,
    /// Why, where it couldn't be judged.
    pub because: Option<String>,
}

/// A moment of a trial.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Moment {
    /// Milliseconds since the trial began.
    pub at: u64,
    /// What happened.
    pub what: String,
    /// Whether it is a fault of ours, for the timeline's picture.
    pub is_fault: bool,
}

/// A run of the command.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Run {
    /// Its part in the trial: `first`, `repeat`, `faulted`, `clean re-run`, `A`, `B`.
    pub role: String,
    /// How it ended.
    #[serde(flatten, serialize_with = "in_seconds")]
    pub ended: Ended,
    /// How many writes the proxy saw; absent without a proxy.
    pub writes: Option<u64>,
}

/// What a proof found.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Finding {
    /// What kind.
    pub class: Class,
    /// Whether it decides the verdict.
    pub weight: Weight,
    /// In one or two plain sentences, with the figures.
    pub message: String,
    /// Where it shows.
    pub tables: Vec<Evidence>,
    /// The statement that likely does it, from the proxy's log.
    pub statement: Option<String>,
    /// What to do, in two sentences.
    pub fix: String,
    /// SQL that shows it.
    pub sql: Option<String>,
    /// The class's page.
    pub docs: String,
    /// The names of the trials that show it.
    pub trials: Vec<String>,
    /// The command line that replays just this.
    pub replay: String,
}

/// A table as evidence.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Evidence {
    /// The table.
    pub table: String,
    /// Rows that one clean run leaves (or before the repeat).
    pub expected: u64,
    /// Rows that were found.
    pub found: u64,
    /// Rows too many.
    pub added: u64,
    /// Rows missing.
    pub removed: u64,
    /// Rows with other values.
    pub changed: u64,
    /// Rows written anew.
    pub rewritten: u64,
    /// Columns whose values differ.
    pub columns: Vec<String>,
    /// Sample rows.
    pub samples: Vec<Sample>,
}

/// An end with its duration as every other of the report: seconds, not seconds and nanoseconds apart.
fn in_seconds<S: serde::Serializer>(ended: &Ended, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(serde::Serialize)]
    struct InSeconds<'a> {
        code: Option<i32>,
        signal: Option<i32>,
        is_timed_out: bool,
        took: f64,
        stdout: &'a str,
        stderr: &'a str,
    }
    let Ended { code, signal, is_timed_out, took, stdout, stderr } = ended;
    let took = took.as_secs_f64();
    let told = InSeconds { code: *code, signal: *signal, is_timed_out: *is_timed_out, took, stdout, stderr };
    serde::Serialize::serialize(&told, serializer)
}

impl Report {
    /// 0 safe, 1 violations, 2 could not judge.
    pub fn exit_code(&self) -> u8 {
        match self.verdict {
            Verdict::Safe => 0,
            Verdict::Violations => 1,
            Verdict::Unjudged => 2,
        }
    }

    /// As `--output json` prints it.
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists: nothing in it can fail to be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&terminal::render(self, terminal::Paint::Plain))
    }
}
