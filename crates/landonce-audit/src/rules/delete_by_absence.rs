//! `delete-by-absence`: rows go because they aren't in what came.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Delete, Expr, InTarget, MergeAction, MergeClauseKind, UnaryOperator};

use super::dbt::{Config, model};
use super::facts::flow::{Flow, What, last};
use super::facts::tables::{Name, is_migration, is_test};
use super::facts::write::{Kind, Write, relations, select_source};
use super::facts::{Facts, hit, place};
use crate::code::{Span, Value};
use crate::rule::{Hit, Level, Project, Rule};
use crate::sql::walk;

pub(super) const RULE: Rule = Rule {
    id: "delete-by-absence",
    title: "rows are deleted because they are missing from what came",
    why: "A file that was cut, an empty answer or a failed page looks just like rows that are gone, and takes good data with it.",
    level: Level::Error,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for flow in &facts.flows {
        for (at, event) in flow.events.iter().enumerate() {
            match &event.what {
                What::Sql { statement, writes, .. } => {
                    for write in writes.iter().filter(|write| !facts.is_staging(&write.table)) {
                        if let Some((keywords, level, message, fix)) = judge(facts, flow, at, write) {
                            let span = place(statement, keywords, &write.table);
                            hits.push(hit(flow.index, span, level, message, fix));
                        }
                    }
                }
                What::Call(call) if last(&call.callee) == "to_sql" => {
                    let has = |name: &str, position: usize| {
                        call.arguments
                            .iter()
                            .find(|argument| argument.name.as_deref() == Some(name))
                            .or_else(|| {
                                call.arguments.iter().filter(|argument| argument.name.is_none()).nth(position)
                            })
                            .map(|argument| &argument.value)
                    };
                    let Some(Value::Text(mode)) = has("if_exists", 3) else { continue };
                    let Some(Value::Text(table)) = has("name", 0) else { continue };
                    let table = Name::text(table);
                    if mode == "replace" && !facts.is_staging(&table) {
                        hits.push(hit(
                            flow.index,
                            call.span,
                            Level::Error,
                            format!("to_sql drops {0} with its keys, indexes and grants, and fills a new one from what came, however little that is", table.written),
                            format!("Fill a staging table with to_sql, then INSERT INTO {0} SELECT … ON CONFLICT (the key) DO UPDATE, and delete only after checking that the input was complete.", table.written),
                        ));
                    }
                }
                _ => {}
            }
        }
    }
    snapshots(project, hits);
}

