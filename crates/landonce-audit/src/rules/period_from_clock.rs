//! `period-from-clock`: which data a run is about is read from the clock.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, TableFactor};

use super::facts::flow::{Event, Flow, What, last};
use super::facts::tables::Name;
use super::facts::value::{Bound, Volatile};
use super::facts::write::{Kind, columns, given, is_write, select_source};
use super::facts::{Facts, hit};
use crate::code::{Call, Value};
use crate::file::Language;
use crate::rule::{Hit, Level, Project, Rule};
use crate::sql::walk;

pub(super) const RULE: Rule = Rule {
    id: "period-from-clock",
    title: "the clock decides which period a run is about",
    why: "A retry after midnight, a late run or a backfill works on another day than the run it repeats: one day stays half \
          loaded, another is loaded twice.",
    level: Level::Error,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for flow in &facts.flows {
        let is_writing = flow.is_writing();
        let is_model = flow.unit.language == Language::Dbt;
        for (at, event) in flow.events.iter().enumerate() {
            let found = match &event.what {
                What::Sql { .. } => judge(facts, flow, at, is_writing, is_model),
                What::Call(call) if is_writing => by_name(call).map(|what| (what, None)),
                _ => None,
            };
            let Some((what, needle)) = found else { continue };
            let span = match (&event.what, &needle) {
                (What::Sql { statement, .. }, Some(needle)) => statement.find(needle),
                _ => event.span,
            };
            let level = if is_model { Level::Warning } else { Level::Error };
            hits.push(hit(
                flow.index,
                span,
                level,
                format!("{what}: run again later, it is about other data"),
                fix(flow.unit.language),
            ));
        }
    }
}

fn fix(language: Language) -> String {
    match language {
        Language::Dbt => "Take the period as a variable, {{ var('day') }}, and give it to every run: dbt run --vars '{day: 2026-06-01}'.".to_owned(),
        Language::Python => "Take the period as a parameter (in Airflow {{ ds }} or data_interval_start) and bind it: WHERE day = %s.".to_owned(),
        _ => "Take the period as a parameter of the run and bind it: WHERE day = $1 (psql: -v day=2026-06-01 and :'day').".to_owned(),
    }
}

type Found = (String, Option<String>);

fn judge(facts: &Facts<'_>, flow: &Flow<'_>, at: usize, is_writing: bool, is_model: bool) -> Option<Found> {
    let event = &flow.events[at];
    let bound = event.bound()?;
    for write in event.writes() {
        match write.kind {
            Kind::Insert(insert) => {
                if let Some(query) = select_source(insert)
                    && let Some((column, text)) = filter(bound, query)
                {
                    return Some((
                        format!(
                            "what goes into {} is chosen by comparing {column} with the clock",
                            write.table.written
                        ),
                        Some(text),
                    ));
                }
                // The column that says which period a row is about.
                let names = columns(insert, facts.table(&write.table));
                for (at, name) in names.iter().enumerate().filter(|(_, name)| is_period_name(name)) {
                    if given(insert, at).into_iter().any(|expr| bound.volatile(expr) == Some(Volatile::Clock))
                    {
                        return Some((
                            format!("{name} of {} is taken from the clock", write.table.written),
                            None,
                        ));
                    }
                }
            }
            Kind::Delete(delete) => {
                let is_refilled = flow.events[at..].iter().any(|later| refills(later, &write.table));
                if is_refilled
                    && let Some((column, text)) =
                        delete.selection.as_ref().and_then(|expr| compared(bound, expr))
                {
                    return Some((
                        format!(
                            "what is replaced in {} is chosen by comparing {column} with the clock",
                            write.table.written
                        ),
                        Some(text),
                    ));
                }
            }
            _ => {}
        }
    }
    let What::Sql { statement, .. } = &event.what else { return None };
    if is_model
        && let sqlparser::ast::Statement::CreateTable(create) = &statement.tree
        && let Some(query) = &create.query
        && let Some((column, text)) = filter(bound, query)
    {
        return Some((
            format!("what the model holds is chosen by comparing {column} with the clock"),
            Some(text),
        ));
    }
    // A query in a function that writes, whose answer goes somewhere.
    if (is_writing || is_model)
        && !is_write(&statement.tree)
        && let sqlparser::ast::Statement::Query(query) = &statement.tree
        && (is_model || select_has_table(query))
        && let Some((column, text)) = filter(bound, query)
    {
        return Some((format!("what is read is chosen by comparing {column} with the clock"), Some(text)));
    }
    None
}

fn refills(event: &Event<'_>, table: &Name) -> bool {
    event
        .writes()
        .iter()
        .any(|write| write.table.is(table) && matches!(write.kind, Kind::Insert(_) | Kind::Copy(_)))
        || event.call().is_some_and(|call| {
            super::facts::flow::is_written_by_call(call)
                && call.arguments.iter().any(
                    |argument| matches!(&argument.value, Value::Text(text) if Name::text(text).is(table)),
                )
        })
}

