//! A topic's figures: for people, as JSON, and in the text form that Prometheus reads.

use std::time::Duration;

use landonce::Store;
use landonce::outbox::Depth;
use serde::Serialize;

use crate::args::OutputForm;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::report::{self, Table};

/// One topic. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Serialize)]
struct TopicReport {
    topic: String,
    pending: u64,
    leased: u64,
    retrying: u64,
    attempts: u64,
    oldest_seconds: Option<f64>,
    dead: u64,
    paused_seconds: Option<f64>,
    pause_reason: Option<String>,
}

#[derive(Serialize)]
struct StatsReport {
    store: String,
    topics: Vec<TopicReport>,
}

impl From<Depth> for TopicReport {
    fn from(depth: Depth) -> Self {
        let (paused, pause_reason) = depth.paused.unzip();
        let seconds = |lasting: Duration| (lasting.as_secs_f64() * 1000.0).round() / 1000.0;
        Self {
            topic: depth.topic,
            pending: depth.pending,
            leased: depth.leased,
            retrying: depth.retrying,
            attempts: depth.attempts,
            oldest_seconds: depth.oldest.map(seconds),
            dead: depth.dead,
            paused_seconds: paused.map(seconds),
            pause_reason,
        }
    }
}

/// A gauge: its name, what it tells, and its value for a topic.
type Gauge = (&'static str, &'static str, fn(&TopicReport) -> String);

const GAUGES: [Gauge; 7] = [
    ("pending", "Messages that wait or are under way.", |topic| topic.pending.to_string()),
    ("leased", "Pending messages that a worker holds.", |topic| topic.leased.to_string()),
    ("retrying", "Pending messages that have failed before.", |topic| topic.retrying.to_string()),
    ("attempts", "Attempts that the pending messages have behind them.", |topic| topic.attempts.to_string()),
    ("oldest_age_seconds", "How long ago the oldest pending message was enqueued.", |topic| {
        topic.oldest_seconds.unwrap_or(0.0).to_string()
    }),
    ("dead", "Dead letters.", |topic| topic.dead.to_string()),
    ("paused_seconds", "How much longer the topic pauses.", |topic| {
        topic.paused_seconds.unwrap_or(0.0).to_string()
    }),
];

#[derive(Serialize)]
struct ResumeReport<'a> {
    status: &'static str,
    topic: &'a str,
}

/// Ends a topic's pause.
pub(super) async fn resume(store: &Store, topic: &str, form: OutputForm) -> Result<Exit, Failure> {
    let depth = store.outbox().depth().await?;
    let is_paused = depth.iter().any(|depth| depth.topic == topic && depth.paused.is_some());
    if is_paused {
        store.outbox().resume(topic).await?;
    }
    let (status, told) = if is_paused { ("resumed", "goes on") } else { ("not_paused", "doesn't pause") };
    if form.is_json() {
        report::json(&ResumeReport { status, topic })?;
    } else {
        report::print(&format!("{} {told}\n", report::line(topic)))?;
    }
    Ok(if is_paused { Exit::Fine } else { Exit::Findings })
}

pub(super) async fn run(store: &Store, form: OutputForm) -> Result<Exit, Failure> {
    let topics: Vec<TopicReport> = store.outbox().depth().await?.into_iter().map(TopicReport::from).collect();
    match form {
        OutputForm::Json => report::json(&StatsReport { store: store.place(), topics })?,
        OutputForm::Prometheus => report::print(&exposition(&topics))?,
        OutputForm::Text if topics.is_empty() => {
            report::print(&format!(
                "nothing waits and nothing is dead in {}\n",
                report::line(&store.place())
            ))?;
        }
        OutputForm::Text => report::print(&table(&topics))?,
    }
    Ok(Exit::Fine)
}

fn table(topics: &[TopicReport]) -> String {
    let mut table =
        Table::new(&["topic", "pending", "leased", "retrying", "attempts", "oldest", "dead", "pause"]);
    for topic in topics {
        let pause = topic.paused_seconds.map(|seconds| {
            format!("{} more: {}", span(seconds), topic.pause_reason.as_deref().unwrap_or_default())
        });
        table.push(vec![
            report::line(&topic.topic).into_owned(),
            topic.pending.to_string(),
            topic.leased.to_string(),
            topic.retrying.to_string(),
            topic.attempts.to_string(),
            topic.oldest_seconds.map(span).unwrap_or_default(),
            topic.dead.to_string(),
            report::line(&pause.unwrap_or_default()).into_owned(),
        ]);
    }
    table.render()
}

/// A span of time in its two largest units.
fn span(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, ..) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

/// Prometheus' text exposition format.
fn exposition(topics: &[TopicReport]) -> String {
    let mut out = String::new();
    for (name, help, of) in GAUGES {
        out.push_str(&format!("# HELP landonce_outbox_{name} {help}\n# TYPE landonce_outbox_{name} gauge\n"));
        for topic in topics {
            let (label, value) = (label(&topic.topic), of(topic));
            out.push_str(&format!("landonce_outbox_{name}{{topic=\"{label}\"}} {value}\n"));
        }
    }
    out
}

/// A label's value: backslash, quote and line feed are escaped, nothing else.
fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_two_units() {
        let told: Vec<String> = [0.4, 59.9, 61.0, 3_600.0, 90_000.0].into_iter().map(span).collect();
        assert_eq!(told, ["0s", "59s", "1m 1s", "1h 0m", "1d 1h"]);
    }

    #[test]
    fn a_label_can_hold_any_text() {
        assert_eq!(label("a\"b\\c\nd é"), r#"a\"b\\c\nd é"#);
    }
}
