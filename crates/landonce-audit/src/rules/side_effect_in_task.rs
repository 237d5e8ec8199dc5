//! `side-effect-in-task`: something leaves for the outside from code that is repeated as a whole.

use super::facts::effect::effect;
use super::facts::flow::Flow;
use super::facts::{Facts, hit};
use crate::code::Call;
use crate::rule::{Hit, Level, Project, Rule};

pub(super) const RULE: Rule = Rule {
    id: "side-effect-in-task",
    title: "a call to the outside is made beside the writes to the database",
    why: "The transaction can be rolled back and run again, the call can't: a retry sends it twice, a crash before the commit \
          has told the world of rows that aren't there.",
    level: Level::Error,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for flow in &facts.flows {
        let is_task = is_task(flow);
        let is_writing = flow.is_writing();
        if !is_task && !is_writing {
            continue;
        }
        for (at, event) in flow.events.iter().enumerate() {
            let Some(call) = event.call() else { continue };
            // An alarm about a failure may well be sent again.
            if event.is_handling() {
                continue;
            }
            let Some(what) = effect(flow, at).or_else(|| by_function(facts, flow, call)) else { continue };
            let beside = if is_writing {
                "beside the writes to the database"
            } else {
                "in a task that is retried as a whole"
            };
            hits.push(hit(
                flow.index,
                call.span,
                if is_writing { Level::Error } else { Level::Warning },
                format!("{} {what} {beside}: a retry does it again", call.callee),
                "Insert the message into an outbox table in the same transaction and deliver it from there; or send an idempotency key that is made from the data (never from a random number or the clock).".to_owned(),
            ));
        }
    }
}

/// What a function of the same file does to the outside, if it writes nothing itself: then it is told of where it is called.
fn by_function(facts: &Facts<'_>, flow: &Flow<'_>, call: &Call) -> Option<&'static str> {
    let name = call.callee.trim_start_matches("self.").trim_start_matches("this.");
    let mut named = facts.of_unit(flow.index).iter().filter(|other| other.function.name == name);
    let (Some(called), None) = (named.next(), named.next()) else { return None };
    if name.is_empty() || called.is_writing() {
        return None;
    }
    (0..called.events.len()).filter(|at| !called.events[*at].is_handling()).find_map(|at| effect(called, at))
}

fn is_task(flow: &Flow<'_>) -> bool {
    flow.function.decorators.iter().any(|name| {
        let name = name.to_ascii_lowercase();
        let last = name.rsplit('.').next().unwrap_or_default();
        matches!(
            last,
            "task"
                | "asset"
                | "op"
                | "flow"
                | "job"
                | "pythonoperator"
                | "shared_task"
                | "virtualenv"
                | "multi_asset"
                | "scheduled"
        )
    })
}