fn select_has_table(query: &Query) -> bool {
    !super::facts::write::relations(query).is_empty()
}

/// Columns that say which period a row is about.
pub(super) fn is_period_name(name: &str) -> bool {
    const NAMES: [&str; 26] = [
        "day",
        "date",
        "ds",
        "dt",
        "period",
        "month",
        "week",
        "year",
        "hour",
        "report_date",
        "business_date",
        "snapshot_date",
        "partition_date",
        "event_day",
        "event_date",
        "as_of",
        "as_of_date",
        "report_day",
        "sales_date",
        "order_date",
        "metric_date",
        "data_date",
        "business_day",
        "snapshot_day",
        "stat_date",
        "period_start",
    ];
    NAMES.contains(&name)
}

/// The first comparison of a column with the clock in the filters of a query.
fn filter(bound: Bound<'_>, query: &Query) -> Option<Comparison> {
    if let Some(with) = &query.with
        && let Some(found) = with.cte_tables.iter().find_map(|cte| filter(bound, &cte.query))
    {
        return Some(found);
    }
    in_body(bound, &query.body)
}

/// A column, and what it is compared with as it is written.
type Comparison = (String, String);

fn in_body(bound: Bound<'_>, body: &SetExpr) -> Option<Comparison> {
    match body {
        SetExpr::Select(select) => {
            let own = select.selection.as_ref().and_then(|expr| compared(bound, expr));
            own.or_else(|| {
                select.from.iter().find_map(|from| {
                    std::iter::once(&from.relation)
                        .chain(from.joins.iter().map(|join| &join.relation))
                        .find_map(|factor| match factor {
                            TableFactor::Derived { subquery, .. } => filter(bound, subquery),
                            _ => None,
                        })
                })
            })
        }
        SetExpr::Query(query) => filter(bound, query),
        SetExpr::SetOperation { left, right, .. } => in_body(bound, left).or_else(|| in_body(bound, right)),
        _ => None,
    }
}

/// A column that is compared with the clock, and the comparison as it is written.
fn compared(bound: Bound<'_>, expr: &Expr) -> Option<Comparison> {
    let found = walk::expressions(expr, |expr| {
        let pair = match expr {
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                if bound.has_clock(right) && !bound.has_clock(left) {
                    Some((left, right))
                } else if bound.has_clock(left) && !bound.has_clock(right) {
                    Some((right, left))
                } else {
                    None
                }
            }
            Expr::Between { expr, low, high, .. } if bound.has_clock(low) || bound.has_clock(high) => {
                Some((expr, low))
            }
            _ => None,
        };
        match pair {
            Some((column, clock)) if !is_deadline(&column.to_string()) => {
                ControlFlow::Break((column.to_string(), clock.to_string()))
            }
            _ => ControlFlow::Continue(()),
        }
    });
    match found {
        ControlFlow::Break(found) => Some(found),
        ControlFlow::Continue(()) => None,
    }
}

fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::NotEq
    )
}

/// Deadlines, leases and schedules are compared with the clock by their nature: what is due is due at the next run too.
fn is_deadline(column: &str) -> bool {
    const WORDS: [&str; 27] = [
        "_after",
        "_before",
        "wake",
        "expire",
        "expiry",
        "lease",
        "lock",
        "visible",
        "available",
        "attempt",
        "run_at",
        "scheduled",
        "due",
        "until",
        "deadline",
        "valid_to",
        "valid_from",
        "next_",
        "retry",
        "heartbeat",
        "timeout",
        "claimed",
        "not_before",
        "effective",
        "ttl",
        "last_seen",
        "publish",
    ];
    let column = column.to_ascii_lowercase();
    WORDS.iter().any(|word| column.contains(word))
}

/// A file, an object or a page whose name is made with the clock and which is read.
fn by_name(call: &Call) -> Option<String> {
    const READERS: [&str; 14] = [
        "open",
        "read_csv",
        "read_json",
        "read_parquet",
        "read_excel",
        "get_object",
        "download_file",
        "download_fileobj",
        "get",
        "read_file",
        "ReadFile",
        "readFile",
        "readFileSync",
        "Path",
    ];
    let name = last(&call.callee);
    if !READERS.contains(&name) {
        return None;
    }
    let has_clock = |value: &Value| match value {
        Value::Joined(parts) => {
            parts.iter().any(|part| super::facts::value::volatile(part) == Some(Volatile::Clock))
        }
        _ => false,
    };
    let is_timed = call.arguments.iter().any(|argument| {
        has_clock(&argument.value)
            || argument.name.as_deref() == Some("params")
                && matches!(&argument.value, Value::Many(values) if values.contains(&Value::Clock))
    });
    let is_written = call.arguments.iter().any(|argument| matches!(&argument.value, Value::Text(mode) if matches!(mode.as_str(), "w" | "wb" | "a" | "ab" | "x")));
    (is_timed && !is_written)
        .then(|| format!("the name of what {} reads is made with the clock", call.callee))
}
