//! `unguarded-upsert`: rows that are equal are written again, at best for nothing, at worst with a new stamp.

use std::ops::ControlFlow;

use sqlparser::ast::{Assignment, BinaryOperator, ConflictTarget, Expr};

use super::counter_without_inbox::is_bump;
use super::facts::flow::{Flow, What};
use super::facts::hit;
use super::facts::tables::{Name, is_clock_default, is_lease};
use super::facts::value::{Bound, Volatile};
use super::facts::write::{Conflict, Kind, Write, assigned, conflict, merge_updates};
use crate::rule::{Hit, Level, Project, Rule};
use crate::schema::Table;
use crate::sql::walk;

pub(super) const RULE: Rule = Rule {
    id: "unguarded-upsert",
    title: "an upsert writes rows that haven't changed",
    why: "Every run rewrites every row it meets: dead rows, triggers and change feeds for nothing; and a stamp such as \
          updated_at or a run's id says that something changed when nothing did.",
    level: Level::Error,
    safe_fix: Some(
        "DO UPDATE only copies from EXCLUDED, the table's columns are known and can be compared, nothing is returned, and \
         nobody counts the rows.",
    ),
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for flow in &facts.flows {
        for event in &flow.events {
            let (What::Sql { statement, writes, .. }, Some(bound)) = (&event.what, event.bound()) else {
                continue;
            };
            for write in writes.iter().filter(|write| !facts.is_staging(&write.table)) {
                let Some(found) = judge(bound, write) else { continue };
                let name = &write.table.written;
                let (level, message) = match &found.stamp {
                    Some((column, volatile)) => (
                        Level::Error,
                        format!(
                            "the upsert into {name} stamps {column} with {} at every run, on rows that haven't changed too",
                            volatile.words()
                        ),
                    ),
                    None => (
                        Level::Warning,
                        format!(
                            "the upsert into {name} writes every row again, changed or not{}",
                            found.more
                        ),
                    ),
                };
                let is_fix_safe = is_fix_safe(facts.table(&write.table), flow, write);
                let hit = hit(
                    flow.index,
                    statement.find(found.keywords),
                    level,
                    message,
                    fix(&write.table, &found),
                );
                hits.push(Hit { is_fix_safe, ..hit });
            }
        }
    }
}

struct Found {
    keywords: &'static str,
    columns: Vec<String>,
    stamp: Option<(String, Volatile)>,
    more: &'static str,
}

fn judge(bound: Bound<'_>, write: &Write<'_>) -> Option<Found> {
    match write.kind {
        Kind::Insert(insert) => match conflict(insert) {
            Conflict::Update(_, update) if update.selection.is_none() => {
                found("on conflict", bound, &update.assignments, Some(insert), "")
            }
            // MySQL leaves equal rows alone by itself: only a stamp makes them differ.
            Conflict::Duplicate(assignments) => {
                found("on duplicate key update", bound, assignments, Some(insert), "")
                    .filter(|found| found.stamp.is_some())
            }
            Conflict::Replace => Some(Found {
                keywords: if insert.replace_into { "replace into" } else { "or replace" },
                columns: Vec::new(),
                stamp: None,
                more: ": it is deleted and inserted, with a new generated number and ON DELETE CASCADE where there is one",
            }),
            _ => None,
        },
        Kind::Merge(merge) => found("when matched", bound, merge_updates(merge)?, None, ""),
        _ => None,
    }
}

fn found(
    keywords: &'static str,
    bound: Bound<'_>,
    assignments: &[Assignment],
    insert: Option<&sqlparser::ast::Insert>,
    more: &'static str,
) -> Option<Found> {
    // Sums are for `counter-without-inbox`.
    if assignments.iter().any(is_bump) {
        return None;
    }
    // SET x = t.x only takes the row's lock, or makes RETURNING give it; CASE over what the row holds is a condition.
    if assignments.iter().all(is_kept) || assignments.iter().any(|one| is_choice(one, assignments)) {
        return None;
    }
    let mut stamp = None;
    let mut columns = Vec::new();
    for assignment in assignments {
        let names = assigned(assignment);
        let name = names.join(", ");
        let volatile = bound.volatile(&assignment.value).or_else(|| {
            // EXCLUDED.loaded_at is what the INSERT gives to loaded_at.
            let insert = insert?;
            let from = excluded(&assignment.value)?;
            let at = insert.columns.iter().position(|column| Name::of(column).bare == from)?;
            super::facts::write::given(insert, at).into_iter().find_map(|expr| bound.volatile(expr))
        });
        // A sign of life and a lease are there to be stamped.
        if volatile == Some(Volatile::Clock) && names.iter().any(|name| is_lease(name)) {
            return None;
        }
        let is_conditional = is_condition(&assignment.value);
        match volatile {
            // What is called job_id may be a column of the data: the clock is the surer stamp.
            Some(volatile)
                if !is_conditional
                    && stamp.as_ref().is_none_or(|(_, known)| {
                        *known == Volatile::RunId && volatile != Volatile::RunId
                    }) =>
            {
                stamp = Some((name, volatile));
            }
            Some(_) => {}
            None => columns.extend(names),
        }
    }
    Some(Found { keywords, columns, stamp, more })
}

