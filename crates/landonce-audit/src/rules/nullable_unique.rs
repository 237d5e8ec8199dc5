//! `nullable-unique`: a unique key with a column that may be NULL, which makes every such row different from every other.

use std::collections::BTreeSet;

use super::facts::tables::{Name, is_test, natural_keys};
use super::facts::write::{Conflict, Kind, conflict, target_columns};
use crate::code::Span;
use crate::rule::{Hit, Level, Project, Rule};

pub(super) const RULE: Rule = Rule {
    id: "nullable-unique",
    title: "a column of the unique key may be NULL",
    why: "NULL is equal to nothing, not even to NULL: a row with a NULL in its key is inserted again at every delivery, past the \
          unique key and past ON CONFLICT.",
    level: Level::Error,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    let targets: Vec<(Name, Vec<String>)> = facts
        .flows
        .iter()
        .flat_map(|flow| &flow.events)
        .flat_map(super::facts::flow::Event::writes)
        .filter_map(|write| match write.kind {
            Kind::Insert(insert) => match conflict(insert) {
                Conflict::Nothing(target) | Conflict::Update(target, _) => {
                    Some((write.table.clone(), target_columns(target)))
                }
                _ => None,
            },
            _ => None,
        })
        .collect();
    let mut seen = BTreeSet::new();
    for table in project.schema.each() {
        let name = Name::text(&table.name);
        if facts.is_staging(&name)
            || table
                .declared
                .is_some_and(|(unit, _)| project.units.get(unit).is_some_and(|unit| is_test(&unit.path)))
        {
            continue;
        }
        for unique in table.unique.iter().filter(|unique| !unique.is_partial && !unique.nulls_not_distinct) {
            let nullable: Vec<&str> = unique
                .columns
                .iter()
                .filter(|name| {
                    !table.primary_key.contains(name)
                        && table.columns.iter().any(|column| {
                            column.name == **name && !column.is_not_null && !column.is_generated
                        })
                })
                .map(String::as_str)
                .collect();
            if nullable.is_empty() {
                continue;
            }
            let is_target = targets.iter().any(|(other, columns)| {
                other.is(&name) && {
                    let (mut a, mut b) = (columns.clone(), unique.columns.clone());
                    a.sort();
                    b.sort();
                    a == b
                }
            });
            // Another key says what a row is; this one is a rule about a property that may be absent.
            let has_other = natural_keys(table).iter().any(|key| *key != unique.columns.as_slice());
            if (has_other || table.is_mapped) && !is_target {
                continue;
            }
            let place =
                unique.span.or(table.declared.map(|(_, span)| span)).unwrap_or(Span { start: 0, end: 0 });
            if !seen.insert((table.declared.map(|(unit, _)| unit), name.full.clone(), unique.columns.clone()))
            {
                continue;
            }
            let columns = unique.columns.join(", ");
            let which = nullable.join(", ");
            let sets = nullable
                .iter()
                .map(|column| format!("ALTER COLUMN {column} SET NOT NULL"))
                .collect::<Vec<_>>()
                .join(", ");
            hits.push(Hit {
                unit: table.declared.map(|(unit, _)| unit),
                span: place,
                level: if is_target { Level::Error } else { Level::Warning },
                message: format!("{which} in the unique key ({columns}) of {} may be NULL, and a row with NULL there is never a duplicate", table.name),
                fix: format!("ALTER TABLE {} {sets}; or, from PostgreSQL 15 on, UNIQUE NULLS NOT DISTINCT ({columns}).", table.name),
                is_fix_safe: false,
            });
        }
    }
}
