//! The report as one self-contained HTML page: a bar chart, the findings, a timeline of faults for every trial.
//!
//! No scripts, no references to the outside (the page's own policy forbids both): it can be kept as a build's artefact and
//! opened years later. Others' text is escaped by maud, and control characters are shown as what they are.

mod chart;
mod finding;
mod timeline;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::words::{self, classes, count, does, exit_meaning, headline, line, of_weight, plural, text};
use super::{Finding, Report, ScenarioReport, Trial, Verdict};
use crate::class::Weight;

/// The page.
pub fn render(report: &Report) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                meta name="color-scheme" content="light dark";
                title { "landonce prove: " (headline(report)) }
                style { (PreEscaped(include_str!("html/page.css"))) }
            }
            body {
                (head(report))
                main {
                    (chart::chart(&report.tables))
                    (findings(report))
                    (scenarios(report))
                    (trials(report))
                    (left_out(report))
                }
                footer {
                    p { (exit_meaning(report)) "." }
                    p { "landonce " (report.landonce) ", report format " (report.version) "." }
                }
            }
        }
    };
    page.into_string()
}

/// The style of a verdict; the word beside it says the same.
fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Safe => "good",
        Verdict::Violations => "bad",
        Verdict::Unjudged => "open",
    }
}

/// A verdict in a word and a sign, so that it is read without colours too.
fn badge(verdict: Verdict) -> Markup {
    let sign = match verdict {
        Verdict::Safe => "✓",
        Verdict::Violations => "✗",
        Verdict::Unjudged => "?",
    };
    html! { span class={ "badge " (tone(verdict)) } { (sign) " " (words::verdict(verdict)) } }
}

fn head(report: &Report) -> Markup {
    let command: Vec<_> = report.command.iter().map(|argument| line(argument)).collect();
    html! {
        header class=(tone(report.verdict)) {
            p.kind { "landonce prove" }
            h1 { (headline(report)) }
            @if report.verdict != Verdict::Unjudged { p.because { (line(&report.because)) } }
            dl.facts {
                div { dt { "command" } dd { code { (command.join(" ")) } } }
                div { dt { "database" } dd { code { (line(&report.database)) } } }
                div { dt { "began" } dd { (line(&report.started_at)) } }
                div { dt { "took" } dd { (words::took(words::seconds(report.took))) } }
                div { dt { "seed" } dd { (report.seed) } }
            }
        }
    }
}

fn findings(report: &Report) -> Markup {
    let section = |weight: Weight, title: &str, told: &str| {
        let found: Vec<_> = of_weight(report, weight).collect();
        html! {
            @if !found.is_empty() {
                section {
                    h2 { (title) }
                    p.told { (told) }
                    @for (scenario, finding) in found { (finding::card(scenario.scenario, finding, &anchor(scenario, finding))) }
                }
            }
        }
    };
    html! {
        (section(Weight::Violation, "Violations", "What a retry of this command breaks."))
        (section(Weight::Remark, "Remarks", "No harm, but a cost. They don't change the verdict."))
    }
}

/// What a link to this finding says: the first of its class has the plain name.
fn anchor(scenario: &ScenarioReport, finding: &Finding) -> String {
    let before = scenario.findings.iter().take_while(|one| !std::ptr::eq(*one, finding));
    let name = format!("{}-{}", scenario.scenario.name(), finding.class.name());
    match before.filter(|one| one.class == finding.class).count() {
        0 => name,
        before => format!("{name}-{}", before + 1),
    }
}

fn scenarios(report: &Report) -> Markup {
    html! {
        @if !report.scenarios.is_empty() {
            section {
                h2 { "Scenarios" }
                table {
                    thead { tr { th { "scenario" } th { "verdict" } th.figure { "trials" } th { "why" } } }
                    tbody {
                        @for one in &report.scenarios {
                            tr {
                                td { b { (one.scenario.name()) } br; span.told { (does(one.scenario)) } }
                                td { (badge(one.verdict)) }
                                td.figure { (count(one.trials.len() as u64)) }
                                td { (why(one)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn why(scenario: &ScenarioReport) -> Markup {
    let names = classes(scenario);
    html! {
        @if let Some(because) = &scenario.because { (line(because)) }
        @for (at, name) in names.iter().enumerate() {
            @if at > 0 || scenario.because.is_some() { ", " }
            a href={ "#" (scenario.scenario.name()) "-" (name) } { (name) }
        }
    }
}

fn trials(report: &Report) -> Markup {
    html! {
        @for scenario in report.scenarios.iter().filter(|one| !one.trials.is_empty()) {
            section {
                h2 { "Trials of " (scenario.scenario.name()) }
                // The first that shows something is open, so that a picture is there without a click, and on paper.
                @let first = scenario.trials.iter().position(|one| one.verdict == Verdict::Violations).unwrap_or(0);
                @for (at, one) in scenario.trials.iter().enumerate() { (trial(one, at == first)) }
            }
        }
    }
}

fn trial(trial: &Trial, is_open: bool) -> Markup {
    html! {
        details.trial open[is_open] {
            summary { (badge(trial.verdict)) " " (line(&trial.name)) }
            @if let Some(because) = &trial.because { p { (line(because)) } }
            (timeline::timeline(trial))
            @for run in &trial.runs {
                @let (stdout, stderr) = (run.ended.stdout.trim_end(), run.ended.stderr.trim_end());
                @if stdout.is_empty() && stderr.is_empty() {
                    p.run { (words::run(run)) ", no output" }
                } @else {
                    details.run {
                        summary { (words::run(run)) }
                        @for (name, tail) in [("stdout", stdout), ("stderr", stderr)] {
                            @if !tail.is_empty() { p.tail { (name) ", its end" } pre { (text(tail)) } }
                        }
                    }
                }
            }
            p.told { "Only this trial: " code { "--only " (line(&trial.id)) } }
        }
    }
}

fn left_out(report: &Report) -> Markup {
    html! {
        @if !report.left_out.is_empty() {
            section {
                h2 { "Not compared" }
                p.told {
                    (plural(report.left_out.len() as u64, "column"))
                    " (a star: a whole table) that may differ between two clean runs, or that you have asked to ignore."
                }
                table {
                    thead { tr { th { "what" } th { "why" } } }
                    tbody {
                        @for one in &report.left_out { tr { td { code { (line(&one.what)) } } td { (line(&one.why)) } } }
                    }
                }
            }
        }
    }
}

/// A part of a whole as CSS and SVG write it, to a tenth: `12.5%`. Never more than all of it.
fn percent(part: u64, whole: u64) -> String {
    let tenths = u128::from(part.min(whole)) * 1000 / u128::from(whole.max(1));
    format!("{}.{}%", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_never_more_than_the_whole() {
        assert_eq!(percent(1, 8), "12.5%");
        assert_eq!(percent(9, 8), "100.0%");
        assert_eq!(percent(0, 0), "0.0%");
        assert_eq!(percent(u64::MAX, u64::MAX), "100.0%");
    }
}
