//! Which columns count: what two clean runs of one command in two clones agree on.

use std::collections::{BTreeMap, BTreeSet};

use super::multiset::{self, Fields};
use super::name::Pattern;
use super::{Column, Content, Snapshot, Table};
use crate::error::Result;

/// What `ignored` holds for a table that is left out whole.
pub(super) const WHOLE: &str = "*";

pub(super) fn calibrate(one: &Snapshot, other: &Snapshot, ignore: &[String]) -> Result<Content> {
    let mut content = Content::default();
    leave_out(one, other, ignore, &mut content);
    content.generated = generated(one, other);
    let names: BTreeSet<&String> = one.tables.keys().chain(other.tables.keys()).collect();
    for name in names {
        if content.is_ignored(name, WHOLE) {
            content.generated.remove(name);
            continue;
        }
        if let Some(ignored) = content.ignored.get(name)
            && let Some(generated) = content.generated.get_mut(name)
        {
            generated.retain(|column| !ignored.contains(column));
        }
        let is_stable = match (one.tables.get(name), other.tables.get(name)) {
            (Some(a), Some(b)) if a.rows == b.rows && names_of(a).eq(names_of(b)) => {
                weigh(name, a, b, &mut content)?
            }
            _ => false,
        };
        if !is_stable {
            content.unstable.push(name.clone());
        }
    }
    content.generated.retain(|_, columns| !columns.is_empty());
    Ok(content)
}

impl Content {
    /// Whether this column is left out by the user, or with [`WHOLE`] the whole table.
    pub(super) fn is_ignored(&self, table: &str, column: &str) -> bool {
        holds(&self.ignored, table, WHOLE) || holds(&self.ignored, table, column)
    }

    pub(super) fn is_varying(&self, table: &str, column: &str) -> bool {
        holds(&self.varying, table, column)
    }

    pub(super) fn is_generated(&self, table: &str, column: &str) -> bool {
        holds(&self.generated, table, column)
    }
}

fn holds(lists: &BTreeMap<String, Vec<String>>, table: &str, column: &str) -> bool {
    lists.get(table).is_some_and(|columns| columns.iter().any(|it| it == column))
}

fn names_of(table: &Table) -> impl Iterator<Item = &String> {
    table.columns.iter().map(|column| &column.name)
}

/// Applies the user's wishes, and keeps those that mean nothing.
fn leave_out(one: &Snapshot, other: &Snapshot, ignore: &[String], content: &mut Content) {
    for text in ignore {
        let Some(pattern) = Pattern::parse(text) else {
            content.unmatched.push(text.clone());
            continue;
        };
        let mut is_matched = false;
        for (name, table) in one.tables.iter().chain(&other.tables).filter(|(name, _)| pattern.is_about(name))
        {
            let columns: Vec<&String> = if pattern.is_whole() {
                Vec::new()
            } else {
                names_of(table).filter(|column| pattern.is_column(column)).collect()
            };
            if columns.is_empty() && !pattern.is_whole() {
                continue;
            }
            is_matched = true;
            let list = content.ignored.entry(name.clone()).or_default();
            if pattern.is_whole() {
                *list = vec![WHOLE.to_owned()];
            }
            for column in columns {
                if !list.iter().any(|it| it == WHOLE || it == column) {
                    list.push(column.clone());
                }
            }
        }
        if !is_matched {
            content.unmatched.push(text.clone());
        }
    }
}

/// Columns that the database fills, and foreign keys to them, and foreign keys to those. Where one run shows that its column
/// isn't filled by the sequence it has, it isn't.
fn generated(one: &Snapshot, other: &Snapshot) -> BTreeMap<String, Vec<String>> {
    let all: Vec<(&String, &Column)> = one
        .tables
        .iter()
        .chain(&other.tables)
        .flat_map(|(name, table)| table.columns.iter().map(move |column| (name, column)))
        .collect();
    let mut generated: BTreeMap<String, Vec<String>> = BTreeMap::new();
    loop {
        let mut has_grown = false;
        for &(table, column) in &all {
            let points_to_one =
                column.references.as_ref().is_some_and(|(table, column)| holds(&generated, table, column));
            let is_supplied = [one, other].iter().any(|it| {
                let columns = it.tables.get(table).map_or(&[][..], |table| &table.columns);
                columns.iter().any(|it| it.name == column.name && !it.is_generated)
            });
            if (column.is_generated && !is_supplied || points_to_one)
                && !holds(&generated, table, &column.name)
            {
                generated.entry(table.clone()).or_default().push(column.name.clone());
                has_grown = true;
            }
        }
        if !has_grown {
            return generated;
        }
    }
}

/// Finds the columns of a table that vary by themselves, and whether what is left is the same in both.
fn weigh(name: &str, one: &Table, other: &Table, content: &mut Content) -> Result<bool> {
    let fields = |numbers: Vec<usize>| Fields { one: numbers.clone(), other: numbers };
    let every: Vec<usize> = (1..=one.columns.len()).collect();
    let mut sets: Vec<Fields> = every.iter().map(|&number| fields(vec![number])).collect();
    sets.push(fields(every.clone()));
    let agrees = multiset::are_equal(one, other, &sets)?;
    let is_whole_row_equal = agrees[every.len()];
    let column = |number: usize| &one.columns[number - 1];
    let counts = |number: &usize, content: &Content| {
        !content.is_ignored(name, &column(*number).name) && !content.is_generated(name, &column(*number).name)
    };

    let mut varying: Vec<usize> =
        every.iter().copied().filter(|number| !agrees[number - 1] && counts(number, content)).collect();
    let mut stable: Vec<usize> =
        every.iter().copied().filter(|number| agrees[number - 1] && counts(number, content)).collect();
    if stable.is_empty() {
        // A rowid has no gaps, so it counts where nothing else does: a table of ids that the command has supplied.
        // Sequences have gaps after every fault; then only the number of rows counts.
        let is_gapless =
            |column: &Column| column.is_generated && column.default.is_none() && column.references.is_none();
        stable = every
            .iter()
            .copied()
            .filter(|&number| agrees[number - 1] && is_gapless(column(number)))
            .collect();
        stable.retain(|&number| !content.is_ignored(name, &column(number).name));
        if let Some(generated) = content.generated.get_mut(name) {
            generated.retain(|it| !stable.iter().any(|&number| column(number).name == *it));
        }
    }
    let mut is_stable = is_whole_row_equal || multiset::are_equal(one, other, &[fields(stable.clone())])?[0];
    if !is_stable {
        // Each column agrees but the rows don't: one holds values that wander between rows, such as the number of the
        // worker that took it. Without it the rest may agree. A column of the key is the last to be suspected.
        let without: Vec<Fields> = stable
            .iter()
            .map(|left_out| fields(stable.iter().copied().filter(|number| number != left_out).collect()))
            .collect();
        let agrees = multiset::are_equal(one, other, &without)?;
        let suspects =
            || stable.iter().zip(&agrees).filter(|(_, agrees)| **agrees).map(|(number, _)| *number);
        let is_key = |number: &usize| one.key.contains(&column(*number).name);
        let wandering = suspects().rfind(|number| !is_key(number)).or_else(|| suspects().next_back());
        if stable.len() > 1
            && let Some(wandering) = wandering
        {
            varying.push(wandering);
            varying.sort_unstable();
            is_stable = true;
        }
    }
    if !varying.is_empty() {
        let names = varying.into_iter().map(|number| column(number).name.clone()).collect();
        content.varying.insert(name.to_owned(), names);
    }
    Ok(is_stable)
}
