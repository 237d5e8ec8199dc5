//! `volatile-key`: a key holds a value that is another one at every run.

use std::ops::ControlFlow;

use sqlparser::ast::Expr;

use super::facts::flow::What;
use super::facts::tables::{Name, is_clock_default, is_inbox_name, is_lease, natural_keys};
use super::facts::value::{Bound, Volatile};
use super::facts::write::{Conflict, Kind, columns, conflict, given, target_columns};
use super::facts::{Facts, hit, place};
use super::period_from_clock::is_period_name;
use crate::code::Span;
use crate::rule::{Hit, Level, Project, Rule};
use crate::schema::Table;
use crate::sql::walk;

pub(super) const RULE: Rule = Rule {
    id: "volatile-key",
    title: "the key holds a random number, the time or the run's id",
    why: "A key that differs at every run matches nothing that an earlier run wrote, so each retry makes new rows and ON CONFLICT \
          never fires.",
    level: Level::Error,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    let has_key = |name: &Name| facts.table(name).is_some_and(|table| !natural_keys(table).is_empty());
    for flow in &facts.flows {
        for (at, event) in flow.events.iter().enumerate() {
            let (What::Sql { statement, writes, .. }, Some(bound)) = (&event.what, event.bound()) else {
                continue;
            };
            for write in writes {
                let Kind::Insert(insert) = write.kind else { continue };
                if facts.is_staging(&write.table) || event.is_handling() || flow.is_claimed(at, &has_key) {
                    continue;
                }
                let table = facts.table(&write.table);
                let names = columns(insert, table);
                // A process that reports for duty is another one each time, and goes when its lease ends.
                if names.iter().any(|name| is_lease(name)) {
                    continue;
                }
                let keys = keys(insert, table, &names);
                let found = keys.iter().find_map(|key| {
                    let volatile = key.columns.iter().find_map(|name| {
                        let at = names.iter().position(|column| column == name)?;
                        let volatile = given(insert, at).into_iter().find_map(|expr| in_key(bound, expr))?;
                        Some((name.clone(), volatile))
                    })?;
                    // A run's or a batch's own row is known by its id; only beside other columns does it split rows.
                    let is_of_the_run = volatile.1 == Volatile::RunId && key.columns.len() == 1;
                    let is_period = volatile.1 == Volatile::Clock && is_period_name(&volatile.0);
                    (!is_of_the_run && !is_period).then_some((key, volatile))
                });
                let Some((key, (column, volatile))) = found else { continue };
                // Another key, without chance in it, refuses the second copy (or is what the statement relies on).
                let has_other = table
                    .is_some_and(|table| natural_keys(table).iter().any(|other| !other.contains(&column)));
                let relies = !target_columns(target(conflict(insert))).is_empty();
                let is_target = target_columns(target(conflict(insert))).contains(&column);
                if (!is_target && (has_other || relies))
                    || is_run_table(&write.table) && volatile == Volatile::RunId
                {
                    continue;
                }
                let name = &write.table.written;
                let is_certain = table.is_some() || is_target;
                hits.push(hit(
                    flow.index,
                    place(statement, "insert into", &write.table),
                    if is_certain { Level::Error } else { Level::Warning },
                    format!("the key ({}) of {name} holds {column}, which is {}: no later run can meet the row again", key.columns.join(", "), volatile.words()),
                    fix(name, &column, volatile, &names),
                ));
            }
        }
    }
    declared(facts, project, hits);
}

fn fix(name: &str, column: &str, volatile: Volatile, names: &[String]) -> String {
    let others: Vec<String> = names.iter().filter(|other| *other != column).cloned().collect();
    let likely = super::facts::tables::likely_key(&others).join(", ");
    match volatile {
        Volatile::Random => format!(
            "Make {column} from what identifies the row (a UUID v5 or a hash over {likely} with separators), or key {name} by ({likely}) and keep {column} out of the conflict target."
        ),
        Volatile::Clock => format!(
            "Key {name} by ({likely}), or take {column} from the data; keep the time of loading in a column outside of the key."
        ),
        Volatile::RunId => format!(
            "Key {name} by ({likely}) and keep {column} as a plain column that only the first insert sets."
        ),
    }
}

