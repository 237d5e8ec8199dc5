//! `conflict-on-constraint`: the conflict is named after a constraint, not after what identifies a row.

use sqlparser::ast::ConflictTarget;

use super::facts::flow::What;
use super::facts::hit;
use super::facts::write::{Conflict, Kind, conflict};
use crate::rule::{Hit, Level, Project, Rule};

pub(super) const RULE: Rule = Rule {
    id: "conflict-on-constraint",
    title: "the conflict target is a constraint's name",
    why: "A name says nothing about columns: a migration that builds the key anew under another name, or as a unique index, \
          breaks the statement, and one that changes the key's columns changes what counts as the same row without a word.",
    level: Level::Warning,
    safe_fix: Some(
        "The constraint is declared among the files or in the live schema, so its columns are known.",
    ),
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for flow in &facts.flows {
        for event in &flow.events {
            let What::Sql { statement, writes, .. } = &event.what else { continue };
            for write in writes {
                let Kind::Insert(insert) = write.kind else { continue };
                let (Conflict::Nothing(Some(ConflictTarget::OnConstraint(name)))
                | Conflict::Update(Some(ConflictTarget::OnConstraint(name)), _)) = conflict(insert)
                else {
                    continue;
                };
                let known = facts.table(&write.table).and_then(|table| {
                    let bare = name.to_string().replace('"', "").to_ascii_lowercase();
                    let unique = table.unique.iter().filter(|unique| !unique.is_partial).find(|unique| {
                        unique
                            .name
                            .as_ref()
                            .is_some_and(|name| name.to_ascii_lowercase().replace('"', "") == bare)
                    });
                    unique
                        .map(|unique| unique.columns.clone())
                        .or_else(|| bare.ends_with("_pkey").then(|| table.primary_key.clone()))
                });
                let is_fix_safe = known.as_ref().is_some_and(|columns| !columns.is_empty());
                let columns =
                    known.map_or_else(|| format!("the columns of {name}"), |columns| columns.join(", "));
                let hit = hit(
                    flow.index,
                    statement.find("on conflict on constraint"),
                    Level::Warning,
                    format!(
                        "the conflict of {} is found by the constraint's name {name}, which can stand for other columns tomorrow",
                        write.table.written
                    ),
                    format!("Name the columns: ON CONFLICT ({columns})."),
                );
                hits.push(Hit { is_fix_safe, ..hit });
            }
        }
    }
}
