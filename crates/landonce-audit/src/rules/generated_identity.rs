//! `generated-identity`: a table whose only key is made up at the insert.

use std::collections::BTreeSet;

use super::facts::tables::{Name, is_ledger_name, is_test, likely_key, natural_keys};
use super::facts::write::Kind;
use super::unconditional_append::appends;
use crate::code::Span;
use crate::rule::{Hit, Level, Project, Rule};
use crate::schema::Table;

pub(super) const RULE: Rule = Rule {
    id: "generated-identity",
    title: "the only key of the table is generated at the insert",
    why: "Every copy of a row gets a number of its own, so the database takes the second delivery for a new row and no \
          conflict clause can ever fire.",
    level: Level::Error,
    safe_fix: None,
    check,
};

/// Whether a table has keys, and all of them are made up when a row is written.
pub(super) fn is_only_generated(table: &Table) -> bool {
    let is_generated =
        |name: &String| table.columns.iter().any(|column| column.name == *name && column.is_generated);
    natural_keys(table).is_empty() && table.primary_key.iter().any(is_generated)
}

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    let unguarded = appends(facts);
    let mut seen = BTreeSet::new();
    for table in project.schema.each() {
        let name = Name::text(&table.name);
        let place = table.declared.map_or((usize::MAX, 0), |(unit, span)| (unit, span.start));
        if !is_only_generated(table) || facts.is_staging(&name) || !seen.insert((place, name.full.clone())) {
            continue;
        }
        if table
            .declared
            .is_some_and(|(unit, _)| project.units.get(unit).is_some_and(|unit| is_test(&unit.path)))
        {
            continue;
        }
        let by = unguarded.iter().find(|append| append.table.is(&name));
        let is_written = facts.flows.iter().any(|flow| {
            flow.events.iter().any(|event| {
                event
                    .writes()
                    .iter()
                    .any(|write| write.table.is(&name) && !matches!(write.kind, Kind::Create | Kind::Drop))
            })
        });
        // Everything that writes to it is guarded by other means; or what writes to it isn't in sight.
        let is_unseen = table.is_mapped || name.bare.contains('{') || is_ledger_name(&name);
        if by.is_none() && (is_written || is_unseen) {
            continue;
        }
        let key = &table.primary_key;
        let others: Vec<String> = table
            .columns
            .iter()
            .filter(|column| !column.is_generated && column.default.is_none())
            .map(|column| column.name.clone())
            .collect();
        let likely = likely_key(&others).join(", ");
        let mut message = format!(
            "{} is identified by {} alone, which is generated at the insert",
            table.name,
            key.join(", ")
        );
        if let Some(append) = by {
            let file = project
                .units
                .get(append.unit)
                .map(|unit| unit.path.display().to_string())
                .unwrap_or_default();
            message.push_str(&format!("; {} in {file} adds the same rows again", append.by));
        }
        hits.push(Hit {
            unit: table.declared.map(|(unit, _)| unit),
            span: table.declared.map_or(Span { start: 0, end: 0 }, |(_, span)| span),
            level: if by.is_some() { Level::Error } else { Level::Warning },
            message,
            fix: format!(
                "Say what identifies a row: CREATE UNIQUE INDEX ON {} ({likely}); then INSERT … ON CONFLICT ({likely}) DO NOTHING.",
                table.name
            ),
            is_fix_safe: false,
        });
    }
}
