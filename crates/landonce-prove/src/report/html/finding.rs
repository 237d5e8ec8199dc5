//! A finding as a card: what, where it shows, which statement, what to do, how to see it again.

use maud::{Markup, html};

use crate::class::Weight;
use crate::report::words::{change, figures, line, plural, text};
use crate::report::{Evidence, Finding};
use crate::scenario::Scenario;
use crate::snapshot::Change;

/// Trials named on a card; the rest stand in the scenario's own list.
const TRIALS: usize = 5;

/// The card, under this id.
pub(super) fn card(scenario: Scenario, finding: &Finding, id: &str) -> Markup {
    let class = finding.class;
    let (tone, weight) = match finding.weight {
        Weight::Violation => ("bad", "✗ violation"),
        Weight::Remark => ("open", "! remark"),
    };
    html! {
        article class={ "card " (tone) } id=(id) {
            h3 { (class.name()) ": " (class.title()) }
            p.told { span class={ "badge " (tone) } { (weight) } " in " b { (scenario.name()) } }
            p.message { (line(&finding.message)) }
            p { (class.why()) }
            @for evidence in &finding.tables { (rows(evidence)) }
            @if let Some(statement) = &finding.statement {
                h4 { "Likely statement" }
                pre { (text(statement.trim())) }
            }
            h4 { "What to do" }
            p { (line(&finding.fix)) }
            @if let Some(sql) = &finding.sql {
                p.told { "For example, with tables that stand for yours:" }
                pre { (text(sql)) }
            }
            h4 { "See it again" }
            pre { (line(&finding.replay)) }
            @if !finding.trials.is_empty() {
                p.told { "It shows in:" }
                ul.trials {
                    @for trial in finding.trials.iter().take(TRIALS) { li { (line(trial)) } }
                    @if finding.trials.len() > TRIALS {
                        li { "… and " (plural((finding.trials.len() - TRIALS) as u64, "more trial")) }
                    }
                }
            }
            p.told { "More about it: " code { (line(&finding.docs)) } }
        }
    }
}

fn rows(evidence: &Evidence) -> Markup {
    html! {
        h4 { code { (line(&evidence.table)) } }
        p { (figures(evidence)) "." }
        @if !evidence.samples.is_empty() {
            ul.rows {
                @for sample in &evidence.samples {
                    @let (sign, word) = change(sample.change);
                    li class=(style(sample.change)) {
                        span.sign { (sign) }
                        span { (line(&sample.row)) @if !word.is_empty() { " " i { "(" (word) ")" } } }
                    }
                }
            }
        }
    }
}

fn style(change: Change) -> &'static str {
    match change {
        Change::Added | Change::Doubled => "added",
        Change::Removed => "removed",
        Change::Changed | Change::Restamped => "changed",
    }
}
