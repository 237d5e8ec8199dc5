//! `retry-on-constraint-error`: what can't succeed is tried again.

use super::facts::flow::{Frame, What, is_key_error};
use super::facts::hit;
use super::facts::write::is_write;
use crate::code::{Handler, Loop, Step};
use crate::rule::{Hit, Level, Project, Rule};

pub(super) const RULE: Rule = Rule {
    id: "retry-on-constraint-error",
    title: "errors that come back every time are retried",
    why: "A broken constraint, a bad value or a missing column fails in the same way at every attempt: the retries only hide the \
          error, and a duplicate that means `done already` is taken for a failure.",
    level: Level::Error,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for flow in &facts.flows {
        let mut told = Vec::new();
        for event in &flow.events {
            let What::Sql { statement, .. } = &event.what else { continue };
            if !is_write(&statement.tree) {
                continue;
            }
            let mut retried: Option<&Loop> = None;
            for frame in &event.path {
                match frame {
                    Frame::Loop(inner) if is_retry_loop(inner) => retried = Some(inner),
                    Frame::Loop(_) => retried = None,
                    Frame::Try(tried) => {
                        let Some(inner) = retried else { continue };
                        let Some(handler) = first_that_takes_constraints(&tried.handlers) else { continue };
                        if leaves(&handler.body) || is_choosy(&handler.body) || told.contains(&handler.span) {
                            continue;
                        }
                        told.push(handler.span);
                        let what = if handler.catches.is_empty() {
                            "everything".to_owned()
                        } else {
                            handler.catches.join(", ")
                        };
                        hits.push(hit(
                            flow.index,
                            head(handler, &flow.unit.text),
                            Level::Error,
                            format!("`{}` tries again after {what}, which includes constraint errors that no attempt can mend", inner.head),
                            "Retry only what can pass by itself (SQLSTATE 40001, 40P01, 08xxx, 57P01: SerializationFailure, DeadlockDetected, OperationalError), let everything else out, and take 23505 by ON CONFLICT instead.".to_owned(),
                        ));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// A handler's first line.
fn head(handler: &Handler, text: &str) -> crate::code::Span {
    let crate::code::Span { start, end } = handler.span;
    let first = text.get(start..end).and_then(|text| text.find('\n')).map_or(end, |at| start + at);
    crate::code::Span { start, end: first }
}

/// The handler that an integrity error ends up in, if it is one of these.
fn first_that_takes_constraints(handlers: &[Handler]) -> Option<&Handler> {
    handlers.iter().find(|handler| {
        handler.catches.is_empty()
            || handler.catches.iter().any(|name| {
                let last = name.rsplit(['.', ':']).next().unwrap_or_default();
                is_key_error(last)
                    || matches!(
                        last,
                        "Exception"
                            | "BaseException"
                            | "Error"
                            | "DatabaseError"
                            | "IntegrityError"
                            | "SQLIntegrityConstraintViolationException"
                            | "UniqueViolation"
                            | "SQLAlchemyError"
                            | "DBAPIError"
                            | "PostgresError"
                            | "UniqueViolationError"
                            | "DuplicateKeyException"
                            | "DataIntegrityViolationException"
                            | "SQLException"
                            | "Throwable"
                            | "RuntimeException"
                            | "ForeignKeyViolation"
                            | "NotNullViolation"
                            | "CheckViolation"
                            | "IntegrityConstraintViolationError"
                    )
            })
    })
}

/// Loops that try again: by the name of what they count, or because they only stop when something has worked.
pub(super) fn is_retry_loop(inner: &Loop) -> bool {
    let head = inner.head.to_ascii_lowercase();
    [
        "attempt",
        "retr",
        "tries",
        "_ in range(",
        "i in range(",
        "while true",
        "while 1",
        "while not ",
        "trial",
        "loop",
    ]
    .iter()
    .any(|word| head.contains(word))
        || head.trim() == "for"
        || head.contains("while (true)")
        || counts_to_a_number(&head)
}

/// for a in range(5): so many times, whatever the counter is called.
fn counts_to_a_number(head: &str) -> bool {
    let times =
        head.split_once(" in range(").and_then(|(_, rest)| rest.trim_end_matches(':').strip_suffix(')'));
    times.is_some_and(|times| !times.is_empty() && times.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a handler always leaves the loop: its last step raises, returns or breaks.
pub(super) fn leaves(body: &[Step]) -> bool {
    match body.last() {
        Some(Step::Call(call)) => matches!(
            call.callee.as_str(),
            "raise"
                | "throw"
                | "return"
                | "break"
                | "sys.exit"
                | "exit"
                | "panic"
                | "os.Exit"
                | "process.exit"
        ),
        Some(Step::Branch(branch)) => leaves(&branch.then) && leaves(&branch.otherwise),
        _ => false,
    }
}

/// Whether a handler tells errors that can pass from those that can't.
fn is_choosy(body: &[Step]) -> bool {
    body.iter().any(|step| match step {
        Step::Branch(branch) => {
            let test = branch.test.to_ascii_lowercase();
            [
                "pgcode",
                "sqlstate",
                "code",
                "retryable",
                "transient",
                "isinstance",
                "instanceof",
                "40001",
                "40p01",
                "is_retr",
                "should_retry",
                "deadlock",
                "serializ",
                "errno",
            ]
            .iter()
            .any(|word| test.contains(word))
                || is_choosy(&branch.then)
                || is_choosy(&branch.otherwise)
        }
        _ => false,
    })
}