/// `SET x = t.x`.
fn is_kept(assignment: &Assignment) -> bool {
    let names = assigned(assignment);
    let [name] = names.as_slice() else { return false };
    own_column(&assignment.value).as_ref() == Some(name)
}

/// `SET n = CASE WHEN t.since < $2 THEN 0 ELSE t.n END`: what is written hangs on what the row holds.
fn is_choice(assignment: &Assignment, all: &[Assignment]) -> bool {
    let set: Vec<String> = all.iter().flat_map(assigned).collect();
    is_condition(&assignment.value)
        && walk::expressions(&assignment.value, |expr| {
            if own_column(expr).is_some_and(|name| set.contains(&name)) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .is_break()
}

/// `CASE …`, or MySQL's and SQLite's short form of it.
fn is_condition(value: &Expr) -> bool {
    match value {
        Expr::Case { .. } => true,
        Expr::Function(function) => matches!(Name::of(&function.name).bare.as_str(), "if" | "iif"),
        _ => false,
    }
}

/// A column of the row that is there already.
fn own_column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(ident.value.to_ascii_lowercase()),
        Expr::CompoundIdentifier(parts) if !parts.first()?.value.eq_ignore_ascii_case("excluded") => {
            Some(parts.last()?.value.to_ascii_lowercase())
        }
        _ => None,
    }
}

/// The column that `EXCLUDED.x` (or VALUES(x)) names.
fn excluded(expr: &Expr) -> Option<String> {
    match expr {
        Expr::CompoundIdentifier(parts) if parts.first()?.value.eq_ignore_ascii_case("excluded") => {
            Some(parts.last()?.value.to_ascii_lowercase())
        }
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("values") => {
            Some(function.args.to_string().trim_matches(['(', ')']).to_ascii_lowercase())
        }
        Expr::BinaryOp { left, op: BinaryOperator::PGOverlap, .. } => excluded(left),
        _ => None,
    }
}

/// Whether the condition can be added without a look: rows that are equal are left alone, and that is all that changes.
fn is_fix_safe(table: Option<&Table>, flow: &Flow<'_>, write: &Write<'_>) -> bool {
    let (Some(table), Kind::Insert(insert)) = (table, write.kind) else { return false };
    let Conflict::Update(Some(ConflictTarget::Columns { .. }), update) = conflict(insert) else {
        return false;
    };
    let is_copied = |assignment: &Assignment| {
        let [name] = &*assigned(assignment) else { return false };
        excluded(&assignment.value).as_ref() == Some(name)
            && table
                .column(name)
                .is_some_and(|column| is_comparable(&column.type_name) && !is_clock_default(column))
    };
    // The rows that RETURNING gives and a driver counts would be fewer.
    let text = flow.unit.text.get(flow.function.span.start..flow.function.span.end).unwrap_or_default();
    let is_counted = ["rowcount", "rowCount", "RowsAffected", "rows_affected", "executeUpdate", "changes"]
        .iter()
        .any(|word| text.contains(word));
    update.assignments.iter().all(is_copied)
        && insert.returning.is_none()
        && insert.table_alias.is_none()
        && !is_counted
}

/// Whether values of a type can be told apart by IS DISTINCT FROM: json, xml and points have no equality.
fn is_comparable(type_name: &str) -> bool {
    const PLAIN: [&str; 26] = [
        "text",
        "varchar",
        "char",
        "character",
        "string",
        "citext",
        "uuid",
        "int",
        "integer",
        "bigint",
        "smallint",
        "int2",
        "int4",
        "int8",
        "numeric",
        "decimal",
        "real",
        "double",
        "float",
        "bool",
        "boolean",
        "date",
        "timestamp",
        "timestamptz",
        "bytea",
        "jsonb",
    ];
    let word = type_name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    PLAIN.iter().any(|plain| word.eq_ignore_ascii_case(plain))
}

fn fix(table: &Name, found: &Found) -> String {
    let name = &table.written;
    let bare = &table.bare;
    if found.keywords.starts_with("replace") || found.keywords.starts_with("or replace") {
        return format!(
            "Write INSERT INTO {name} … ON CONFLICT (the key) DO UPDATE SET … WHERE … IS DISTINCT FROM … instead (in MySQL ON DUPLICATE KEY UPDATE)."
        );
    }
    let columns = if found.columns.is_empty() {
        vec!["the columns that carry data".to_owned()]
    } else {
        found.columns.clone()
    };
    let list =
        |from: &str| columns.iter().map(|column| format!("{from}.{column}")).collect::<Vec<_>>().join(", ");
    match found.keywords {
        "when matched" => format!(
            "Write WHEN MATCHED AND ({}) IS DISTINCT FROM ({}) THEN UPDATE ….",
            list(bare),
            list("source")
        ),
        "on duplicate key update" => match &found.stamp {
            Some((column, _)) => format!(
                "Set {column} only where something changed, or let the column do it: {column} TIMESTAMP … ON UPDATE CURRENT_TIMESTAMP."
            ),
            None => String::new(),
        },
        _ => format!("Add WHERE ({}) IS DISTINCT FROM ({}) to the DO UPDATE.", list(bare), list("EXCLUDED")),
    }
}
