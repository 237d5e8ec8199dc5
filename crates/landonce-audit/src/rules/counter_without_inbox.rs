//! `counter-without-inbox`: a number is added to, and nothing says whether this addition was made already.

use std::ops::ControlFlow;

use sqlparser::ast::{Assignment, BinaryOperator, Expr, Update};

use super::facts::flow::{Flow, What};
use super::facts::hit;
use super::facts::tables::{Name, natural_keys};
use super::facts::write::{Conflict, Kind, assigned, conflict};
use crate::rule::{Hit, Level, Project, Rule};
use crate::sql::walk;

pub(super) const RULE: Rule = Rule {
    id: "counter-without-inbox",
    title: "a number is added to without a record of what was added",
    why: "A retry whose first attempt had been committed adds the same amount again, and the sum keeps no trace of it.",
    level: Level::Error,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    let has_key = |name: &Name| facts.table(name).is_some_and(|table| !natural_keys(table).is_empty());
    for flow in &facts.flows {
        for (at, event) in flow.events.iter().enumerate() {
            let What::Sql { statement, writes, .. } = &event.what else { continue };
            if event.is_handling() {
                continue;
            }
            for write in writes.iter().filter(|write| !facts.is_staging(&write.table)) {
                let bump = match write.kind {
                    Kind::Update(update) if !is_compare_and_set(update) => {
                        update.assignments.iter().find(|one| is_bump(one))
                    }
                    Kind::Insert(insert) => match conflict(insert) {
                        Conflict::Update(_, update) if update.selection.is_none() => {
                            update.assignments.iter().find(|one| is_bump(one))
                        }
                        Conflict::Duplicate(assignments) => assignments.iter().find(|one| is_bump(one)),
                        _ => None,
                    },
                    _ => None,
                };
                let Some(bump) = bump else { continue };
                if flow.is_claimed(at, &has_key) || is_behind_update(flow, at) || moves_on(write.kind) {
                    continue;
                }
                let (name, column) = (&write.table.written, assigned(bump).join(", "));
                hits.push(hit(
                    flow.index,
                    statement.find(&column_place(statement.text.as_str(), bump, &column)),
                    Level::Error,
                    format!("{name}.{column} is added to at every run, and nothing in the transaction says whether this amount was added before"),
                    format!("Claim the batch in the same transaction first: INSERT INTO inbox (batch_id) VALUES ($1) ON CONFLICT DO NOTHING; if no row was inserted, skip the UPDATE. Or keep the single amounts under a key and compute {column} as their sum."),
                ));
            }
        }
    }
}

/// Whether what is counted was taken by an UPDATE of the same transaction that finds it once only: it changes what its own
/// WHERE asks for, or takes rows that nobody else has locked.
fn is_behind_update(flow: &Flow<'_>, at: usize) -> bool {
    (0..at).any(|earlier| {
        let What::Sql { statement, writes, .. } = &flow.events[earlier].what else { return false };
        let is_taken = writes.iter().any(|write| match write.kind {
            Kind::Update(update) => {
                is_compare_and_set(update)
                    || statement.tree.to_string().to_ascii_lowercase().contains("skip locked")
            }
            _ => false,
        });
        let is_asked = flow.events[earlier..at].iter().any(|between| matches!(between.what, What::Test(_)));
        is_taken && is_asked && flow.is_together(earlier, at)
    })
}

/// Whether the same UPDATE says how far the work has come: then the next run starts behind what was counted.
fn moves_on(kind: Kind<'_>) -> bool {
    let Kind::Update(update) = kind else { return false };
    update.assignments.iter().filter(|one| !is_bump(one)).flat_map(assigned).any(|name| {
        ["cursor", "offset", "checkpoint", "watermark", "bookmark", "last_id", "last_key", "high_water"]
            .iter()
            .any(|word| name.contains(word))
    })
}

/// The assignment as it is written, if it is found as such.
fn column_place(text: &str, bump: &Assignment, column: &str) -> String {
    let written = bump.to_string();
    if text.to_ascii_lowercase().contains(&written.to_ascii_lowercase()) {
        written
    } else {
        format!("{column} =")
    }
}

/// `x = x + 1`, `x = t.x - $1`, `x = coalesce(t.x, 0) + excluded.x`, `list = list || $1`.
pub(super) fn is_bump(assignment: &Assignment) -> bool {
    // These count attempts and versions: a repeated attempt is another attempt.
    const COUNTED: [&str; 15] = [
        "attempt",
        "_try",
        "retr",
        "version",
        "revision",
        "tries",
        "failure",
        "error",
        "lock",
        "epoch",
        "generation",
        "sequence",
        "deliver",
        "position",
        "expires",
    ];
    let names = assigned(assignment);
    let [name] = names.as_slice() else { return false };
    if COUNTED.iter().any(|word| name.contains(word)) {
        return false;
    }
    let Expr::BinaryOp { left, op, right } = &assignment.value else { return false };
    let is_sum = matches!(op, BinaryOperator::Plus | BinaryOperator::Minus);
    let has_own = |expr: &Expr| {
        walk::expressions(expr, |expr| {
            let is_own = match expr {
                Expr::Identifier(ident) => ident.value.eq_ignore_ascii_case(name),
                Expr::CompoundIdentifier(parts) => {
                    parts.last().is_some_and(|last| last.value.eq_ignore_ascii_case(name))
                        && !parts.first().is_some_and(|first| first.value.eq_ignore_ascii_case("excluded"))
                }
                _ => false,
            };
            if is_own { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .is_break()
    };
    is_sum && (has_own(left) || (matches!(op, BinaryOperator::Plus) && has_own(right)))
}

/// Whether the UPDATE changes what its own WHERE asks for, so that it finds nothing the second time.
fn is_compare_and_set(update: &Update) -> bool {
    let Some(selection) = &update.selection else { return false };
    let set: Vec<String> = update.assignments.iter().flat_map(assigned).collect();
    let mut is_guarded = false;
    let _ = walk::expressions(selection, |expr| {
        let tested = match expr {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq | BinaryOperator::NotEq | BinaryOperator::Lt | BinaryOperator::LtEq,
                ..
            }
            | Expr::IsNull(left)
            | Expr::IsDistinctFrom(left, _)
            | Expr::IsFalse(left)
            | Expr::IsNotTrue(left) => column_of(left),
            Expr::UnaryOp { expr, .. } => column_of(expr),
            _ => None,
        };
        // `x >= $1` before `x = x - $1` keeps a balance above zero, and nothing else.
        let is_bumped =
            |name: &String| update.assignments.iter().any(|one| is_bump(one) && assigned(one).contains(name));
        if tested.is_some_and(|name| set.contains(&name) && !is_bumped(&name)) {
            is_guarded = true;
        }
        ControlFlow::<()>::Continue(())
    });
    is_guarded
}

fn column_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(ident.value.to_ascii_lowercase()),
        Expr::CompoundIdentifier(parts) => parts.last().map(|last| last.value.to_ascii_lowercase()),
        Expr::Nested(inner) => column_of(inner),
        _ => None,
    }
}
