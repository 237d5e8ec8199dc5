//! The report as JUnit XML: a suite per scenario, a case per trial, a failure per violation.

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite, XmlString};

use super::words::{change, exit_meaning, figures, headline, run, seconds};
use super::{Finding, Report, ScenarioReport, Trial, Verdict};
use crate::class::Weight;

/// The document.
pub fn render(report: &Report) -> String {
    let mut document = Document::new("landonce prove");
    document.set_time(seconds(report.took));
    for scenario in &report.scenarios {
        document.add_test_suite(suite(scenario));
    }
    if report.verdict == Verdict::Unjudged {
        document.add_test_suite(unjudged(report));
    }
    // Every text has been made fit for XML: writing to memory can't fail.
    document.to_string().unwrap_or_default()
}

/// What keeps the whole proof from being judged is an error of its own: no CI shall take it for green.
fn unjudged(report: &Report) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(fit(&headline(report))).set_description(fit(&exit_meaning(report)));
    let mut suite = TestSuite::new("verdict");
    suite.add_test_case(TestCase::new("the proof can be judged", status));
    suite
}

fn suite(scenario: &ScenarioReport) -> TestSuite {
    let mut suite = TestSuite::new(scenario.scenario.name());
    for trial in &scenario.trials {
        suite.add_test_case(case(scenario, trial));
    }
    // A finding that names no trial of this report is not to be lost; nor is a scenario that had none.
    let astray = |finding: &&Finding| {
        finding.weight == Weight::Violation
            && !scenario.trials.iter().any(|trial| finding.trials.contains(&trial.name))
    };
    for finding in scenario.findings.iter().filter(astray) {
        let mut case = TestCase::new(finding.class.name(), failure(&[finding]));
        case.set_classname(format!("prove.{}", scenario.scenario.name()));
        suite.add_test_case(case);
    }
    if suite.test_cases.is_empty() {
        let mut status = TestCaseStatus::success();
        if scenario.verdict == Verdict::Unjudged || scenario.because.is_some() {
            status = TestCaseStatus::skipped();
            status.set_message(fit(scenario.because.as_deref().unwrap_or("no trial was made")));
        }
        let mut case = TestCase::new(scenario.scenario.name(), status);
        case.set_classname(format!("prove.{}", scenario.scenario.name()));
        suite.add_test_case(case);
    }
    suite
}

fn case(scenario: &ScenarioReport, trial: &Trial) -> TestCase {
    let violations: Vec<&Finding> = scenario
        .findings
        .iter()
        .filter(|finding| finding.weight == Weight::Violation && finding.trials.contains(&trial.name))
        .collect();
    let status = match trial.verdict {
        _ if !violations.is_empty() => failure(&violations),
        Verdict::Safe => TestCaseStatus::success(),
        // The finding names other trials of its kind: it is told there.
        Verdict::Violations => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(fit(trial.because.as_deref().unwrap_or("see the suite's other failures")));
            status
        }
        Verdict::Unjudged => {
            let because = trial.because.as_deref().or(scenario.because.as_deref());
            let mut status = TestCaseStatus::skipped();
            status.set_message(fit(because.unwrap_or("could not be judged")));
            status
        }
    };
    let mut case = TestCase::new(fit(&trial.name), status);
    case.set_classname(format!("prove.{}", scenario.scenario.name()));
    case.set_time(trial.runs.iter().map(|run| run.ended.took).sum());
    let tails = |of: fn(&Trial, usize) -> &str| -> String {
        (0..trial.runs.len())
            .map(|at| (run(&trial.runs[at]), of(trial, at)))
            .filter(|(_, tail)| !tail.trim().is_empty())
            .map(|(head, tail)| format!("--- {head}\n{}\n", tail.trim_end()))
            .collect()
    };
    let stdout = tails(|trial, at| &trial.runs[at].ended.stdout);
    if !stdout.is_empty() {
        case.set_system_out(fit(&stdout));
    }
    let stderr = tails(|trial, at| &trial.runs[at].ended.stderr);
    if !stderr.is_empty() {
        case.set_system_err(fit(&stderr));
    }
    case
}

fn failure(findings: &[&Finding]) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let names: Vec<&str> = findings.iter().map(|finding| finding.class.name()).collect();
    let message = findings.first().map_or("", |finding| finding.message.as_str());
    let told: Vec<String> = findings.iter().map(|finding| in_full(finding)).collect();
    status.set_type(names.join(" ")).set_message(fit(message)).set_description(fit(&told.join("\n\n")));
    status
}

fn in_full(finding: &Finding) -> String {
    let mut out = format!("{}: {}\n{}\n", finding.class, finding.class.title(), finding.message);
    for evidence in &finding.tables {
        out.push_str(&format!("\n{}: {}\n", evidence.table, figures(evidence)));
        for sample in &evidence.samples {
            let (sign, word) = change(sample.change);
            let word = if word.is_empty() { String::new() } else { format!(" ({word})") };
            out.push_str(&format!("  {sign} {}{word}\n", sample.row));
        }
    }
    if let Some(statement) = &finding.statement {
        out.push_str(&format!("\nlikely statement:\n{}\n", statement.trim()));
    }
    out.push_str(&format!("\nwhat to do: {}\n", finding.fix));
    if let Some(sql) = &finding.sql {
        out.push_str(&format!("\n{sql}\n"));
    }
    out.push_str(&format!("\nreplay: {}\npage: {}", finding.replay, finding.docs));
    out
}

/// Text that XML 1.0 may hold: the library takes out escape sequences and control characters, but not these two.
fn fit(given: &str) -> XmlString {
    XmlString::new(given.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}