struct Key {
    columns: Vec<String>,
}

/// What takes the part of the key: the conflict target, else the table's keys, else a column called id.
fn keys(insert: &sqlparser::ast::Insert, table: Option<&Table>, names: &[String]) -> Vec<Key> {
    let target = target_columns(target(conflict(insert)));
    if !target.is_empty() {
        return vec![Key { columns: target }];
    }
    let mut found: Vec<Key> = table
        .map(|table| {
            std::iter::once(&table.primary_key)
                .chain(table.unique.iter().map(|unique| &unique.columns))
                .filter(|columns| !columns.is_empty())
                .map(|columns| Key { columns: columns.clone() })
                .collect()
        })
        .unwrap_or_default();
    if table.is_none() {
        found.extend(
            names
                .iter()
                .filter(|name| {
                    matches!(
                        name.as_str(),
                        "id" | "uuid" | "pk" | "row_id" | "event_id" | "surrogate_key" | "row_key"
                    )
                })
                .map(|name| Key { columns: vec![name.clone()] }),
        );
    }
    found
}

fn target(conflict: Conflict<'_>) -> Option<&sqlparser::ast::ConflictTarget> {
    match conflict {
        Conflict::Nothing(target) | Conflict::Update(target, _) => target,
        _ => None,
    }
}

/// Volatile as a whole: `now()`, `md5(random()::text)`, but not `coalesce(x, now())`, where the data has the word.
fn in_key(bound: Bound<'_>, expr: &Expr) -> Option<Volatile> {
    if let Expr::Function(function) = expr {
        let name = function.name.to_string().to_ascii_lowercase();
        if name == "coalesce" || name == "ifnull" {
            return None;
        }
    }
    // A subquery's filter by the clock is no part of the value.
    let has_subquery = walk::expressions(expr, |inner| {
        if matches!(inner, Expr::Subquery(_)) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .is_break();
    if has_subquery { None } else { bound.volatile(expr) }
}

/// The books of runs, in which a run's id is the key by right.
fn is_run_table(name: &Name) -> bool {
    is_inbox_name(name)
        || ["run", "batch", "job", "execution", "load", "task", "audit", "check", "metric", "log"]
            .iter()
            .any(|word| name.bare.contains(word))
}

/// Keys that are declared over a column which the clock fills.
fn declared(facts: &Facts<'_>, project: &Project<'_>, hits: &mut Vec<Hit>) {
    let mut seen = std::collections::BTreeSet::new();
    for table in project.schema.each() {
        let name = Name::text(&table.name);
        if facts.is_staging(&name)
            || table.declared.is_some_and(|(unit, _)| {
                project.units.get(unit).is_some_and(|unit| super::facts::tables::is_test(&unit.path))
            })
        {
            continue;
        }
        // A partitioned table's primary key must hold the partition's column: another key can't be had there.
        let keys = std::iter::once((&table.primary_key, None))
            .chain(table.unique.iter().map(|unique| (&unique.columns, unique.span)));
        for (key, span) in keys.filter(|(key, _)| key.len() > 1) {
            let clock =
                table.columns.iter().find(|column| key.contains(&column.name) && is_clock_default(column));
            let Some(column) = clock else { continue };
            if key
                .iter()
                .any(|name| table.columns.iter().any(|column| column.name == *name && column.is_generated))
            {
                continue;
            }
            let unit = table.declared.map(|(unit, _)| unit);
            if !seen.insert((unit, name.full.clone(), key.clone())) || !natural_keys(table).is_empty() {
                continue;
            }
            let place = span
                .or(column.span)
                .or(table.declared.map(|(_, span)| span))
                .unwrap_or(Span { start: 0, end: 0 });
            let rest =
                key.iter().filter(|name| **name != column.name).cloned().collect::<Vec<_>>().join(", ");
            hits.push(Hit {
                unit,
                span: place,
                level: Level::Error,
                message: format!("the key ({}) of {} holds {}, which the clock fills: the second copy of a row has another key", key.join(", "), table.name, column.name),
                fix: format!("Key {} by ({rest}) and keep {} outside of the key.", table.name, column.name),
                is_fix_safe: false,
            });
        }
    }
}
