//! `check-then-insert`: a row is looked for, and inserted if it wasn't there, with nothing that keeps another run from doing
//! the same in between.

use super::facts::flow::{Flow, Frame, What};
use super::facts::tables::{Name, is_ledger_name, likely_key, natural_keys};
use super::facts::write::{Conflict, Kind, columns, conflict, is_lock, is_write, relations, select_source};
use super::facts::{hit, place};
use super::unconditional_append::is_anti_join;
use crate::file::Language;
use crate::rule::{Hit, Level, Project, Rule};

pub(super) const RULE: Rule = Rule {
    id: "check-then-insert",
    title: "a row is inserted because a query didn't find it",
    why: "Two runs at once both look, both find nothing and both insert; the check is worth nothing without a unique key or a \
          lock.",
    level: Level::Error,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    // What a model's own filter looks up is a matter of its unique_key.
    for flow in facts.flows.iter().filter(|flow| flow.unit.language != Language::Dbt) {
        for (at, event) in flow.events.iter().enumerate() {
            let What::Sql { statement, writes, .. } = &event.what else { continue };
            if is_lock(&statement.tree) || is_locked(flow, at) {
                continue;
            }
            for write in writes {
                let Kind::Insert(insert) = write.kind else { continue };
                if !matches!(conflict(insert), Conflict::None)
                    || facts.is_staging(&write.table)
                    || write.table.bare.contains('{')
                    || is_ledger_name(&write.table)
                    || flow.relies_on_key(at)
                {
                    continue;
                }
                let is_one = select_source(insert).is_some_and(|query| is_anti_join(query, &write.table));
                if !is_one && !is_checked(flow, at, &write.table) {
                    continue;
                }
                let table = facts.table(&write.table);
                // With a key the loser of the race fails loudly, and its re-run finds the row.
                if table.is_some_and(|table| !natural_keys(table).is_empty()) {
                    continue;
                }
                let name = &write.table.written;
                let key = likely_key(&columns(insert, table)).join(", ");
                let how = if is_one {
                    "the statement looks for the row and inserts it"
                } else {
                    "a query looks for the row before it is inserted"
                };
                let known = if table.is_some() {
                    "the table has no unique key".to_owned()
                } else {
                    "no unique key of it is among the files".to_owned()
                };
                hits.push(hit(
                    flow.index,
                    place(statement, "insert into", &write.table),
                    if table.is_some() { Level::Error } else { Level::Warning },
                    format!("{how}: two runs at once both insert into {name}, as {known}"),
                    format!(
                        "Let the database decide: CREATE UNIQUE INDEX ON {name} ({key}); INSERT INTO {name} … ON CONFLICT ({key}) DO NOTHING, and look at the row count instead."
                    ),
                ));
            }
        }
    }
}

/// Whether a lock is taken earlier in the function.
fn is_locked(flow: &Flow<'_>, at: usize) -> bool {
    flow.events[..at].iter().any(|event| match &event.what {
        What::Sql { statement, .. } => is_lock(&statement.tree),
        What::Call(call) => {
            let callee = call.callee.to_ascii_lowercase();
            callee.contains("lock") || callee.contains("with_for_update") || callee.contains("serializable")
        }
        What::Test(_) => false,
    })
}

/// Whether an insert into a table hangs on what a query of the same table found: it is in an arm of a choice, or behind a
/// choice that may leave.
pub(super) fn is_checked(flow: &Flow<'_>, at: usize, table: &Name) -> bool {
    let asks = |event: &What<'_>| match event {
        What::Sql { statement, .. } => {
            !is_write(&statement.tree) && relations(&statement.tree).iter().any(|name| name.is(table))
        }
        _ => false,
    };
    let Some(asked) = flow.events[..at].iter().rposition(|event| asks(&event.what)) else { return false };
    // The query's result must matter: it is in the condition, or a variable that takes it is in the test.
    let taken: Vec<&str> = flow.events[asked..at]
        .iter()
        .filter_map(|event| match &event.what {
            What::Sql { usage, .. } => usage.call.assigned_to.as_deref(),
            What::Call(call) => call.assigned_to.as_deref(),
            What::Test(_) => None,
        })
        .collect();
    flow.events[asked..at].iter().any(|event| {
        let What::Test(branch) = event.what else { return false };
        let is_inside = flow.events[at].path.iter().any(|frame| {
            matches!(frame, Frame::Then(inner) | Frame::Otherwise(inner) if std::ptr::eq(*inner, branch))
        });
        let leaves = flow.events.iter().any(|event| {
            event.call().is_some_and(|call| matches!(call.callee.as_str(), "return" | "continue" | "break"))
                && event
                    .path
                    .iter()
                    .any(|frame| matches!(frame, Frame::Then(inner) if std::ptr::eq(*inner, branch)))
        });
        // `if not cursor.execute("SELECT …")`: some drivers return the count of what was found.
        let is_about = ["fetch", "execute("].iter().any(|word| branch.test.contains(word))
            || taken.iter().any(|name| mentions(&branch.test, name));
        is_about && (is_inside || leaves)
    })
}

fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
}