type Verdict = (&'static str, Level, String, String);

fn judge(facts: &Facts<'_>, flow: &Flow<'_>, at: usize, write: &Write<'_>) -> Option<Verdict> {
    let name = &write.table.written;
    match write.kind {
        Kind::Delete(delete) if delete.selection.is_some() => {
            let source = absence(facts, flow, delete, &write.table)?;
            if facts.is_checked_complete(flow, at) {
                return None;
            }
            Some((
                "delete from",
                Level::Error,
                format!(
                    "rows of {name} are deleted because they aren't in {source}, and nothing shows that {source} is complete"
                ),
                format!(
                    "Check first that the input is whole (a row count or a checksum that the source sends, a share of {name} that may go at most), and stop otherwise; or UPDATE {name} SET missing_since = … and delete what stays missing."
                ),
            ))
        }
        Kind::Delete(_) | Kind::Truncate => {
            let keywords = if matches!(write.kind, Kind::Truncate) { "truncate" } else { "delete from" };
            refill(facts, flow, at, write, keywords)
        }
        Kind::Merge(merge) => {
            let deletes = merge.clauses.iter().any(|clause| {
                clause.clause_kind == MergeClauseKind::NotMatchedBySource
                    && clause.predicate.is_none()
                    && matches!(clause.action, MergeAction::Delete { .. })
            });
            (deletes && !facts.is_checked_complete(flow, at)).then(|| {
                (
                    "merge into",
                    Level::Error,
                    format!("MERGE deletes every row of {name} that {} doesn't have, and nothing shows that it is complete", merge.source),
                    format!("Leave out WHEN NOT MATCHED BY SOURCE THEN DELETE, or check first that {} is whole and limit the clause to the period that it covers.", merge.source),
                )
            })
        }
        _ => None,
    }
}

/// Everything goes, and what came takes its place.
fn refill(
    facts: &Facts<'_>,
    flow: &Flow<'_>,
    at: usize,
    write: &Write<'_>,
    keywords: &'static str,
) -> Option<Verdict> {
    let name = &write.table.written;
    let (later, is_derived) = flow.events[at + 1..].iter().enumerate().find_map(|(offset, event)| {
        let is_call = event.call().is_some_and(|call| {
            super::facts::flow::is_written_by_call(call)
                && call.arguments.iter().any(|argument| matches!(&argument.value, Value::Text(text) if Name::text(text).is(&write.table)))
        });
        let filled = event.writes().iter().find(|other| {
            other.table.is(&write.table) && matches!(other.kind, Kind::Insert(_) | Kind::Copy(_))
        });
        let is_derived = filled.is_some_and(|other| match other.kind {
            Kind::Insert(insert) => select_source(insert).is_some_and(|query| {
                let from = relations(query);
                !from.is_empty() && !from.iter().any(|table| facts.is_staging(table))
            }),
            _ => false,
        });
        (is_call || filled.is_some()).then_some((at + 1 + offset, is_derived))
    })?;
    let is_one = flow.is_together(at, later);
    // Rebuilt from tables of the same database: what is missing there is missing.
    if is_one && (is_derived || facts.is_checked_complete(flow, at)) {
        return None;
    }
    let what = if keywords == "truncate" { "TRUNCATE" } else { "DELETE" };
    if is_one {
        return Some((
            keywords,
            Level::Warning,
            format!(
                "{what} empties {name} and what came fills it, in one transaction but however little came"
            ),
            format!(
                "Check before the {what} that the input is whole, and stop otherwise: if expected != received, raise; or merge into {name} by its key."
            ),
        ));
    }
    Some((
        keywords,
        Level::Error,
        format!(
            "{what} empties {name} in one transaction and another one fills it: a crash between them leaves it empty, a second run at the same time doubles it"
        ),
        format!(
            "Put both into one transaction: BEGIN; {what} {name}; INSERT INTO {name} …; COMMIT; and check first that the input is whole."
        ),
    ))
}

/// What rows must be in to stay, if the DELETE is by absence from what came.
fn absence(facts: &Facts<'_>, flow: &Flow<'_>, delete: &Delete, target: &Name) -> Option<String> {
    let selection = delete.selection.as_ref()?;
    let text = selection.to_string().to_ascii_lowercase();
    // The statement itself asks whether the input is whole.
    if ["count(", "complete", "expected", "manifest"].iter().any(|word| text.contains(word)) {
        return None;
    }
    let is_payload = |names: &[Name]| {
        names.is_empty()
            || names.iter().any(|name| facts.is_staging(name))
            || names.iter().any(|name| is_filled_here(flow, name))
                && !names.iter().any(|name| name.is(target))
    };
    let called =
        |names: &[Name]| names.first().map_or_else(|| "what came".to_owned(), |name| name.written.clone());
    let found = walk::expressions(selection, |expr| {
        let names = match expr {
            Expr::In { target: InTarget::Subquery(query), negated: true, .. }
            | Expr::Exists { subquery: query, negated: true } => relations(query),
            Expr::In { target: InTarget::List(list), negated: true, .. } => {
                // NOT IN ('done', 'failed') names states, NOT IN ($1, $2) two rows; a list of any length is one placeholder.
                let is_bound = matches!(list.as_slice(), [Expr::Value(value)] if matches!(value.value, sqlparser::ast::Value::Placeholder(_)));
                if !is_bound {
                    return ControlFlow::Continue(());
                }
                Vec::new()
            }
            Expr::In { target: InTarget::Unnest(_), negated: true, .. } => Vec::new(),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => match without_nesting(expr) {
                Expr::Exists { subquery, negated: false } => relations(subquery),
                Expr::AnyOp { compare_op: BinaryOperator::Eq, right, .. } => relations(&**right),
                Expr::In { target: InTarget::Subquery(query), negated: false, .. } => relations(query),
                _ => return ControlFlow::Continue(()),
            },
            Expr::AllOp { compare_op: BinaryOperator::NotEq, right, .. } => relations(&**right),
            _ => return ControlFlow::Continue(()),
        };
        if is_payload(&names) { ControlFlow::Break(called(&names)) } else { ControlFlow::Continue(()) }
    });
    match found {
        ControlFlow::Break(source) => Some(source),
        ControlFlow::Continue(()) => None,
    }
}

fn without_nesting(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => without_nesting(inner),
        other => other,
    }
}

/// Whether the same function fills a table from outside: then it holds what came.
fn is_filled_here(flow: &Flow<'_>, name: &Name) -> bool {
    flow.events.iter().any(|event| {
        event.writes().iter().any(|write| {
            write.table.is(name)
                && match write.kind {
                    Kind::Copy(_) => true,
                    Kind::Insert(insert) => select_source(insert).is_none(),
                    _ => false,
                }
        })
    })
}

/// dbt snapshots that close every row which their source doesn't show.
fn snapshots(project: &Project<'_>, hits: &mut Vec<Hit>) {
    for (index, unit) in project.units.iter().enumerate() {
        if is_test(&unit.path) || is_migration(unit) {
            continue;
        }
        let Some(config) = Config::of(unit) else { continue };
        let option = if config
            .value("invalidate_hard_deletes")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        {
            "invalidate_hard_deletes"
        } else if matches!(config.value("hard_deletes"), Some("invalidate" | "new_record")) {
            "hard_deletes"
        } else {
            continue;
        };
        let name = model(unit).written;
        let span: Span = config.span;
        hits.push(hit(
            index,
            span,
            Level::Warning,
            format!("{option} closes every row of {name} that its source doesn't show at this run, a half-loaded source included"),
            "Let the snapshot depend on a test that the source is whole (a row count, freshness), or leave the option out.".to_owned(),
        ));
    }
}
