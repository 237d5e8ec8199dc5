//! `statement-retry`: one statement is tried again inside of a transaction that has failed as a whole.

use super::facts::flow::{Event, Flow, Frame, What, is_commit, is_opener, last, receiver};
use super::facts::hit;
use super::facts::write::is_write;
use super::retry_on_constraint_error::{is_retry_loop, leaves};
use crate::rule::{Hit, Level, Project, Rule};

pub(super) const RULE: Rule = Rule {
    id: "statement-retry",
    title: "a statement is retried, not its transaction",
    why: "After an error PostgreSQL refuses every further statement of the transaction (25P02), and after 40001 what was read \
          before is out of date: only the whole transaction can be tried again. A driver that does let it through repeats one \
          part and loses another.",
    level: Level::Error,
    safe_fix: None,
    check,
};

const FIX: &str = "Move the loop outside: open the transaction, do all of its statements and commit inside of the body that is tried again, and start from the first statement.";

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for flow in &facts.flows {
        if flow.events.iter().all(|event| event.transaction.is_none()) {
            continue;
        }
        by_loop(flow, hits);
        by_decorator(flow, hits);
    }
}

/// for attempt in range(3): try: cur.execute(…) except OperationalError: sleep
fn by_loop(flow: &Flow<'_>, hits: &mut Vec<Hit>) {
    let mut told = Vec::new();
    for event in &flow.events {
        let What::Sql { statement, .. } = &event.what else { continue };
        let Some((at, retried)) = event.path.iter().enumerate().find_map(|(at, frame)| match frame {
            Frame::Loop(inner) if is_retry_loop(inner) => Some((at, *inner)),
            _ => None,
        }) else {
            continue;
        };
        let tried = event.path[at..].iter().find_map(|frame| match frame {
            Frame::Try(tried) => Some(*tried),
            _ => None,
        });
        let Some(tried) = tried else { continue };
        let is_retried = tried.handlers.iter().any(|handler| !leaves(&handler.body));
        if !is_retried || !is_write(&statement.tree) || told.contains(&tried.span) {
            continue;
        }
        let inside = |other: &&Event<'_>| {
            other
                .path
                .iter()
                .any(|frame| matches!(frame, Frame::Loop(inner) if std::ptr::eq(*inner, retried)))
        };
        // The loop makes its own transaction, or undoes the failed part: then the whole is tried again.
        let is_whole = flow.events.iter().filter(inside).any(opens_or_ends);
        let is_inside_open = event.transaction.is_some();
        if is_whole || !is_inside_open {
            continue;
        }
        told.push(tried.span);
        hits.push(hit(
            flow.index,
            event.span,
            Level::Error,
            format!("`{}` repeats this statement inside of a transaction that is already open", retried.head),
            FIX.to_owned(),
        ));
    }
}

/// Whether a step opens, ends or undoes something that can be tried again as a whole.
fn opens_or_ends(event: &Event<'_>) -> bool {
    match &event.what {
        What::Call(call) => {
            let name = last(&call.callee).to_ascii_lowercase();
            is_commit(call)
                || is_opener(call)
                || [
                    // connect(), get_conn(), and a helper that is just called conn().
                    "conn",
                    "rollback",
                    "acquire",
                    "session",
                    "begin_nested",
                    "savepoint",
                    "pool",
                ]
                .iter()
                .any(|word| name.contains(word))
        }
        What::Sql { statement, .. } => matches!(
            statement.tree,
            sqlparser::ast::Statement::StartTransaction { .. }
                | sqlparser::ast::Statement::Commit { .. }
                | sqlparser::ast::Statement::Rollback { .. }
                | sqlparser::ast::Statement::Savepoint { .. }
        ),
        What::Test(_) => false,
    }
}

/// @retry def insert(cur, row): cur.execute(…), where the cursor belongs to somebody else.
fn by_decorator(flow: &Flow<'_>, hits: &mut Vec<Hit>) {
    let decorator = flow.function.decorators.iter().find(|name| {
        let name = name.to_ascii_lowercase();
        name.rsplit('.').next() == Some("retry")
            || name.contains("backoff")
            || name.contains("retrying")
            || name.contains("retryable")
    });
    let Some(decorator) = decorator else { return };
    if flow.events.iter().any(opens_or_ends) {
        return;
    }
    let written = flow.events.iter().find(|event| match &event.what {
        What::Sql { statement, usage, .. } => is_write(&statement.tree) && is_lent(&usage.call.callee),
        _ => false,
    });
    let Some(event) = written else { return };
    hits.push(hit(
        flow.index,
        event.span,
        Level::Error,
        format!(
            "@{decorator} repeats this statement on a transaction that {} was given and that has failed",
            flow.function.name
        ),
        FIX.to_owned(),
    ));
}

/// Whether a statement goes to something that carries an open transaction, as far as its name says.
fn is_lent(callee: &str) -> bool {
    matches!(
        receiver(callee).as_str(),
        "cur" | "cursor" | "conn" | "connection" | "tx" | "trx" | "transaction" | "session"
    )
}
