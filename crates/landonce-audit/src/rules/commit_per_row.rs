//! `commit-per-row`: every row is a transaction of its own.

use sqlparser::ast::Statement as Tree;

use super::facts::flow::{Event, Flow, Frame, What, is_commit};
use super::facts::hit;
use super::facts::tables::{Name, is_ledger_name, natural_keys};
use super::facts::write::{Boundary, Conflict, Kind, Write, boundary, conflict};
use crate::code::Loop;
use crate::file::Language;
use crate::rule::{Hit, Level, Project, Rule};

pub(super) const RULE: Rule = Rule {
    id: "commit-per-row",
    title: "each row is committed by itself",
    why: "A crash leaves the first part of the batch and no record of where it ended, readers see half of it, and each commit \
          waits for the disk.",
    level: Level::Warning,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    let has_key = |name: &Name| facts.table(name).is_some_and(|table| !natural_keys(table).is_empty());
    for flow in &facts.flows {
        let mut told: Vec<*const Loop> = Vec::new();
        for (at, event) in flow.events.iter().enumerate() {
            let Some(rows) = event.loops().last().filter(|inner| is_over_rows(inner)) else { continue };
            if told.contains(&std::ptr::from_ref(rows)) || event.is_handling() {
                continue;
            }
            let is_end = match &event.what {
                What::Call(call) => is_commit(call),
                What::Sql { statement, .. } => {
                    matches!(statement.tree, Tree::Commit { .. })
                        && matches!(boundary(&statement.tree), Some(Boundary::End))
                }
                What::Test(_) => false,
            };
            // Every hundredth row, and so on: a commit that hangs on a choice inside of the loop.
            let is_now_and_then = event.path.iter().rev().take_while(|frame| !matches!(frame, Frame::Loop(_))).any(|frame| {
                matches!(frame, Frame::Then(branch) | Frame::Otherwise(branch) if branch.test.contains('%') || branch.test.contains("len(") || branch.test.contains(">="))
            });
            let written = written_in(flow, rows);
            let Some(first) = written.first() else { continue };
            // Each migration is committed with its line in the ledger.
            if written
                .iter()
                .flat_map(|at| flow.events[*at].writes())
                .any(|write| is_ledger_name(&write.table))
            {
                continue;
            }
            // A claim per row, in the row's own transaction, is the way of consumers.
            if is_now_and_then || written.iter().any(|at| flow.is_claimed(*at, &has_key)) {
                continue;
            }
            let is_by_itself = event.transaction.is_none() && *first == at && is_awaited(flow);
            if !(is_end || is_by_itself) {
                continue;
            }
            // What is told as an append needn't be told again.
            let is_append = |write: &Write<'_>| {
                matches!(write.kind, Kind::Insert(insert) if matches!(conflict(insert), Conflict::None))
                    && !has_key(&write.table)
            };
            if !is_end && event.writes().iter().any(is_append) {
                continue;
            }
            told.push(std::ptr::from_ref(rows));
            let tables = written
                .iter()
                .flat_map(|at| flow.events[*at].writes())
                .map(|write| write.table.written.clone())
                .next()
                .unwrap_or_default();
            let how = if is_end {
                "commits after every row of"
            } else {
                "writes every row as a transaction of its own to"
            };
            hits.push(hit(
                flow.index,
                event.span,
                Level::Warning,
                format!("the loop `{}` {how} {tables}: a crash in the middle leaves a part of the batch", rows.head),
                format!("Open one transaction around the loop, claim the batch in it, and commit once behind it (or per batch of rows, each with its claim): with conn.transaction(): for …: INSERT INTO {tables} …."),
            ));
        }
    }
}

/// Drivers whose statements are committed one by one unless a transaction is opened.
fn is_awaited(flow: &Flow<'_>) -> bool {
    matches!(
        flow.unit.language,
        Language::Python
            | Language::JavaScript
            | Language::TypeScript
            | Language::Go
            | Language::Java
            | Language::Rust
    )
}

/// Loops over rows, not over batches, days, files, attempts or messages.
fn is_over_rows(inner: &Loop) -> bool {
    const OTHERS: [&str; 31] = [
        "batch",
        "chunk",
        "page",
        "file",
        "path",
        "partition",
        "day",
        "date",
        "month",
        "period",
        "attempt",
        "retr",
        "range(",
        "table",
        "consumer",
        "message",
        "msg",
        "poll",
        "queue",
        "while true",
        "while 1",
        "event_stream",
        "stream",
        "slice",
        "group",
        "tenant",
        "shard",
        "migration",
        "stmt",
        "statement",
        "quer",
    ];
    let head = inner.head.to_ascii_lowercase();
    !OTHERS.iter().any(|word| head.contains(word))
        && !head.trim_start().starts_with("while")
        && !head.trim_start().starts_with("loop")
        // for (;;), and Go's for without anything.
        && !head.replace(' ', "").starts_with("for(;;)")
        && head.trim() != "for"
}

/// The writes of data in a loop.
fn written_in(flow: &Flow<'_>, inner: &Loop) -> Vec<usize> {
    let is_inside = |event: &Event<'_>| event.loops().any(|other| std::ptr::eq(other, inner));
    flow.events
        .iter()
        .enumerate()
        .filter(|(_, event)| {
            is_inside(event)
                && event
                    .writes()
                    .iter()
                    .any(|write| !matches!(write.kind, Kind::Create | Kind::Drop | Kind::Truncate))
                && !matches!(event.what, What::Sql { usage, .. } if usage.is_many)
        })
        .map(|(at, _)| at)
        .collect()
}
